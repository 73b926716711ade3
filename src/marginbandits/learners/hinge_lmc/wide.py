"""Hinge-LMC for wide contexts: what infinitely many particles would say, where only the columns of a row can move.

The posterior of an action's weights is kept as a Gaussian with mean w and a precision A that is diagonal, so a round
touches the columns that are filled, and no others. Its particles need not be drawn: their scores have

    mean <w, z>,   variance τ² Σ z_j²/A_j,

which is all that is played. A round moves w to the least of ½ Σ A_j (w_j - w_j before)² + the round's own cost, exactly
as it moves every particle of the narrow form (`samplers.particles.absorb`), and A_j grows by z_j² times the cost's
curvature there: nothing, beyond the margin, if the round agrees.

What is diagonal is too sure of itself (`oracles.diagonal`). Played is therefore `SPREAD` times the deviation, from a
prior weaker by `PRIOR`: what that is worth on text is in docs/text.md, where temperature=0.02 and regularisation=0.8
take it back.

Crammer, Kulesza & Dredze (2009), "Adaptive regularization of weight vectors".
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Sparse
from marginbandits.laws import greedy_over_floor
from marginbandits.oracles.diagonal import PRIOR, Diagonal, clipped, score_one
from marginbandits.samplers.particles import absorb
from marginbandits.state import Field
from marginbandits.types import Array, Mask

__all__ = ["WIDE_ROUND", "WidePosterior"]

SPREAD = 5.0
Places = npt.NDArray[np.int64]


@kernel
def _absorb_filled(
    means: Array, precisions: Array, columns: Places, values: Array, loss: float, margin: float, squared: bool
) -> None:
    """Move a block to where its posterior and the round together are least, on what a row has filled."""
    n, row = values.shape[0], clipped(values)
    mean, gain, variance = np.empty((1, n)), np.empty(n), 0.0
    for k in range(n):
        mean[0, k] = means[columns[k]]
        gain[k] = row[k] / precisions[columns[k]]
        variance += row[k] * gain[k]
    for k in range(n):
        gain[k] /= 1.0 + variance
    absorb(mean, margin, squared, row, loss, np.zeros(1), gain, variance)
    score = 0.0
    for k in range(n):
        means[columns[k]] = mean[0, k]
        score += mean[0, k] * row[k]
    curvature = (loss if score > 0.0 else 1.0 - loss) if squared and abs(score) > margin else 1.0
    for k in range(n):
        precisions[columns[k]] += curvature * row[k] * row[k]


@kernel
def _law_one(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, rounds, _, _, hope, smoothing, score, deviation = state
    score_one(means, precisions, 0.0, columns, clipped(values), score, deviation)
    for a in range(mask.shape[0]):
        score[a] += hope * SPREAD * deviation[a]
    floor = smoothing / (mask.shape[0] * math.sqrt(max(rounds[0], 1.0)))
    return bool(greedy_over_floor(score, starts, mask, floor, law))


@kernel
def _learn_one(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    means, precisions, rounds, margin, squared = state[:5]
    rounds[0] += 1.0
    _absorb_filled(means[action], precisions[action], columns, values, loss, margin, squared)


WIDE_ROUND = _law_one, _learn_one


class WidePosterior(Diagonal):
    """Mean and precision of every block, and rounds learnt."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        super().__init__(n_blocks, n_features, PRIOR * regularisation)
        self.rounds = np.zeros(1)

    def spread(self, batch: Batch) -> tuple[Array, Array]:
        """Of each action: the mean of its score, and its deviation at temperature 1."""
        means, deviations = self.scores_within(batch)
        return means, SPREAD * deviations

    def learn(self, one: Batch, action: int, loss: float, margin: float, squared: bool) -> None:
        """Move the block of an action to where its posterior and the round together are least."""
        rows, block = one.rows, one.block(action)
        assert isinstance(rows, Sparse)
        columns, values = rows.row(one.row(action))
        self.journal.keep(self.rounds)
        self.keep(block, columns)
        self.rounds += 1.0
        _absorb_filled(self.mean[block], self.precision[block], columns, values, loss, margin, squared)

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {**super().fields(), "rounds": Field(self.rounds, 0.0)}
