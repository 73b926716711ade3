"""What learners over a finite class of policies share: N policies, and a sample of contexts that they tell apart.

A policy plays the available action of largest score of its regressor (`FiniteClass`). All that such a learner needs of
a context is its *column*: what each of the N policies plays there; contexts with one column are one. So the law of
contexts, or the contexts known beforehand, are a `Pool` of columns with a count for each.

`contexts` gives them: a sample that stands for their law, or a separator, or all of those to come. They are what
policies see, so there are no other `features` then. Without, the contexts of the first rounds are taken, until there
are `SAMPLE` columns; no theorem covers that.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.contexts import Batch, Shape, per_action, shared
from marginbandits.features import Given, Identity
from marginbandits.learners.base import Parts
from marginbandits.learners.finite_class import FiniteClass
from marginbandits.learners.horizon import HorizonLearner
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.theory import Bound
from marginbandits.types import Array, Mask
from marginbandits.validation import Instance, OneOf

__all__ = ["Columns", "Contexts", "PolicyLearner", "Pool"]

Columns = npt.NDArray[np.int64]
Contexts = Annotated[Any, OneOf(Numbers(2, 3, low=-1e100, high=1e100), Instance(type(None)))]


class Pool(Record):
    """Distinct columns of a class of policies, and how often each was seen."""

    def __init__(self, most: int, n_policies: int, n_actions: int) -> None:
        self._all: Columns = zeros((most, n_policies), np.int64)
        self._counts: Columns = zeros((most,), np.int64)
        self._size: Columns = zeros((1,), np.int64)
        self._last = n_actions - 1
        self.attach(Journal())

    @property
    def columns(self) -> Columns:
        """One row for each column: what the N policies play."""
        return self._all[: int(self._size[0])]

    @property
    def counts(self) -> Columns:
        """How often each was seen."""
        return self._counts[: int(self._size[0])]

    @property
    def full(self) -> bool:
        """Whether there is room for no other column."""
        return int(self._size[0]) == len(self._all)

    def place(self, column: Columns) -> int:
        """Where it is, or -1."""
        found = np.flatnonzero((self.columns == column).all(1))
        return int(found[0]) if len(found) else -1

    def add(self, column: Columns, times: int = 1) -> None:
        """Count it once more, or `times`: negative where it will not come again."""
        at = self.place(column)
        if at < 0:
            at = int(self._size[0])
            self.journal.keep(self._size)
            self.journal.keep(self._all, at)
            self._size[0] += 1
            self._all[at] = column
        self.journal.keep(self._counts, at)
        self._counts[at] = min(self._counts[at] + times, COUNT)

    def shares(self, weights: Array) -> Array:
        """Columns x actions: the weight of the policies that play each."""
        n, K = len(self.columns), self._last + 1
        places = self.columns + K * np.arange(n)[:, None]
        spread = np.broadcast_to(weights, places.shape)
        return np.asarray(np.bincount(places.ravel(), spread.ravel(), n * K).reshape(n, K), float)

    def sums(self, values: Array) -> Array:
        """Of each policy: Σ over columns of what `values`, columns x actions, says of its action."""
        return np.asarray(values[np.arange(len(values))[:, None], self.columns].sum(0))

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "columns": Field(self._all, 0, self._last),
            "counts": Field(self._counts, 0, COUNT),
            "size": Field(self._size, 0, len(self._all)),
        }


class PolicyLearner(HorizonLearner):
    """Knows the policies, what each plays, and the pool. A subclass fills `_parts`, `_law` and `_taught`."""

    journals: ClassVar[bool] = True
    long_contexts = "shorten"
    n_features = None

    _may_run_out = False  # whether contexts in the pool are counted down
    SAMPLE: ClassVar[int] = 128
    constants: ClassVar[Mapping[str, float]] = {"SAMPLE": 2.0**20}

    def __init__(
        self,
        n_actions: int,
        *,
        regressors: Any,
        contexts: Any,
        horizon: int,
        radius: float,
        features: Given | None,
        seed: int | np.random.Generator | None,
        centred: bool = True,
    ) -> None:
        if contexts is not None and not (features is None or isinstance(features, Identity)):
            raise ValueError(f"features must be None where contexts are given as policies see them, got {features!r}")
        if features is None:
            features = "raw" if isinstance(regressors, int) and contexts is None else Identity()
        super().__init__(n_actions, features=features, seed=seed)
        self.horizon, self.radius, self.contexts = horizon, radius, contexts
        self._class = FiniteClass(regressors, n_actions, radius, centred=centred)
        self.regressors = self._class.parameter

    def dumps(self) -> bytes:
        """Everything learnt; a class of functions or models is not plain data, and is refused."""
        self._class.refuse_saving()
        return super().dumps()

    def _on_contexts(self, bound: Bound) -> Bound:
        """With the condition that all of these theorems have: without `contexts` none applies."""
        return replace(bound, conditions={**bound.conditions, "contexts are given": self.contexts is not None})

    @property
    def n_policies(self) -> int:
        """N."""
        return self._class.size

    def _parts(self) -> Parts:
        """What is learnt beside the pool."""
        raise NotImplementedError("a learner of policies fills `_parts`")

    def _taught(self, one: Batch, column: Columns, action: int, loss: float, probability: float) -> None:
        """Learn from a round in which policies play `column`."""
        raise NotImplementedError("a learner of policies fills `_taught`")

    # The holes of every learner.

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        drawn = self._class.begin(shape, n_features, self._rng)
        known = () if self.contexts is None else self.contexts
        self._pool = Pool(len(known) or self.SAMPLE, self.n_policies, self.n_actions)
        for one in known:
            if one.shape != ((self.n_actions, n_features) if shape.shared else (n_features,)):
                raise ValueError(f"context must be like the contexts given, of shape {one.shape}, got {shape}")
            self._pool.add(self._column(shared([one]) if shape.shared else per_action(one[None], self.n_actions)))
        self._rounds: Columns = zeros((1,), np.int64)
        return {"pool": self._pool, "rounds": Field(self._rounds, 0, COUNT), **drawn, **self._parts()}

    def _check(self) -> None:
        known = self._pool.counts
        if len(known) < 1 or (known.sum() < 1 and not self._may_run_out):
            raise ValueError("the pool must hold a context, and one that was seen")
        if self._learnt() > self.horizon:
            raise ValueError(f"rounds must be at most horizon={self.horizon}, got {self._learnt()}")

    def _learnt(self) -> int:
        return int(self._rounds[0])

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        if self.contexts is None and not self._pool.full:
            self._pool.add(self._column(one, self._everything))
        self._journal.keep(self._rounds)
        self._rounds[0] += 1
        self._taught(one, self._column(one), action, loss, probability)

    def _column(self, one: Batch, mask: Mask | None = None) -> Columns:
        """What each policy plays: its best available action, by the mask of the batch unless another is given."""
        available = one.mask if mask is None else mask
        return np.asarray(np.where(available[:, None], self._class.scores(one), -np.inf).argmax(0))

    def _votes(self, column: Columns, weights: Array) -> Array:
        """How much of the weight is for each action."""
        return np.asarray(np.bincount(column, weights, self.n_actions), float)
