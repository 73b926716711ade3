"""Trees as an expert: extremely randomised trees of the reward, fitted anew whenever there is enough more to learn.

Every block (an action, or one for all) keeps up to `memory` of its rounds, and has a forest of its own. It is fitted
when there are `growth` times the rounds it was last fitted to, so T rounds fit O(log T) forests of each action, and all
of them together cost a small multiple of the last. Between fits rounds are only put by. Where there are more than
`memory` at a fit, as many are drawn from them at random, so what was seen long ago fades.

A forest is never saved: it is a function of the rounds it was fitted to, which are, and is fitted to them again.

In the background, no round waits for a fit: it is made in a thread, of a copy of the rounds, while the forest before it
goes on predicting, and takes its place at the first round that is learnt after it is done. When that is depends on the
machine, so the same seed is no longer the same run.

Trees do not say how far off they may be, so a mixture lends them the width of the others.

See `oracles.extra_trees` for how trees are grown.

>>> import numpy as np
>>> from marginbandits.contexts import per_action
>>> expert = TreesExpert(n_trees=10)._start(n_blocks=1, n_features=1)
>>> for x in [0.0, 1.0, 2.0] * 10:
...     _ = expert._learn(per_action(np.array([[x]]), 1), 0, loss=float(x != 1.0))
>>> expert._predict(per_action(np.array([[0.0], [1.0], [2.0]]), 1))
array([0., 1., 0.])
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import Batch, dense
from marginbandits.experts.expert import Expert
from marginbandits.features import Identity, Maps
from marginbandits.later import Later
from marginbandits.oracles.extra_trees import Forest, grow, joined, walk
from marginbandits.state import COUNT, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["TreesExpert"]

Small = npt.NDArray[np.float32]

FIRST = 8
"""Rounds of a block before its first fit."""
_ROOM = 2**28
"""Numbers that the rows of all blocks may take; where `memory` for each would be more, it is less."""


class TreesExpert(Expert):
    """`n_trees` a block, each node looking at `n_columns` columns drawn at random, from up to `memory` rounds.

    Takes 4·growth·n_blocks·memory·n_features bytes once all are filled, and about 1 GiB at most: `memory` is less where
    there are so many blocks and columns. The round that fits a forest takes as long as that; `growth` says how often.
    With `background` none does, but runs are no longer repeatable: fits are made in threads while rounds go on.
    """

    scaled = False

    @validated
    def __init__(
        self,
        *,
        n_trees: Annotated[int, Integer(1, 10_000)] = 60,
        n_columns: Annotated[int, Integer(1)] = 64,
        growth: Annotated[float, Real(above=1, high=100)] = 1.4,
        memory: Annotated[int, Integer(FIRST, 10**7)] = 10_000,
        background: bool = False,
        features: Maps = Identity(),  # noqa: B008  # a recipe, never changed
    ) -> None:
        self.n_trees = n_trees
        self.n_columns = n_columns
        self.growth = growth
        self.memory = memory
        self.background = background
        self.features = features

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._most = max(FIRST, min(self.memory, int(_ROOM / (self.growth * n_blocks * n_features))))
        self._size = int(self._most * self.growth) + 2  # what may wait for the next fit, beside what is kept
        self._rows: Small = zeros((n_blocks, self._size, n_features), np.float32)
        self._rewards: Small = zeros((n_blocks, self._size), np.float32)
        self._held, self._fitted, self._fits = (np.zeros(n_blocks, np.int64) for _ in range(3))
        self._forests: tuple[Forest | None, ...] = (None,) * n_blocks
        self._table: Forest | None = None  # of all blocks; made again when one has been fitted
        self._coming: dict[int, Later[Forest]] = {}  # those that are being fitted

    def _predict(self, batch: Batch) -> Array:
        """The mean over the trees, 0.5 before the first fit."""
        out = np.empty(len(batch.mask))
        walk(dense(batch.rows).astype(np.float32, copy=False), batch.shared, batch.starts, *self._whole(), out)
        return out

    def _width(self, batch: Batch) -> None:
        """Not known."""

    def _learn(self, one: Batch, action: int, loss: float) -> float:
        """Put a round by; fit again if it is time."""
        if self._coming:
            self._take_in()
        predicted = float(self._predict(one)[action])
        block, keep = one.block(action), self.journal.keep
        held = int(self._held[block])
        keep(self._held, block)
        keep(self._rows, (block, held))
        keep(self._rewards, (block, held))
        self._rows[block, held] = dense(one.rows)[one.row(action)]
        self._rewards[block, held] = 1.0 - loss
        self._held[block] = held + 1
        if held + 1 >= max(FIRST, int(self.growth * self._fitted[block]) + 1):
            self._fit(block)
        return predicted

    def _fit(self, block: int) -> None:
        keep, held = self.journal.keep, int(self._held[block])
        keep(self._fits, block)
        self._fits[block] = min(self._fits[block] + 1, COUNT)
        if held > self._most:
            keep(self._rows, block)
            keep(self._rewards, block)
            some = np.random.default_rng(self._fits[block]).choice(held, self._most, replace=False)
            some.sort()
            self._rows[block, : self._most] = self._rows[block, some]
            self._rewards[block, : self._most] = self._rewards[block, some]
            self._rows[block, self._most :] = self._rewards[block, self._most :] = 0.0
            self._held[block] = held = self._most
        keep(self._fitted, block)
        self._fitted[block] = held
        if self.background:
            self.journal.keep_attribute(self, "_coming")
            self._coming = {**self._coming, block: Later(self._fitting(block))}
        else:
            self._put(block, self._fitting(block)())

    def _take_in(self) -> None:
        """Forests that are done take the place of those before them."""
        done = [block for block, later in self._coming.items() if later.ready]
        if done:
            self.journal.keep_attribute(self, "_coming")
            for block in done:
                self._put(block, self._coming[block].found())
            self._coming = {block: later for block, later in self._coming.items() if block not in done}

    def _put(self, block: int, forest: Forest | None) -> None:
        self.journal.keep_attribute(self, "_forests")
        self.journal.keep_attribute(self, "_table")
        self._forests = (*self._forests[:block], forest, *self._forests[block + 1 :])
        self._table = None

    def _fitting(self, block: int) -> Callable[[], Forest]:
        """What fits a forest to the rounds there are; the same ones give the same trees."""
        n = int(self._fitted[block])
        seed = int(self._fits[block]) * len(self._fits) + block
        rows, rewards = self._rows[block, :n], self._rewards[block, :n]
        if self.background:
            rows, rewards = rows.copy(), rewards.copy()
        return partial(grow, rows, rewards, n_trees=self.n_trees, n_columns=self.n_columns, seed=seed)

    def _whole(self) -> Forest:
        """All blocks' trees as one table. What has none, loaded or failed, is fitted to what it was fitted to."""
        if self._table is None:
            self._forests = tuple(
                self._fitting(block)()
                if forest is None and self._fitted[block] and block not in self._coming
                else forest
                for block, forest in enumerate(self._forests)
            )
            self._table = joined(self._forests)
        return self._table

    def _forget(self) -> None:
        """Nothing that was learnt depends on scales."""

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "rows": Field(self._rows, per_block=True),
            "rewards": Field(self._rewards, 0.0, 1.0, per_block=True),
            "held": Field(self._held, 0, self._size - 1, per_block=True),
            "fitted": Field(self._fitted, 0, self._most, per_block=True),
            "fits": Field(self._fits, 0, COUNT, per_block=True),
        }

    def _adopt(self, before: "TreesExpert", places: npt.NDArray[np.int64]) -> None:
        """The rounds of each block, as many as it may keep; forests are fitted to them when they are asked."""
        for block, place in enumerate(places.tolist()):
            if place >= 0:
                n, fitted = int(before._held[place]), min(int(before._fitted[place]), self._most)
                if n >= max(FIRST, int(self.growth * fitted) + 1):  # it may keep less now, and fits that
                    n = fitted = min(n, self._most)
                for new, old in ((self._rows, before._rows), (self._rewards, before._rewards)):
                    new[block, :n] = old[place, :n]
                self._held[block], self._fitted[block], self._fits[block] = n, fitted, before._fits[place]

    def check(self) -> None:
        """What was fitted is kept; and there is not so much more that it should have been fitted again."""
        if (self._fitted > self._held).any():
            raise ValueError("fitted must be at most held")
        due = np.maximum(FIRST, (self.growth * self._fitted).astype(np.int64) + 1)
        if (self._held >= due).any():
            raise ValueError("held must be less than calls for a fit")
