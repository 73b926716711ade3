"""What the bounds of a parametric class depend on: d, K, T, γ and the constants R, L, B of the class.

>>> Setting(dimension=10, n_actions=3, horizon=1000, margin=0.5).hinge_range
3.0
>>> Setting(dimension=10, n_actions=1, horizon=1000, margin=0.5)
Traceback (most recent call last):
    ...
ValueError: n_actions must be a whole number at least 2, got 1
"""

from dataclasses import dataclass
from typing import Annotated, Self

from marginbandits.types import ParametricScores
from marginbandits.validation import ActionCount, Integer, Real, validated

__all__ = ["Setting"]

Count = Annotated[int, Integer(1)]
Positive = Annotated[float, Real(above=0)]


@dataclass(frozen=True, slots=True)
class Setting:
    """Θ ⊂ R^d contains the unit ball and lies within radius R; scores are L-Lipschitz in θ and at most B in size."""

    dimension: int
    n_actions: int
    horizon: int
    margin: float
    radius: float = 1.0
    lipschitz: float = 1.0
    bound: float = 1.0

    def __post_init__(self) -> None:
        _check(
            self.dimension, self.n_actions, self.horizon, self.margin, self.radius, self.lipschitz, self.bound
        )  # fields stay as given; the check only refuses

    @classmethod
    def of(cls, scores: ParametricScores, horizon: int, margin: float) -> Self:
        """The setting of a score class whose constants are known."""
        return cls(scores.dimension, scores.n_actions, horizon, margin, scores.radius, scores.lipschitz, scores.bound)

    @property
    def hinge_range(self) -> float:
        """1 + B/γ: no hinge value is larger."""
        return 1.0 + self.bound / self.margin

    @property
    def largest_sum(self) -> float:
        """Z_max = K max(1, (1 + B/γ)/2): no sum of the K hinge values is larger."""
        return self.n_actions * max(1.0, 0.5 * self.hinge_range)

    def second_moment(self, *, sharp: bool = True) -> float:
        """V_1, the bound of E <ψ, ℓ̂>² in one round: K²(1 + B/γ)² as printed, or the sharp K(1 + B/γ) Z_max."""
        K = self.n_actions
        return K * self.hinge_range * (self.largest_sum if sharp else K * self.hinge_range)


@validated
def _check(
    dimension: Count,
    n_actions: ActionCount,
    horizon: Count,
    margin: Positive,
    radius: Annotated[float, Real(1)],
    lipschitz: Positive,
    bound: Positive,
) -> None:
    """Θ must contain the unit ball, so R >= 1; the rest must merely make sense."""
