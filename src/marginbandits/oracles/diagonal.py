"""Weights with a mean and a diagonal precision: what learners of wide contexts keep, at the cost of what is filled.

The score of a row z then has

    mean Σ m_j z_j,   variance Σ z_j²/(A_j + A₀),   A₀ = share · mean of z_j² over what z fills,

and a round touches the columns that its row fills, and no others. With a `share`, a column that was never seen is
known as well as if it had been seen so often in rows like this one, whatever their scale and however many they fill.

`DiagonalRidge` is ridge regression so: a round r of the row z moves m_j by (r - <m, z>) z_j/A_j/(1 + Σ z_i²/A_i), and
A_j by z_j².

What is diagonal takes every column's evidence for its own, though the others of the row had their share in it, and so
is soon too sure of itself. Its prior is therefore weaker by `PRIOR` than that of an exact one.

>>> import numpy as np
>>> from marginbandits.contexts import as_sparse, per_action
>>> weights = Diagonal(n_blocks=2, n_features=3, prior=0.5)
>>> weights.mean[1, 2] = 3.0
>>> weights.scores(per_action(as_sparse(np.array([[0.0, 1.0, 1.0]])), n_actions=2))
(array([0., 3.]), array([2., 2.]))
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Sparse
from marginbandits.state import SQUARES, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = [
    "LARGEST",
    "PRIOR",
    "Diagonal",
    "DiagonalRidge",
    "clipped",
    "prior_of",
    "regress",
    "score_all",
    "score_one",
    "within",
]

Places = npt.NDArray[np.int64]
_LEAST = 1e-20
"""Rows of a smaller mean square count as if they had this one: their weights remain numbers."""
_FARTHEST = 1e30
LARGEST = 1e15
"""The largest value that `clipped` leaves."""
PRIOR = 0.25


class Diagonal(Record):
    """Mean and precision of every block, which begins as `prior`; 16·n_blocks·n_features bytes."""

    def __init__(self, n_blocks: int, n_features: int, prior: float, share: float = 0.0) -> None:
        self.prior, self.share = prior, share
        # A column after the other: what all blocks know of it is found together.
        self.mean, self.precision = zeros((n_features, 2, n_blocks)).transpose(1, 2, 0)
        if prior > 0.0:
            self.precision[...] = prior
        self.attach(Journal())

    def scores(self, batch: Batch) -> tuple[Array, Array]:
        """Of each action: the mean of its score, and its deviation."""
        rows = batch.rows
        assert isinstance(rows, Sparse)
        means, deviations = np.empty((2, len(batch.mask)))
        given = rows.values, rows.columns, rows.starts, batch.shared, batch.starts
        score_all(self.mean, self.precision, self.share, *given, means, deviations)
        return means, deviations

    def scores_within(self, batch: Batch) -> tuple[Array, Array]:
        """The same, of rows that are `clipped`."""
        return self.scores(Batch(within(batch), batch.shared, batch.starts, batch.mask))

    def keep(self, block: int, columns: Places) -> None:
        """Put into the journal what a round is about to change."""
        self.journal.keep(self.mean, (block, columns))
        self.journal.keep(self.precision, (block, columns))

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        begun = np.full(self.precision.shape[1], self.prior)
        return {
            "mean": Field(self.mean, -_FARTHEST, _FARTHEST, per_block=True),
            "precision": Field(self.precision, self.prior, SQUARES, initial=begun, per_block=True),
        }


class DiagonalRidge(Diagonal):
    """Ridge regression whose A is diagonal, and what `Ridge` says of it."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        super().__init__(n_blocks, n_features, PRIOR * regularisation)

    def predict(self, batch: Batch) -> Array:
        """<m, z> for each action of each context."""
        return self.scores_within(batch)[0]

    def variance(self, batch: Batch) -> Array:
        """Σ z_j²/A_j for each action of each context."""
        return np.square(self.scores_within(batch)[1])

    def learn(self, rows: Sparse, at: int, block: int, target: float) -> None:
        """Add row `at` as one observation to a block."""
        columns, values = rows.row(at)
        self.keep(block, columns)
        regress(self.mean[block], self.precision[block], columns, values, target)


def within(batch: Batch) -> Sparse:
    """Rows that are `clipped`."""
    rows = batch.rows
    assert isinstance(rows, Sparse)
    return Sparse(clipped(rows.values), rows.columns, rows.starts, rows.width)


@kernel
def clipped(values: Array) -> Array:
    """A row whose squares, over any precision, are numbers that can be told apart."""
    out = np.empty(values.shape[0])
    for k in range(values.shape[0]):
        out[k] = min(max(values[k], -LARGEST), LARGEST)
    return out


@kernel
def regress(mean: Array, precision: Array, columns: Places, values: Array, target: float) -> None:
    """One observation of a block, on what a row has filled."""
    row = clipped(values)
    n, error, variance = row.shape[0], target, 0.0
    for k in range(n):
        error -= mean[columns[k]] * row[k]
        variance += row[k] * row[k] / precision[columns[k]]
    step = error / (1.0 + variance)
    for k in range(n):
        mean[columns[k]] += step * row[k] / precision[columns[k]]
        precision[columns[k]] += row[k] * row[k]


@kernel
def prior_of(values: Array, share: float) -> float:
    """A₀ of a row."""
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k] * values[k]
    return float(share * max(total / max(values.shape[0], 1), _LEAST))


@kernel
def score_one(
    mean: Array, precision: Array, share: float, columns: Places, values: Array, means: Array, deviations: Array
) -> None:
    """Mean and deviation of every block's score, for one row."""
    prior = prior_of(values, share)
    for block in range(means.shape[0]):
        means[block], deviations[block] = _score(mean[block], precision[block], prior, columns, values)


@kernel
def _score(mean: Array, precision: Array, prior: float, columns: Places, values: Array) -> tuple[float, float]:
    total, variance = 0.0, 0.0
    for k in range(values.shape[0]):
        total += mean[columns[k]] * values[k]
        variance += values[k] * values[k] / (precision[columns[k]] + prior)
    return total, math.sqrt(variance)


@kernel
def score_all(
    mean: Array,
    precision: Array,
    share: float,
    values: Array,
    columns: Places,
    ends: Places,
    shared: bool,
    starts: Places,
    means: Array,
    deviations: Array,
) -> None:
    """Mean and deviation of the score of each action of each context, whose row i ends where row i + 1 begins."""
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            block, row = (0, k) if shared else (k - starts[i], i)
            own, where = values[ends[row] : ends[row + 1]], columns[ends[row] : ends[row + 1]]
            means[k], deviations[k] = _score(mean[block], precision[block], prior_of(own, share), where, own)
