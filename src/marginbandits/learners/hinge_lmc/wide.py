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

from marginbandits.contexts import Batch
from marginbandits.oracles.diagonal import Diagonal, within
from marginbandits.samplers.particles import absorb
from marginbandits.state import Field
from marginbandits.types import Array

__all__ = ["WidePosterior"]


PRIOR, SPREAD = 0.25, 5.0


class WidePosterior(Diagonal):
    """Mean and precision of every block, and rounds learnt."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        super().__init__(n_blocks, n_features, PRIOR * regularisation)
        self.rounds = np.zeros(1)

    def scores(self, batch: Batch) -> tuple[Array, Array]:
        """Of each action: the mean of its score, and its deviation at temperature 1."""
        means, deviations = super().scores(Batch(within(batch), batch.shared, batch.starts, batch.mask))
        return means, SPREAD * deviations

    def learn(self, one: Batch, action: int, loss: float, margin: float, squared: bool) -> None:
        """Move the block of an action to where its posterior and the round together are least."""
        columns, values = within(one).row(one.row(action))
        block = one.block(action)
        self.journal.keep(self.rounds)
        self.keep(block, columns)
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
        return {**super().fields(), "rounds": Field(self.rounds, 0.0)}
