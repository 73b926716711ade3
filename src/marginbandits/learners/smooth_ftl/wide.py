"""SmoothFTL for wide contexts: the same leaders, found on what is filled.

An action's leader is the least of the narrow form's potential (`oracles.two_sided`), by ascent of its dual. Round i
pulls by β_i, and

    w = Σ β_i z_i/λ,   β_i = 1 - 2ℓ_i - s_i within ±γ,   -ℓ_i - s_i above γ,   1 - ℓ_i - s_i below -γ,   s_i = <w, z_i>

Round after round is given the pull that is right while the others stay, at the cost of its filled columns. A leader
begins where the last one ended, so few passes are needed. The width of a score is that of a diagonal precision,
(Σ z_j²/A_j)^{1/2} with A_j = λ + Σ_i z_ij² (`oracles.diagonal`), which no draws need to estimate; times `SPREAD`, as
what is diagonal is too sure of itself.

Kept are the latest rounds of each action; those no longer kept go on pulling as they did last.

Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), "A dual coordinate descent method for large-scale linear SVM".
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.oracles.diagonal import Diagonal, within
from marginbandits.oracles.latest import FILLED, make_way
from marginbandits.state import COUNT, SQUARES, Field, zeros
from marginbandits.types import Array

__all__ = ["WideLeaders"]

Places = npt.NDArray[np.int64]
SPREAD = 3.0
_PASSES, _TOLERANCE = 20, 1e-2
_FIRST, _HELD, _SEEN = range(3)


class WideLeaders(Diagonal):
    """For each block its leader, and its latest rounds: at most `memory`, in 16·max(64·memory, n_features) bytes."""

    def __init__(self, n_blocks: int, n_features: int, memory: int, regularisation: float) -> None:
        super().__init__(n_blocks, n_features, regularisation)
        room = max(FILLED * memory, n_features)  # for one round at least
        self.values, self.columns = zeros((n_blocks, room)), zeros((n_blocks, room), np.int64)
        self.places = zeros((n_blocks, memory, 2), np.int64)  # of each round its first place there, and how many
        self.rounds = zeros((n_blocks, memory, 2))  # loss and pull
        self.counts = np.zeros((n_blocks, 3), np.int64)  # which round is the oldest, how many are kept, how many were

    @property
    def seen(self) -> Places:
        """Rounds of each block."""
        return self.counts[:, _SEEN]

    def spread(self, batch: Batch) -> tuple[Array, Array]:
        """Of each action: its score, and the width of that."""
        scores, widths = self.scores_within(batch)
        return scores, SPREAD * widths

    def put(self, one: Batch, action: int, loss: float) -> None:
        """Keep a round, if need be in place of the oldest."""
        columns, values = within(one).row(one.row(action))
        block, n = one.block(action), len(values)
        counts = self.counts[block]
        self.journal.keep(self.counts, block)
        if n == 0:  # it pulls at nothing
            counts[_SEEN] = min(counts[_SEEN] + 1, COUNT)
            return
        at, start = make_way(counts, self.places[block], n, self.values.shape[1])
        where = block, slice(start, start + n)
        for array, index in ((self.values, where), (self.columns, where), (self.places, (block, at))):
            self.journal.keep(array, index)
        self.journal.keep(self.rounds, (block, at))
        self.journal.keep(self.precision, (block, columns))
        self.values[where], self.columns[where] = values, columns
        self.places[block, at], self.rounds[block, at] = (start, n), (loss, 0.0)
        self.precision[block, columns] += values * values

    def lead(self, block: int, margin: float) -> None:
        """Find the block's leader anew."""
        used = self.columns[block, : self.places[block].sum(1).max()]
        self.journal.keep(self.mean, (block, used))
        self.journal.keep(self.rounds, block)
        _ascend(
            self.mean[block],
            self.values[block],
            self.columns[block],
            self.places[block],
            self.rounds[block],
            self.counts[block],
            margin,
            self.prior,
            _PASSES,
            _TOLERANCE,
        )

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        room = self.values.shape[1]
        return {
            **super().fields(),
            "values": Field(self.values, per_block=True),
            "columns": Field(self.columns, 0, self.mean.shape[1] - 1, per_block=True),
            "places": Field(self.places, 0, room, per_block=True),
            "rounds": Field(self.rounds, -SQUARES, SQUARES, per_block=True),
            "counts": Field(self.counts, 0, COUNT, per_block=True),
        }

    def check(self) -> None:
        """Rounds are within what is kept, and losses within [0, 1]."""
        if (self.places.sum(2) > self.values.shape[1]).any():
            raise ValueError("places must be within what is kept")
        if (self.rounds[:, :, 0] < 0.0).any() or (self.rounds[:, :, 0] > 1.0).any():
            raise ValueError("rounds must have losses within [0, 1]")
        first, held, seen = self.counts.T
        if (first >= self.places.shape[1]).any() or (held > np.minimum(self.places.shape[1], seen)).any():
            raise ValueError("counts must be of rounds that are kept")


@kernel
def _ascend(
    mean: Array,
    values: Array,
    columns: Places,
    places: Places,
    rounds: Array,
    counts: Places,
    margin: float,
    regularisation: float,
    passes: int,
    tolerance: float,
) -> None:
    """Give every round its pull, until no score changes by more than the tolerance in a pass."""
    for _ in range(passes):
        largest = 0.0
        for k in range(counts[_HELD]):
            i = (counts[_FIRST] + k) % places.shape[0]
            start, end, loss = places[i, 0], places[i, 0] + places[i, 1], rounds[i, 0]
            score, square = 0.0, 0.0
            for j in range(start, end):
                score += mean[columns[j]] * values[j]
                square += values[j] * values[j]
            own = square / regularisation
            if not own > 0.0:
                continue
            rest = score - own * rounds[i, 1]
            pull = (1.0 - 2.0 * loss - rest) / (1.0 + own)
            if rest + own * pull > margin:
                pull = max((-loss - rest) / (1.0 + own), (margin - rest) / own)
            elif rest + own * pull < -margin:
                pull = min((1.0 - loss - rest) / (1.0 + own), (-margin - rest) / own)
            change = (pull - rounds[i, 1]) / regularisation
            rounds[i, 1] = pull
            largest = max(largest, abs(change) * square)
            for j in range(start, end):
                mean[columns[j]] += change * values[j]
        if largest < tolerance:
            break
