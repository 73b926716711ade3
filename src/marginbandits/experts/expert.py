"""What a mixture is made of: one class of predictions of every action's reward, learnt from the action played.

    predict   what each action would earn, as far as this class can tell: a number within [0, 1]
    width     how far off that may be: small where it has seen much like it; None if it cannot say
    learn     the loss of the action played

An expert given to a learner is a recipe, like its features. `start` makes a fresh copy of it; what the copy learns is a
`Record`, so that it is saved, checked and taken back with its learner. A class of one's own fills `_begin`, `predict`,
`width`, `learn`, `forget` and `fields`.
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

    def start(self, n_blocks: int, n_features: int) -> Self:
        """A fresh copy, for rows of so many features."""
        started = copy.deepcopy(self)
        started._begin(n_blocks, n_features)
        started.attach(Journal())
        return started

    @abstractmethod
    def _begin(self, n_blocks: int, n_features: int) -> None:
        """Allocate the state."""

    @abstractmethod
    def predict(self, batch: Batch) -> Array:
        """The reward of each action of each context, within [0, 1], laid out like the batch's mask."""

    @abstractmethod
    def width(self, batch: Batch) -> Array | None:
        """How far off each prediction may be; None if it cannot say."""

    @abstractmethod
    def learn(self, one: Batch, action: int, loss: float) -> float:
        """Learn the loss of an action; returns the reward that was predicted for it before, within [0, 1]."""

    @abstractmethod
    def forget(self) -> None:
        """Begin again, as if nothing had been learnt; the learner has kept what was."""
