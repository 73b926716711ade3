"""What follow-the-leader shares: epochs that double, each played by the leader of the one before.

    epoch m    rounds 2^m … 2^{m+1} - 1; epoch 0 has no leader to play
    leader     found at the end of epoch m - 1, from the rounds of that epoch only, and played throughout epoch m

Epochs count the losses learnt, so late feedback lengthens an epoch and loses nothing; a round is weighted by the
probability it was logged with. Memory is for the longest epoch that a later one learns from, at most T/2 rounds.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", Algorithm 3.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginbandits.learners.base import Parts
from marginbandits.learners.horizon import HorizonLearner
from marginbandits.learners.inputs import HEAVIEST
from marginbandits.state import Field, zeros
from marginbandits.theory import epoch_end
from marginbandits.types import Array

__all__ = ["Epoch", "EpochLearner"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One search for a leader: over which rounds, what it cost, and by how much at most the least is lower.

    `gap` is None where the oracle gives no certificate. Where it searched a net of contexts, the gap is that over
    policies on the net, and `off_net` what the way between contexts and centres adds: no policy of the class costs less
    than value - gap - off_net. `solved` is False where it gave no leader in time; then the leader before it went on.
    """

    first: int
    rounds: int
    value: float
    gap: float | None
    off_net: float
    solved: bool


class EpochLearner(HorizonLearner):
    """A subclass keeps each round with `_keep`, and finds the leader of those kept in `_lead`."""

    journals = True

    @abstractmethod
    def _lead(
        self, rows: Array, actions: npt.NDArray[np.int64], losses: Array, weights: Array
    ) -> tuple[float, float | None, float, bool]:
        """Find the next leader from one epoch's rounds; returns what `Epoch` records: value, gap, off_net, solved."""

    def epochs(self) -> list[Epoch]:
        """Every search for a leader so far."""
        if self._map is None:
            return []
        found = []
        start = 1
        for value, gap, off_net, solved in self._record[: self._epoch()].tolist():
            end = epoch_end(start, 2.0)
            found.append(Epoch(start, end - start, value, None if gap < 0.0 else gap, off_net, bool(solved)))
            start = end
        return found

    def _begin_epochs(self, width: int) -> Parts:
        """Room for rounds of so many numbers; returned by name."""
        searches = self.horizon.bit_length() - 1  # epochs that end with another to follow
        longest = 2 ** max(searches - 1, 0)
        self._seen = zeros((longest, width))  # this epoch's rows,
        self._losses, self._weights = zeros((2, longest))  # losses, 1/p,
        self._actions = zeros((longest,), np.int64)  # and actions
        self._clock = np.zeros(1, np.int64)  # rounds learnt
        begun = np.array([0.0, -1.0, 0.0, 0.0])
        self._record = zeros((searches, 4))  # of each search: value, gap or -1, off_net, solved
        self._record[...] = begun
        return {
            "seen": Field(self._seen),
            "actions": Field(self._actions, 0, self.n_actions - 1),
            "losses": Field(self._losses, 0.0, 1.0),
            "weights": Field(self._weights, 0.0, HEAVIEST),
            "clock": Field(self._clock, 0, self.horizon),
            "record": Field(self._record, -1.0, initial=begun),
        }

    def _keep(self, row: Array, action: int, loss: float, probability: float) -> None:
        epoch, learnt = self._epoch(), self._learnt()
        start = 2**epoch
        at, end = learnt + 1 - start, epoch_end(start, 2.0)
        self._journal.keep(self._clock)
        self._clock[0] += 1
        if end > self.horizon:
            return  # no epoch follows to learn from this one
        for array in (self._seen, self._actions, self._losses, self._weights):
            self._journal.keep(array, at)
        self._seen[at], self._actions[at], self._losses[at], self._weights[at] = row, action, loss, 1.0 / probability
        if learnt + 2 == end:
            n = at + 1
            value, gap, off, solved = self._lead(self._seen[:n], self._actions[:n], self._losses[:n], self._weights[:n])
            self._journal.keep(self._record, epoch)
            self._record[epoch] = value, -1.0 if gap is None else gap, off, solved

    def _epoch(self) -> int:
        """M of the next round; as many leaders were sought before it, if a later epoch was to play them."""
        return (self._learnt() + 1).bit_length() - 1

    def _learnt(self) -> int:
        return int(self._clock[0])
