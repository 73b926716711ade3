"""Uniform play: every available action alike. The floor any learner must beat.

>>> agent = Uniform(n_actions=4, seed=0)
>>> agent.act([1.0, 2.0]).probability
0.25
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape
from marginbandits.features import Identity
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.swift import compiled_rounds
from marginbandits.types import Array, Mask
from marginbandits.validation import validated

__all__ = ["Uniform"]


Places = npt.NDArray[np.int64]


@kernel
def _law_one(columns: Places, row: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    n = 0
    for a in range(mask.shape[0]):
        n += mask[a]
    for a in range(mask.shape[0]):
        law[a] = 1.0 / n if mask[a] else 0.0
    return True


@kernel
def _learn_one(
    columns: Places, row: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    """Nothing."""


class Uniform(Learner):
    """Plays uniformly and learns nothing."""

    changes_actions = True
    _compiled: ClassVar[Any] = compiled_rounds(plain=(_law_one, _learn_one))
    exempt: ClassVar[Mapping[str, str]] = {"better_than_uniform": "it is uniform"}

    @validated
    def __init__(self, n_actions: MaybeActionCount = None, **options: Unpack[Options]) -> None:
        super().__init__(n_actions, features=Identity(), **options)

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        return {}

    def _arrays(self) -> tuple[Any, ...]:
        return ()

    def _laws(self, batch: Batch) -> Array:
        return laws.uniform(batch)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        pass
