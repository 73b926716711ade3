"""What a mixture is made of: one class of predictions of every action's reward, learnt from the action played.

    predict   what each action would earn, as far as this class can tell: a number within [0, 1]
    width     how far off that may be: small where it has seen much like it
    learn     the reward of the action played

An expert given to a learner is a recipe, like its features. `start` makes a fresh copy of it; what the copy learns is a
`Record`, so that it is saved, checked and taken back with its learner. A class of one's own fills `_begin`, `_scores`,
`width`, `learn` and `fields`.
"""

import copy
from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

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

    def predict(self, batch: Batch) -> Array:
        """The reward of each action of each context, within [0, 1]."""
        return np.clip(self._scores(batch), 0.0, 1.0)

    @abstractmethod
    def _scores(self, batch: Batch) -> Array:
        """Predictions that need not be within [0, 1]."""

    @abstractmethod
    def width(self, batch: Batch) -> Array | None:
        """How far off each prediction may be; None if it cannot say."""

    @abstractmethod
    def learn(self, rows: Array, at: int, block: int, loss: float) -> float:
        """Learn row `at` and its loss; returns the reward that was predicted for it before, within [0, 1]."""

    @abstractmethod
    def forget(self) -> None:
        """Begin again, as if nothing had been learnt; the learner has kept what was."""
