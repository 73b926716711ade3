"""What bounds depend on: K, T, γ and B for any class; for a parametric one also d and the constants R and L.

>>> Setting(dimension=10, n_actions=3, horizon=1000, margin=0.5).hinge_range
3.0
>>> Game(n_actions=1, horizon=1000, margin=0.5)
Traceback (most recent call last):
    ...
ValueError: n_actions must be a whole number at least 2 and at most 1e+15, got 1
"""

from dataclasses import dataclass
from typing import Annotated, Self

from marginbandits.types import ParametricScores
from marginbandits.validation import Count, Horizon, Integer, Positive, Real, record, validated

__all__ = ["Actions", "Game", "Setting"]

Actions = Annotated[int, Integer(2, 10**15)]
"""K, where actions are only spoken of."""


class _Hinge:
    """How large the hinge gets, from K, γ and B."""

    __slots__ = ()

    n_actions: int
    margin: float
    bound: float

    @property
    def hinge_range(self) -> float:
        """1 + B/γ: no hinge value is larger."""
        return 1.0 + self.bound / self.margin

    @property
    def largest_sum(self) -> float:
        """Z_max = K max(1, (1 + B/γ)/2): no sum of the K hinge values is larger."""
        return self.n_actions * max(1.0, 0.5 * self.hinge_range)

    @validated
    def second_moment(self, *, sharp: bool = True) -> float:
        """V_1, the bound of E <ψ, ℓ̂>² in one round: K²(1 + B/γ)² as printed, or the sharp K(1 + B/γ) Z_max."""
        K = self.n_actions
        return K * self.hinge_range * (self.largest_sum if sharp else K * self.hinge_range)


@record
@dataclass(frozen=True, slots=True)
class Game(_Hinge):
    """K actions, T rounds, margin γ, scores at most B in size."""

    n_actions: Actions
    horizon: Horizon
    margin: Positive
    bound: Positive = 1.0


@record
@dataclass(frozen=True, slots=True)
class Setting(_Hinge):
    """Θ ⊂ R^d contains the unit ball and lies within radius R; scores are L-Lipschitz in θ and at most B in size."""

    dimension: Count
    n_actions: Actions
    horizon: Horizon
    margin: Positive
    radius: Annotated[float, Real(1, 1e30)] = 1.0  # Θ must contain the unit ball
    lipschitz: Positive = 1.0
    bound: Positive = 1.0

    @classmethod
    @validated
    def of(cls, scores: ParametricScores, horizon: Horizon, margin: Positive) -> Self:
        """The setting of a score class whose constants are known."""
        return cls(scores.dimension, scores.n_actions, horizon, margin, scores.radius, scores.lipschitz, scores.bound)
