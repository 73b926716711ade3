"""Ensembles of networks on sparse rows: an embedding bag before the first layer, and a replay of what rows fill.

The rows kept are the latest, at most `memory`, in room for `FILLED` columns of each on average: where texts are longer,
fewer are kept. A step looks at a minibatch of them, as that of any ensemble does; what it says of the networks' first
layer goes on to the rows of the table that these rounds fill, and no others are touched.

See `scores.bags` for the table, `oracles.ensembles` for the rest.

>>> from marginbandits.contexts import as_sparse
>>> from marginbandits.scores import Networks
>>> told = BaggedEnsemble(Networks(n_networks=2, width=8, minibatch=16, bag=4), n_features=1000, n_outputs=2, seed=0)
>>> left, right = (as_sparse(np.eye(1, 1000, k)) for k in (3, 900))
>>> for _ in range(100):
...     for a, losses in ((0, (0.0, 1.0)), (1, (1.0, 0.0))):
...         told.learn(left, a, losses[0])
...         told.learn(right, a, losses[1])
>>> np.sign(told.scores(left).mean(0)), np.sign(told.scores(right).mean(0))
(array([[ 1., -1.]], dtype=float32), array([[-1.,  1.]], dtype=float32))
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import Rows, Sparse
from marginbandits.oracles.ensembles import FARTHEST, Ensemble
from marginbandits.oracles.latest import FILLED, make_way
from marginbandits.scores.bags import adagrad, pooled, scattered
from marginbandits.state import COUNT, Field, zeros

__all__ = ["BaggedEnsemble"]

Small = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

PACE = 300.0
"""The rate of the table, over that of the networks."""
BIAS = 0.3
"""The deviation of what hidden biases begin as: with a table of 0 and no biases no slope would ever reach the table."""
_FIRST, _HELD, _SEEN = range(3)


class BaggedEnsemble(Ensemble):
    """Networks, the table that they share, and the latest rounds: 4·(bag + 1) bytes a column that was ever filled."""

    def _make_room(self, n_features: int) -> int:
        bag, memory = self.recipe.bag, self.recipe.memory
        assert bag is not None
        self.table: Small = zeros((n_features, bag), np.float32)
        self.squares: Small = zeros((n_features,), np.float32)
        room = max(FILLED * memory, n_features)  # for one round at least
        self.values: Small = zeros((room,), np.float32)
        self.columns = zeros((room,), np.int64)
        self.places = zeros((memory, 2), np.int64)  # of each round its first place there, and how many
        self.ring = np.zeros(3, np.int64)  # which round is the oldest, how many are kept, how many were
        return memory

    @property
    def _by_round(self) -> tuple[npt.NDArray[Any], ...]:
        return self.places, self.actions, self.losses, self.counted

    def begin(self) -> None:
        """Nothing learnt: networks as they are drawn, and a table of nothing."""
        super().begin()
        used, chance = self.squares > 0.0, self._chance(COUNT + 1)  # no round is that far
        self.table[used], self.squares[used], self.ring[:] = 0.0, 0.0, 0
        for _, biases in self.shape.layers(self._now.to_change()[0])[:-1]:
            biases[...] = BIAS * chance.standard_normal(biases.shape, np.float32)

    @property
    def held(self) -> int:
        """How many are kept."""
        return int(self.ring[_HELD])

    def _any(self, chance: np.random.Generator, n: int) -> Places:
        return self._latest(chance.integers(self.held, size=n))

    def _seen(self, rows: Rows) -> Small:
        assert isinstance(rows, Sparse)
        values = np.clip(rows.values, -FARTHEST, FARTHEST).astype(np.float32)
        return np.asarray(pooled(values, rows.columns, rows.starts, self.table))

    def _put(self, row: Rows, at: int) -> None:
        assert isinstance(row, Sparse)
        n, keep = len(row.values), self.journal.keep
        keep(self.ring)
        place, start = make_way(self.ring, self.places, n, len(self.values))
        assert place == at
        where = slice(start, start + n)
        keep(self.values, where)
        keep(self.columns, where)
        self.values[where], self.columns[where] = np.clip(row.values, -FARTHEST, FARTHEST), row.columns
        self.places[at] = start, n

    def _entries(self, some: Places) -> tuple[Small, Places, Places]:
        """What these rounds fill: values, columns, and where each begins."""
        first, lengths = self.places[some].T
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(first - starts[:-1], lengths) + np.arange(starts[-1])
        return self.values[at], self.columns[at], starts

    def _read(self, some: Places) -> Small:
        return np.asarray(pooled(*self._entries(some), self.table))

    def _gradient(self, chosen: Places) -> Any:
        """That of the networks; the table has moved by then."""
        gradient = super()._gradient(chosen)
        assert self._room is not None
        values, columns, starts = self._entries(chosen)
        filled, places = np.unique(columns, return_inverse=True)
        slopes = self.shape.inward(self._now.there()[0], self._room)
        self.journal.keep(self.table, filled)
        self.journal.keep(self.squares, filled)
        own = scattered(values, places, starts, slopes, len(filled))
        if not adagrad(self.table, self.squares, filled, own, PACE * self.recipe.rate):
            self._refuse()
        return gradient

    def keep_all(self) -> None:
        """Put everything into the journal: of columns that were never filled only that there is nothing."""
        used = self.squares > 0.0
        for array in (self.table, self.squares):
            self.journal.keep(array, used)
            self.journal.keep_none(array, ~used)
        for name, field in self.fields().items():
            if name not in ("table", "squares"):
                self.journal.keep(field.array)

    def _adopt(self, before: Ensemble, places: Places) -> None:
        """The networks with the scores of the actions that remain, their table, and the rounds that played these."""
        assert isinstance(before, BaggedEnsemble)
        super()._adopt(before, places)
        self.table[...], self.squares[...] = before.table, before.squares

    def _move_rows(self, before: Ensemble, order: Places) -> None:
        assert isinstance(before, BaggedEnsemble)
        values, columns, starts = before._entries(order)
        rows = Sparse(values.astype(float), columns, starts, len(self.table))
        for at in range(len(order)):
            self._put(rows.take(np.array([at])), at)

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        room = len(self.values)
        return {
            **self._fields(),
            "table": Field(self.table),
            "squares": Field(self.squares, 0.0),
            "values": Field(self.values, -FARTHEST, FARTHEST),
            "columns": Field(self.columns, 0, len(self.table) - 1),
            "places": Field(self.places, 0, room),
            "ring": Field(self.ring, 0, COUNT),
        }

    def check(self) -> None:
        """Rounds are within what is kept, and what was never filled is 0."""
        super().check()
        first, held, seen = self.ring.tolist()
        memory = len(self.places)
        if (self.places.sum(1) > len(self.values)).any():
            raise ValueError("places must be within what is kept")
        if first >= memory or held > min(memory, seen) or (first + held - self.place) % memory:
            raise ValueError("ring must be of rounds that are kept")
        if self.places[self._latest(np.arange(held)), 1].sum() > len(self.values):
            raise ValueError("places must leave each round kept its own")
        if self.table[self.squares == 0.0].any():
            raise ValueError("table must be 0 where squares are")
