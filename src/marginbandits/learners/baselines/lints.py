"""Linear Thompson sampling with the exact probability of every action.

The posterior of action a's score is normal: s_a ~ N(<θ_a, z>, v² zᵀA_a⁻¹z). Thompson sampling plays a with the
probability that s_a is the largest. For vector contexts the K scores are independent, so that probability is

    P(a) = ∫ n(u) Π_{b≠a} N((m_a + σ_a u - m_b)/σ_b) du

a one-dimensional integral, computed here by the trapezoidal rule; the action is then drawn from these very numbers,
so the logged probability is exact. For K x d contexts the scores share one θ and are dependent; there the law played
is the share of `n_draws` posterior draws that each action wins, again exactly what is logged.

Agrawal & Goyal (2013), "Thompson sampling for contextual bandits with linear payoffs".

>>> agent = LinTS(n_actions=2, seed=0)
>>> for _ in range(50):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, reward=0.5)
>>> bool(agent.act([1.0]).probability > 0.01)
True
"""

import math
from typing import Annotated

import numpy as np

from marginbandits import policies
from marginbandits.compiled import kernel
from marginbandits.learners.regression import RidgeLearner
from marginbandits.scores.features import Features
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Integer, Real, Seed, validated

__all__ = ["LinTS"]

_STEP, _REACH = 0.25, 8.0
"""Spacing and end of the integration grid, in standard deviations: errors near 1e-12 while the σ are within 4-fold."""


class LinTS(RidgeLearner):
    """Posterior sampling on ridge regression: `scale` is v, the posterior's width; `n_draws` matters for K x d only."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        scale: Annotated[float, Real(above=0)] = 0.1,
        regularisation: Annotated[float, Real(above=0)] = 0.1,
        n_draws: Annotated[int, Integer(1)] = 64,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, seed=seed)
        self.scale = scale
        self.n_draws = n_draws

    def _distribution(self, rows: Array, available: Mask) -> Array:
        mean = self._ridge.predict(rows)
        if len(rows) == 1:
            return largest_of_normals(mean, self.scale * np.sqrt(self._ridge.variance(rows)), available)
        noise = self._draws.standard_normal((self.n_draws, rows.shape[1]))
        draws = mean + self.scale * noise @ (rows @ self._ridge.factor[0].T).T
        winners = policies.greedy(draws, available)
        return np.asarray(winners.mean(0))


def largest_of_normals(mean: Array, deviation: Array, available: Mask) -> Array:
    """Probability that each of several independent normals is the largest among those available.

    >>> largest_of_normals(np.zeros(4), np.ones(4), np.array([True, True, True, False])).round(12)
    array([0.33333333, 0.33333333, 0.33333333, 0.        ])
    """
    widest = deviation.max()
    if not widest > 0.0:
        return policies.greedy(mean, available)
    return _largest_of_normals(mean, np.maximum(deviation, 1e-12 * widest), available)


@kernel
def _largest_of_normals(mean: Array, deviation: Array, available: Mask) -> Array:
    k = mean.shape[0]
    out = np.zeros(k)
    floor = -np.inf  # an action that cannot reach this is never the largest
    for a in range(k):
        if available[a]:
            floor = max(floor, mean[a] - _REACH * deviation[a])
    total = 0.0
    for a in range(k):
        if not available[a] or mean[a] + _REACH * deviation[a] < floor:
            continue
        u = -_REACH
        while u <= _REACH:
            score = mean[a] + deviation[a] * u
            product = math.exp(-0.5 * u * u)
            for b in range(k):
                if b != a and available[b] and product > 1e-18:
                    product *= 0.5 * math.erfc((mean[b] - score) / (deviation[b] * math.sqrt(2.0)))
            out[a] += product
            u += _STEP
        total += out[a]
    for a in range(k):
        out[a] /= total
    return out
