"""Models of the outcome for estimators that use one, fitted on other rounds than those they predict.

Round i of a file belongs to fold i mod `folds`; what is predicted of it was learnt from the other folds.

The default is a ridge regression for each action, drawn towards one of all actions together (`oracles.ridge_sums`), on
the columns of contexts (`designs`). It needs one pass over the log to add up products. Contexts with a row per action,
and rounds that offer their own, have one regression of all.

>>> model = Ridge(n_actions=2, folds=2)
>>> X = np.linspace(0.0, 1.0, 40)[:, None]
>>> some = Rounds(X, np.arange(40) % 2, X[:, 0] ** 2, labels=(0, 1))
>>> model.see(some, some.losses)
>>> model.done().predict(some).shape
(40, 2)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier

from marginbandits.experiments.designs import Design
from marginbandits.oracles.ridge_sums import RidgeSums
from marginbandits.rounds import Rounds
from marginbandits.types import Array
from marginbandits.validation import quoted

__all__ = ["Fitted", "Given", "Model", "Ridge", "fold_of", "reward_model"]


def reward_model(model: Any, n_actions: int, folds: int) -> "Model":
    """What a user names as a model: nothing, a scikit-learn estimator, or a function of contexts."""
    if model is None:
        return Ridge(n_actions, folds)
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return Fitted(model, n_actions, folds)
    if callable(model):
        return Given(model, n_actions)
    raise ValueError(f"model must be None, a scikit-learn regressor or classifier, or a function, got {quoted(model)}")


def fold_of(rounds: Rounds, folds: int) -> npt.NDArray[np.int64]:
    """To which fold each round belongs."""
    return (rounds.start + np.arange(len(rounds))) % folds


class Given:
    """A function of contexts (and offers, where there are any) that was not fitted on this log."""

    passes = 0

    def __init__(self, function: Callable[..., Any], n_actions: int) -> None:
        self._function, self._n_actions = function, n_actions

    def begin(self, rounds: Rounds) -> "Given":
        """Nothing to settle."""
        return self

    def fresh(self) -> "Given":
        """It is the same for every file."""
        return self

    def see(self, rounds: Rounds, outcomes: Array) -> None:
        """Nothing to learn."""

    def join(self, other: Any) -> None:
        """Nothing was learnt elsewhere."""

    def done(self) -> "Given":
        """Ready as it is."""
        return self

    def predict(self, rounds: Rounds) -> Array:
        """Outcomes of every action, n x K."""
        K = rounds.n_actions
        if rounds.offers is None:
            found = np.asarray(self._function(rounds.contexts), float)
        else:
            own = [np.asarray(one, float) for one in self._function(rounds.contexts, rounds.offers)]
            found = np.stack([np.pad(one, (0, max(K - len(one), 0))) for one in own])
        if found.shape != (len(rounds), K) or not np.isfinite(found).all():
            raise ValueError(f"model must predict {len(rounds)} x {K} finite outcomes, got {quoted(found)}")
        return np.asarray(np.clip(found, 0.0, 1.0))


class Ridge:
    """Ridge regressions by sums of products; 8·folds·K·d² bytes."""

    passes = 1

    def __init__(self, n_actions: int, folds: int) -> None:
        self._K, self._folds = n_actions, folds
        self._design = self._first = Design()
        self._sums: RidgeSums | None = None
        self._theta = np.empty(0)

    def begin(self, rounds: Rounds) -> "Ridge":
        """Settle the columns by the first rounds of the log."""
        self._first = self._design.begin(rounds).twin()
        return self

    def fresh(self) -> "Ridge":
        """The columns of the first rounds, whatever came since, and nothing added up."""
        made = Ridge(self._K, self._folds)
        made._design = self._first.twin()
        return made

    def see(self, rounds: Rounds, outcomes: Array) -> None:
        """Add up the products of some rounds."""
        Z = self._design.rows(rounds)
        together = self._design.together
        sums = self._room(self._design.width)
        group = np.zeros(len(rounds), np.int64) if together else rounds.actions
        sums.add(Z, outcomes, fold_of(rounds, self._folds), group)

    def join(self, other: "Ridge") -> None:
        """Add what was added up elsewhere."""
        if other._sums is not None:
            places = self._design.places(other._design)
            self._room(self._design.width).join(other._sums, places[: other._sums.width])

    def _room(self, width: int) -> RidgeSums:
        if self._sums is None:
            self._sums = RidgeSums(self._folds, 1 if self._design.together else self._K, width)
        self._sums.widen(width)
        return self._sums

    def done(self) -> "Ridge":
        """Solve for the weights of every fold and action."""
        assert self._sums is not None
        self._theta, self._sums = self._sums.weights(), None
        return self

    def predict(self, rounds: Rounds) -> Array:
        """Outcomes of every action, n x K, none of them learnt from its own round."""
        Z, fold = self._design.every(rounds), fold_of(rounds, self._folds)
        found, theta = np.zeros((len(rounds), rounds.n_actions)), self._theta[..., : Z.shape[1]]
        Z = Z[:, : theta.shape[-1]]
        if not self._design.together:
            for f in range(self._folds):
                found[fold == f] = Z[fold == f] @ theta[f].T
        else:
            there = rounds.there if rounds.offers is not None else None
            shape = np.ones(found.shape, bool) if there is None else there
            found[shape] = np.einsum("ij,ij->i", Z, theta[np.repeat(fold, shape.sum(1)), 0])
        return np.clip(found, 0.0, 1.0, out=found)


class Fitted:
    """A scikit-learn regressor or classifier for each action and fold; keeps the contexts in memory."""

    passes = 1

    def __init__(self, model: Any, n_actions: int, folds: int) -> None:
        self._model, self._K, self._folds = model, n_actions, folds
        self._seen: list[tuple[Any, npt.NDArray[np.int64], Array, npt.NDArray[np.int64]]] = []
        self._models: list[list[Any]] = []

    def begin(self, rounds: Rounds) -> "Fitted":
        """Nothing to settle."""
        return self

    def fresh(self) -> "Fitted":
        """Another that has seen nothing."""
        return Fitted(self._model, self._K, self._folds)

    def see(self, rounds: Rounds, outcomes: Array) -> None:
        """Keep some rounds."""
        if is_classifier(self._model) and not np.isin(outcomes, (0.0, 1.0)).all():
            raise ValueError("a classifier as model needs outcomes of 0 and 1: take a regressor")
        self._seen.append((_given(rounds), rounds.actions, outcomes, fold_of(rounds, self._folds)))

    def join(self, other: "Fitted") -> None:
        """Keep what was kept elsewhere."""
        self._seen += other._seen

    def done(self) -> "Fitted":
        """Fit a model of each action on all folds but one; a constant where there is nothing to tell apart."""
        first = self._seen[0][0]
        if isinstance(first, list):
            X: Any = np.array([one for own, *_ in self._seen for one in own], object)
        else:
            X = np.concatenate([own for own, *_ in self._seen])
        actions, y, fold = (np.concatenate([one[i] for one in self._seen]) for i in (1, 2, 3))
        self._seen.clear()
        for f in range(self._folds):
            others = fold != f
            mean = float(y[others].mean()) if others.any() else 0.5
            self._models.append([self._one(X, y, others & (actions == a), mean) for a in range(self._K)])
        return self

    def _one(self, X: Array, y: Array, rows: npt.NDArray[np.bool_], mean: float) -> Any:
        if rows.sum() < 2 or np.ptp(y[rows]) == 0.0:
            return float(y[rows].mean()) if rows.any() else mean
        given = X[rows].tolist() if X.dtype == object else X[rows]
        try:
            return clone(self._model).fit(given, y[rows].astype(int) if is_classifier(self._model) else y[rows])
        except (TypeError, ValueError) as error:
            if X.dtype != object:
                raise
            raise ValueError(
                f"model must take contexts of names and values: begin it with a DictVectorizer, or give None; {error}"
            ) from error

    def predict(self, rounds: Rounds) -> Array:
        """Outcomes of every action, n x K, none of them learnt from its own round."""
        X, found = _given(rounds), np.empty((len(rounds), self._K))
        fold = fold_of(rounds, self._folds)
        for f, models in enumerate(self._models):
            own = np.flatnonzero(fold == f)
            some = [X[i] for i in own] if isinstance(X, list) else X[own]
            for a, model in enumerate(models if len(own) else ()):
                found[own, a] = model if isinstance(model, float) else self._told(model, some)
        return np.clip(found, 0.0, 1.0)

    def _told(self, model: Any, X: Any) -> Array:
        return np.asarray(model.predict_proba(X)[:, 1] if is_classifier(model) else model.predict(X), float)


def _given(rounds: Rounds) -> Any:
    """Contexts as scikit-learn takes them: numbers, or mappings for those that begin with a `DictVectorizer`."""
    if rounds.offers is not None or getattr(rounds.contexts, "ndim", 2) == 3:
        raise ValueError(
            "a scikit-learn model needs one row a context, and here each action has its own: give None or a function"
        )
    return rounds.contexts if isinstance(rounds.contexts, list) else Design().begin(rounds).flat(rounds, every=False)


Model = Ridge | Fitted | Given
