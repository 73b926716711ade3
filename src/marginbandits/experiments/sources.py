"""The tables of a plan: found by a word, read once to be measured and checked, and again where they are played.

>>> (iris,) = find_data("iris", rounds=100)
>>> iris.name, iris.n_rounds, iris.width, iris.n_actions
('iris', 100, 4, 3)
>>> iris.environment(seed=0, shuffle=True).n_rounds
100
"""

import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import dense
from marginbandits.environments.classification import BUNDLED, Classification
from marginbandits.environments.examples import Examples, Reading
from marginbandits.environments.tables import SUFFIXES, read_table
from marginbandits.evaluation import linear_policy_losses
from marginbandits.features import Table
from marginbandits.validation import quoted, suggestion

__all__ = ["Data", "find_data", "is_name", "played_rows", "refuse_idle"]

_USUAL = Reading()


@dataclass(frozen=True, slots=True)
class Data:
    """The first rows of a table: what it is called, where it lies, and a digest of what is played of it."""

    name: str
    source: str
    reading: Reading
    rounds: int  # asked for
    n_rounds: int  # there are
    width: int
    n_actions: int
    digest: str
    named: bool  # contexts are names and values
    left_out: int  # rows, for an empty cell

    def environment(self, seed: int, shuffle: bool) -> Classification:
        """The rows, in the order `played_rows` says; refused if they are no longer those of the plan."""
        (X, y, _), digest = _first_rows(self.source, self.reading, self.rounds)
        if digest != self.digest:
            raise ValueError(f"{self.source} has changed since the plan was made")
        order = played_rows(len(y), seed, shuffle)
        return Classification(X[order], y[order])

    def linear_policy_loss(self) -> float:
        """Mean loss of a linear policy fitted to the rows in hindsight; their order does not matter."""
        return _linear_policy_loss(self.source, self.reading, self.rounds)


def played_rows(n_rows: int, seed: int, shuffle: bool) -> npt.NDArray[np.int64]:
    """The order in which every learner meets the rows: one shuffle per seed, or the order of the file."""
    rows = np.arange(n_rows)
    return np.random.default_rng([seed, 0]).permutation(rows) if shuffle else rows


def find_data(source: str, reading: Reading = _USUAL, *, rounds: int) -> list[Data]:
    """The tables a word stands for: a bundled name, `openml:NUMBER`, a file, or a folder.

    Of a folder, every `.npz`; if there is none, every other file of `SUFFIXES`.
    """
    if is_name(source):
        return [_measured(source, source, _USUAL, rounds)]
    path = Path(source)
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES)
        # Beside archives a .csv is more likely an index of them than a table of its own.
        files = [one for one in files if one.suffix == ".npz"] or files
        if not files:
            raise ValueError(f"the folder {source} holds no {', '.join(SUFFIXES)} file")
        return [found for one in files for found in find_data(str(one), reading, rounds=rounds)]
    if not path.exists():
        raise ValueError(f"no data called {quoted(source)}: no such file or folder{suggestion(source, BUNDLED)}")
    return [_measured(path.stem, str(path.resolve()), reading, rounds)]


def is_name(source: str) -> bool:
    """Whether a word names a set rather than a place."""
    return source in BUNDLED or source.startswith("openml:")


def refuse_idle(reading: Reading, found: Iterable[Data]) -> None:
    """Refuse what is asked of files where there is none to ask."""
    kinds = {Path(one.source).suffix for one in found}
    by_name = kinds & {".csv", ".parquet", ".jsonl"}
    if reading.label and not by_name:
        raise ValueError(f"label={reading.label!r} has no effect: no data is a .csv, .parquet or .jsonl file")
    if reading.drop and not by_name:
        raise ValueError(f"drop={list(reading.drop)} has no effect: no data is a .csv, .parquet or .jsonl file")
    if (reading.missing == "keep" and not by_name) or (reading.missing == "drop" and not by_name - {".jsonl"}):
        raise ValueError(f"missing={reading.missing!r} has no effect: no data is a .csv or .parquet file")


def _measured(name: str, source: str, reading: Reading, rounds: int) -> Data:
    (X, y, left_out), digest = _first_rows(source, reading, rounds)
    named = X.ndim == 1
    width = max(len(one) for one in X) if named else X.shape[1]
    return Data(name, source, reading, rounds, len(X), width, len(np.unique(y)), digest, named, left_out)


@functools.lru_cache(maxsize=4)
def _first_rows(source: str, reading: Reading, rounds: int) -> tuple[Examples, str]:
    X, y, left_out = read_table(source, reading, most=rounds)
    X, y = X[:rounds], y[:rounds]
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"the first {len(y)} rows of {source} hold one class only; shuffle the file")
    if X.ndim == 1:
        written = [json.dumps(one, default=methodcaller("tolist")) for one in X]  # the order of names counts
        content = [repr((written, len(classes))).encode()]
    else:
        X = np.ascontiguousarray(X, float)
        content = [repr((X.shape, len(classes))).encode(), X.tobytes()]
    content.append(labels.astype(np.int64).tobytes())
    return Examples(X, y, left_out), hashlib.sha256(b"".join(content)).hexdigest()


@functools.cache
def _linear_policy_loss(source: str, reading: Reading, rounds: int) -> float:
    (X, y, _), _ = _first_rows(source, reading, rounds)
    losses = Classification(X, y).losses
    if X.ndim == 1:  # as linear learners read names and values, once all have been met
        table = Table()._start(sparse=False)
        for one in X:
            table._observe(table._codes([one]))
        X = dense(table._transform(table._codes(X.tolist())))
    return float(linear_policy_losses(X, losses).mean())
