"""A bound as a record: what it is made of, what was chosen, what it needs, where it comes from.

>>> bound = Bound("ramp", {"class": 30.0, "variance": 30.0}, horizon=100, parameters={"eta": 0.1})
>>> bound.value, bound.per_round, bound.vacuous, bound.holds
(60.0, 0.6, False, True)

A bound is vacuous where it allows a loss of 1 in every round: value >= T. It bites only where it is below the regret of
uniform play, which is less than T and depends on the rounds: that is for experiments to say. `order` marks those the
paper states up to constants and logarithms; their value is the stated expression with constant 1, so it says how regret
grows, not how large it is.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from marginbandits.validation import Constraint, Horizon, Instance, Integer, Real, quoted, record, validated

__all__ = ["Bound", "useful_from"]


class _Named(Constraint):
    """Values by name, under one constraint."""

    def __init__(self, item: Constraint) -> None:
        self.item = item

    def __str__(self) -> str:
        return f"a mapping of names, each value {self.item}"

    def clean(self, value: object) -> dict[str, object]:
        if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            return {name: self.item.clean(one) for name, one in value.items()}
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from ("names", None, {1: 1.0}, *({"name": bad} for bad in self.item.bad_values()))


class _Amount(Constraint):
    """A number that is not negative, or infinite: a bound that no float holds is vacuous, not wrong."""

    def __str__(self) -> str:
        return "a number at least 0"

    def clean(self, value: object) -> float:
        if isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= math.inf:
            return float(min(value, 10**308)) if value < math.inf else math.inf
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from ("much", None, math.nan, -1.0, True, 1j)


Rounds = Annotated[int, Integer(1, 10**17)]


@record
@dataclass(frozen=True, slots=True)
class Bound:
    """A regret bound over `benchmark`, the sum of its `terms`, at the `parameters` chosen."""

    name: str
    terms: Annotated[Mapping[str, float], _Named(_Amount())]
    horizon: Horizon
    parameters: Annotated[Mapping[str, float], _Named(_Amount())] = field(default_factory=dict)
    conditions: Annotated[Mapping[str, bool], _Named(Instance(bool))] = field(
        default_factory=dict
    )  # what the statement needs: met, or violated
    benchmark: str = ""
    reference: str = ""
    erratum: str = ""  # what was corrected
    attained_by: str = ""
    order: bool = False

    @property
    def value(self) -> float:
        """The sum of the terms."""
        try:
            return math.fsum(self.terms.values())
        except OverflowError:
            return math.inf

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


@validated
def useful_from(
    bound: Callable[[int], Bound],
    *,
    per_round: Annotated[float, Real(above=0)] = 1.0,
    least: Rounds = 1,
    most: Rounds = 10**15,
) -> int | None:
    """The T from which the bound is below `per_round` T, looking from `least` on; None beyond `most`.

    `per_round` is the largest regret of a round: 1, or less where the benchmark loses something too. Doubling, then
    bisection: right where the value per round falls with T.

    >>> useful_from(lambda T: Bound("root", {"all": 10.0 * T**0.5}, T))
    101
    >>> useful_from(lambda T: Bound("root", {"all": 10.0 * T**0.5}, T), per_round=0.5)
    401
    """

    def vacuous(rounds: int) -> bool:
        answer = bound(rounds)
        if not isinstance(answer, Bound):
            raise ValueError(f"bound must return a Bound, got {quoted(answer)}")
        return answer.value >= per_round * rounds

    high = low = least
    while vacuous(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if vacuous(middle) else (low, middle)
    return high
