"""Classification tables from files: `.npz` with X and y, CSV with a header, Parquet; and by name or OpenML number.

In CSV and Parquet one column holds the label: the one asked for, or else the first called label, target, class or y, or
else the last. A column of numbers is a feature; a column of words becomes a 0/1 feature for each word. Nothing is
guessed about bad cells: an empty one, a word among numbers, or a number beyond ±1e100, which no learner takes, is
refused with its file, row and column. So is whatever else is wrong with a file.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.environments.classification import BUNDLED, Classification
from marginbandits.frames import read_parquet
from marginbandits.types import Array
from marginbandits.validation import quoted

__all__ = ["SUFFIXES", "read_table", "table_from_columns"]

SUFFIXES = (".npz", ".csv", ".parquet")
LABEL_NAMES = ("label", "target", "class", "y")
MOST_WORDS = 100
LARGEST = 1e100
"""Of a cell: squares of what is larger are no numbers any more, and learners refuse it."""


def read_table(source: str, *, label: str | None = None) -> tuple[Array, npt.NDArray[Any]]:
    """X and y of a file, a bundled set, or `openml:NUMBER`; raises a ValueError that says what is wrong where."""
    if source in BUNDLED:
        env = Classification.bundled(source, seed=0)  # scikit-learn sorts some of them by class
        return env.contexts, env.losses.argmin(1)
    if source.startswith("openml:"):
        number = source.removeprefix("openml:")
        if not number.isdecimal():
            raise ValueError(f"OpenML sets are named by number, as in openml:61, got {quoted(source)}")
        env = Classification.openml(int(number))
        return env.contexts, env.losses.argmin(1)
    path = Path(source)
    readers = {".npz": _read_npz, ".csv": _read_csv, ".parquet": _read_parquet}
    if path.suffix not in readers:
        raise ValueError(f"{source} is no data file this reads: {', '.join(SUFFIXES)}")
    try:
        return readers[path.suffix](path, label)
    except (ImportError, FileNotFoundError):
        raise
    except Exception as error:  # a damaged file makes its reader raise anything
        words = str(error) or type(error).__name__
        raise ValueError(words if str(path) in words else f"{path} cannot be read: {words}") from error


def table_from_columns(
    columns: Mapping[str, Sequence[Any]], *, label: str | None, name: str
) -> tuple[Array, npt.NDArray[Any]]:
    """X and y of named columns; rows are counted from 1 in errors, as a person would."""
    if len(columns) < 2:
        raise ValueError(f"{name} must have a label column and at least one more, it has {list(columns)}")
    if label is not None and label not in columns:
        raise ValueError(f"{name} has no column {label!r}; it has {', '.join(columns)}")
    chosen = label or next((one for one in columns if one.lower() in LABEL_NAMES), list(columns)[-1])
    features = []
    for column, cells in columns.items():
        _refuse_empty(cells, column, name)
        if column != chosen:
            features.extend(_features(cells, column, name))
    return np.stack(features, 1), np.asarray([str(cell) for cell in columns[chosen]])


def _read_npz(path: Path, _: str | None) -> tuple[Array, npt.NDArray[Any]]:
    env = Classification.from_npz(path)
    large = np.argwhere(np.abs(env.contexts) > LARGEST)
    if len(large):
        row, column = large[0]
        raise ValueError(_too_large(f"{path}, row {row + 1}, column {column + 1}", env.contexts[row, column]))
    return env.contexts, env.classes[env.losses.argmin(1)]


def _read_parquet(path: Path, label: str | None) -> tuple[Array, npt.NDArray[Any]]:
    return table_from_columns(read_parquet(path), label=label, name=str(path))


def _read_csv(path: Path, label: str | None) -> tuple[Array, npt.NDArray[Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = next(rows, None)
        if not header:
            raise ValueError(f"{path} is empty")
        if len(set(header)) < len(header):
            raise ValueError(f"{path} has two columns of the same name: {', '.join(header)}")
        body: list[list[str]] = []
        try:
            for row in rows:
                body.append(row)
                if len(row) != len(header):
                    raise ValueError(f"{path}, row {len(body)}: {len(row)} cells, the header has {len(header)}")
        except csv.Error as error:  # a field of more than 131,072 characters, a zero byte
            raise ValueError(f"{path}, row {len(body) + 1}: {error}") from error
    if not body:
        raise ValueError(f"{path} has a header but no rows")
    return table_from_columns(dict(zip(header, zip(*body, strict=True), strict=True)), label=label, name=str(path))


def _refuse_empty(cells: Sequence[Any], column: str, name: str) -> None:
    for row, cell in enumerate(cells, 1):
        if cell is None or cell == "" or cell != cell:
            raise ValueError(f"{name}, row {row}, column {column!r}: empty; fill it or drop the row")


def _features(cells: Sequence[Any], column: str, name: str) -> list[Array]:
    numbers = [_number(cell) for cell in cells]
    bad = [row for row, number in enumerate(numbers, 1) if number is None]
    if not bad:
        column_of = np.array(numbers, float)
        large = np.flatnonzero(np.abs(column_of) > LARGEST)
        if len(large):
            raise ValueError(_too_large(f"{name}, row {large[0] + 1}, column {column!r}", column_of[large[0]]))
        return [column_of]
    if len(bad) < len(cells) / 2:
        cell = cells[bad[0] - 1]
        raise ValueError(f"{name}, row {bad[0]}, column {column!r}: {quoted(cell)} among numbers")
    words = sorted({str(cell) for cell in cells})
    if len(words) > MOST_WORDS:
        raise ValueError(f"{name}, column {column!r}: {len(words)} different words; drop it or group them")
    return [np.array([str(cell) == word for cell in cells], float) for word in words]


def _too_large(where: str, cell: float) -> str:
    return f"{where}: {cell:g} is beyond ±{LARGEST:g}, which no learner takes; mend it or drop the row"


def _number(cell: Any) -> float | None:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
