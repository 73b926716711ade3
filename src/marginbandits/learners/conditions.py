"""What a theorem needs of a learner, refused by name where it is not so.

A learner made by `from_theory` is held to its theorem: `outside_theory` is False, and a condition that fails is a
ValueError that says which, and the value. Given True it plays all the same, and its `repr` and its files say so. A
learner that is built by its class promises nothing: None.

>>> refuse_outside("Theorem ftl", [Condition("B <= 1", 1.5 <= 1.0, "B = 1.5 of radius 1.5")])
Traceback (most recent call last):
    ...
ValueError: Theorem ftl needs B <= 1, got B = 1.5 of radius 1.5; outside_theory=True plays all the same
"""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from marginbandits.validation import Instance

__all__ = ["Condition", "OutsideTheory", "refuse_outside"]

OutsideTheory = Annotated[bool | None, Instance(bool, type(None))]


class Condition(NamedTuple):
    """What is needed, in the paper's letters; whether it is so; and the values that decide it."""

    needs: str
    met: bool
    got: str


def refuse_outside(theorem: str, conditions: Iterable[Condition]) -> None:
    """Raise at the first condition that fails."""
    for one in conditions:
        if not one.met:
            raise ValueError(f"{theorem} needs {one.needs}, got {one.got}; outside_theory=True plays all the same")
