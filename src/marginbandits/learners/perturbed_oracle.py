"""What learners that follow a perturbed leader share where the class of policies is known by its oracle alone.

The oracle is that of follow-the-leader (`types.Oracle`), and its leader's policy plays the action of largest score. It
is asked for the least of a weighted sample: round i costs `weights[i]` (all losses are 1) whoever plays `blocks[i]` on
`rows[i]`. That is what each action of each context has been charged, and its noise; of the K numbers of a context the
least is taken off, which is the same for all policies, so that no weight is negative. The theorems need an oracle that
finds the least over its class, exactly: with one that minimises a surrogate the learner plays, and nothing is promised.

Contexts are vectors, and policies see them as they are; equal ones are one. All actions must be available, for what a
policy would play instead of another action is nothing that an oracle is told. Nor does it say how many policies it
has, or on how many contexts they differ: `size` is that number, or a larger one, and no theorem holds if it is less.

Contexts and what they were charged take 8(d + K)(T + |X|) bytes.
"""

from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Identity
from marginbandits.learners.base import Parts
from marginbandits.learners.perturbed import Perturbed
from marginbandits.learners.policy_class import Columns
from marginbandits.oracles.leader import Followed
from marginbandits.state import Field, zeros
from marginbandits.types import Array, Leader, Oracle
from marginbandits.validation import Integer

__all__ = ["LONGEST", "Given", "PerturbedByOracle", "Size"]

LONGEST = 10**7
_FARTHEST = 1e100
Given = Annotated[Array, Numbers(2, low=-1e100, high=1e100)]
Size = Annotated[int, Integer(2, 10**300)]


class PerturbedByOracle(Perturbed):
    """The leader is what the oracle finds, of all that was charged to the contexts given and met."""

    journals = True
    n_features = None
    long_contexts = "leave"

    def __init__(
        self,
        n_actions: int,
        *,
        oracle: Oracle,
        contexts: Array,
        size: int,
        horizon: int,
        seed: int | np.random.Generator | None,
    ) -> None:
        super().__init__(n_actions, features=Identity(), seed=seed)
        self.oracle, self.contexts, self.size, self.horizon = oracle, contexts, size, horizon
        self._known, self._given = np.unique(contexts, axis=0, return_counts=True)

    def _often(self) -> Columns:
        return np.asarray(self._given)

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        if shape.shared or n_features != self._known.shape[1]:
            raise ValueError(
                f"context must be like the contexts given, of shape ({self._known.shape[1]},), got {shape}"
            )
        self._met = zeros((self.horizon, n_features))  # contexts that were not given
        self._costs = zeros((len(self._known) + self.horizon, self.n_actions))
        self._counts: npt.NDArray[np.int64] = zeros((2,), np.int64)  # rounds, and how many contexts were met
        self._followed = Followed(self.oracle, self.n_actions, n_features)
        return {
            "met": Field(self._met),
            "costs": Field(self._costs, 0.0, _FARTHEST),
            "counts": Field(self._counts, 0, self.horizon),
            "followed": self._followed,
        }

    def _check(self) -> None:
        if self._counts[1] > self._counts[0]:
            raise ValueError("there must be a round for each context that was met")

    def _learnt(self) -> int:
        return int(self._counts[0])

    def _law(self, one: Batch) -> Array:
        _whole(one)
        law = np.zeros(self.n_actions)
        law[self._choice(self._followed.leader, dense(one.rows)[0])] = 1.0
        return law

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        _whole(one)
        row, rng = dense(one.rows)[0], self._chance()
        self._journal.keep(self._counts)
        self._counts[0] += 1
        at = self._place(row)
        self._journal.keep(self._costs, at)
        self._costs[at, action] = min(self._costs[at, action] + self._charge(row, action, loss, probability), _FARTHEST)
        self._journal.keep_attribute(self._followed, "leader")
        self._followed.leader = self._led(self._perturbation(rng))

    def _contexts(self) -> Array:
        return np.concatenate([self._known, self._met[: int(self._counts[1])]])

    def _place(self, row: Array) -> int:
        """Where a context is among those given and met; a new one is put there."""
        found = np.flatnonzero((self._contexts() == row).all(1))
        if len(found):
            return int(found[0])
        new = int(self._counts[1])
        self._journal.keep(self._met, new)
        self._met[new] = row
        self._counts[1] += 1
        return len(self._known) + new

    def _led(self, noise: Array) -> Leader:
        """The leader of what was charged and this noise; where nothing was, the one who leads."""
        rows = self._contexts()
        costs = self._costs[: len(rows)].copy()
        costs[: len(noise)] += noise
        costs -= costs.min(1, keepdims=True)
        at, blocks = np.nonzero(costs)
        if not len(at):
            return self._followed.leader
        return self._followed.found(rows[at], blocks, np.ones(len(at)), costs[at, blocks])[0]

    def _choice(self, leader: Leader, row: Array) -> int:
        """What its policy plays."""
        return int(self._followed.scored(leader, row[None])[0].argmax())


def _whole(one: Batch) -> None:
    if not one.mask.all():
        raise ValueError("available must be all actions: an oracle finds policies that may play any")
