"""Feature maps: what a learner makes of a raw context, one row at a time, without ever looking ahead.

A map given to a learner is a recipe. `start` makes a fresh, stateful copy of it for contexts of one width; `transform`
maps rows; `observe` lets the copy learn from a context first (learners call it from `learn`, so acting changes
nothing). The same arithmetic serves one row and many, so a batch gives bit for bit what single rows give. A map that
can, maps sparse rows to sparse rows; for others they are made dense.

>>> import numpy as np
>>> from marginbandits.features import feature_map
>>> features = feature_map("raw").start(2, np.random.default_rng(0))
>>> for row in [[0.0, 5.0], [2.0, 5.0]]:
...     z = features.observe(np.array([row]))
>>> z.round(3)
array([[0.707, 0.   , 1.   ]])
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, overload

import numpy as np

from marginbandits.contexts import FLOAT64, Rows, Sparse, read_numbers, refuse_bad
from marginbandits.saving import Part
from marginbandits.state import Field, Journal, Record
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, quoted, validated

__all__ = ["Bias", "Chain", "Concatenate", "FeatureMap", "Identity"]


class FeatureMap(Part, Record, ABC):
    """Rows of raw features in, rows of features out. A subclass fills `_begin` and `_transform`.

    A map with state also fills `_observe` and `fields`, and keeps in its `journal` what it is about to change. Rows
    must be finite; learners see to that. A map that `takes_sparse` rows gives sparse ones back.
    """

    takes_sparse: ClassVar[bool] = False

    checks_rows: bool = False
    """Whether `transform` and `observe` themselves refuse rows that are not finite, within ±1e100."""

    n_inputs: int
    n_outputs: int
    _own: bool
    sparse: bool
    """Whether it maps sparse rows to sparse rows; else it takes either, and gives dense ones."""
    named: bool
    """Whether columns are given out as names come, so that many may be empty for ever."""

    @property
    def gives_sparse(self) -> bool:
        """Whether what it gives is sparse, as it was started."""
        return self.sparse

    @validated
    def start(
        self,
        n_inputs: Annotated[int, Integer(1)],
        rng: Annotated[np.random.Generator, Instance(np.random.Generator)],
        *,
        sparse: Annotated[bool, Instance(bool)] = False,
        named: Annotated[bool, Instance(bool)] = False,
    ) -> Self:
        """A fresh copy that maps rows of width `n_inputs`; whatever is random in it is drawn from `rng`."""
        started = copy.deepcopy(self)
        started.n_inputs = n_inputs
        started.sparse, started.named = sparse and self.takes_sparse, named
        started._own = not type(self).__module__.startswith("marginbandits.")
        started._begin(n_inputs, rng)
        started.attach(Journal())
        return started

    @abstractmethod
    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        """Allocate the state and set `n_outputs`."""

    @overload
    def transform(self, rows: Array) -> Array: ...

    @overload
    def transform(self, rows: Rows) -> Rows: ...

    def transform(self, rows: Rows) -> Rows:
        """Features of each row, in a new array; the state stays as it is."""
        if type(rows) is not np.ndarray or self.sparse or rows.dtype is not FLOAT64 or rows.ndim != 2:
            rows = self._taken(rows)
        if rows.shape[1] != self.n_inputs:
            self._refuse(rows, self.n_inputs)
        return self._given(self._transform(rows), len(rows))

    @overload
    def observe(self, rows: Array) -> Array: ...

    @overload
    def observe(self, rows: Rows) -> Rows: ...

    def observe(self, rows: Rows) -> Rows:
        """Learn from the rows of one context, then return their features; a map without state only maps them."""
        if type(rows) is not np.ndarray or self.sparse or rows.dtype is not FLOAT64 or rows.ndim != 2:
            rows = self._taken(rows)
        if rows.shape[1] != self.n_inputs:
            self._refuse(rows, self.n_inputs)
        return self._given(self._observe(rows), len(rows))

    @abstractmethod
    def _transform(self, rows: Any) -> Any: ...

    def _observe(self, rows: Any) -> Any:
        return self._transform(rows)

    def compiled(self) -> tuple[Any, ...] | None:
        """What compiled rounds make a row of features by, where they can; see `usual`."""

    def _typical(self) -> Array:
        """A row that says nothing: of each column its mean so far, if it is known, or 0."""
        return np.zeros(self.n_inputs)

    def _taken(self, rows: Rows) -> Rows:
        """Rows of plain numbers. Compiled code does not check bounds, so widths are checked on the way in and out."""
        if not isinstance(rows, Sparse):
            rows = read_numbers("rows", rows)
            if rows.ndim != 2:
                self._refuse(rows, self.n_inputs)
        elif rows.width != self.n_inputs:
            self._refuse(rows, self.n_inputs)
        if isinstance(rows, Sparse):
            return rows if self.sparse else rows.dense()
        if self.sparse:
            raise ValueError(f"rows of {type(self).__name__} must be sparse, as it was started for")
        return rows

    def _given(self, out: Any, n: int) -> Rows:
        """What a map of the user's own returns is believed as little as what it is given."""
        if self._own:
            if not isinstance(out, Sparse):
                out = read_numbers(f"features of {type(self).__name__}", out)
                refuse_bad(f"features of {type(self).__name__}", out)
            if out.shape != (n, self.n_outputs):
                self._refuse(out, self.n_outputs)
        return out  # type: ignore[no-any-return]  # rows, by the lines above or by our own maps

    def _refuse(self, rows: Rows, width: int) -> None:
        raise ValueError(f"rows of {type(self).__name__} must be n x {width}, got shape {rows.shape}")

    def fields(self) -> Mapping[str, Field]:
        """The live state, by name: what saving stores and loading restores in place."""
        return {}


class Identity(FeatureMap):
    """The context as it is."""

    takes_sparse = True

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs

    def _transform(self, rows: Rows) -> Rows:
        return copy.copy(rows) if isinstance(rows, Sparse) else rows.copy()

    def compiled(self) -> tuple[Any, ...] | None:
        """Nothing is needed, and dense rows stay as they are."""
        return None if self.sparse or type(self) is not Identity else ()


class Bias(FeatureMap):
    """Append a constant 1, for contexts that need no scaling (`Standardise` brings its own)."""

    takes_sparse = True

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs + 1

    def _transform(self, rows: Rows) -> Rows:
        if isinstance(rows, Sparse):
            return with_bias(rows)
        out = np.empty((rows.shape[0], self.n_outputs))
        out[:, :-1], out[:, -1] = rows, 1.0
        return out


def with_bias(rows: Sparse) -> Sparse:
    """One more column, filled with 1 in every row."""
    ends = rows.starts[1:]
    values, columns = np.insert(rows.values, ends, 1.0), np.insert(rows.columns, ends, rows.width)
    return Sparse(values, columns, rows.starts + np.arange(len(rows.starts)), rows.width + 1)


class _Compound(FeatureMap):
    takes_sparse = True
    _started: list[FeatureMap]

    @validated
    def __init__(self, maps: Annotated[Sequence[FeatureMap], Instance(list, tuple)]) -> None:
        for position, one in enumerate(maps):
            if not isinstance(one, FeatureMap):
                raise ValueError(f"maps[{position}] must be a FeatureMap, got {quoted(one)}")
        if not maps:
            raise ValueError("maps must not be empty")
        self.maps = list(maps)

    def attach(self, journal: Journal) -> None:
        """All parts keep what they change in one journal."""
        super().attach(journal)
        for one in getattr(self, "_started", ()):
            one.attach(journal)

    def fields(self) -> Mapping[str, Field]:
        """Every map's state, numbered."""
        return {f"{i}.{name}": field for i, one in enumerate(self._started) for name, field in one.fields().items()}

    def check(self) -> None:
        """Every map's own."""
        for one in self._started:
            one.check()


class Chain(_Compound):
    """One map after the other."""

    @property
    def gives_sparse(self) -> bool:
        """As its last map."""
        return self._started[-1].gives_sparse

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self._started = []
        self.checks_rows = self.maps[0].checks_rows
        sparse = self.sparse
        for recipe in self.maps:
            self._started.append(recipe.start(n_inputs, rng, sparse=sparse, named=self.named))
            n_inputs, sparse = self._started[-1].n_outputs, self._started[-1].gives_sparse
        self.n_outputs = n_inputs

    def _transform(self, rows: Rows) -> Rows:
        for one in self._started:
            rows = one.transform(rows)
        return rows

    def _typical(self) -> Array:
        return self._started[0]._typical()

    def _observe(self, rows: Rows) -> Rows:
        for one in self._started:
            rows = one.observe(rows)
        return rows


class Concatenate(_Compound):
    """Several maps of the same rows, side by side."""

    takes_sparse = False

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self._started = [recipe.start(n_inputs, rng, named=self.named) for recipe in self.maps]
        self.n_outputs = sum(one.n_outputs for one in self._started)

    def _transform(self, rows: Array) -> Array:
        return np.concatenate([one.transform(rows) for one in self._started], axis=1)

    def _observe(self, rows: Array) -> Array:
        return np.concatenate([one.observe(rows) for one in self._started], axis=1)
