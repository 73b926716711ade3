"""What learners of a theorem share: a horizon that ends the learning, and contexts of norm at most 1.

The horizon T is part of the tuning: round T + 1 is refused, for the theorem ends there. Rows of norm above 1 are
refused or shortened to norm 1. What else the theorem needs a learner says itself (`conditions`).
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from marginbandits.contexts import Rows, Shape, dense
from marginbandits.learners.base import Learner
from marginbandits.learners.conditions import Condition, refuse_outside

__all__ = ["HorizonLearner"]


class HorizonLearner(Learner):
    """Checks before anything changes; a subclass sets these and says how many rounds it has learnt."""

    competes = False
    takes_names = False
    needs_every_row = True
    horizon: int
    n_features: int | None
    long_contexts: str
    outside_theory: bool | None = None
    theorem: ClassVar[str] = ""

    @abstractmethod
    def _learnt(self) -> int: ...

    def _needs(self, shared: bool) -> Iterable[Condition]:
        """The theorem's conditions, beside these, for contexts of one row or of a row per action."""
        return ()

    def _hold_to_theory(self, shared: bool = False) -> None:
        if self.outside_theory is False:
            refuse_outside(self.theorem, self._needs(shared))

    def _ready(self, n: int) -> None:
        done = 0 if self._map is None else self._learnt()
        if done + n > self.horizon:
            raise ValueError(f"horizon must cover every round; it is {self.horizon}, {done} are learnt, {n} more came")

    def _start(self, shape: Shape, size: int | None = None) -> None:
        if self.n_features not in (None, shape.width):
            raise ValueError(f"context must have n_features={self.n_features} features, got {shape.width}")
        self._hold_to_theory(shape.shared)
        super()._start(shape, size)

    def _admitted(self, rows: Rows, together: bool) -> Rows:
        taken = dense(super()._admitted(rows, together))
        if self.n_features is not None and taken.shape[1] != self.n_features:
            raise ValueError(f"context must have n_features={self.n_features} features, got {taken.shape[1]}")
        if self.long_contexts == "refuse":
            longest = float(np.linalg.norm(taken, axis=1).max())
            if longest > 1.0 + 1e-9:
                raise ValueError(f"context must have norm at most 1, got a row of norm {longest:g}")
        return taken
