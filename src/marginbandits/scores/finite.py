"""A finite class: N regressors, each a function from a context to K scores, centred so that they sum to zero.

>>> import numpy as np
>>> table = Finite([lambda x: [x[0], -x[0]], lambda x: [1.0, 0.0]], n_actions=2, bound=1.0)
>>> table.values(np.array([0.25]))
array([[ 0.25, -0.25],
       [ 0.5 , -0.5 ]])
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.surrogates import centred
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Instance, Parametrised, Real, validated

__all__ = ["Finite"]

Regressor = Callable[[Array], npt.ArrayLike]


class Finite(Parametrised):
    """N regressors side by side; scores beyond the stated `bound` B are refused, because bounds depend on it."""

    @validated
    def __init__(
        self,
        regressors: Annotated[Sequence[Regressor], Instance(list, tuple)],
        n_actions: ActionCount,
        bound: Annotated[float, Real(above=0)],
    ) -> None:
        if not regressors:
            raise ValueError("regressors must not be empty")
        for position, one in enumerate(regressors):
            if not callable(one):
                raise ValueError(f"regressors[{position}] must be callable, got {one!r}")
        self.regressors = list(regressors)
        self.n_actions = n_actions
        self.bound = bound

    def __len__(self) -> int:
        return len(self.regressors)

    @classmethod
    def from_weights(cls, weights: Array) -> "Finite":
        """The linear regressors x ↦ W_n x of an N x K x d array; B is exact for contexts of norm at most 1."""
        w = centred(np.swapaxes(np.asarray(weights, float), -1, -2)).swapaxes(-1, -2)
        largest = float(np.linalg.norm(w, axis=-1).max())
        return cls([one.__matmul__ for one in w], n_actions=w.shape[1], bound=largest)

    def values(self, context: Array) -> Array:
        """The centred scores of every regressor: N x K."""
        table = centred([np.asarray(one(context), float) for one in self.regressors])
        if table.shape != (len(self), self.n_actions):
            raise ValueError(f"regressors must return {self.n_actions} scores, got a table of shape {table.shape}")
        # Written so that NaN fails it too; the slack is rounding.
        if not (np.abs(table) <= self.bound * (1 + 1e-9)).all():
            raise ValueError(f"scores must not exceed bound={self.bound}, got {np.abs(table).max()}")
        return table
