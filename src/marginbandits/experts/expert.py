"""What a mixture is made of: one class of predictions of every action's reward, learnt from the action played.

An expert given to a learner is a recipe, like its features; `_start` makes a fresh copy. What the copy learns is a
`Record`, so that it is saved, checked and taken back with its learner. Rows come in single precision, within ±1e15. A
class of one's own fills these holes.

    _begin(n_blocks, n_features)   allocate what will be learnt, and name it in `fields`
    _predict(batch)                what each action would earn, as far as this class can tell: numbers within [0, 1]
    _width(batch)                  how far off that may be: small where it has seen much like it; None if it cannot say
    _learn(one, action, loss)      learn from one interaction; what it changes goes into the journal first
    _forget()                      begin again

One that must see many rounds before it is of use says so (`_asleep`), and is not judged by what it predicts until then.
"""

import copy
from abc import ABC, abstractmethod
from typing import ClassVar, Self

from marginbandits.contexts import Batch
from marginbandits.features import FeatureMap
from marginbandits.saving import Part
from marginbandits.state import Journal, Record
from marginbandits.types import Array

__all__ = ["Expert"]


class Expert(Part, Record, ABC):
    """Predictions from `features`, with one model a block: per action for vectors, one for K x d contexts."""

    features: str | FeatureMap

    scaled: ClassVar[bool] = True
    """Whether it matters in which scale a row was learnt; then rows are learnt anew when the scale is known better."""

    def _start(self, n_blocks: int, n_features: int) -> Self:
        """A fresh copy, for rows of so many features."""
        started = copy.deepcopy(self)
        started._begin(n_blocks, n_features)
        started.attach(Journal())
        return started

    @abstractmethod
    def _begin(self, n_blocks: int, n_features: int) -> None:
        """Allocate the state."""

    @abstractmethod
    def _predict(self, batch: Batch) -> Array:
        """The reward of each action of each context, within [0, 1], laid out like the batch's mask."""

    @abstractmethod
    def _width(self, batch: Batch) -> Array | None:
        """How far off each prediction may be; None if it cannot say."""

    def _asleep(self) -> bool:
        """Whether it has nothing to say yet: a mixture then believes it as far as it did when the run began."""
        return False

    @abstractmethod
    def _learn(self, one: Batch, action: int, loss: float) -> float:
        """Learn the loss of an action; returns the reward that was predicted for it before, within [0, 1]."""

    @abstractmethod
    def _forget(self) -> None:
        """Begin again, as if nothing had been learnt; the learner has kept what was."""
