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

__all__ = ["Always", "AsLogged", "AtRandom", "Column", "Learning", "place_of", "sure"]


OTHERWISE = {"uniform": "a uniform draw", "first": "the first"}
"""What may be done where an action is not there, and what that is called."""


class AtRandom:
    """Every action that a round has, alike."""

    name = "a uniform draw"

    def laws_of(self, rounds: Rounds) -> Array:
        """1/K of each."""
        there = rounds.there
        shape = np.ones((len(rounds), rounds.n_actions)) if there is None else there.astype(float)
        return np.asarray(shape / shape.sum(1, keepdims=True))


class Always:
    """One action, in every round; where a round does not have it, `otherwise`: uniform, or the first that it has.

    >>> offers = [{"a": {}, "b": {}}, {"c": {}, "d": {}}]
    >>> few = Rounds(None, np.array([0, 0]), np.zeros(2), np.full(2, 0.5), offers=offers)
    >>> Always("b", "uniform").laws_of(few)
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    def __init__(self, action: Any, otherwise: str = "") -> None:
        if otherwise not in ("", *OTHERWISE):
            raise ValueError(f"policy always:{action},else= takes {' or '.join(OTHERWISE)}, got {quoted(otherwise)}")
        self.action, self.otherwise = action, otherwise
        self.name = f"always {action}" + (f", {OTHERWISE[otherwise]} where it is not offered" if otherwise else "")

    def laws_of(self, rounds: Rounds) -> Array:
        """It alone, where it is there; else what is said, and an error if nothing is."""
        places, there = self._places(rounds), rounds.there
        has = places >= 0
        if self.otherwise and there is not None:
            has &= there[np.arange(len(rounds)), np.maximum(places, 0)]
        if not self.otherwise and not has.all():
            i = int(np.argmin(has))
            offers = f"{rounds.where(i)} offers {quoted(_names(rounds, i))}"
            mend = f"say always:{self.action},else=uniform, or else=first, for rounds that do not offer it"
            raise ValueError(f"policy always:{self.action}: {offers}; {mend}")
        laws = AtRandom().laws_of(rounds)
        if self.otherwise == "first":
            laws = sure(np.argmax(laws > 0.0, 1), rounds.n_actions)
        laws[has] = sure(places[has], rounds.n_actions)
        return laws

    def _places(self, rounds: Rounds) -> npt.NDArray[np.int64]:
        """Where it stands in each round; -1 where it does not."""
        which = range(len(rounds)) if rounds.offers is not None else range(1)
        names = ([str(one) for one in _names(rounds, i)] for i in which)
        own = str(self.action)
        found = np.array([one.index(own) if own in one else -1 for one in names], np.int64)
        return found if rounds.offers is not None else np.repeat(found, len(rounds))


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


def _names(rounds: Rounds, i: int) -> list[Any]:
    """What a round can be played by."""
    return list(rounds.labels or () if rounds.offers is None else rounds.offers[i])


def place_of(action: Any, rounds: Rounds, i: int, whose: str) -> int:
    """Where an action stands among the log's, or among what its round offers: by label, or by number from 0."""
    if isinstance(action, np.generic):
        action = action.item()
    known = _names(rounds, i)
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
