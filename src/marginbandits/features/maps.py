"""Feature maps: what a learner makes of a raw context, one row at a time, without ever looking ahead.

A map given to a learner is a recipe. `start` makes a fresh, stateful copy of it for contexts of one width; `transform`
maps rows; `observe` lets the copy learn from a context first (learners call it from `learn`, so acting changes
nothing). The same arithmetic serves one row and many, so a batch gives bit for bit what single rows give.

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
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt

from marginbandits.saving import Part
from marginbandits.types import Array
from marginbandits.validation import Instance, validated

__all__ = ["Bias", "Chain", "Concatenate", "FeatureMap", "Identity"]


class FeatureMap(Part, ABC):
    """Rows of raw features in, rows of features out. A subclass fills `_begin` and `_transform`.

    A map with state also fills `_observe` and `arrays`. Rows must be finite; learners see to that.
    """

    n_inputs: int
    n_outputs: int

    def start(self, n_inputs: int, rng: np.random.Generator) -> Self:
        """A fresh copy that maps rows of width `n_inputs`; whatever is random in it is drawn from `rng`."""
        started = copy.deepcopy(self)
        started.n_inputs = n_inputs
        started._begin(n_inputs, rng)
        return started

    @abstractmethod
    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        """Allocate the state and set `n_outputs`."""

    def transform(self, rows: Array) -> Array:
        """Features of each row, in a new array; the state stays as it is."""
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            self._refuse(rows, self.n_inputs)
        out = self._transform(rows)
        if out.shape[1] != self.n_outputs:
            self._refuse(out, self.n_outputs)
        return out

    def observe(self, rows: Array) -> Array:
        """Learn from the rows of one context, then return their features; a map without state only maps them."""
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            self._refuse(rows, self.n_inputs)
        out = self._observe(rows)
        if out.shape[1] != self.n_outputs:
            self._refuse(out, self.n_outputs)
        return out

    @abstractmethod
    def _transform(self, rows: Array) -> Array: ...

    def _observe(self, rows: Array) -> Array:
        return self._transform(rows)

    def _refuse(self, rows: Array, width: int) -> None:
        """Compiled code does not check bounds, so every map's width is checked on the way in and on the way out."""
        raise ValueError(f"rows of {type(self).__name__} must be n x {width}, got shape {rows.shape}")

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live state, by name: what saving stores and loading restores in place."""
        return {}


class Identity(FeatureMap):
    """The context as it is."""

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs

    def _transform(self, rows: Array) -> Array:
        return rows.copy()


class Bias(FeatureMap):
    """Append a constant 1, for contexts that need no scaling (`Standardise` brings its own)."""

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs + 1

    def _transform(self, rows: Array) -> Array:
        out = np.ones((rows.shape[0], self.n_outputs))
        out[:, :-1] = rows
        return out


class _Compound(FeatureMap):
    _started: list[FeatureMap]

    @validated
    def __init__(self, maps: Annotated[Sequence[FeatureMap], Instance(list, tuple)]) -> None:
        for position, one in enumerate(maps):
            if not isinstance(one, FeatureMap):
                raise ValueError(f"maps[{position}] must be a FeatureMap, got {one!r}")
        if not maps:
            raise ValueError("maps must not be empty")
        self.maps = list(maps)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every map's state, numbered."""
        return {f"{i}.{name}": array for i, one in enumerate(self._started) for name, array in one.arrays().items()}


class Chain(_Compound):
    """One map after the other."""

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self._started = []
        for recipe in self.maps:
            self._started.append(recipe.start(n_inputs, rng))
            n_inputs = self._started[-1].n_outputs
        self.n_outputs = n_inputs

    def _transform(self, rows: Array) -> Array:
        for one in self._started:
            rows = one.transform(rows)
        return rows

    def _observe(self, rows: Array) -> Array:
        for one in self._started:
            rows = one.observe(rows)
        return rows


class Concatenate(_Compound):
    """Several maps of the same rows, side by side."""

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self._started = [recipe.start(n_inputs, rng) for recipe in self.maps]
        self.n_outputs = sum(one.n_outputs for one in self._started)

    def _transform(self, rows: Array) -> Array:
        return np.concatenate([one.transform(rows) for one in self._started], axis=1)

    def _observe(self, rows: Array) -> Array:
        return np.concatenate([one.observe(rows) for one in self._started], axis=1)
