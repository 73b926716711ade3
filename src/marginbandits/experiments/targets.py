"""What a policy is, to those who judge it: something that has a law for every round of a log.

A learner (as it stands, or learning on the way), anything with `laws` or with `predict_proba`, a function of contexts
that gives laws or actions, one action for all rounds, a column (an action, or a law, for each round of the log), or
what only the log can tell (`log_policies`). Where rounds offer their own actions, a function is given contexts and
offers, and laws are as long as each offer.

>>> Target(1, labels=(0, 1, 2)).name
'always 1'
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.experiments.log_policies import AsLogged, Learning, place_of, sure
from marginbandits.learners.base import Learner
from marginbandits.learners.off_policy import MarginPolicy
from marginbandits.learners.warm import places_of, taught
from marginbandits.rounds import Rounds
from marginbandits.types import Action, Array
from marginbandits.validation import quoted

__all__ = ["Target"]


class Target:
    """A policy with the log's actions (`labels`; None where rounds offer their own): `laws` of rounds are n x K."""

    def __init__(
        self, policy: Any, *, labels: tuple[Action, ...] | None, progressive: bool = False, name: str = "policy"
    ) -> None:
        if isinstance(policy, Learning):
            policy, progressive = policy.learner, True
        fitted = policy
        if isinstance(policy, MarginPolicy):
            policy = policy._fitted
        self._policy, self._labels, self._argument = policy, labels, name
        self._order: list[int] | None = None
        self._at = 0
        self.guessed = False
        """Whether its laws are not known, though its weights are: the log's own policy, in a log without laws."""
        self.name = "the policy"
        if isinstance(policy, type) and issubclass(policy, Learner):
            raise ValueError(f"{name} must be a learner, got the class: make one, {policy.__name__}(…)")
        if progressive and not isinstance(policy, Learner):
            raise ValueError(f"progressive is for learners, got {quoted(policy)} as {name}")
        self._laws: Callable[[Rounds], Any] = self._told
        if isinstance(policy, Learner):
            self._admit(policy, progressive)
            self._laws = self._learning if progressive else self._asked
            self.name = self.name.replace(type(policy).__name__, type(fitted).__name__)
        elif hasattr(policy, "laws_of"):
            self.name, self._laws = policy.name, policy.laws_of
        elif callable(getattr(policy, "laws", None)):
            self.name = type(policy).__name__
        elif hasattr(policy, "predict_proba"):
            self.name, self._laws = type(policy).__name__, self._probable
        elif callable(policy):
            self.name = getattr(policy, "__name__", "the policy").replace("<lambda>", "the policy")
        elif _is_column(policy := np.asarray(policy) if hasattr(policy, "to_numpy") else policy):
            self.name, self._laws, self._policy = "the column", self._column, policy
        else:
            self._check_constant()
            self.name, self._laws = f"always {policy}", self._always

    def _check_constant(self) -> None:
        good = isinstance(self._policy, str | int | np.integer) and not isinstance(self._policy, bool)
        if good and self._labels is not None:
            none = np.empty(0)
            try:
                place_of(self._policy, Rounds(None, none.astype(np.int64), none, labels=self._labels), 0, "")
            except ValueError:
                good = False
        if not good:
            known = "that rounds offer" if self._labels is None else f"one of {quoted(self._labels)}"
            raise ValueError(
                f"{self._argument} must be a learner, a function of contexts, a column of actions, or an action "
                f"{known}, got {quoted(self._policy)}"
            )

    def _admit(self, learner: Learner, progressive: bool) -> None:
        self.name = type(learner).__name__ + ", learning" * progressive
        labels, names = self._labels, learner.actions
        if labels is None:
            if names is not None:
                raise ValueError(f"{self._argument} must have no actions of its own where rounds offer theirs")
        else:
            self._order = places_of(learner, labels, self._argument)
        if progressive:
            self._policy = copy.deepcopy(learner)

    @property
    def ordered(self) -> bool:
        """Whether it must see rounds in order, from the first on: as one that learns, or is a column, must."""
        return self._laws in (self._learning, self._column)

    def done(self) -> None:
        """All rounds were asked for: a column must end with them."""
        if self._laws == self._column and self._at != len(self._policy):
            raise ValueError(
                f"{self._argument} must have one entry for each of the log's {self._at} rounds, got {len(self._policy)}"
            )

    def laws(self, rounds: Rounds) -> Array:
        """What the policy would have done in these rounds."""
        return self._checked(self._laws(rounds), rounds)

    def weights(self, laws: Array, rounds: Rounds) -> Array:
        """How much more often it would have taken what was taken."""
        assert rounds.probabilities is not None
        if isinstance(self._policy, AsLogged) and rounds.laws is None:
            self.guessed = True
            return np.ones(len(rounds))
        return np.asarray(laws[rounds.at] / rounds.probabilities)

    def _always(self, rounds: Rounds) -> Array:
        if rounds.offers is None:
            return sure(np.full(len(rounds), place_of(self._policy, rounds, 0, self._argument)), rounds.n_actions)
        places = [place_of(self._policy, rounds, i, self._argument) for i in range(len(rounds))]
        return sure(np.array(places, np.int64), rounds.n_actions)

    def _column(self, rounds: Rounds) -> Array:
        found = self._read(self._policy[self._at : self._at + len(rounds)], rounds)
        self._at += len(rounds)
        return found

    def _asked(self, rounds: Rounds) -> Any:
        if rounds.offers is not None:
            return _padded(self._policy.laws(rounds.contexts, actions=list(rounds.offers)), rounds)
        masks = rounds.available
        if masks is not None and self._order is not None:
            masks = masks[:, np.argsort(self._order)]
        found = np.asarray(self._policy.laws(rounds.contexts, available=None if masks is None else list(masks)))
        return found if self._order is None else found[:, self._order]

    def _learning(self, rounds: Rounds) -> Array:
        """Each round's law before it learns that round."""
        if rounds.probabilities is None:
            raise ValueError("progressive needs a log with probabilities")
        found = np.empty((len(rounds), rounds.n_actions))
        for i in range(len(rounds)):
            one = rounds.take(np.array([i]))
            law = np.asarray(self._asked(one))
            found[i] = np.pad(law[0], (0, rounds.n_actions - law.shape[1]))
            taught(self._policy, one)
        return found

    def _probable(self, rounds: Rounds) -> Array:
        found = np.zeros((len(rounds), rounds.n_actions))
        places = [place_of(one, rounds, 0, self._argument) for one in self._policy.classes_.tolist()]
        found[:, places] = self._policy.predict_proba(rounds.contexts)
        return found

    def _told(self, rounds: Rounds) -> Array:
        function = getattr(self._policy, "laws", self._policy)
        given = (rounds.contexts,) if rounds.offers is None else (rounds.contexts, rounds.offers)
        try:
            found = function(*given)
        except Exception as error:
            error.add_note(f"{self._argument} is called with the contexts of {len(rounds):,} rounds, not of one")
            raise
        return self._read(found, rounds)

    def _read(self, given: Any, rounds: Rounds) -> Array:
        """Laws as they are, or actions as laws that are sure."""
        ragged = rounds.offers is not None and len(given) and not isinstance(given[0], str) and np.ndim(given[0]) == 1
        if ragged:
            return _padded(given, rounds)
        array = np.asarray(given)
        if array.ndim == 2:
            return np.asarray(array, float)
        if array.shape != (len(rounds),):
            raise ValueError(
                f"{self._argument} must give laws or actions of {len(rounds)} rounds from {rounds.where(0)}, "
                f"got shape {array.shape}"
            )
        K = rounds.n_actions
        if array.dtype.kind in "iu" and rounds.labels == tuple(range(K)):
            wrong = (array < 0) | (array >= K)
            if wrong.any():
                raise ValueError(f"{self._argument} must take actions from 0 to {K - 1}, got {array[wrong][0]}")
            return sure(array.astype(np.int64), K)
        places = [place_of(one, rounds, i, self._argument) for i, one in enumerate(array.tolist())]
        return sure(np.array(places, np.int64), K)

    def _checked(self, laws: Array, rounds: Rounds) -> Array:
        shape = len(rounds), rounds.n_actions
        if laws.shape != shape:
            raise ValueError(f"{self._argument} must give laws of shape {shape}, got {laws.shape}")
        good = (laws >= 0.0).all(1) & (np.abs(laws.sum(1) - 1.0) <= (1e-6 if laws is not rounds.laws else 1e-3))
        if not good.all():
            bad = int(np.argmin(good))
            raise ValueError(
                f"{self._argument} must give probabilities that sum to 1, got {quoted(laws[bad])} in "
                f"{rounds.where(bad)}"
            )
        there: npt.NDArray[np.bool_] | None = rounds.there
        if there is not None:
            stray = (laws * ~there).max(1) > 1e-9
            if stray.any():
                bad = int(np.argmax(stray))
                raise ValueError(
                    f"{self._argument} must take only what is available, got {quoted(laws[bad])} in "
                    f"{rounds.where(bad)}, where {quoted(np.flatnonzero(there[bad]))} are"
                )
        return laws


def _is_column(given: Any) -> bool:
    """Whether it is a list of actions or of laws, or an array of as many dimensions."""
    if isinstance(given, np.ndarray):
        return given.ndim in (1, 2) and not np.ma.is_masked(given)
    if not isinstance(given, list | tuple):
        return False
    laws = (one if isinstance(one, list | tuple) else () for one in given)
    return all(isinstance(one, str | int | np.integer | np.ndarray | list | tuple) for one in given) and all(
        isinstance(share, int | float | np.number) for law in laws for share in law
    )


def _padded(several: Any, rounds: Rounds) -> Array:
    K = rounds.n_actions
    return np.stack([np.pad(np.asarray(one, float), (0, max(K - len(one), 0))) for one in several])
