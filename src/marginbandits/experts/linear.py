"""Linear experts: ridge regression of the reward, and the same where exactly one action is right.

Both have A = λI + Σ w zzᵀ and θ in every block, and move by one Newton step a round,

    A <- A + w zzᵀ,   θ <- θ + g A⁻¹z,

where g is minus the slope of the round's cost in its score s = <θ, z>, and w its curvature.

    RidgeExpert    (s - (1 - ℓ))²/2                     p = s              w = 1, g = 1 - ℓ - s
    OneRightExpert -(1 - ℓ) ln p_a - ℓ ln(1 - p_a)      p = softmax of s   see the class

The width of a prediction is α √(zᵀA⁻¹z); for the softmax, how far p rises if its score does by that.

McCullagh & Nelder (1989), "Generalized linear models"; Kakade, Shalev-Shwartz & Tewari (2008), "Efficient bandit
algorithms for online multiclass prediction".

>>> import numpy as np
>>> from marginbandits.contexts import per_action
>>> expert = OneRightExpert(regularisation=1.0)._start(n_blocks=2, n_features=1)
>>> expert._learn(per_action(np.array([[2.0]]), 2), 0, loss=0.0)
0.5
>>> expert._predict(per_action(np.array([[2.0]]), 2)).round(3)  # what is right for one is wrong for the other
array([0.881, 0.119])
"""

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, dense
from marginbandits.experts.expert import Expert
from marginbandits.features import Maps
from marginbandits.oracles.ridge import Ridge
from marginbandits.state import Field, Journal
from marginbandits.types import Array
from marginbandits.validation import Instance, OneOf, Real, validated

__all__ = ["OneRightExpert", "RidgeExpert"]

Strength = Annotated[float, Real(1e-9)]
Widths = Annotated[float, Real(0)]
Places = npt.NDArray[np.int64]


class _LinearExpert(Expert):
    regularisation: float

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._ridge = Ridge(n_blocks, n_features, self.regularisation, np.float32)

    def attach(self, journal: Journal) -> None:
        """The journal is the regression's too."""
        super().attach(journal)
        self._ridge.attach(journal)

    def _forget(self) -> None:
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
    def __init__(self, *, features: Maps = "raw", regularisation: Strength = 0.1, alpha: Widths = 0.2) -> None:
        self.features = features
        self.regularisation = regularisation
        self.alpha = alpha

    def _predict(self, batch: Batch) -> Array:
        """<θ, z>, within [0, 1]."""
        return np.clip(self._ridge.predict(batch), 0.0, 1.0)

    def _width(self, batch: Batch) -> Array:
        """α √(zᵀA⁻¹z)."""
        return self.alpha * np.sqrt(self._ridge.variance(batch))

    def _learn(self, one: Batch, action: int, loss: float) -> float:
        """One observation more in the block of the action."""
        rows, at, block = dense(one.rows), one.row(action), one.block(action)
        score = float(self._ridge.theta[block] @ rows[at])
        self._ridge.learn(rows, at, block, 1.0 - loss)
        return min(max(score, 0.0), 1.0)


class OneRightExpert(_LinearExpert):
    """Exactly one action is right: a softmax over all, so that what one earns tells of the others too.

    With p = softmax(s) and r = 1 - ℓ the slopes of the logarithm of the likelihood of playing a are

        g_a = r - p_a,   g_b = -(r - p_a) q_b for b ≠ a,   q_b = p_b/(1 - p_a):

    what is left of the truth after a, shared among the others as they were believed before. The curvature of block b is
    Fisher's, w_a = p_a(1 - p_a) and w_b = p_a(1 - p_a) q_b², and at least |g_b|/4, so that no surprise moves a score by
    more than four. In a K x d context the step is along z_a - Σ q_b z_b, in the one block there is.

    Where more than one action may be right, or none, it predicts badly, and a mixture stops believing it.
    """

    @validated
    def __init__(
        self,
        *,
        features: Maps = "raw",
        regularisation: Strength = 0.05,
        alpha: Annotated[float | None, OneOf(Real(0), Instance(type(None)))] = 1.0,
    ) -> None:
        self.features = features
        self.regularisation = regularisation
        self.alpha = alpha

    def _begin(self, n_blocks: int, n_features: int) -> None:
        super()._begin(n_blocks, n_features)
        self._weights, self._pulls = np.zeros((2, n_blocks))

    def _predict(self, batch: Batch) -> Array:
        """The softmax of <θ, z> over the actions of each context."""
        scores = self._ridge.predict(batch)
        _softmax(scores, batch.starts)
        return scores

    def _width(self, batch: Batch) -> Array | None:
        """How far p rises if its score does by α √(zᵀA⁻¹z); not said without α."""
        if self.alpha is None:
            return None
        p, up = self._predict(batch), self.alpha * np.sqrt(self._ridge.variance(batch))
        rise = np.expm1(np.minimum(up, _HIGHEST))
        return np.asarray(p * (1.0 - p) * rise / (1.0 + p * rise))

    def _learn(self, one: Batch, action: int, loss: float) -> float:
        """One Newton step in every block."""
        rows, scores = dense(one.rows), self._ridge.predict(one)
        if len(scores) == 1:
            return 1.0
        others = scores.copy()
        others[action] = -math.inf
        top = others.max()
        share = np.exp(others - top)  # of what is not the action's, by those that are left
        total = share.sum()
        share /= total
        gap = min(max(float(scores[action] - top - math.log(total)), -_HIGHEST), _HIGHEST)
        own, rest = 1.0 / (1.0 + math.exp(-gap)), 1.0 / (1.0 + math.exp(gap))
        pull = rest - loss  # r - p_a
        direction = -share
        direction[action] = 1.0
        if one.shared:
            self._pulls[0], self._weights[0] = pull, max(own * rest, abs(pull) / 4)
            self._ridge.step(direction @ rows, self._weights, self._pulls)
        else:
            self._pulls[...] = pull * direction
            self._weights[...] = np.maximum(own * rest * direction**2, np.abs(self._pulls) / 4)
            self._weights[self._weights < _LEAST] = 0.0
            self._ridge.step(rows[0], self._weights, self._pulls)
        return own


_HIGHEST = 100.0
"""No score is hoped to rise by more."""
_LEAST = 1e-4
"""A curvature below this is not worth an update."""


@kernel
def _softmax(scores: Array, starts: Places) -> None:
    for i in range(starts.shape[0] - 1):
        some = scores[starts[i] : starts[i + 1]]
        largest, total = some.max(), 0.0
        for a in range(some.shape[0]):
            some[a] = math.exp(some[a] - largest)
        for a in range(some.shape[0]):
            total += some[a]
        for a in range(some.shape[0]):
            some[a] /= total
