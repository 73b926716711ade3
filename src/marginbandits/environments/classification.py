"""A classification set as a bandit: the context is the row, the actions are the classes, the right one costs nothing.

    ℓ_t(a) = costs[y_t, a],   by default 1{a ≠ y_t}

>>> env = Classification.bundled("iris", seed=0)
>>> env.n_rounds, env.n_actions, env.contexts.shape
(150, 3, (150, 4))

Rows may also be mappings of names and values, which learners take as they are:

>>> env = Classification([{"age": 31, "country": "DE"}, {"age": None, "country": "FR"}], ["yes", "no"])
>>> [one.context["country"] for one in env]
['DE', 'FR']
"""

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits import saving
from marginbandits.arrays import Numbers
from marginbandits.environments.base import Oblivious, flipped, zero_one_losses
from marginbandits.sound import sound
from marginbandits.validation import (
    Constraint,
    Instance,
    Integer,
    ListOf,
    OneOf,
    Real,
    Seed,
    fits,
    quoted,
    suggestion,
    validated,
)

__all__ = ["BUNDLED", "Classification"]

BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Sets that scikit-learn carries with it; diabetes has its progression cut into thirds."""


class _Labels(Constraint):
    """A label in every row, all numbers or all words."""

    def __str__(self) -> str:
        return "a list or array of labels, all numbers or all words"

    def clean(self, value: object) -> npt.NDArray[Any]:
        if np.ma.is_masked(value) or not (isinstance(value, list | tuple) or hasattr(value, "__array__")):
            raise ValueError
        items = [value] if isinstance(value, list | tuple) else []
        if not items:
            value = np.asarray(value)
            if value.ndim != 1 or value.dtype.kind not in "biufUSO":
                raise ValueError
            items = [value.tolist()] if value.dtype.kind == "O" else []
        kinds = {self._kind(one) for item in items for one in item}
        if "other" in kinds or len(kinds - {"missing"}) > 1:
            raise ValueError
        return np.asarray(value, object) if "missing" in kinds else np.asarray(value)

    @staticmethod
    def _kind(one: Any) -> str:
        if one is None or (isinstance(one, float) and one != one):
            return "missing"  # told by its row, below
        if isinstance(one, str | bytes | np.str_ | np.bytes_):
            return "word"
        plain = isinstance(one, bool | int | float | np.bool_ | np.number)
        return "number" if plain and not isinstance(one, np.complexfloating | np.timedelta64) else "other"

    def bad_values(self) -> Iterator[object]:
        yield from ("labels", None, [1, "a"], [[1], [2]], [1j, 2j], [object(), object()])


Rounds = Annotated[int | None, OneOf(Integer(1), Instance(type(None)))]
Table = Annotated[
    Any,
    OneOf(
        ListOf(Instance(Mapping)),
        Instance(scipy.sparse.sparray, scipy.sparse.spmatrix),
        Numbers(2, finite=False, booleans=True),
    ),
]


class Classification(Oblivious):
    """Rows `X`, labels `y` of any kind; `seed` shuffles them (None keeps their order), `n_rounds` takes the first.

    `costs` is a K x K array in [0, 1]: row the true class, column the action. `label_noise` replaces that share of the
    labels by another class, drawn uniformly. Labels are numbered in sorted order; `classes` maps back.
    """

    @validated
    def __init__(
        self,
        X: Table,
        y: Annotated[npt.ArrayLike, _Labels()],
        *,
        costs: Annotated[npt.ArrayLike | None, OneOf(Numbers(2, low=0, high=1), Instance(type(None)))] = None,
        label_noise: Annotated[float, Real(0, 1)] = 0.0,
        n_rounds: Rounds = None,
        seed: Seed = None,
    ) -> None:
        contexts, labels = _table(X), np.asarray(y)
        if labels.shape != (len(contexts),):
            raise ValueError(f"y must hold one label for each of {len(contexts)} rows, got shape {labels.shape}")
        missing = [row for row, one in enumerate(labels.tolist()) if one is None or one != one]
        if missing:
            raise ValueError(f"y must hold a label in every row, got {labels[missing[0]]} in row {missing[0]}")
        self.X, self.y, self.costs = X, y, costs
        self.label_noise, self.seed = label_noise, seed
        self.classes, label = np.unique(labels, return_inverse=True)
        n_actions = len(self.classes)
        if n_actions < 2:
            raise ValueError(f"y must hold at least two classes, got {quoted(self.classes)}")
        fits(rows=len(labels), classes=n_actions)
        if costs is not None and np.shape(costs) != (n_actions, n_actions):
            raise ValueError(f"costs must be {n_actions} x {n_actions}, got shape {np.shape(costs)}")
        order = np.arange(len(label))
        if seed is not None:
            order = np.random.default_rng(seed).permutation(order)
        order = order[:n_rounds]
        noise = np.random.default_rng(seed).spawn(1)[0]
        label = flipped(label[order], n_actions, label_noise, noise)
        losses = zero_one_losses(label, n_actions) if costs is None else np.asarray(costs)[label]
        self._settle(contexts[order], losses)

    @classmethod
    @validated
    def from_npz(
        cls, path: Annotated[str | os.PathLike[str], Instance(str, os.PathLike)], **options: object
    ) -> "Classification":
        """A NumPy archive with arrays `X` and `y`; pickled objects are refused."""
        if len(os.fspath(path)) > 4096:
            raise ValueError(f"path must have at most 4096 characters, got {quoted(path)}")
        arrays = saving.read_arrays(path)
        missing = [name for name in ("X", "y") if name not in arrays]
        if missing:
            raise ValueError(f"{quoted(path)} must hold arrays X and y; it lacks {', '.join(missing)}")
        return cls(arrays["X"], arrays["y"], **options)  # type: ignore[arg-type]  # checked by the constructor

    @classmethod
    @validated
    def bundled(cls, name: str, **options: object) -> "Classification":
        """One of scikit-learn's own sets: breast_cancer, diabetes, digits, iris, wine."""
        from sklearn import datasets  # costs a second to import, and only this needs it

        if name not in BUNDLED:
            raise ValueError(f"name must be that of a bundled set, got {quoted(name)}{suggestion(name, BUNDLED)}")
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        if name == "diabetes":
            y = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
        return cls(X, y, **options)  # type: ignore[arg-type]  # checked by the constructor

    @classmethod
    @validated
    def openml(cls, data_id: Annotated[int, Integer(1, 10**9)], **options: object) -> "Classification":
        """A set from OpenML by its number, where the network allows.

        Categories become 0/1 columns, one for each level; a missing number becomes its column's mean.
        """
        from sklearn import datasets

        bunch = datasets.fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
        table = bunch.data.toarray() if scipy.sparse.issparse(bunch.data) else bunch.data
        columns = []
        for name, column in zip(bunch.feature_names, np.asarray(table, float).T, strict=True):
            levels = (bunch.categories or {}).get(name)
            if levels is None:
                columns.append(np.where(np.isnan(column), np.nanmean(column), column))
            else:
                columns.extend((column == level).astype(float) for level in range(len(levels)))
        return cls(np.stack(columns, 1), bunch.target, **options)  # type: ignore[arg-type]  # as above


def _table(X: Any) -> npt.NDArray[Any]:
    if isinstance(X, list) and isinstance(X[0], Mapping):
        return np.array(X, object)
    if scipy.sparse.issparse(X):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"X must be a table of numbers, got {X.ndim} dimensions of {X.dtype}")
        fits(**dict(zip(("rows", "columns"), X.shape, strict=True)))
        X = sound(X, "X").toarray()
    contexts = np.asarray(X, float)
    if 0 in contexts.shape:
        raise ValueError(f"X must be a table of at least one row and one column, got shape {contexts.shape}")
    bad = np.argwhere(~np.isfinite(contexts))
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"X must be finite, got {contexts[row, column]} in row {row}, column {column}")
    return contexts
