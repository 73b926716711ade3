"""Feature maps: what a learner makes of a raw context, one row at a time, without ever looking ahead.

    "raw"       standardise online, append a bias
    "fourier"   the raw features and random Fourier features of them, side by side

A map given to a learner is a recipe. `start` makes a fresh, stateful copy of it for contexts of one width; `transform`
maps rows; `observe` lets the copy learn from a context first (learners call it from `learn`, so acting changes
nothing). The same arithmetic serves one row and many, so a batch gives bit for bit what single rows give.

>>> import numpy as np
>>> features = feature_map("raw").start(2, np.random.default_rng(0))
>>> for row in [[0.0, 5.0], [2.0, 5.0]]:
...     z = features.observe(np.array([row]))
>>> z.round(3)
array([[0.707, 0.   , 1.   ]])
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.saving import Part
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Integer, OneOf, Real, validated

__all__ = ["Bias", "Chain", "Concatenate", "FeatureMap", "Fourier", "Identity", "Standardise", "feature_map"]


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


class Standardise(FeatureMap):
    """(x - mean)/deviation over the contexts seen so far, clipped, divided by √d so that rows have norm about 1.

    Mean and deviation follow Welford's update. They keep running by default: the features of a fixed context then
    move by O(1/t), which ridge and hinge learners absorb. With `freeze_after=n` they stop at the n-th row, for
    learners that need one context to mean one thing for ever. A column that has not varied yet maps to 0.

    `clip` bounds each standardised value: one outlier, or the first appearance of a rare indicator, cannot dominate.
    `bias` appends a constant 1.
    """

    @validated
    def __init__(
        self,
        *,
        clip: Annotated[float, Real(above=0)] = 5.0,
        freeze_after: Annotated[int | None, OneOf(Integer(2), Instance(type(None)))] = None,
        bias: Annotated[bool, Instance(bool)] = True,
    ) -> None:
        self.clip = clip
        self.freeze_after = freeze_after
        self.bias = bias

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs + self.bias
        self._count = np.zeros(1)
        self._moments = np.zeros((3, n_inputs))  # mean, sum of squared deviations, 1/(√d deviation)
        self._limit = math.inf if self.freeze_after is None else float(self.freeze_after)

    def _transform(self, rows: Array) -> Array:
        out = np.empty((rows.shape[0], self.n_outputs))
        _standardise(rows, self._moments, self.clip, out)
        return out

    def _observe(self, rows: Array) -> Array:
        out = np.empty((rows.shape[0], self.n_outputs))
        _observe(rows, self._count, self._moments, self._limit, self.clip, out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Rows seen, and the mean, spread and scale of every column."""
        return {"count": self._count, "moments": self._moments}


class Fourier(FeatureMap):
    """Random Fourier features √(2/n) cos(<ω, x> + b), each of a few columns: linear in θ, yet not in the context.

    Every frequency ω looks at q = `n_columns` columns, drawn at random, so that features approximate the average over
    such subsets S of Gaussian kernels

        exp(-‖x_S - y_S‖² / (2 width² · 2q/d))

    where 2q/d is what ‖x_S - y_S‖² typically is for rows of norm about 1, as `Standardise` makes them. In a few columns
    neighbours are nearer than in all of them, and columns that tell nothing spoil only the features that look at them.

    Rahimi & Recht (2007), "Random features for large-scale kernel machines"; Duvenaud, Nickisch & Rasmussen (2011),
    "Additive Gaussian processes".
    """

    @validated
    def __init__(
        self,
        n_components: Annotated[int, Integer(1)] = 300,
        *,
        width: Annotated[float, Real(above=0)] = 0.6,
        n_columns: Annotated[int, Integer(1)] = 4,
    ) -> None:
        self.n_components = n_components
        self.width = width
        self.n_columns = n_columns

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = self.n_components
        q = min(self.n_columns, n_inputs)
        subsets = [rng.choice(n_inputs, q, replace=False) for _ in range(self.n_components)]
        self._columns = np.stack(subsets, axis=1)
        self._omega = rng.standard_normal((q, self.n_components)) * math.sqrt(n_inputs / (2 * q)) / self.width
        self._phase = rng.uniform(0.0, 2.0 * np.pi, self.n_components)

    def _transform(self, rows: Array) -> Array:
        out = np.empty((rows.shape[0], self.n_components))
        _fourier(rows.take(self._columns, axis=1), self._omega, self._phase, out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The columns that features look at, frequencies and phases."""
        return {"columns": self._columns, "omega": self._omega, "phase": self._phase}


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


Features = Annotated[str | FeatureMap, OneOf(Choice("raw", "fourier"), Instance(FeatureMap))]
MaybeFeatures = Annotated[str | FeatureMap | None, OneOf(Choice("raw", "fourier"), Instance(FeatureMap, type(None)))]
"""None leaves the choice to the learner."""


def feature_map(features: str | FeatureMap) -> FeatureMap:
    """The recipe a name stands for; a recipe stands for itself."""
    if isinstance(features, FeatureMap):
        return features
    if features == "raw":
        return Standardise()
    if features == "fourier":
        return Chain([Standardise(bias=False), Concatenate([Bias(), Fourier()])])
    raise ValueError(f"features must be 'raw', 'fourier' or a FeatureMap, got {features!r}")


@kernel
def _welford(rows: Array, count: Array, moments: Array, limit: float) -> None:
    n, d = rows.shape
    mean, square, scale = moments[0], moments[1], moments[2]
    for i in range(n):
        if count[0] >= limit:
            break
        count[0] += 1.0
        for j in range(d):
            before = rows[i, j] - mean[j]
            mean[j] += before / count[0]
            square[j] += before * (rows[i, j] - mean[j])
    for j in range(d):
        scale[j] = math.sqrt(count[0] / (square[j] * d)) if square[j] > 0.0 else 0.0


# Answers are written into an array made outside: returning one from compiled code costs more than the arithmetic.


@kernel
def _standardise(rows: Array, moments: Array, clip: float, out: Array) -> None:
    n, d = rows.shape
    mean, scale = moments[0], moments[2]
    limit = clip / math.sqrt(d)
    for i in range(n):
        for j in range(d):
            out[i, j] = min(max((rows[i, j] - mean[j]) * scale[j], -limit), limit)
        if out.shape[1] > d:
            out[i, d] = 1.0


@kernel
def _observe(rows: Array, count: Array, moments: Array, limit: float, clip: float, out: Array) -> None:
    _welford(rows, count, moments, limit)
    _standardise(rows, moments, clip, out)


@kernel
def _fourier(values: Array, omega: Array, phase: Array, out: Array) -> None:
    """√(2/m) cos(Σ_k values_k ω_k + phase), `values` being what each of m features sees of each of n rows.

    cos 2πt = 1 - 2 sin² πt after reduction to |t| <= 1/2, so the loop vectorises.
    """
    n, n_columns, m = values.shape
    height = math.sqrt(2.0 / m)
    for i in range(n):
        out[i] = phase
        for k in range(n_columns):
            for j in range(m):
                out[i, j] += values[i, k, j] * omega[k, j]
        for j in range(m):
            t = out[i, j] * (0.5 / math.pi)
            # Clamped, because rounding leaves more than half a turn where t is too large to have a fraction.
            h = min(max(math.pi * (t - math.floor(t + 0.5)), -0.5 * math.pi), 0.5 * math.pi)
            q = h * h
            # Taylor series of sin to degree 15, within 1e-11 on |h| <= π/2; reciprocals, because division is slow.
            s = 1.0 - q * (1 / 156) * (1.0 - q * (1 / 210))
            s = 1.0 - q * (1 / 42) * (1.0 - q * (1 / 72) * (1.0 - q * (1 / 110) * s))
            s = h * (1.0 - q * (1 / 6) * (1.0 - q * (1 / 20) * s))
            out[i, j] = height * (1.0 - 2.0 * s * s)
