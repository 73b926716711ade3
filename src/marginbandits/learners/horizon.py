"""What learners of a theorem share: a horizon that ends the learning, and contexts of norm at most 1.

The horizon T is part of the tuning: round T + 1 is refused, for the theorem ends there. Rows of norm above 1 are
refused or shortened to norm 1.
"""

from abc import abstractmethod

import numpy as np

from marginbandits.contexts import Rows, Shape, dense
from marginbandits.learners.base import Learner

__all__ = ["HorizonLearner"]


class HorizonLearner(Learner):
    """Checks before anything changes; a subclass sets these three and says how many rounds it has learnt."""

    competes = False
    takes_names = False
    needs_every_row = True
    horizon: int
    n_features: int | None
    long_contexts: str

    @abstractmethod
    def _learnt(self) -> int: ...

    def _ready(self, n: int) -> None:
        done = 0 if self._map is None else self._learnt()
        if done + n > self.horizon:
            raise ValueError(f"horizon must cover every round; it is {self.horizon}, {done} are learnt, {n} more came")

    def _start(self, shape: Shape, size: int | None = None) -> None:
        if self.n_features not in (None, shape.width):
            raise ValueError(f"context must have n_features={self.n_features} features, got {shape.width}")
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
