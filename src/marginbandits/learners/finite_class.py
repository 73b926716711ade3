"""The finite class that a learner competes with: N regressors of any kind, scored side by side.

It is given as a `Finite` class (functions, models, an ε-cover), as an array of N x K x d weights, N x d for K x d
contexts, as a list of fitted classifiers, or as a number N of random linear regressors of norm `radius`, which are
drawn when the first context has come. Linear classes see contexts shortened to norm 1. Functions and models are no
plain data: a learner that is given them cannot be saved.

Scores sum to zero; where `centred` is False, those of an array are as it has them.

>>> import numpy as np
>>> from marginbandits.contexts import Shape, per_action
>>> regressors = FiniteClass(np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]]), n_actions=2, radius=1.0)
>>> regressors.begin(Shape(False, 1, False, False), 1, np.random.default_rng(0))
{}
>>> regressors.scores(per_action(np.array([[0.5]]), 2))
array([[ 0.5, -0.5],
       [-0.5,  0.5]], dtype=float32)
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.scores import Finite, Linear, SharedLinear
from marginbandits.state import Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, OneOf, Real

__all__ = ["TINY", "FiniteClass", "Radius", "Regressors", "Table", "linear_scores"]

Table = npt.NDArray[np.float32]
Regressors = Annotated[Any, OneOf(Integer(2), Instance(np.ndarray, Finite, list, tuple))]
TINY = 1e-12  # scores are kept in single precision
Radius = Annotated[float, Real(TINY, 1.0 / TINY)]


class FiniteClass:
    """N regressors: checked when given, laid out when the first context is known, scored at every one."""

    def __init__(self, regressors: Any, n_actions: int, radius: float, *, centred: bool = True) -> None:
        self.n_actions, self.radius, self.centred = n_actions, radius, centred
        self.parameter = regressors  # plain numbers where it can be: they can be saved
        self.functions: Finite | None = None
        self.given: Array | None = None  # what is given as weights, centred
        self.number = 0  # of random ones
        if isinstance(regressors, np.ndarray):
            self.given = _checked_weights(regressors, n_actions, centred)
        elif isinstance(regressors, int):
            self.number = regressors
        else:
            made = regressors if isinstance(regressors, Finite) else Finite.from_models(regressors, n_actions)
            if made.n_actions != n_actions:
                raise ValueError(f"regressors must score n_actions={n_actions} actions, got {made.n_actions}")
            if made.weights is None:
                self.functions = made
            else:
                self.parameter = self.given = made.weights
        known = self.given if self.functions is None else self.functions
        self.size = self.number if known is None else len(known)

    def refuse_saving(self) -> None:
        """Raise a ValueError unless the class is numbers."""
        if self.functions is not None:
            raise ValueError("regressors must be numbers to be saved: functions and models are not plain data")

    def begin(self, shape: Shape, n_features: int, rng: np.random.Generator) -> dict[str, Field]:
        """Lay the class out for contexts of this shape; returns what was drawn, to be saved."""
        self._table, self.bound = self._built(shape, n_features, rng)
        self._scores: Table = zeros((self.n_actions, self.size), np.float32)
        self._seen: bytes | None = None  # the context whose scores are in the table
        return {"table": Field(self._table, -self.radius, self.radius)} if self.number else {}

    def scores(self, one: Batch) -> Table:
        """K x N, valid until the next call; of the context scored last they are there: `learn` mostly follows `act`."""
        rows = dense(one.rows)
        seen = rows.tobytes()
        if self._seen == seen:
            return self._scores
        self._seen = None
        if self.functions is not None:
            self._scores[...] = self.functions.values(rows if one.shared else rows[0]).T
        else:
            linear_scores(self._table, _shortened(rows, one.shared and self.centred), one.shared, self._scores)
        self._seen = seen
        return self._scores

    def _built(self, shape: Shape, n_features: int, rng: np.random.Generator) -> tuple[Table, float]:
        """Weights laid out as blocks x features x regressors, and B; nothing for a class of functions."""
        if self.functions is not None:
            return np.zeros((0, 0, 0), np.float32), self.functions.bound
        if self.given is not None:
            expected = (n_features,) if shape.shared else (self.n_actions, n_features)
            if self.given.shape[1:] != expected:
                raise ValueError(
                    f"context must fit regressors of shape {self.given.shape}, got {n_features} features "
                    + ("for each action" if shape.shared else "in all")
                )
            w = self.given
            largest = float(np.linalg.norm(w, axis=-1).max()) * (2.0 if shape.shared else 1.0)
        else:
            kind = SharedLinear if shape.shared else Linear
            scores = kind(self.n_actions, n_features, radius=self.radius)
            theta = zeros((self.number, scores.dimension))
            theta[...] = rng.standard_normal(theta.shape)
            theta *= self.radius / np.linalg.norm(theta, axis=1, keepdims=True)
            w = scores.weights(theta) if isinstance(scores, Linear) else theta
            largest = scores.bound
        blocks = w.reshape(len(w), -1, n_features)
        return np.ascontiguousarray(blocks.transpose(1, 2, 0), np.float32), max(largest, 1e-300)


def _checked_weights(weights: npt.NDArray[Any], n_actions: int, centred: bool) -> Array:
    """Weights per action are centred, if that is wanted; those shared by all actions are as they are."""
    if weights.ndim not in (2, 3) or weights.dtype.kind not in "iuf" or not weights.size:
        raise ValueError(f"regressors must be N x K x d or N x d numbers, got {weights.dtype} of {weights.shape}")
    if weights.ndim == 3 and weights.shape[1] != n_actions:
        raise ValueError(f"regressors must have n_actions={n_actions} rows each, got shape {weights.shape}")
    if not (np.abs(weights) <= 1.0 / TINY).all():
        raise ValueError(f"regressors must be finite numbers within ±{1.0 / TINY:g}")
    given = weights.astype(float)
    return given - given.mean(1, keepdims=True) if centred and given.ndim == 3 else given


@kernel
def _shortened(rows: Array, centred: bool) -> Table:
    """Rows shortened to norm 1; and less their mean, where scores are to sum to zero."""
    n, d = rows.shape
    short = np.empty((n, d))
    for i in range(n):
        largest, squares = 1.0, 0.0  # so that squares cannot overflow
        for j in range(d):
            largest = max(largest, abs(rows[i, j]))
        for j in range(d):
            squares += (rows[i, j] / largest) ** 2
        scale = min(1.0, 1.0 / (largest * np.sqrt(squares))) if squares > 0.0 else 1.0
        for j in range(d):
            short[i, j] = scale * rows[i, j]
    for j in range(d if centred else 0):
        mean = 0.0
        for i in range(n):
            mean += short[i, j]
        mean /= n
        for i in range(n):
            short[i, j] -= mean
    return short.astype(np.float32)


@kernel
def linear_scores(table: Table, rows: Table, shared: bool, scores: Table) -> None:
    """scores[a, n] = Σ_j table[a, j, n] rows[a, j]; one block, or else one row, serves all actions."""
    K, N = scores.shape
    for start in range(0, N, 512):
        end = min(start + 512, N)
        for a in range(K):
            w, x = table[0 if shared else a], rows[a if shared else 0]
            out = scores[a, start:end]
            out[:] = np.float32(0.0)
            for j in range(x.shape[0]):
                column, weight = w[j, start:end], x[j]
                for n in range(end - start):
                    out[n] += weight * column[n]
