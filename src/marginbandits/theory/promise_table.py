"""Promises as people read them: a table with a line for each bound.

>>> from marginbandits.theory import FiniteSize, Game, promises_in_time
>>> print(promise_table(promises_in_time(FiniteSize(1000), Game(5, 20_000, 0.1)))[:5])
bound
"""

from collections.abc import Sequence

from marginbandits.theory.promises import Promise

__all__ = ["promise_table"]


def promise_table(found: Sequence[Promise]) -> str:
    """A line for each promise; below them, the conditions that are not met."""
    head = ("bound", "regret", "a round", "", "useful from T", "attained by", "over")
    rows = [
        (
            one.bound.name,
            ("~" if one.bound.order else "") + f"{one.bound.value:,.0f}",
            f"{one.bound.per_round:.3g}",
            ("vacuous" if one.bound.vacuous else "") + ("" if one.bound.holds else " conditions!"),
            "beyond 10^15" if one.useful_from is None else f"{one.useful_from:,}",
            one.bound.attained_by,
            one.bound.benchmark,
        )
        for one in found
    ]
    width = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    right = (1, 2, 4)
    lines = [
        "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, width, strict=True)))
        for row in [head, *rows]
    ]
    broken = [
        f"{one.bound.name}: needs {condition}"
        for one in found
        for condition, met in one.bound.conditions.items()
        if not met
    ]
    return "\n".join([*(line.rstrip() for line in lines), *([""] if broken else []), *broken])
