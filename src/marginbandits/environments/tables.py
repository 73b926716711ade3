"""Classification tables from files: `.npz` with X and y, CSV with a header, Parquet; and by name or OpenML number.

In CSV and Parquet one column holds the label: the one asked for, or else the first called label, target, class or y, or
else the last. A column of numbers is a feature; a column of words becomes a 0/1 feature for each word. Nothing is
guessed about bad cells: an empty one, or a word among numbers, is refused with its row and column.
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

__all__ = ["SUFFIXES", "read_table", "table_from_columns"]

SUFFIXES = (".npz", ".csv", ".parquet")
LABEL_NAMES = ("label", "target", "class", "y")
MOST_WORDS = 100


def read_table(source: str, *, label: str | None = None) -> tuple[Array, npt.NDArray[Any]]:
    """X and y of a file, a bundled set, or `openml:NUMBER`; raises a ValueError that says what is wrong where."""
    if source in BUNDLED:
        env = Classification.bundled(source, seed=0)  # scikit-learn sorts some of them by class
        return env.contexts, env.losses.argmin(1)
    if source.startswith("openml:"):
        number = source.removeprefix("openml:")
        if not number.isdecimal():
            raise ValueError(f"OpenML sets are named by number, as in openml:61, got {source!r}")
        env = Classification.openml(int(number))
        return env.contexts, env.losses.argmin(1)
    path = Path(source)
    if path.suffix == ".npz":
        env = Classification.from_npz(path)
        return env.contexts, env.classes[env.losses.argmin(1)]
    if path.suffix == ".csv":
        return _read_csv(path, label)
    if path.suffix == ".parquet":
        return table_from_columns(read_parquet(path), label=label, name=str(path))
    raise ValueError(f"{source} is no data file this reads: {', '.join(SUFFIXES)}")


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


def _read_csv(path: Path, label: str | None) -> tuple[Array, npt.NDArray[Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = next(rows, None)
        if not header:
            raise ValueError(f"{path} is empty")
        if len(set(header)) < len(header):
            raise ValueError(f"{path} has two columns of the same name: {', '.join(header)}")
        body = []
        for number, row in enumerate(rows, 1):
            if len(row) != len(header):
                raise ValueError(f"{path}, row {number}: {len(row)} cells, the header has {len(header)}")
            body.append(row)
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
        return [np.array(numbers, float)]
    if len(bad) < len(cells) / 2:
        cell = cells[bad[0] - 1]
        raise ValueError(f"{name}, row {bad[0]}, column {column!r}: {cell!r} among numbers")
    words = sorted({str(cell) for cell in cells})
    if len(words) > MOST_WORDS:
        raise ValueError(f"{name}, column {column!r}: {len(words)} different words; drop it or group them")
    return [np.array([str(cell) == word for cell in cells], float) for word in words]


def _number(cell: Any) -> float | None:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
