"""Exponential weights over a thousand linear policies (Exp4): ours, and the shortest correct NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beside.data import Array, Data
from beside.player import Settings

DISTRIBUTION = "numpy"
EXPLORERS: dict[str, list[Settings]] = {"1,000 experts": [{}]}
EXPERTS, HORIZON = 1_000, 20_000


def policies(n_actions: int, n_features: int) -> Array:
    return np.random.default_rng(0).standard_normal((EXPERTS, n_actions, n_features))


class Ours:
    """`ExponentialWeights` of one-hot policies."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.seed = seed

    def prepare(self, data: Data) -> Sequence[Any]:
        return data.contexts  # type: ignore[no-any-return]  # rows of an array

    def start(self, n_actions: int, n_features: int) -> None:
        import marginbandits as mb

        self.agent = mb.ExponentialWeights(
            n_actions,
            regressors=policies(n_actions, n_features),
            surrogate="policy",
            horizon=HORIZON,
            features=mb.Identity(),
            seed=self.seed,
        )

    def round(self, x: Any, losses: list[float]) -> int:
        decision = self.agent.act(x)
        self.agent.learn(x, decision, losses[decision.action])
        return int(decision.action)


class PlainNumPy:
    """Votes, weights, a draw, and the estimate ℓ/p for those who voted so."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def prepare(self, data: Data) -> Sequence[Any]:
        return data.contexts  # type: ignore[no-any-return]  # rows of an array

    def start(self, n_actions: int, n_features: int) -> None:
        weights = policies(n_actions, n_features)
        self.flat, self.shape = weights.reshape(-1, n_features), weights.shape[:2]
        self.rate = (2.0 * np.log(EXPERTS) / (n_actions * HORIZON)) ** 0.5
        self.cost = np.zeros(EXPERTS)

    def round(self, x: Any, losses: list[float]) -> int:
        votes = (self.flat @ x).reshape(self.shape).argmax(1)
        q = np.exp(-self.rate * (self.cost - self.cost.min()))
        law = np.bincount(votes, q, self.shape[1]) / q.sum()
        action: int = min(int(np.searchsorted(np.cumsum(law), self.rng.random())), self.shape[1] - 1)
        self.cost[votes == action] += losses[action] / law[action]
        return action


make = PlainNumPy
