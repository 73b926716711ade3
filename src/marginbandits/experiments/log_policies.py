"""Policies that only a log can tell: what it did, what a column of it says, pure chance, a learner taught by it.

All but the last have `laws_of(rounds)`, n x K. `mb.evaluate` takes them as any other policy; commands build them from
words (`policy_words`).

>>> few = Rounds(None, np.array([0, 1]), np.zeros(2), np.full(2, 0.5), labels=("a", "b"), beside={"new": ["b", "b"]})
>>> Column("new").laws_of(few)
array([[0., 1.],
       [0., 1.]])
>>> AtRandom().laws_of(few)
array([[0.5, 0.5],
       [0.5, 0.5]])
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.learners.base import Learner
from marginbandits.rounds import Rounds
from marginbandits.types import Array
from marginbandits.validation import quoted

__all__ = ["AsLogged", "AtRandom", "Column", "Learning", "place_of", "sure"]


class AtRandom:
    """Every action that a round has, alike."""

    name = "a uniform draw"

    def laws_of(self, rounds: Rounds) -> Array:
        """1/K of each."""
        there = rounds.there
        shape = np.ones((len(rounds), rounds.n_actions)) if there is None else there.astype(float)
        return np.asarray(shape / shape.sum(1, keepdims=True))


class AsLogged:
    """The policy that wrote the log: by its laws where the log has them, and otherwise by what it took.

    Where it has none, every round counts once, and the value is the mean outcome.
    """

    name = "the log's own policy"

    def laws_of(self, rounds: Rounds) -> Array:
        """Those of the log; what was taken, where there are none."""
        return sure(rounds.actions, rounds.n_actions) if rounds.laws is None else rounds.laws


class Learning:
    """A learner that learns from the log as it goes: each round's law before that round."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner


class Column:
    """The action in a column of the log, which must be read along: `read_log(…, beside=["…"])`."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.name = f"column {column!r}"

    def laws_of(self, rounds: Rounds) -> Array:
        """One action a round."""
        if rounds.beside is None or self.column not in rounds.beside:
            known = list(rounds.beside or ())
            raise ValueError(
                f"column {self.column!r} must be read along, as read_log(…, beside=[{self.column!r}]) does; "
                f"there are {quoted(known)}"
            )
        cells = rounds.beside[self.column]
        places = [place_of(cell, rounds, i, self.name) for i, cell in enumerate(cells)]
        return sure(np.array(places, np.int64), rounds.n_actions)


def sure(places: npt.NDArray[np.int64], n_actions: int) -> Array:
    """Laws of one action each."""
    found = np.zeros((len(places), n_actions))
    found[np.arange(len(places)), places] = 1.0
    return found


def place_of(action: Any, rounds: Rounds, i: int, whose: str) -> int:
    """Where an action stands among the log's, or among what its round offers: by label, or by number from 0."""
    names = rounds.labels or () if rounds.offers is None else rounds.offers[i]
    if isinstance(action, np.generic):
        action = action.item()
    known: list[Any] = list(names)
    if isinstance(action, str | int) and not isinstance(action, bool):
        if action in known:
            return known.index(action)
        words = [str(one) for one in known]
        if isinstance(action, str) and action in words:  # as text files have it
            return words.index(action)
        if isinstance(action, int) and 0 <= action < len(known) and not any(isinstance(one, int) for one in known):
            return action
    where = f" in {rounds.where(i)}, which offers {quoted(known)}" if rounds.offers is not None else ""
    told = f"one of {quoted(tuple(known))}" if rounds.offers is None else "one that is offered"
    raise ValueError(f"{whose} must take {told}, got {quoted(action)}{where}")
