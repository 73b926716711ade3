"""Online cover: a small ensemble of policies, each rewarded for covering actions the earlier ones do not.

The first policy learns the losses seen. The others learn the doubly robust estimate ĉ of every action's loss, policy i
less a bonus where the policies before it play a rarely:

    ĉ_i(a) = ĉ(a) - ψ ε_t Σ_b m_i(b)/m_i(a),   m_i(a) = max(ε_t, votes for a before i/n_policies)

with ε_t = min(1/K, 1/√(Kt)). Played is the mean vote v, moved as little as gives every action with a vote its share of
the exploration, and the others none:

    p = argmin ‖p - v‖   such that   p(a) >= Kε_t/|S| on S = {v > 0},   p = 0 elsewhere

This is the online form of ILOVETOCONBANDITS, without its uniform exploration: "Cover-NU" of the bake-off.

Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), "Taming the monster: a fast and simple algorithm for contextual
bandits"; Bietti, Agarwal & Langford (2021), "A contextual bandit bake-off".

>>> agent = Cover(n_actions=3, seed=0)
>>> agent.learn([1.0], agent.act([1.0]), loss=1.0)
>>> bool((agent.act([1.0]).distribution > 0).sum() > 1)
True
"""

import math
from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner
from marginbandits.projections import simplex
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, Real, validated

__all__ = ["Cover"]


class Cover(OracleLearner):
    """`n_policies` that cover each other's gaps; `psi` is the weight of covering.

    The costs of the policies after the first are clipped to [0, 1]; `weighted` leaves them as noisy as they are, as
    Vowpal Wabbit does.
    """

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        n_policies: Annotated[int, Integer(1)] = 8,
        psi: Annotated[float, Real(0)] = 0.1,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, **options)
        self.n_policies = n_policies
        self.psi = psi

    def _models(self) -> int:
        return self.n_policies + self.weighted

    def _floor(self, n_actions: int) -> float:
        return min(1.0 / n_actions, 1.0 / math.sqrt(n_actions * max(self._rounds[0], 1.0)))

    def _votes(self, one: Batch) -> Array:
        losses = (self._oracle.predict(one, policy) for policy in range(self.n_policies))
        return np.array([laws.greedy(-each, one) for each in losses])

    def _law(self, one: Batch) -> Array:
        n = int(one.mask.sum())
        return raised(self._votes(one).mean(0), n * self._floor(n))

    def _estimate(self, one: Batch, action: int, loss: float, probability: float) -> Array:
        """ĉ: the first policy's predictions or, weighted, those of one more that counts rounds 1/p; corrected at a."""
        spare = self.n_policies if self.weighted else 0
        costs: Array = np.clip(self._oracle.predict(one, spare), *self._oracle.span)
        costs[action] += (loss - costs[action]) / probability
        if self.weighted:
            self._oracle.learn(one, action, loss, 1.0 / probability, spare)
        return costs

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        n = int(one.mask.sum())
        costs = self._estimate(one, action, loss, probability)
        votes = self._votes(one) / self.n_policies
        self._oracle.learn(one, action, loss, self._importance(n, probability))
        floor, share = self._floor(n), votes[0]
        total = (n - 1) * floor + 1.0 / self.n_policies  # Σ m, the first vote being on one action
        for policy in range(1, self.n_policies):
            targets = costs - self.psi * floor * total / np.maximum(share, floor)
            self._oracle.learn_all(one, targets if self.weighted else np.clip(targets, 0.0, 1.0), policy)
            wider = share + votes[policy]
            total += (np.maximum(wider, floor) - np.maximum(share, floor)).sum()
            share = wider
        self._count()


def raised(law: Array, mass: float) -> Array:
    """The law nearest to this one, on the same support, of which `mass` is spread evenly there.

    >>> raised(np.array([0.75, 0.25, 0.0]), 0.8)
    array([0.6, 0.4, 0. ])
    """
    support = law > 0.0
    floor, rest = mass / support.sum(), 1.0 - mass
    out = np.zeros_like(law)
    out[support] = floor + (rest * simplex((law[support] - floor) / rest) if rest > 0.0 else 0.0)
    return out
