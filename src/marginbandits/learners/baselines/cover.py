"""Online cover: a small ensemble of policies, each rewarded for covering actions the earlier ones do not.

The first policy learns the doubly robust loss estimate ĉ. Policy i learns ĉ(a) less a bonus where the policies before
it play a rarely:

    ĉ_i(a) = ĉ(a) - ψ ε_t/(ε_t + (1 - Kε_t) q_i(a)),   q_i(a) = votes before i,   ε_t = min(1/K, 1/√(Kt))

Played is the mean vote, smoothed by ε_t. This is the online form of ILOVETOCONBANDITS.

Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), "Taming the monster: a fast and simple algorithm for contextual
bandits"; Bietti, Agarwal & Langford (2021), "A contextual bandit bake-off".

>>> agent = Cover(n_actions=3, seed=0)
>>> agent.learn([1.0], agent.act([1.0]), loss=1.0)
>>> bool((agent.act([1.0]).distribution > 0).all())
True
"""

import math
from typing import Annotated

import numpy as np

from marginbandits import policies
from marginbandits.learners.regression import OracleLearner
from marginbandits.scores.features import Features
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Instance, Integer, Real, Seed, validated

__all__ = ["Cover"]


class Cover(OracleLearner):
    """`n_policies` that cover each other's gaps; `psi` is the weight of covering."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        n_policies: Annotated[int, Integer(1)] = 8,
        psi: Annotated[float, Real(0)] = 0.1,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, seed=seed)
        self.n_policies = n_policies
        self.psi = psi

    def _floor(self, n_actions: int) -> float:
        return min(1.0 / n_actions, 1.0 / math.sqrt(n_actions * max(self._rounds[0], 1.0)))

    def _votes(self, rows: Array, available: Mask) -> Array:
        losses = np.array([self._oracle.predict(rows, policy) for policy in range(self.n_policies)])
        return policies.greedy(-losses, available)

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return policies.explore(self._votes(rows, available).mean(0), self._floor(int(available.sum())), available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        self._rounds += 1.0
        floor = self._floor(self.n_actions)
        estimate = self._oracle.predict(rows)
        costs = estimate.copy()
        costs[action] += (loss - estimate[action]) / max(probability, floor)
        votes = self._votes(rows, np.ones(self.n_actions, bool))
        self._oracle.learn(rows, action, loss, self._importance(probability))
        for policy in range(1, self.n_policies):
            share = votes[:policy].mean(0)
            bonus = self.psi * floor / (floor + (1.0 - self.n_actions * floor) * share)
            targets = np.clip(costs - bonus, 0.0, 1.0)
            for a in range(self.n_actions):
                self._oracle.learn(rows, a, float(targets[a]), 1.0 / self.n_actions if self.weighted else 1.0, policy)
