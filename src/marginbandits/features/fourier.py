"""Random Fourier features of a few columns each: what is linear in them need not be linear in the context."""

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.contexts import Rows, dense
from marginbandits.features.maps import FeatureMap
from marginbandits.state import Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["Fourier"]


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
        width: Annotated[float, Real(1e-50)] = 0.6,
        n_columns: Annotated[int, Integer(1)] = 4,
    ) -> None:
        self.n_components = n_components
        self.width = width
        self.n_columns = n_columns

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        m, q = self.n_components, min(self.n_columns, n_inputs)
        self.n_outputs = m
        self._columns = zeros((q, m), np.int64)
        self._omega, self._phase = zeros((q, m)), zeros((m,))
        for component in range(m):
            self._columns[:, component] = rng.choice(n_inputs, q, replace=False)
        self._omega[...] = rng.standard_normal((q, m)) * math.sqrt(n_inputs / (2 * q)) / self.width
        self._phase[...] = rng.uniform(0.0, 2.0 * np.pi, m)

    def _transform(self, rows: Rows) -> Rows:
        seen = dense(rows)
        out = np.empty((len(seen), self.n_components))
        _fourier(seen.take(self._columns, axis=1), self._omega, self._phase, out)
        return out

    def fields(self) -> Mapping[str, Field]:
        """The columns that features look at, frequencies and phases."""
        return {
            "columns": Field(self._columns, 0, self.n_inputs - 1),
            "omega": Field(self._omega, -1e100, 1e100),
            "phase": Field(self._phase, 0.0, 2.0 * math.pi),
        }


@kernel
def _fourier(values: Array, omega: Array, phase: Array, out: Array) -> None:
    """√(2/m) cos(Σ_k values_k ω_k + phase), `values` being what each of m features sees of each of n rows."""
    n, n_columns, m = values.shape
    for i in range(n):
        out[i] = phase
        for k in range(n_columns):
            for j in range(m):
                out[i, j] += values[i, k, j] * omega[k, j]
        cosines(out[i])


@kernel
def cosines(angles: Array) -> None:
    """√(2/m) cos of each of m angles, in place, for other kernels too.

    cos 2πt = 1 - 2 sin² πt after reduction to |t| <= 1/2, so the loop vectorises.
    """
    height = math.sqrt(2.0 / angles.shape[0])
    for j in range(angles.shape[0]):
        t = angles[j] * (0.5 / math.pi)
        # Clamped, because rounding leaves more than half a turn where t is too large to have a fraction.
        h = min(max(math.pi * (t - math.floor(t + 0.5)), -0.5 * math.pi), 0.5 * math.pi)
        q = h * h
        # Taylor series of sin to degree 15, within 1e-11 on |h| <= π/2; reciprocals, because division is slow.
        s = 1.0 - q * (1 / 156) * (1.0 - q * (1 / 210))
        s = 1.0 - q * (1 / 42) * (1.0 - q * (1 / 72) * (1.0 - q * (1 / 110) * s))
        s = h * (1.0 - q * (1 / 6) * (1.0 - q * (1 / 20) * s))
        angles[j] = height * (1.0 - 2.0 * s * s)
