"""The tables of a plan: found by a word, read once to be measured and checked, and again where they are played.

>>> (iris,) = find_data("iris", rounds=100)
>>> iris.name, iris.n_rounds, iris.width, iris.n_actions
('iris', 100, 4, 3)
>>> iris.environment(seed=0, shuffle=True).n_rounds
100
"""

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.environments.classification import BUNDLED, Classification
from marginbandits.environments.tables import SUFFIXES, read_table
from marginbandits.evaluation import linear_policy_losses
from marginbandits.types import Array
from marginbandits.validation import quoted, suggestion

__all__ = ["Data", "find_data", "is_name", "played_rows"]


@dataclass(frozen=True, slots=True)
class Data:
    """The first rows of a table: what it is called, where it lies, and a digest of what is played of it."""

    name: str
    source: str
    label: str | None
    rounds: int  # asked for
    n_rounds: int  # there are
    width: int
    n_actions: int
    digest: str

    def environment(self, seed: int, shuffle: bool) -> Classification:
        """The rows, in the order `played_rows` says; refused if they are no longer those of the plan."""
        X, y, digest = _first_rows(self.source, self.label, self.rounds)
        if digest != self.digest:
            raise ValueError(f"{self.source} has changed since the plan was made")
        order = played_rows(len(y), seed, shuffle)
        return Classification(X[order], y[order])

    def linear_policy_loss(self) -> float:
        """Mean loss of a linear policy fitted to the rows in hindsight; their order does not matter."""
        return _linear_policy_loss(self.source, self.label, self.rounds)


def played_rows(n_rows: int, seed: int, shuffle: bool) -> npt.NDArray[np.int64]:
    """The order in which every learner meets the rows: one shuffle per seed, or the order of the file."""
    rows = np.arange(n_rows)
    return np.random.default_rng([seed, 0]).permutation(rows) if shuffle else rows


def find_data(source: str, label: str | None = None, *, rounds: int) -> list[Data]:
    """The tables a word stands for: a bundled name, `openml:NUMBER`, a file, or a folder.

    Of a folder, every `.npz`; if there is none, every `.csv` and `.parquet`.
    """
    if is_name(source):
        return [_measured(source, source, None, rounds)]
    path = Path(source)
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES)
        # Beside archives a .csv is more likely an index of them than a table of its own.
        files = [one for one in files if one.suffix == ".npz"] or files
        if not files:
            raise ValueError(f"the folder {source} holds no {', '.join(SUFFIXES)} file")
        return [found for one in files for found in find_data(str(one), label, rounds=rounds)]
    if not path.exists():
        raise ValueError(f"no data called {quoted(source)}: no such file or folder{suggestion(source, BUNDLED)}")
    return [_measured(path.stem, str(path.resolve()), label, rounds)]


def is_name(source: str) -> bool:
    """Whether a word names a set rather than a place."""
    return source in BUNDLED or source.startswith("openml:")


def _measured(name: str, source: str, label: str | None, rounds: int) -> Data:
    X, y, digest = _first_rows(source, label, rounds)
    return Data(name, source, label, rounds, len(X), X.shape[1], len(np.unique(y)), digest)


@functools.lru_cache(maxsize=4)
def _first_rows(source: str, label: str | None, rounds: int) -> tuple[Array, npt.NDArray[Any], str]:
    X, y = (part[:rounds] for part in read_table(source, label=label))
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"the first {len(y)} rows of {source} hold one class only; shuffle the file")
    X = np.ascontiguousarray(X, float)
    content = [repr((X.shape, len(classes))).encode(), X.tobytes(), labels.astype(np.int64).tobytes()]
    return X, y, hashlib.sha256(b"".join(content)).hexdigest()


@functools.cache
def _linear_policy_loss(source: str, label: str | None, rounds: int) -> float:
    X, y, _ = _first_rows(source, label, rounds)
    return float(linear_policy_losses(X, Classification(X, y).losses).mean())
