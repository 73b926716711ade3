"""Linear experts: ridge regression of the reward, and its sibling with a margin.

Without a margin, E[1 - ℓ | x] ≈ <θ, z> by least squares. With one, the reward is (1 + s)/2 of a score s = <θ, z> that
pays the squared hinge on both sides of the margin 1,

    (1 - ℓ) ½ (1 - s)_+² + ℓ ½ (1 + s)_+²,

which is least squares of s on 1 - 2ℓ while |s| <= 1; beyond, a round that agrees costs nothing, and one that does not
counts in proportion to its loss or reward. Its minimiser is E[1 - 2ℓ | x], so both predict the same thing; the margin
lets scores grow where the best action is clear, instead of paying for being too right. A round is one Newton step,

    A <- A + w z zᵀ,   θ <- θ + w A⁻¹ z (y - s),   w = 1, y = 1 - 2ℓ within the margin,
                                                  w = ℓ, y = -1 above it, w = 1 - ℓ, y = 1 below,

and nothing where w = 0. The width of a prediction is α √(zᵀA⁻¹z).

Crammer, Kulesza & Dredze (2009), "Adaptive regularization of weight vectors".

>>> import numpy as np
>>> expert = MarginExpert(regularisation=1.0).start(n_blocks=1, n_features=1)
>>> [round(expert.learn(np.array([[2.0]]), 0, 0, loss=0.0), 3) for _ in range(4)]
[0.5, 0.9, 0.944, 0.962]
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from marginbandits.contexts import Batch
from marginbandits.experts.expert import Expert
from marginbandits.features import Features
from marginbandits.oracles.ridge import Ridge
from marginbandits.state import Field, Journal
from marginbandits.types import Array
from marginbandits.validation import Real, validated

__all__ = ["MarginExpert", "RidgeExpert"]

Strength = Annotated[float, Real(1e-9)]
Widths = Annotated[float, Real(0)]


class _LinearExpert(Expert):
    regularisation: float
    alpha: float

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._ridge = Ridge(n_blocks, n_features, self.regularisation)

    def attach(self, journal: Journal) -> None:
        """The journal is the regression's too."""
        super().attach(journal)
        self._ridge.attach(journal)

    def width(self, batch: Batch) -> Array:
        """α √(zᵀA⁻¹z)."""
        return self.alpha * np.sqrt(self._ridge.variance(batch))

    def forget(self) -> None:
        """A = λI and θ = 0 again."""
        self._ridge.begin()

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return self._ridge.fields()

    def check(self) -> None:
        """Only what rounds could have left."""
        self._ridge.check()


class RidgeExpert(_LinearExpert):
    """Least squares of the reward."""

    @validated
    def __init__(self, *, features: Features = "raw", regularisation: Strength = 0.1, alpha: Widths = 0.2) -> None:
        self.features = features
        self.regularisation = regularisation
        self.alpha = alpha

    def _scores(self, batch: Batch) -> Array:
        return self._ridge.predict(batch)

    def learn(self, rows: Array, at: int, block: int, loss: float) -> float:
        """One least-squares update."""
        predicted = float(self._ridge.theta[block] @ rows[at])
        self._ridge.learn(rows, at, block, 1.0 - loss)
        return min(max(predicted, 0.0), 1.0)


class MarginExpert(_LinearExpert):
    """The squared hinge with margin 1, by one Newton step a round."""

    @validated
    def __init__(self, *, features: Features = "raw", regularisation: Strength = 0.2, alpha: Widths = 0.1) -> None:
        self.features = features
        self.regularisation = regularisation
        self.alpha = alpha

    def _scores(self, batch: Batch) -> Array:
        return 0.5 + 0.5 * self._ridge.predict(batch)

    def learn(self, rows: Array, at: int, block: int, loss: float) -> float:
        """One Newton step; none where the score is right by more than the margin."""
        score = float(self._ridge.theta[block] @ rows[at])
        weight, target = 1.0, 1.0 - 2.0 * loss
        if score >= 1.0:
            weight, target = loss, -1.0
        elif score <= -1.0:
            weight, target = 1.0 - loss, 1.0
        if weight == 1.0:
            self._ridge.learn(rows, at, block, target)
        elif weight > 0.0:
            root = weight**0.5
            self._ridge.learn(root * rows[at : at + 1], 0, block, root * target)
        return min(max(0.5 + 0.5 * score, 0.0), 1.0)
