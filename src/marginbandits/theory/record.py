"""A bound as a record: what it is made of, what was chosen, what it needs, where it comes from.

>>> bound = Bound("ramp", {"class": 30.0, "variance": 30.0}, horizon=100, parameters={"eta": 0.1})
>>> bound.value, bound.per_round, bound.vacuous, bound.holds
(60.0, 0.6, False, True)

A bound is vacuous where it allows a loss of 1 in every round: value >= T. `order` marks those the paper states up to
constants and logarithms; their value is the stated expression with constant 1, so it says how regret grows, not how
large it is.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Bound", "useful_from"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A regret bound over `benchmark`, the sum of its `terms`, at the `parameters` chosen."""

    name: str
    terms: Mapping[str, float]
    horizon: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    conditions: Mapping[str, bool] = field(default_factory=dict)  # what the statement needs: met, or violated
    benchmark: str = ""
    reference: str = ""
    erratum: str = ""  # what was corrected
    attained_by: str = ""
    order: bool = False

    @property
    def value(self) -> float:
        """The sum of the terms."""
        return math.fsum(self.terms.values())

    @property
    def per_round(self) -> float:
        """value/T."""
        return self.value / self.horizon

    @property
    def vacuous(self) -> bool:
        """Whether it promises nothing: value >= T."""
        return self.value >= self.horizon

    @property
    def holds(self) -> bool:
        """Whether every condition is met."""
        return all(self.conditions.values())

    def as_dict(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "name": self.name,
            "value": self.value,
            "per_round": self.per_round,
            "vacuous": self.vacuous,
            "holds": self.holds,
            "order": self.order,
            "horizon": self.horizon,
            "terms": dict(self.terms),
            "parameters": dict(self.parameters),
            "conditions": dict(self.conditions),
            "benchmark": self.benchmark,
            "reference": self.reference,
            "erratum": self.erratum,
            "attained_by": self.attained_by,
        }


def useful_from(bound: Callable[[int], Bound], *, least: int = 1, most: int = 10**15) -> int | None:
    """The T from which the bound is not vacuous, looking from `least` on; None beyond `most`.

    Doubling, then bisection: right where the value per round falls with T.

    >>> useful_from(lambda T: Bound("root", {"all": 10.0 * T**0.5}, T))
    101
    """
    high = low = least
    while bound(high).vacuous:
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bound(middle).vacuous else (low, middle)
    return high
