"""A finite class: N regressors, each a function from a context to K scores, centred so that they sum to zero.

It is given as functions, as linear weights, as an ε-cover of all linear weights in a ball (see `scores.cover`: its size
is stated, and refused if too large, before it is built), or as fitted classifiers with `decision_function` or
`predict_proba` whose classes are the actions 0…K-1.

>>> import numpy as np
>>> table = Finite([lambda x: [x[0], -x[0]], lambda x: [1.0, 0.0]], n_actions=2, bound=1.0)
>>> table.values(np.array([0.25]))
array([[ 0.25, -0.25],
       [ 0.5 , -0.5 ]])
>>> len(Finite.cover(n_actions=2, n_features=2, epsilon=0.2))
37
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.parametrised import Parametrised
from marginbandits.scores.cover import linear_cover
from marginbandits.surrogates import centred
from marginbandits.types import Array
from marginbandits.validation import (
    ActionCount,
    Constraint,
    Count,
    Function,
    Instance,
    Integer,
    ListOf,
    Positive,
    Real,
    quoted,
    validated,
)

__all__ = ["Finite"]

Regressor = Callable[[Array], npt.ArrayLike]


class Finite(Parametrised):
    """N regressors side by side; scores beyond the stated `bound` B are refused, because bounds depend on it.

    `weights` is the N x K x d array of a linear class, None for any other.
    """

    @validated
    def __init__(
        self,
        regressors: Annotated[Sequence[Regressor], ListOf(Function())],
        n_actions: ActionCount,
        bound: Annotated[float, Real(1e-300, 1e100)],
    ) -> None:
        self.regressors = list(regressors)
        self.n_actions = n_actions
        self.bound = bound
        self.weights: Array | None = None

    def __len__(self) -> int:
        return len(self.regressors)

    @classmethod
    @validated
    def from_weights(cls, weights: Annotated[npt.ArrayLike, Numbers(3, low=-1e100, high=1e100)]) -> "Finite":
        """The linear regressors x ↦ W_n x of an N x K x d array; B is exact for contexts of norm at most 1."""
        w = centred(np.swapaxes(np.asarray(weights, float), -1, -2)).swapaxes(-1, -2)
        if w.shape[1] < 2:
            raise ValueError(f"weights must be N x K x d, with K at least 2, got shape {w.shape}")
        largest = float(np.linalg.norm(w, axis=-1).max())
        made = cls([one.__matmul__ for one in w], n_actions=w.shape[1], bound=max(largest, 1e-300))
        made.weights = w
        return made

    @classmethod
    @validated
    def cover(
        cls,
        n_actions: ActionCount,
        n_features: Count,
        *,
        epsilon: Positive,
        radius: Positive = 1.0,
        most: Annotated[int, Integer(1, 10**9)] = 10**6,
    ) -> "Finite":
        """Linear regressors of norm at most R; one is within ε of any other such in every score, for ‖x‖ <= 1."""
        return cls.from_weights(linear_cover(n_actions, n_features, epsilon=epsilon, radius=radius, most=most))

    @classmethod
    @validated
    def from_models(
        cls,
        models: Annotated[Sequence[Any], Instance(list, tuple)],
        n_actions: ActionCount,
        bound: Annotated[float, Real(1e-300, 1e100)] = 1.0,
    ) -> "Finite":
        """Fitted classifiers; actions a model never saw get its lowest score, scores beyond `bound` are shrunk to B."""
        for position, model in enumerate(models):
            if not (hasattr(model, "decision_function") or hasattr(model, "predict_proba")):
                raise ValueError(
                    f"models[{position}] must have decision_function or predict_proba, got {quoted(model)}"
                )
            known = np.asarray(getattr(model, "classes_", []))
            one_row = known.dtype.kind in "iu" and known.ndim == 1
            if not one_row or len(known) < 2 or known.min() < 0 or known.max() >= n_actions:
                rule = f"fitted to actions 0 to {n_actions - 1} as its classes"
                raise ValueError(f"models[{position}] must be {rule}, got {quoted(known)}")
        return cls([partial(_model_scores, one, n_actions, bound) for one in models], n_actions, bound)

    @validated
    def values(self, context: Annotated[Array, Numbers(1, 2, low=-1e100, high=1e100)]) -> Array:
        """The centred scores of every regressor: N x K."""
        scores = [_regressed(one, context, self.n_actions) for one in self.regressors]
        table = centred(scores)
        # Written so that NaN fails it too; the slack is rounding.
        if not (np.abs(table) <= self.bound * (1 + 1e-9)).all():
            raise ValueError(f"scores must not exceed bound={self.bound}, got {np.abs(table).max()}")
        return table


_FINITE: Constraint = Numbers(1)


def _regressed(regressor: Regressor, context: Array, n_actions: int) -> Array:
    """What a user's function says of a context, which may not fit it."""
    try:
        scores = np.asarray(_FINITE.clean(regressor(context)))
    except ValueError as error:
        raise ValueError(f"regressors must return {n_actions} finite scores, {quoted(regressor)} fails") from error
    if scores.shape != (n_actions,):
        raise ValueError(f"regressors must return {n_actions} scores, got shape {scores.shape}")
    return scores


def _model_scores(model: Any, n_actions: int, bound: float, context: Array) -> Array:
    row = np.atleast_2d(context)[:1]
    known = np.asarray(model.classes_)
    raw = model.decision_function(row) if hasattr(model, "decision_function") else model.predict_proba(row)
    values = np.asarray(raw, float).reshape(-1)
    if len(values) == 1:  # two classes, one number: the second's
        values = np.array([-0.5, 0.5]) * values
    if len(values) != len(known):
        raise ValueError(f"{quoted(model)} must give one score per class, got {len(values)} for {len(known)} classes")
    scores = np.full(n_actions, values.min())
    scores[known] = values
    scores = centred(scores)
    return scores * min(1.0, bound / max(float(np.abs(scores).max()), 1e-300))
