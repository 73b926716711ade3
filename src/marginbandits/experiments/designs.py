"""What a model of the outcome sees of a round: a row of numbers for its context, or one for each of its actions.

    numbers, sparse rows    the columns themselves; n x K x d has a row for each action
    names and values        what a `Table` reads (`features.entries`), each entry at its hash among 2^10 columns with a
                            sign drawn by it; only columns that are filled cost anything
    offers                  the same, of each action's own features, those of the context, and the products of both

Every row begins with a 1. Columns are counted from the means of the first rounds and over their deviations, so that
sums of products keep their digits; whoever adds up files apart begins all of them with the same first rounds.

>>> design = Design()
>>> some = Rounds([{"age": 31, "land": "DE"}, {"age": 47, "land": "FR"}], np.array([0, 1]), np.zeros(2), labels=(0, 1))
>>> design.rows(some).shape, design.together
((2, 4), False)
"""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits.contexts import Sparse
from marginbandits.features import Table
from marginbandits.learners.offers import INTERACTIONS, Offered
from marginbandits.rounds import Rounds
from marginbandits.types import Array

__all__ = ["Design"]

BITS = 10
"""Names and values have at most 2^BITS columns."""
WIDEST = 5000
"""Columns of sparse contexts that are made dense."""


class Design:
    """Rows of rounds, all of one kind: the first settle which."""

    def __init__(self) -> None:
        self.together = self.named = self._began = False
        self._centre = self._scale = np.empty(0)
        self._place = np.full(2**BITS, -1)
        self.hashes: list[int] = []
        self._table = Table(interactions=INTERACTIONS)

    @property
    def width(self) -> int:
        """Columns so far, the 1 included."""
        return 1 + (len(self.hashes) if self.named else len(self._centre))

    def begin(self, rounds: Rounds) -> "Design":
        """Settle the kind by these rounds, unless it is settled."""
        if not self._began:
            self.together = rounds.offers is not None or getattr(rounds.contexts, "ndim", 2) == 3
            self.named = rounds.offers is not None or isinstance(rounds.contexts, list)
            flat = self.flat(rounds, every=True)
            spread = flat.std(0)
            self._centre, self._scale = flat.mean(0), np.where(spread > 0.0, spread, 1.0)
            self._began = True
        return self

    def twin(self) -> "Design":
        """Another that has begun alike."""
        return copy.deepcopy(self)

    def rows(self, rounds: Rounds) -> Array:
        """One for each round: of its context, or of the action it took."""
        return self._standard(self.begin(rounds).flat(rounds, every=False))

    def every(self, rounds: Rounds) -> Array:
        """The rows of all actions, round by round, where they have their own; else as `rows`."""
        return self._standard(self.begin(rounds).flat(rounds, every=True))

    def places(self, other: "Design") -> npt.NDArray[np.int64]:
        """Where the columns of another stand here; new ones are added."""
        if not self.named:
            return np.arange(self.width)
        self._admit(np.array(other.hashes, np.int64))
        return np.concatenate([[0], 1 + self._place[other.hashes]]).astype(np.int64)

    def _standard(self, flat: Array) -> Array:
        d, known = flat.shape[1], len(self._centre)
        if self._began and not self.named and d != known:
            raise ValueError(f"contexts must have {known} columns as before, got {d}")
        Z = np.empty((len(flat), d + 1))
        Z[:, 0] = 1.0
        np.subtract(flat[:, :known], self._centre, out=Z[:, 1 : known + 1])
        Z[:, 1 : known + 1] /= self._scale
        Z[:, known + 1 :] = flat[:, known:]
        return Z

    def flat(self, rounds: Rounds, *, every: bool) -> Array:
        """The rows as they are: neither standard nor with a 1."""
        contexts = rounds.contexts
        if (rounds.offers is not None) != (self.together and self.named):
            raise ValueError("all rounds must offer actions of their own, or none, as those before them")
        if rounds.offers is not None:
            given = [None] * len(rounds) if contexts is None else contexts
            several = [Offered(one, offer).rows() for one, offer in zip(given, rounds.offers, strict=True)]
            if not every:
                several = [[own[int(a)]] for own, a in zip(several, rounds.actions, strict=True)]
            return self._hashed([row for own in several for row in own])
        if isinstance(contexts, list) != self.named:
            raise ValueError("contexts must be all numbers, or all names and values, as those before them")
        if isinstance(contexts, list):
            return self._hashed([one or {} for one in contexts])
        if contexts is None:
            return np.empty((len(rounds), 0))
        if scipy.sparse.issparse(contexts):
            if contexts.shape[1] > WIDEST:
                raise ValueError(
                    f"a model of {contexts.shape[1]} sparse columns must be your own: give model, or method 'snips'"
                )
            return np.asarray(contexts.toarray(), float)
        if self.together:
            return np.asarray(contexts.reshape(-1, contexts.shape[-1]) if every else contexts[rounds.at], float)
        return np.asarray(contexts, float)

    def _hashed(self, mappings: list[Any]) -> Array:
        read: Sparse = self._table._codes(mappings)
        column = (read.columns >> 1) & (2**BITS - 1)
        sign = np.where((read.columns & 1 == 1) | ((read.columns >> 32) & 1 == 1), 1.0, -1.0)
        self._admit(column)
        out = np.zeros((len(mappings), len(self.hashes)))
        row = np.repeat(np.arange(len(mappings)), np.diff(read.starts))
        np.add.at(out, (row, self._place[column]), sign * read.values)
        return out

    def _admit(self, columns: npt.NDArray[np.int64]) -> None:
        fresh = columns[self._place[columns] < 0]
        for one in dict.fromkeys(fresh.tolist()):
            self._place[one] = len(self.hashes)
            self.hashes.append(one)
