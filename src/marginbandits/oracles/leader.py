"""What an oracle finds, and how a learner follows it.

An oracle (`types.Oracle`) is asked for a leader from logged rounds; a leader (`types.Leader`) gives every row of
features one score per block: per action for vector contexts, or one for K x d contexts, whose rows are x_a - x̄.
`Followed` asks, checks what comes back, and centres the K scores of a context, so that they sum to zero whatever the
class.

A `LinearLeader` is saved with its learner. So is a leader of another class, if the oracle says which leader to `begin`
with, one that likes all actions alike, and all that makes leaders differ is their array of `weights`, of one shape.
Any other plays as well, but cannot be saved.

>>> import numpy as np
>>> leader = LinearLeader(np.array([[1.0, 0.0], [-1.0, 0.5]]))
>>> leader.scores(np.array([[2.0, 2.0], [0.0, 1.0]]))
array([[ 2. , -1. ],
       [ 0. ,  0.5]])
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.state import Field, Journal, Record, zeros
from marginbandits.surrogates import centred
from marginbandits.types import Array, Leader, Oracle
from marginbandits.validation import quoted

__all__ = ["Followed", "LinearLeader"]


@dataclass(frozen=True, slots=True, eq=False)
class LinearLeader:
    """Weights (blocks x d), what they cost, and by how much at most the least is lower: by default, nothing known.

    Of a search from many starts, `agreed` says how many of them ended at what is cheapest.
    """

    weights: Array
    value: float = math.nan
    gap: float = math.inf
    evaluations: int = 0
    starts: int = 1
    agreed: int = 1

    def scores(self, rows: Array) -> Array:
        """<w, z> for each row and block."""
        return np.asarray(rows @ self.weights.T)


class Followed(Record):
    """The leader now followed, to begin with one that likes all actions alike."""

    def __init__(self, oracle: Oracle, n_blocks: int, n_features: int) -> None:
        self.oracle, self.shape = oracle, (n_blocks, n_features)
        begin = getattr(oracle, "begin", None)
        self.leader: Leader = LinearLeader(zeros(self.shape)) if begin is None else begin(*self.shape)
        self._kind, self._size = type(self.leader), self._weights().shape
        self.attach(Journal())

    def round(self, rows: Array, shared: bool, action: int) -> tuple[Array, int]:
        """The row and the block that a round is kept by."""
        return (rows[action] - rows.mean(0), 0) if shared else (rows[0], action)

    def scores(self, rows: Array, shared: bool) -> Array:
        """The K scores of one context, which sum to zero."""
        x = rows - rows.mean(0) if shared else rows
        return centred(self.leader.scores(x).ravel())

    def refit(self, rows: Array, blocks: npt.NDArray[np.int64], losses: Array, weights: Array) -> Array:
        """Follow the oracle's leader of these rounds; returns their scores of the actions played."""
        leader, scores = self.found(rows, blocks, losses, weights)
        self.journal.keep_attribute(self, "leader")
        self.leader = leader
        if self.shape[0] > 1:
            scores = centred(scores)
        return np.asarray(scores[np.arange(len(rows)), blocks])

    def found(self, rows: Array, blocks: npt.NDArray[np.int64], losses: Array, weights: Array) -> tuple[Leader, Array]:
        """The oracle's leader of these rounds, who is not followed yet, and the scores of their rows."""
        start = self.leader.weights if isinstance(self.leader, LinearLeader) else np.zeros(self.shape)
        leader: object = self.oracle.fit(rows, blocks, losses, weights, start)
        if not isinstance(leader, Leader):
            raise ValueError(f"oracle must find a leader that has scores, got {quoted(leader)}")
        return leader, self.scored(leader, rows)

    def scored(self, leader: Leader, rows: Array) -> Array:
        """What a leader says of these rows, if it is what one may say."""
        said, wanted = leader.scores(rows), (len(rows), self.shape[0])
        try:
            scores = np.asarray(said, float)
        except (TypeError, ValueError):
            scores = np.empty(0)
        if scores.shape != wanted or not np.isfinite(scores).all():
            raise ValueError(f"oracle must find a leader of finite scores of shape {wanted}, got {quoted(said)}")
        return scores

    @property
    def gap(self) -> float | None:
        """By how much at most the least is lower, if the leader knows."""
        gap = self.leader.gap if isinstance(self.leader, LinearLeader) else math.inf
        return gap if math.isfinite(gap) else None

    def _weights(self) -> Any:
        return getattr(self.leader, "weights", np.empty(0))

    def _plain(self) -> bool:
        return type(self.leader) is self._kind and self._weights().shape == self._size

    def refuse_saving(self) -> None:
        """A leader of another class is not plain data."""
        if not self._plain():
            raise ValueError(
                f"cannot save {quoted(self.leader)}: only a {self._kind.__name__} of shape {self._size} is plain data"
            )

    def fields(self) -> Mapping[str, Field]:
        """The live state; nothing of a leader that is not plain data."""
        return {"leader": Field(self._weights())} if self._plain() else {}
