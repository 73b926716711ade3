"""Logged bandit data: contexts, the actions another policy took with known probabilities, and their losses.

Two uses. `interactions` hands the log to `learn`, off-policy. Iterating replays it: a round answers only if the learner
picks the logged action and a coin of probability p_min/p(a) falls right, which makes the answered rounds an unbiased
sample of what the learner would have met (rejection sampling; with uniform logging the coin always falls right).

Li, Chu, Langford & Wang (2011), "Unbiased offline evaluation of contextual-bandit-based news article recommendation
algorithms".

>>> import numpy as np
>>> from marginbandits.types import Decision
>>> log = Logged(np.zeros((2, 1)), actions=[0, 1], losses=[0.2, 0.6], probabilities=[0.5, 0.5], n_actions=2, seed=0)
>>> [round.reveal(Decision(1, 0.9)) for round in log]
[None, 0.6]
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Integers, Numbers
from marginbandits.parametrised import Parametrised
from marginbandits.types import Array, Decision, Interaction
from marginbandits.validation import ActionCount, Seed, quoted, remembered, validated

__all__ = ["Logged"]

Column = Annotated[npt.ArrayLike, Numbers(1, finite=False, booleans=True)]


class Logged(Parametrised):
    """A log of T rounds; the losses of actions not taken are unknown, so there is no regret, only progressive loss."""

    @validated
    def __init__(
        self,
        contexts: Annotated[npt.ArrayLike, Numbers(2, 3, finite=False, booleans=True)],
        actions: Annotated[npt.ArrayLike, Integers(1, low=0)],
        losses: Column,
        probabilities: Column,
        *,
        n_actions: ActionCount,
        seed: Seed = None,
    ) -> None:
        self.contexts, self.losses = np.array(contexts, float), np.array(losses, float)
        self.probabilities, self.actions = np.array(probabilities, float), np.array(actions)
        self.n_actions, self.seed = n_actions, remembered(seed)
        n = len(self.contexts)
        for name in ("actions", "losses", "probabilities"):
            if getattr(self, name).shape != (n,):
                raise ValueError(f"{name} must hold one value for each of {n} rounds, got {getattr(self, name).shape}")
        if self.contexts.ndim == 3 and self.contexts.shape[1] != n_actions:
            raise ValueError(f"contexts must be n x d, or n x {n_actions} x d, got shape {self.contexts.shape}")
        if (self.actions >= n_actions).any():
            raise ValueError(f"actions must be whole numbers from 0 to {n_actions - 1}, got {quoted(actions)}")
        _refuse("losses must lie in [0, 1]", self.losses, (self.losses >= 0) & (self.losses <= 1))
        inside = (self.probabilities > 0) & (self.probabilities <= 1)
        _refuse("probabilities must lie above 0 and at most at 1", self.probabilities, inside)
        _refuse("contexts must be finite", self.contexts, np.isfinite(self.contexts))
        coin = np.random.default_rng(self.seed).random(n)
        self._kept = coin * self.probabilities < self.probabilities.min()

    @property
    def n_rounds(self) -> int:
        """Rounds in the log, answered or not."""
        return len(self.contexts)

    def __len__(self) -> int:
        return self.n_rounds

    def __iter__(self) -> Iterator["LoggedRound"]:
        return map(LoggedRound, self.interactions(), self._kept)

    def interactions(self) -> Iterator[Interaction]:
        """The log itself, to learn from off-policy."""
        rows = zip(self.contexts, self.actions.tolist(), self.losses.tolist(), self.probabilities.tolist(), strict=True)
        for context, action, loss, probability in rows:
            yield Interaction(context, Decision(action, probability), loss)


class LoggedRound:
    """One logged interaction, offered to a learner that has not seen it."""

    __slots__ = ("_interaction", "_kept", "context")
    losses = None

    def __init__(self, interaction: Interaction, kept: bool) -> None:
        self.context = interaction.context
        self._interaction = interaction
        self._kept = kept

    @validated
    def reveal(self, decision: Decision) -> float | None:
        """The logged loss if the decision agrees with the log and the round is kept, else None."""
        agrees = self._kept and decision.action == self._interaction.decision.action
        return self._interaction.loss if agrees else None


def _refuse(rule: str, values: Array, good: npt.NDArray[np.bool_]) -> None:
    if not good.all():
        raise ValueError(f"{rule}, got {values[~good][0]} in round {int(np.argwhere(~good)[0][0])}")
