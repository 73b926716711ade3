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

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits.arrays import Integers, Numbers
from marginbandits.parametrised import Parametrised
from marginbandits.ranges import MaybeRange, as_losses, one_range
from marginbandits.rounds import refuse_rounds
from marginbandits.sound import sound
from marginbandits.types import Decision, Interaction
from marginbandits.validation import ActionCount, Constraint, Instance, OneOf, Seed, remembered, validated

__all__ = ["Logged"]


class _Rows(Constraint):
    """A SciPy sparse matrix, or a list of mappings: what is no array."""

    def __str__(self) -> str:
        return "a SciPy sparse matrix of a row for each round, or a list of mappings"

    def clean(self, value: object) -> object:
        """As it is."""
        named = isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
        if named or (scipy.sparse.issparse(value) and value.ndim == 2 and value.dtype.kind in "biuf"):  # type: ignore[attr-defined]  # it is a matrix
            return value
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        """Lists of nothing, or of something else."""
        yield from ([], [{}, 1], "rows", None)


Column = Annotated[npt.ArrayLike, Numbers(1, finite=False, booleans=True)]
MaybeColumn = Annotated[npt.ArrayLike | None, OneOf(Numbers(1, finite=False, booleans=True), Instance(type(None)))]
Contexts = Annotated[Any, OneOf(Numbers(2, 3, finite=False, booleans=True), _Rows())]


class Logged(Parametrised):
    """A log of T rounds; the losses of actions not taken are unknown, so there is no regret, only progressive loss.

    Give `losses` or `rewards`, in [0, 1] or in a declared range; contexts may be sparse, or names and values.
    """

    @validated
    def __init__(
        self,
        contexts: Contexts,
        actions: Annotated[npt.ArrayLike, Integers(1, low=0)],
        losses: MaybeColumn = None,
        probabilities: MaybeColumn = None,
        *,
        n_actions: ActionCount,
        rewards: MaybeColumn = None,
        reward_range: MaybeRange = None,
        loss_range: MaybeRange = None,
        seed: Seed = None,
    ) -> None:
        if (losses is None) == (rewards is None):
            raise ValueError(
                "give either losses or rewards, got both" if rewards is not None else "give losses or rewards"
            )
        if probabilities is None:
            raise ValueError("probabilities must be given: without them replay cannot be fair to other policies")
        within = one_range(reward_range, loss_range)
        if within is not None and (reward_range is None) != (rewards is None):
            raise ValueError(f"give rewards with reward_range, losses with loss_range, got {within}")
        given = np.array(losses if rewards is None else rewards, float)
        self.losses, self.rewards = as_losses(given, within, rewards=rewards is not None), None
        self.reward_range, self.loss_range = None, None  # what is kept are losses
        self.probabilities, self.actions = np.array(probabilities, float), np.array(actions)
        self.n_actions, self.seed = n_actions, remembered(seed)
        if isinstance(contexts, np.ndarray) and contexts.ndim == 3 and contexts.shape[1] != n_actions:
            raise ValueError(f"contexts must be n x d, or n x {n_actions} x d, got shape {contexts.shape}")
        refuse_rounds(contexts, self.actions, self.losses, self.probabilities, n_actions)
        self.contexts = _copied(contexts)
        coin = np.random.default_rng(self.seed).random(len(self.actions))
        self._kept = coin * self.probabilities < self.probabilities.min()

    @property
    def n_rounds(self) -> int:
        """Rounds in the log, answered or not."""
        return len(self.actions)

    def __len__(self) -> int:
        return self.n_rounds

    def __iter__(self) -> Iterator["LoggedRound"]:
        return map(LoggedRound, self.interactions(), self._kept)

    def interactions(self) -> Iterator[Interaction]:
        """The log itself, to learn from off-policy."""
        contexts = self.contexts
        each = (contexts[[i]] for i in range(self.n_rounds)) if scipy.sparse.issparse(contexts) else contexts
        rows = zip(each, self.actions.tolist(), self.losses.tolist(), self.probabilities.tolist(), strict=True)
        for context, action, loss, probability in rows:
            yield Interaction(context, Decision(action, probability), loss)


def _copied(contexts: Any) -> Any:
    if scipy.sparse.issparse(contexts):
        return scipy.sparse.csr_array(sound(contexts, "contexts"), dtype=float, copy=True)
    return list(contexts) if isinstance(contexts, list) else np.array(contexts, float)


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
