"""Trees as an expert: extremely randomised trees of the reward, fitted anew whenever there is enough more to learn.

Every block (an action, or one for all) keeps up to `memory` of its rounds, and has a forest of its own. It is fitted when
the block has seen `growth` times the rounds it had at the last fit, so a run of T rounds fits O(log T) forests of each
action and the work of all is a small multiple of the last one's. Between fits rounds are only put by; at a fit, where
there are more than `memory`, a uniform sample of all that were seen is kept (as in `reservoir`).

A forest is never saved: it is a function of the rounds it was fitted to, which are, and is fitted to them again. A
prediction walks the fitted trees in a kernel; scikit-learn's own takes milliseconds for one row.

Trees do not say how far off they may be, so a mixture lends them the width of the others.

Geurts, Ernst & Wehenkel (2006), "Extremely randomized trees".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, dense
from marginbandits.experts.expert import Expert
from marginbandits.features import Features, Identity
from marginbandits.state import COUNT, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["TreesExpert"]

Places = npt.NDArray[np.int64]
Small = npt.NDArray[np.float32]

FIRST = 8
"""Rounds of a block before its first fit."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The trees of one block as one table: each node's column, threshold and children (-1 at a leaf), and its mean."""

    columns: Places
    thresholds: Array
    left: Places
    right: Places
    means: Array
    roots: Places


class TreesExpert(Expert):
    """`n_trees` a block, from up to `memory` of its rounds, in 4·n_blocks·memory·growth·n_features bytes."""

    scaled = False

    @validated
    def __init__(
        self,
        *,
        n_trees: Annotated[int, Integer(1, 10_000)] = 60,
        growth: Annotated[float, Real(above=1, high=100)] = 1.4,
        memory: Annotated[int, Integer(FIRST, 10**7)] = 4000,
        features: Features | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.growth = growth
        self.memory = memory
        self.features = Identity() if features is None else features

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._room = int(self.memory * self.growth) + 2  # what may wait for the next fit, beside what is kept
        self._rows: Small = zeros((n_blocks, self._room, n_features), np.float32)
        self._rewards: Small = zeros((n_blocks, self._room), np.float32)
        self._seen, self._held, self._fitted = (np.zeros(n_blocks, np.int64) for _ in range(3))
        self._forests: tuple[Forest | None, ...] = (None,) * n_blocks

    def _scores(self, batch: Batch) -> Array:
        rows = dense(batch.rows).astype(np.float32)
        out = np.full(len(batch.mask), 0.5)
        for i in range(len(batch)):
            for k in range(int(batch.starts[i]), int(batch.starts[i + 1])):
                forest = self._forest(0 if batch.shared else k - int(batch.starts[i]))
                if forest is not None:
                    out[k] = _walk(
                        rows[k if batch.shared else i],
                        forest.columns,
                        forest.thresholds,
                        forest.left,
                        forest.right,
                        forest.means,
                        forest.roots,
                    )
        return out

    def width(self, batch: Batch) -> None:
        """Not known."""

    def learn(self, rows: Array, at: int, block: int, loss: float) -> float:
        """Put a round by; fit again if it is time."""
        row = rows[at].astype(np.float32)
        forest = self._forest(block)
        predicted = 0.5
        if forest is not None:
            predicted = _walk(
                row, forest.columns, forest.thresholds, forest.left, forest.right, forest.means, forest.roots
            )
        held, keep = int(self._held[block]), self.journal.keep
        for array in (self._seen, self._held):
            keep(array, block)
        keep(self._rows, (block, held))
        keep(self._rewards, (block, held))
        self._rows[block, held], self._rewards[block, held] = row, 1.0 - loss
        self._seen[block] += 1
        self._held[block] += 1
        if self._held[block] >= max(FIRST, int(self.growth * self._fitted[block]) + 1):
            self._fit(block)
        return min(max(float(predicted), 0.0), 1.0)

    def _fit(self, block: int) -> None:
        keep = self.journal.keep
        held = int(self._held[block])
        if held > self.memory:
            keep(self._rows, block)
            keep(self._rewards, block)
            chosen = np.sort(np.random.default_rng(int(self._seen[block])).choice(held, self.memory, replace=False))
            self._rows[block, : self.memory] = self._rows[block, chosen]
            self._rewards[block, : self.memory] = self._rewards[block, chosen]
            self._held[block] = held = self.memory
        keep(self._fitted, block)
        self._fitted[block] = held
        self.journal.keep_attribute(self, "_forests")
        self._forests = (*self._forests[:block], self._grown(block), *self._forests[block + 1 :])

    def _forest(self, block: int) -> Forest | None:
        if self._forests[block] is None and self._fitted[block] > 0:  # loaded: what it was fitted to is there
            self._forests = (*self._forests[:block], self._grown(block), *self._forests[block + 1 :])
        return self._forests[block]

    def _grown(self, block: int) -> Forest:
        from sklearn.ensemble import ExtraTreesRegressor

        n = int(self._fitted[block])
        model = ExtraTreesRegressor(self.n_trees, random_state=n)
        model.fit(self._rows[block, :n], self._rewards[block, :n])
        return _table([one.tree_ for one in model.estimators_])

    def forget(self) -> None:
        """Nothing that was learnt depends on scales."""

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "rows": Field(self._rows),
            "rewards": Field(self._rewards, 0.0, 1.0),
            "seen": Field(self._seen, 0, COUNT),
            "held": Field(self._held, 0, self._room - 1),
            "fitted": Field(self._fitted, 0, self.memory),
        }

    def check(self) -> None:
        """What was fitted is kept, and what is kept was seen."""
        if not ((self._fitted <= self._held).all() and (self._held <= self._seen).all()):
            raise ValueError("fitted must be at most held, and held at most seen")


def _table(trees: list[Any]) -> Forest:
    starts = np.cumsum([0, *(one.node_count for one in trees)])
    at = np.repeat(starts[:-1], np.diff(starts))
    left, right = (np.concatenate([getattr(one, name) for one in trees]) for name in ("children_left", "children_right"))
    leaf = left < 0
    return Forest(
        np.concatenate([one.feature for one in trees]).astype(np.int64),
        np.concatenate([one.threshold for one in trees]),
        np.where(leaf, -1, left + at),
        np.where(leaf, -1, right + at),
        np.concatenate([one.value[:, 0, 0] for one in trees]),
        starts[:-1].astype(np.int64),
    )


@kernel
def _walk(
    row: Small, columns: Places, thresholds: Array, left: Places, right: Places, means: Array, roots: Places
) -> float:
    total = 0.0
    for t in range(roots.shape[0]):
        node = roots[t]
        while left[node] >= 0:
            node = left[node] if row[columns[node]] <= thresholds[node] else right[node]
        total += means[node]
    return total / roots.shape[0]
