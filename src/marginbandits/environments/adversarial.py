"""Problems that change under the learner: abrupt switches, steady drift, and an adversary that watches.

>>> env = Switching(n_actions=2, n_features=3, n_rounds=10, n_switches=1, seed=0)
>>> env.segments
array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from marginbandits.arrays import Numbers
from marginbandits.environments.base import Oblivious, loss_of, zero_one_losses
from marginbandits.parametrised import Parametrised
from marginbandits.types import Array, Decision
from marginbandits.validation import (
    ActionCount,
    Count,
    Integer,
    Real,
    Seed,
    fits,
    quoted,
    remembered,
    validated,
)

__all__ = ["AdaptiveAdversary", "Drifting", "Switching"]


class Switching(Oblivious):
    """The label is the best of K random linear scores; the scores are drawn anew `n_switches` times, evenly spaced."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        n_features: Count,
        n_rounds: Count,
        *,
        n_switches: Annotated[int, Integer(0, 10**9)] = 3,
        seed: Seed = None,
    ) -> None:
        fits(n_rounds=n_rounds, n_actions=n_actions, n_features=n_features)
        fits(n_switches=n_switches + 1, n_actions=n_actions, n_features=n_features)
        self.n_features, self.n_switches, self.seed = n_features, n_switches, remembered(seed)
        rng = np.random.default_rng(self.seed)
        contexts = rng.standard_normal((n_rounds, n_features))
        weights = rng.standard_normal((n_switches + 1, n_actions, n_features))
        self.segments = np.arange(n_rounds) * (n_switches + 1) // n_rounds
        scores = np.einsum("tad,td->ta", weights[self.segments], contexts)
        self._settle(contexts, zero_one_losses(scores.argmax(1), n_actions))


class Drifting(Oblivious):
    """The same, with scores that turn steadily from one random draw into another and on: `turns` full circles."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        n_features: Count,
        n_rounds: Count,
        *,
        turns: Annotated[float, Real(0, 1e9)] = 0.5,
        seed: Seed = None,
    ) -> None:
        fits(n_rounds=n_rounds, n_actions=n_actions)
        fits(n_rounds=n_rounds, n_features=n_features)
        fits(n_actions=n_actions, n_features=n_features)
        self.n_features, self.turns, self.seed = n_features, turns, remembered(seed)
        rng = np.random.default_rng(self.seed)
        contexts = rng.standard_normal((n_rounds, n_features))
        first, second = rng.standard_normal((2, n_actions, n_features))
        angle = (2.0 * math.pi * turns * np.arange(n_rounds) / n_rounds)[:, None]
        scores = np.cos(angle) * (contexts @ first.T) + np.sin(angle) * (contexts @ second.T)
        self._settle(contexts, zero_one_losses(scores.argmax(1), n_actions))


class AdaptiveAdversary(Parametrised):
    """Looks at the learner's distribution, then charges 1 to the action it favours (ties at random), 0 to the others.

    No learner can lose less than 1/K a round on average, and a deterministic one loses every round. Contexts are noise.
    There are no losses before the learner has moved, so there are no arrays for fast simulators but `contexts`.
    """

    @validated
    def __init__(self, n_actions: ActionCount, n_features: Count, n_rounds: Count, *, seed: Seed = None) -> None:
        fits(n_rounds=n_rounds, n_features=n_features)
        fits(n_rounds=n_rounds, n_actions=n_actions)
        self.n_actions, self.n_features, self.n_rounds, self.seed = n_actions, n_features, n_rounds, remembered(seed)
        rng = np.random.default_rng(self.seed)
        self.contexts: Array = rng.standard_normal((n_rounds, n_features))
        self.contexts.flags.writeable = False
        self._ties: Array = rng.random((n_rounds, n_actions))

    def __len__(self) -> int:
        return self.n_rounds

    def __iter__(self) -> Iterator["WatchingRound"]:
        return map(WatchingRound, self.contexts, self._ties)


class WatchingRound:
    """A round whose losses are settled when the learner's distribution is seen."""

    __slots__ = ("_ties", "context", "losses")

    def __init__(self, context: Array, ties: Array) -> None:
        self.context = context
        self.losses: Array | None = None
        self._ties = ties

    @validated
    def reveal(self, decision: Decision) -> float:
        """Settle the losses by the decision's distribution, once, then the loss of its action."""
        if decision.distribution is None:
            raise ValueError("decision must carry its distribution: the adversary looks at it")
        if self.losses is None:
            try:
                law = Numbers(1).clean(decision.distribution)
            except ValueError:
                law = np.zeros(0)
            if law.shape != self._ties.shape:
                got = quoted(decision.distribution)
                raise ValueError(f"distribution must be {len(self._ties)} numbers, got {got}")
            losses = np.zeros(len(law))
            losses[np.where(law == law.max(), self._ties, -1.0).argmax()] = 1.0
            loss = loss_of(decision, losses)
            self.losses = losses
            return loss
        return loss_of(decision, self.losses)
