"""Models of the outcome for estimators that use one, fitted on other rounds than those they predict.

Round i belongs to fold i mod `folds`; what is predicted of it was learnt from the other folds (cross-fitting:
Chernozhukov et al. 2018), so no model explains the noise of its own round.

The default is a ridge regression for each action, drawn towards one of all actions together. It needs XᵀX and Xᵀy of
each action and fold, and nothing else: one pass over the log to add them up, and out-of-fold matrices are total minus
fold. The strengths of the pull, of fifteen pairs, are those of least squared error out of fold, which the same matrices
tell. Contexts with a row per action have one regression of all.

>>> model = Ridge(n_actions=2, folds=2)
>>> X = np.linspace(0.0, 1.0, 40)[:, None]
>>> some = Chunk(0, X, np.arange(40) % 2, X[:, 0] ** 2, None, None, None, None)
>>> model.see(some, some.losses)
>>> model.done().predict(some).shape
(40, 2)
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import clone, is_classifier

from marginbandits.experiments.log_chunks import Chunk
from marginbandits.types import Array
from marginbandits.validation import fits, quoted

__all__ = ["Fitted", "Given", "Ridge", "columns", "reward_model"]

LEVELS, PULLS = (1.0, 8.0, 64.0), (1.0, 8.0, 64.0, 512.0, 4096.0)
"""How many rounds the common regression counts for in each action's own: for its level, and for its slopes."""

WIDEST = 5000
"""Columns of sparse contexts that are made dense for the default model."""


def reward_model(model: Any, n_actions: int, folds: int) -> "Ridge | Fitted | Given":
    """What a user names as a model: nothing, a scikit-learn estimator, or a function of contexts."""
    if model is None:
        return Ridge(n_actions, folds)
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return Fitted(model, n_actions, folds)
    if callable(model):
        return Given(model, n_actions)
    raise ValueError(f"model must be None, a scikit-learn regressor or classifier, or a function, got {quoted(model)}")


def columns(chunk: Chunk) -> Array:
    """Contexts as numbers, n x d or n x K x d."""
    given = chunk.contexts
    if given is None:
        return np.empty((len(chunk), 0))
    if scipy.sparse.issparse(given):
        if given.shape[1] > WIDEST:
            raise ValueError(
                f"a model of {given.shape[1]} sparse columns must be your own: give model, or method 'snips'"
            )
        return np.asarray(given.toarray(), float)
    if isinstance(given, np.ndarray) and given.dtype.kind in "fiub":
        return np.asarray(given, float)
    raise ValueError(
        "contexts of names and values need a model of your own: give a function as model, or method 'snips'"
    )


class Given:
    """A function of contexts that was not fitted on this log."""

    passes = 0

    def __init__(self, function: Callable[[Any], Any], n_actions: int) -> None:
        self._function, self._n_actions = function, n_actions

    def see(self, chunk: Chunk, outcomes: Array) -> None:
        """Nothing to learn."""

    def done(self) -> "Given":
        """Ready as it is."""
        return self

    def predict(self, chunk: Chunk) -> Array:
        """Outcomes of every action, n x K."""
        found = np.asarray(self._function(chunk.contexts), float)
        if found.shape != (len(chunk), self._n_actions) or not np.isfinite(found).all():
            raise ValueError(
                f"model must predict {len(chunk)} x {self._n_actions} finite outcomes, got {quoted(found)}"
            )
        return np.asarray(np.clip(found, 0.0, 1.0))


class Ridge:
    """Ridge regressions by sums of products; 8·folds·K·d² bytes."""

    passes = 1

    def __init__(self, n_actions: int, folds: int) -> None:
        self._K, self._folds = n_actions, folds
        self._centre = self._scale = self._G = self._b = self._theta = np.empty(0)
        self._together = self._began = False

    def see(self, chunk: Chunk, outcomes: Array) -> None:
        """Add up the products of some rounds."""
        X = columns(chunk)
        if not self._began:
            self._start(X)
        Z = self._rows(X[chunk.at] if self._together else X)
        fold = (chunk.start + np.arange(len(Z))) % self._folds
        group = fold if self._together else fold * self._K + chunk.actions
        order = np.argsort(group, kind="stable")
        Z, y = Z[order], outcomes[order]
        found, starts = np.unique(group[order], return_index=True)
        for which, begin, end in zip(found.tolist(), starts, [*starts[1:], len(Z)], strict=True):
            part = Z[begin:end]
            self._G[which] += part.T @ part
            self._b[which] += part.T @ y[begin:end]

    def _start(self, X: Array) -> None:
        self._began, self._together = True, X.ndim == 3
        flat = X.reshape(-1, X.shape[-1])
        self._centre, spread = flat.mean(0), flat.std(0)
        self._scale = np.where(spread > 0.0, spread, 1.0)
        d, blocks = X.shape[-1] + 1, self._folds * (1 if self._together else self._K)
        fits(folds_times_actions=blocks, columns=d, columns_again=d)
        self._G, self._b = np.zeros((blocks, d, d)), np.zeros((blocks, d))

    def _rows(self, X: Array) -> Array:
        Z = np.empty((*X.shape[:-1], X.shape[-1] + 1))
        Z[..., 0] = 1.0
        np.subtract(X, self._centre, out=Z[..., 1:])
        Z[..., 1:] /= self._scale
        return Z

    def done(self) -> "Ridge":
        """Solve for the weights of every fold and action."""
        d, M = self._b.shape[-1], self._standard()
        G, b = (M.T @ self._G @ M).reshape(self._folds, -1, d, d), (self._b @ M).reshape(self._folds, -1, d)
        out_G, out_b = G.sum(0) - G, b.sum(0) - b  # of the other folds
        small = 1e-6 * np.eye(d)
        light = np.diag([0.0, *[1.0] * (d - 1)]) + small
        common = np.linalg.solve(out_G.sum(1) + light, out_b.sum(1)[..., None])[..., 0]
        self._theta = np.repeat(common[:, None], G.shape[1], 1)
        if G.shape[1] > 1:
            best = np.inf
            gap = out_b - np.matmul(out_G, common[:, None, :, None])[..., 0]
            for level, slope in itertools.product(LEVELS, PULLS):
                pull = np.diag([level, *[slope] * (d - 1)])
                theta = common[:, None] + np.linalg.solve(out_G + pull, gap[..., None])[..., 0]
                error = float((theta * (np.matmul(G, theta[..., None])[..., 0] - 2.0 * b)).sum())
                if error < best:
                    best, self._theta = error, theta
        self._theta = self._theta @ M.T
        return self

    def _standard(self) -> Array:
        """What makes the columns of all rounds standard: the first chunk only brought them near."""
        total = self._G.sum(0)
        mean = total[0, 1:] / total[0, 0]
        spread = np.sqrt(np.maximum(total.diagonal()[1:] / total[0, 0] - mean**2, 0.0))
        scale = np.where(spread > 1e-9, spread, 1.0)
        M = np.diag([1.0, *(1.0 / scale)])
        M[0, 1:] = -mean / scale
        return M

    def predict(self, chunk: Chunk) -> Array:
        """Outcomes of every action, n x K, none of them learnt from its own round."""
        Z = self._rows(columns(chunk))
        found = np.empty((len(Z), self._K))
        for fold in range(self._folds):
            begin = (fold - chunk.start) % self._folds
            theta, rows = self._theta[fold], Z[begin :: self._folds]
            found[begin :: self._folds] = rows @ theta[0] if self._together else rows @ theta.T
        return np.clip(found, 0.0, 1.0, out=found)


class Fitted:
    """A scikit-learn regressor or classifier for each action and fold; keeps the contexts in memory."""

    passes = 1

    def __init__(self, model: Any, n_actions: int, folds: int) -> None:
        self._model, self._K, self._folds = model, n_actions, folds
        self._seen: list[tuple[Array, npt.NDArray[np.int64], Array]] = []
        self._models: list[list[Any]] = []

    def see(self, chunk: Chunk, outcomes: Array) -> None:
        """Keep some rounds."""
        X = columns(chunk)
        if X.ndim == 3:
            raise ValueError("a scikit-learn model needs one row a context, got contexts with a row per action")
        if is_classifier(self._model) and not np.isin(outcomes, (0.0, 1.0)).all():
            raise ValueError("a classifier as model needs outcomes of 0 and 1: take a regressor")
        self._seen.append((X, chunk.actions, outcomes))

    def done(self) -> "Fitted":
        """Fit a model of each action on all folds but one; a constant where there is nothing to tell apart."""
        X, actions, y = (np.concatenate(column) for column in zip(*self._seen, strict=True))
        self._seen.clear()
        fold = np.arange(len(X)) % self._folds
        for f in range(self._folds):
            others = fold != f
            mean = float(y[others].mean()) if others.any() else 0.5
            self._models.append([self._one(X, y, others & (actions == a), mean) for a in range(self._K)])
        return self

    def _one(self, X: Array, y: Array, rows: npt.NDArray[np.bool_], mean: float) -> Any:
        if rows.sum() < 2 or np.ptp(y[rows]) == 0.0:
            return float(y[rows].mean()) if rows.any() else mean
        return clone(self._model).fit(X[rows], y[rows].astype(int) if is_classifier(self._model) else y[rows])

    def predict(self, chunk: Chunk) -> Array:
        """Outcomes of every action, n x K, none of them learnt from its own round."""
        X, found = columns(chunk), np.empty((len(chunk), self._K))
        fold = (chunk.start + np.arange(len(chunk))) % self._folds
        for f, models in enumerate(self._models):
            rows = fold == f
            if rows.any():
                for a, model in enumerate(models):
                    found[rows, a] = model if isinstance(model, float) else self._told(model, X[rows])
        return np.clip(found, 0.0, 1.0)

    def _told(self, model: Any, X: Array) -> Array:
        return np.asarray(model.predict_proba(X)[:, 1] if is_classifier(model) else model.predict(X), float)
