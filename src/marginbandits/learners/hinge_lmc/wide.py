"""Hinge-LMC for wide contexts: what infinitely many particles would say, where only the columns of a row can move.

The posterior of an action's weights is kept as a Gaussian with mean w and a precision A that is diagonal, so a round
touches the columns that are filled, and no others. Its particles need not be drawn: their scores have

    mean <w, z>,   variance τ² Σ z_j²/A_j,

which is all that is played. A round moves w to the least of ½ Σ A_j (w_j - w_j before)² + the round's own cost, exactly
as it moves every particle of the narrow form (`samplers.particles.absorb`), and A_j grows by z_j² times the cost's
curvature there: nothing, beyond the margin, if the round agrees.

What is diagonal takes every column's evidence for its own, though the others of the row had their share in it, and so
is too sure of itself. Played is therefore `SPREAD` times the deviation, from a prior weaker by `PRIOR`: what that is
worth on text is in docs/text.md, where temperature=0.02 and regularisation=0.8 take it back.

Crammer, Kulesza & Dredze (2009), "Adaptive regularization of weight vectors".
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.contexts import Batch, Rows, Sparse
from marginbandits.samplers.particles import absorb
from marginbandits.state import SQUARES, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["WidePosterior"]


PRIOR, SPREAD = 0.25, 5.0
_LARGEST = 1e15
"""No feature that is seen is larger."""


class WidePosterior(Record):
    """Mean and precision of every block; 16·n_blocks·n_features bytes."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        self.regularisation = PRIOR * regularisation
        self.mean, self.precision = zeros((n_blocks, n_features)), zeros((n_blocks, n_features))
        self.precision[...] = self.regularisation
        self.rounds = np.zeros(1)
        self.attach(Journal())

    def scores(self, batch: Batch) -> tuple[Array, Array]:
        """Of each action of one context: the mean of its score, and its deviation at temperature 1."""
        rows = _sparse(batch.rows)
        values, columns = rows.values, rows.columns
        if batch.shared:
            row = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
            means = np.bincount(row, self.mean[0, columns] * values, len(rows)).astype(float)
            variances = np.bincount(row, values * values / self.precision[0, columns], len(rows)).astype(float)
        else:
            means = self.mean[:, columns] @ values
            variances = (1.0 / self.precision[:, columns]) @ (values * values)
        return means, SPREAD * np.sqrt(variances)

    def learn(self, one: Batch, action: int, loss: float, margin: float, squared: bool) -> None:
        """Move the block of an action to where its posterior and the round together are least."""
        columns, values = _sparse(one.rows).row(one.row(action))
        block = one.block(action)
        self.journal.keep(self.rounds)
        self.journal.keep(self.mean, (block, columns))
        self.journal.keep(self.precision, (block, columns))
        self.rounds += 1.0
        mean, towards = self.mean[block, columns], values / self.precision[block, columns]
        variance = float(values @ towards)
        absorb(mean[None], margin, squared, values, loss, np.zeros(1), towards / (1.0 + variance), variance)
        self.mean[block, columns] = mean
        score = float(mean @ values)
        beyond = squared and abs(score) > margin
        self.precision[block, columns] += ((loss if score > 0.0 else 1.0 - loss) if beyond else 1.0) * values * values

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        begun = np.full(self.precision.shape[1], self.regularisation)
        return {
            "mean": Field(self.mean, -1e30, 1e30, per_block=True),
            "precision": Field(self.precision, self.regularisation, SQUARES, initial=begun, per_block=True),
            "rounds": Field(self.rounds, 0.0),
        }


def _sparse(rows: Rows) -> Sparse:
    """Rows whose squares, over any precision, are numbers that can be told apart."""
    assert isinstance(rows, Sparse)
    return Sparse(np.clip(rows.values, -_LARGEST, _LARGEST), rows.columns, rows.starts, rows.width)
