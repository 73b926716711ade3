"""What a log says of a policy: two numbers a round, or four where a model of the outcome is used.

    weights    w_i = π_i(a_i)/p_i       how much more often the policy would have taken what the log took
    outcomes   ℓ_i in [0, 1]            the loss (or the reward) of what the log took
    taken      q_i(a_i)                 what a model predicted of it
    direct     Σ_a π_i(a) q_i(a)        what the model predicts of the policy

Every estimator and every interval of this room is a function of these. `Gatherer` collects them from chunks, in 16
bytes a round (32 with a model, 48 for two policies), so that one pass over a log larger than memory is enough.

>>> few = Evidence([2.0, 0.0], [1.0, 0.0])
>>> len(few), few.largest
(2, 2.0)
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.rounds import LEAST
from marginbandits.types import Array
from marginbandits.validation import Instance, OneOf, Real, record

__all__ = ["Evidence", "Gatherer", "Pair"]

Weights = Annotated[npt.ArrayLike, Numbers(1, low=0, high=1.0 / LEAST)]
Shares = Annotated[npt.ArrayLike, Numbers(1, low=0, high=1, booleans=True)]
MaybeShares = Annotated[npt.ArrayLike | None, OneOf(Numbers(1, low=0, high=1), Instance(type(None)))]


@record
@dataclass(frozen=True, eq=False)
class Evidence:
    """What a log says of one policy, round by round; see the module.

    `largest` is the largest weight that could have come up: it bounds the terms of intervals that hold at any n. The
    largest of `weights`, unless more is known.
    """

    weights: Weights
    outcomes: Shares
    taken: MaybeShares = None
    direct: MaybeShares = None
    largest: Annotated[float, Real(0)] = 0.0

    def __post_init__(self) -> None:
        if (self.taken is None) != (self.direct is None):
            raise ValueError("taken and direct must be given together: both are what a model predicts")
        for name in ("outcomes", "taken", "direct"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self):
                raise ValueError(f"{name} must be one number for each of {len(self)} weights, got {len(given)}")
        object.__setattr__(self, "largest", max(self.largest, float(self.w.max())))

    def __len__(self) -> int:
        return len(self.w)

    @property
    def w(self) -> Array:
        """The weights, as an array."""
        return np.asarray(self.weights)

    @property
    def y(self) -> Array:
        """The outcomes, as an array."""
        return np.asarray(self.outcomes)

    @property
    def residuals(self) -> Array:
        """What the model left unexplained of each outcome; all of it where there is no model."""
        return self.y if self.taken is None else np.asarray(self.y - np.asarray(self.taken))

    def model_free(self) -> "Evidence":
        """The same without what a model said."""
        return replace(self, taken=None, direct=None)


@dataclass(frozen=True, eq=False)
class Pair:
    """What one log says of two policies; `distance` is ½ Σ_a |π_i(a) - ρ_i(a)| of every round, 0 where they agree."""

    first: Evidence
    second: Evidence
    distance: Array

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.second) == len(self.distance):
            n = len(self.first), len(self.second), len(self.distance)
            raise ValueError(f"both policies must be judged by the same rounds, got {n[0]}, {n[1]} and {n[2]} of them")
        if not np.array_equal(self.first.y, self.second.y):
            raise ValueError("both policies must be judged by the same outcomes, got two different columns")

    def __len__(self) -> int:
        return len(self.first)


class Gatherer:
    """Chunks of evidence, kept as they come and joined once."""

    def __init__(self) -> None:
        self._chunks: list[tuple[Array, ...]] = []
        self.largest = 0.0

    def add(self, weights: Array, outcomes: Array, taken: Array | None = None, direct: Array | None = None) -> None:
        """The next rounds."""
        given = (weights, outcomes) if taken is None or direct is None else (weights, outcomes, taken, direct)
        if self._chunks and len(given) != len(self._chunks[0]):
            raise ValueError("taken and direct must be given with every chunk, or with none")
        self._chunks.append(tuple(np.array(one, float) for one in given))

    def join(self, other: "Gatherer") -> None:
        """The rounds of another, after these."""
        self._chunks += other._chunks
        self.largest = max(self.largest, other.largest)

    def evidence(self) -> Evidence:
        """All rounds so far."""
        if not self._chunks:
            raise ValueError("a log without rounds says nothing of a policy")
        joined = [np.concatenate(column) for column in zip(*self._chunks, strict=True)]
        weights, outcomes, *model = joined
        taken, direct = model or (None, None)
        return Evidence(weights, outcomes, taken, direct, self.largest)
