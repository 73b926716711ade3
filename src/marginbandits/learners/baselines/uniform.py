"""Uniform play: every available action alike. The floor any learner must beat.

>>> agent = Uniform(n_actions=4, seed=0)
>>> agent.act([1.0, 2.0]).probability
0.25
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy.typing as npt

from marginbandits import policies
from marginbandits.features import Identity
from marginbandits.learners.base import Learner
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Seed, validated

__all__ = ["Uniform"]


class Uniform(Learner):
    """Plays uniformly and learns nothing."""

    exempt: ClassVar[Mapping[str, str]] = {"better_than_uniform": "it is uniform"}

    @validated
    def __init__(self, n_actions: ActionCount, *, seed: Seed = None) -> None:
        super().__init__(n_actions, features=Identity(), seed=seed)

    def _begin(self, n_blocks: int, n_features: int) -> None:
        pass

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return policies.uniform(self.n_actions, available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        pass

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {}
