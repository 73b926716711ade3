"""How a Hinge-LMC run is going, in numbers a person can read, at no cost that grows with it.

    agreement    share of particles that would themselves play what they hope most of together: near 1/K they are
                 still guessing, near 1 they have made up their minds
    potential    the two-sided hinge, in margins, that each new round cost the particles' mean before they learnt it
    beyond       the share of particles and rounds kept whose score is beyond the margin: where the margin acts
    weight       1/p of the action played. The potential counts every round alike, so these weights are clipped at 1;
                 they matter to whoever evaluates other policies from the log

Averages are kept over time in at most `BINS` bins; when all are full, neighbours merge
and later bins are twice as wide.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.pictures import figure
from marginbandits.state import COUNT, Field, Journal, Record
from marginbandits.types import Array

__all__ = ["Monitor", "RunDiagnostics"]

BINS = 128


@dataclass(frozen=True, slots=True, eq=False)
class RunDiagnostics:
    """What `HingeLMC.diagnostics` returns; the curves are means over the rounds up to `until`, bin by bin."""

    rounds: int
    agreement: float  # over the last eighth of the run
    potential: float  # over the last eighth of the run
    spread: float  # variance of particles' scores over that of the Gaussian part, near 1 once warm; NaN of networks
    effective_sample_share: float  # (Σw)²/(n Σw²) of the weights w = 1/p
    largest_weight: float
    clipped: float  # share of rounds whose weight was above 2, all of which count as 1
    beyond: float  # share of (particle, round) pairs beyond the margin, where it acts
    until: npt.NDArray[np.int64]
    agreement_curve: Array
    potential_curve: Array

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw agreement and potential into a picture file (`.png`, `.svg`, `.pdf`): the extra `report`."""
        drawn = figure(8, 3.2)
        left, right = drawn.subplots(1, 2)
        left.plot(self.until, self.agreement_curve)
        left.set(title="Particles that agree", ylim=(0, 1.02), xlabel="rounds")
        right.plot(self.until, self.potential_curve)
        right.set(title="Hinge of each new round, in margins", ylim=(0, None), xlabel="rounds")
        title = f"{self.rounds:,} rounds; {self.beyond:.0%} beyond the margin, spread {self.spread:.2f}"
        drawn.suptitle(title, fontsize=10)
        drawn.savefig(path)


class Monitor(Record):
    """Sums of agreement and potential by bins of rounds, and of the weights over all."""

    def __init__(self) -> None:
        self.bins = np.zeros((BINS, 3))  # rounds, agreement, potential
        self.state = np.array([0, 1], np.int64)  # bin being filled, its width
        self.weights = np.zeros(5)  # rounds, Σw, Σw², largest, above 2
        self.before = np.zeros(3 * BINS + 8)  # all of these before the last round, and the stamp they were kept under
        self.attach(Journal())

    @property
    def rounds(self) -> float:
        """How many there were."""
        return float(self.weights[0])

    def begin(self) -> None:
        """Nothing seen."""
        self.bins[...], self.state[:], self.weights[:] = 0.0, (0, 1), 0.0

    def undo(self, stamp: int) -> None:
        """Put everything back as it was before the last round."""
        if self.before[-1] == stamp:
            bins, state, weights = np.split(self.before[:-1], [self.bins.size, self.bins.size + 2])
            self.bins[...], self.state[:], self.weights[:] = bins.reshape(BINS, 3), state, weights

    def curves(self) -> tuple[npt.NDArray[np.int64], Array, Array]:
        """Last round, mean agreement and mean potential of each bin."""
        counts, agreement, potential = self.bins[self.bins[:, 0] > 0].T
        return counts.cumsum().astype(np.int64), agreement / counts, potential / counts

    def recent(self) -> tuple[float, float]:
        """Agreement and potential over the last eighth of the run, or the last bin if that is wider."""
        counts, agreement, potential = self.bins[self.bins[:, 0] > 0].T
        last = counts[::-1].cumsum()[::-1] <= max(counts.sum() / 8, counts[-1])
        return float(agreement[last].sum() / counts[last].sum()), float(potential[last].sum() / counts[last].sum())

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "bins": Field(self.bins, 0.0),
            "state": Field(self.state, 0, COUNT),
            "weights": Field(self.weights, 0.0),
        }

    def check(self) -> None:
        """Bins before the one being filled are full, those after it empty; the weights count the same rounds."""
        where, width = self.state.tolist()
        counts, rounds = self.bins[:, 0], self.bins[:, 0].sum()
        if (
            where > BINS
            or (counts[:where] != width).any()
            or (counts[where:] >= width).any()
            or counts[where + 1 :].any()
        ):
            raise ValueError(f"state must be a bin and its width, got {self.state}")
        if not rounds == self.weights[0] <= COUNT or self.weights[1] < rounds or self.weights[2] < rounds:
            raise ValueError("weights must be those of the rounds in the bins, each at least 1")


@kernel
def count(
    bins: Array,
    state: npt.NDArray[np.int64],
    weights: Array,
    agreement: float,
    potential: float,
    weight: float,
    last: Array,
    stamp: int,
) -> None:
    """Add one round, for other kernels too; what was there is kept in `last`."""
    n = bins.shape[0]
    for i in range(n):
        for j in range(3):
            last[3 * i + j] = bins[i, j]
    for j in range(weights.shape[0]):
        last[3 * n + 2 + j] = weights[j]
    last[-1] = stamp
    last[3 * n], last[3 * n + 1] = state[0], state[1]
    if state[0] == n:  # all are full: neighbours merge
        for i in range(n // 2):
            for j in range(3):
                bins[i, j] = bins[2 * i, j] + bins[2 * i + 1, j]
        bins[n // 2 :] = 0.0
        state[0], state[1] = n // 2, 2 * state[1]
    at = state[0]
    bins[at, 0] += 1.0
    bins[at, 1] += agreement
    bins[at, 2] += potential
    if bins[at, 0] == state[1]:
        state[0] = at + 1
    weights[0] += 1.0
    weights[1] += weight
    weights[2] += weight * weight
    weights[3] = max(weights[3], weight)
    weights[4] += weight > 2.0
