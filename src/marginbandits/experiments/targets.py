"""What a policy is, to those who judge it: something that has a law for every round of a log.

A learner (as it stands, or learning on the way), anything with `laws` or with `predict_proba`, a function of contexts
that gives laws or actions, one action for all rounds, or a column: an action, or a law, for each round of the log.

>>> Target(1, n_actions=3, labels=None).name
'always 1'
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.experiments.log_chunks import Chunk
from marginbandits.learners.base import Learner
from marginbandits.types import Action, Array, Decision
from marginbandits.validation import quoted

__all__ = ["Target"]


class Target:
    """A policy with the log's actions: `laws` of a chunk are n x K, checked."""

    def __init__(
        self,
        policy: Any,
        *,
        n_actions: int,
        labels: Sequence[Action] | None,
        progressive: bool = False,
        name: str = "policy",
    ) -> None:
        self._n_actions, self._labels, self._argument = n_actions, labels, name
        self._order: list[int] | None = None
        self._policy, self.name = policy, "the policy"
        self._column: npt.NDArray[Any] | None = None
        self._constant: int | None = None
        self._progressive = progressive
        if progressive and not isinstance(policy, Learner):
            raise ValueError(f"progressive is for learners, got {quoted(policy)} as {name}")
        if isinstance(policy, Learner):
            self._admit(policy)
        elif hasattr(policy, "laws") or hasattr(policy, "predict_proba"):
            self.name = type(policy).__name__
        elif callable(policy):
            self.name = getattr(policy, "__name__", "the policy").replace("<lambda>", "the policy")
        elif isinstance(policy, list | tuple | np.ndarray) or hasattr(policy, "to_numpy"):
            self._column, self.name = np.asarray(policy), "the column"
        else:
            self._constant = self._place(policy)
            self.name = f"always {policy}"

    def _admit(self, learner: Learner) -> None:
        self.name = type(learner).__name__
        names = learner.actions
        if names is not None and self._labels is not None:
            if set(names) != set(self._labels):
                raise ValueError(
                    f"{self._argument} must have the log's actions {quoted(tuple(self._labels))}, got {quoted(names)}"
                )
            self._order = [list(names).index(one) for one in self._labels]
        elif learner.n_actions != self._n_actions:
            raise ValueError(
                f"{self._argument} must have the log's {self._n_actions} actions, got {learner.n_actions} of them"
            )
        if self._progressive:
            if learner.reward_range is not None or learner.loss_range is not None:
                raise ValueError(
                    "progressive needs a learner whose losses are the log's, got one with a range of its own"
                )
            self._policy = copy.deepcopy(learner)
            self.name += ", learning"

    def laws(self, chunk: Chunk) -> Array:
        """What the policy would have done in these rounds."""
        if self._constant is not None:
            found = self._hot(np.full(len(chunk), self._constant))
        elif self._column is not None:
            found = self._read(self._column[chunk.start : chunk.start + len(chunk)], chunk)
        elif self._progressive:
            found = self._learning(chunk)
        elif isinstance(self._policy, Learner):
            found = self._asked(chunk)
        elif hasattr(self._policy, "laws"):
            found = self._read(self._policy.laws(chunk.contexts), chunk)
        elif hasattr(self._policy, "predict_proba"):
            found = self._probable(chunk)
        else:
            found = self._read(self._policy(chunk.contexts), chunk)
        return self._checked(found, chunk)

    def _asked(self, chunk: Chunk) -> Array:
        if chunk.offers is not None:
            several = self._policy.laws(chunk.contexts, actions=list(chunk.offers))
            return np.stack([np.pad(one, (0, self._n_actions - len(one))) for one in several])
        available = None if chunk.available is None else list(self._to_learner(chunk.available))
        return self._from_learner(np.asarray(self._policy.laws(chunk.contexts, available=available)))

    def _learning(self, chunk: Chunk) -> Array:
        """Each round's law before it learns that round."""
        if chunk.offers is not None or chunk.probabilities is None:
            raise ValueError("progressive needs actions that stay the same, and probabilities")
        found, names = np.empty((len(chunk), self._n_actions)), self._policy.actions
        masks = None if chunk.available is None else self._to_learner(chunk.available)
        for i in range(len(chunk)):
            context, mask = chunk.contexts[i], None if masks is None else masks[i]
            found[i] = self._policy.law(context, available=mask)
            place = int(chunk.actions[i])
            taken = place if names is None else names[place] if self._labels is None else self._labels[place]
            decision = Decision(taken, float(chunk.probabilities[i]))
            self._policy.learn(context, decision, float(chunk.losses[i]), available=mask)
        return self._from_learner(found)

    def _from_learner(self, laws: Array) -> Array:
        return laws if self._order is None else laws[:, self._order]

    def _to_learner(self, masks: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return masks if self._order is None else masks[:, np.argsort(self._order)]

    def _probable(self, chunk: Chunk) -> Array:
        found = np.zeros((len(chunk), self._n_actions))
        found[:, [self._place(one) for one in self._policy.classes_.tolist()]] = self._policy.predict_proba(
            chunk.contexts
        )
        return found

    def _read(self, given: Any, chunk: Chunk) -> Array:
        """Laws as they are, or actions as laws that are sure."""
        array = np.asarray(given)
        if array.ndim == 2:
            return np.asarray(array, float)
        if array.shape != (len(chunk),):
            raise ValueError(
                f"{self._argument} must give laws or actions of {len(chunk)} rounds from round {chunk.start}, "
                f"got shape {array.shape}"
            )
        if self._labels is None and array.dtype.kind in "iu":
            return self._hot(array.astype(np.int64))
        return self._hot(np.array([self._place(one) for one in array.tolist()], np.int64))

    def _place(self, action: Any) -> int:
        """A label of the log, or a number from 0."""
        if self._labels is not None and isinstance(action, str | int) and action in self._labels:
            return list(self._labels).index(action)
        whole = isinstance(action, int | np.integer) and not isinstance(action, bool)
        if whole and 0 <= action < self._n_actions and (self._labels is None or not _numbered(self._labels)):
            return int(action)
        known = f"one of {quoted(tuple(self._labels))}" if self._labels else f"from 0 to {self._n_actions - 1}"
        raise ValueError(
            f"{self._argument} must be a learner, a function of contexts, a column of actions, or an action {known}, "
            f"got {quoted(action)}"
        )

    def _hot(self, places: npt.NDArray[np.int64]) -> Array:
        wrong = (places < 0) | (places >= self._n_actions)
        if wrong.any():
            raise ValueError(
                f"{self._argument} must take actions from 0 to {self._n_actions - 1}, got {places[wrong][0]}"
            )
        found = np.zeros((len(places), self._n_actions))
        found[np.arange(len(places)), places] = 1.0
        return found

    def _checked(self, laws: Array, chunk: Chunk) -> Array:
        if laws.shape != (len(chunk), self._n_actions):
            raise ValueError(
                f"{self._argument} must give laws of shape {(len(chunk), self._n_actions)}, got {laws.shape}"
            )
        good = (laws >= 0.0).all(1) & (np.abs(laws.sum(1) - 1.0) <= 1e-6)
        if not good.all():
            bad = int(np.argmin(good))
            raise ValueError(
                f"{self._argument} must give probabilities that sum to 1, got {quoted(laws[bad])} in round "
                f"{chunk.start + bad}"
            )
        if chunk.available is not None:
            stray = (laws * ~chunk.available).max(1) > 1e-9
            if stray.any():
                bad = int(np.argmax(stray))
                raise ValueError(
                    f"{self._argument} must take only what is available, got {quoted(laws[bad])} in round "
                    f"{chunk.start + bad}, where {quoted(np.flatnonzero(chunk.available[bad]))} are"
                )
        return laws


def _numbered(labels: Sequence[Action]) -> bool:
    """Whether labels are numbers themselves: then a number is a label, not a place."""
    return any(isinstance(one, int) for one in labels)
