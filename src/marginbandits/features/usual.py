"""What "fourier" stands for: columns in their scales, a bias, and random Fourier features of the columns.

The same as Chain([Standardise(bias=False), Concatenate([Bias(), Fourier()])]), whose state it has; but a row of it is
made in one go, because learners ask for one row at a time, and to hand it from map to map would cost more than its
numbers do. Many rows go the same way, so they are bit for bit what single ones are.

>>> import numpy as np
>>> features = Usual().start(2, np.random.default_rng(0))
>>> z = features.observe(np.array([[1.0, 2.0], [3.0, 2.5]]))
>>> z.shape, z[:, :3].round(3).tolist()
((2, 303), [[-0.707, -0.707, 1.0], [0.707, 0.707, 1.0]])
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import FLOAT64, LARGEST, Rows, refuse_bad
from marginbandits.features.fourier import Fourier, cosines
from marginbandits.features.maps import Bias, Chain, Concatenate
from marginbandits.features.scaling import Standardise, observe, standardise
from marginbandits.types import Array

__all__ = ["Usual"]


class Usual(Chain):
    """(x - m)/s of every column, a 1, and 300 cosines of a few of them each."""

    def __init__(self) -> None:
        super().__init__([Standardise(bias=False), Concatenate([Bias(), Fourier()])])

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        super()._begin(n_inputs, rng)
        scaling, beside = self._started
        assert isinstance(scaling, Standardise)
        assert isinstance(beside, Concatenate)
        waves = beside._started[1]
        assert isinstance(waves, Fourier)
        self._scaling, self._waves = scaling, (waves._columns, waves._omega, waves._phase)
        self._single, self._single_out = (0 if self.sparse else 1, n_inputs), (1, self.n_outputs)

    def compiled(self) -> tuple[Any, ...] | None:
        """Those of its scaling, and its waves."""
        scaling = None if self.sparse else self._scaling.compiled()
        return None if scaling is None else (*scaling[:3], *self._waves)

    def transform(self, rows: Any) -> Any:
        """As any map's; one row at a time in as few steps as there can be."""
        if type(rows) is not np.ndarray or rows.shape != self._single or rows.dtype is not FLOAT64:
            return super().transform(rows)
        return self._transformed(rows, np.empty(self._single_out))

    def observe(self, rows: Any) -> Any:
        """As any map's; see `transform`."""
        if type(rows) is not np.ndarray or rows.shape != self._single or rows.dtype is not FLOAT64:
            return super().observe(rows)
        return self._observed(rows, np.empty(self._single_out))

    def _transform(self, rows: Rows) -> Rows:
        if not isinstance(rows, np.ndarray):
            return super()._transform(rows)
        return self._transformed(rows, np.empty((len(rows), self.n_outputs)))

    def _observe(self, rows: Rows) -> Rows:
        if not isinstance(rows, np.ndarray):
            return super()._observe(rows)
        return self._observed(rows, np.empty((len(rows), self.n_outputs)))

    def _transformed(self, rows: Array, out: Array) -> Array:
        one = self._scaling
        if not _transform(rows, one._moments, one.clip, LARGEST, one.named, *self._waves, out):
            refuse_bad("context", rows)
        return out

    def _observed(self, rows: Array, out: Array) -> Array:
        one, stamp = self._scaling, self.journal.stamp
        scale = (one._moments, one._limit, one.clip, LARGEST, one.named, one._last, stamp)
        if not _observe(rows, *scale, *self._waves, out):
            refuse_bad("context", rows)
        return out


Places = npt.NDArray[np.int64]


@kernel
def beside(columns: Places, omega: Array, phase: Array, out: Array) -> None:
    """Behind what is scaled, and its bias: cosines of it."""
    q, m = omega.shape
    first = out.shape[1] - m
    for i in range(out.shape[0] if m else 0):
        row, angles = out[i], out[i, first:]
        for j in range(m):
            angle = phase[j]
            for k in range(q):
                angle += row[columns[k, j]] * omega[k, j]
            angles[j] = angle
        cosines(angles)


@kernel
def _transform(
    rows: Array,
    moments: Array,
    clip: float,
    largest: float,
    named: bool,
    columns: Places,
    omega: Array,
    phase: Array,
    out: Array,
) -> bool:
    """Features of all rows; False if any value is not within ±largest."""
    good = standardise(rows, moments, clip, largest, named, out)
    if good:
        beside(columns, omega, phase, out)
    return good


@kernel
def _observe(
    rows: Array,
    moments: Array,
    limit: float,
    clip: float,
    largest: float,
    named: bool,
    last: Array,
    stamp: int,
    columns: Places,
    omega: Array,
    phase: Array,
    out: Array,
) -> bool:
    """The same, of rows that scales are learnt from first; the scales before are kept in `last`."""
    good = observe(rows, moments, limit, clip, largest, named, last, stamp, out)
    if good:
        beside(columns, omega, phase, out)
    return good
