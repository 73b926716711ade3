"""Uniform play: every available action alike. The floor any learner must beat.

>>> agent = Uniform(n_actions=4, seed=0)
>>> agent.act([1.0, 2.0]).probability
0.25
"""

from collections.abc import Mapping
from typing import ClassVar, Unpack

from marginbandits import laws
from marginbandits.contexts import Batch, Shape
from marginbandits.features import Identity
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.types import Array
from marginbandits.validation import validated

__all__ = ["Uniform"]


class Uniform(Learner):
    """Plays uniformly and learns nothing."""

    changes_actions = True
    exempt: ClassVar[Mapping[str, str]] = {"better_than_uniform": "it is uniform"}

    @validated
    def __init__(self, n_actions: MaybeActionCount = None, **options: Unpack[Options]) -> None:
        super().__init__(n_actions, features=Identity(), **options)

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        return {}

    def _laws(self, batch: Batch) -> Array:
        return laws.uniform(batch)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        pass
