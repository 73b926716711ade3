"""Examples from files: `.npz` with X and y, CSV with a header, Parquet, JSON lines; and by name or OpenML number.

In CSV and Parquet one column holds the label: the one asked for, or else the first called label, target, class or y, or
else the last. Whatever is wrong with a file, or in it, is said with its name.
"""

import csv
from pathlib import Path

import numpy as np

from marginbandits.contexts import LARGEST
from marginbandits.environments.classification import BUNDLED, Classification
from marginbandits.environments.columns import examples_from_columns, too_large
from marginbandits.environments.examples import Examples, Reading, refuse_quantity
from marginbandits.environments.json_lines import read_json_lines
from marginbandits.frames import read_parquet
from marginbandits.validation import quoted

__all__ = ["SUFFIXES", "read_table"]

SUFFIXES = (".npz", ".csv", ".parquet", ".jsonl")
_USUAL = Reading()


def read_table(source: str, reading: Reading = _USUAL, *, most: int | None = None) -> Examples:
    """A file, a bundled set, or `openml:NUMBER`, at least its `most` first rows; what is wrong is said, and where."""
    if source in BUNDLED:
        return _examples(Classification.bundled(source, seed=0), source)  # scikit-learn sorts some of them by class
    if source.startswith("openml:"):
        number = source.removeprefix("openml:")
        if not number.isdecimal():
            raise ValueError(f"OpenML sets are named by number, as in openml:61, got {quoted(source)}")
        return _examples(Classification.openml(int(number)), source)
    path = Path(source)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{source} is no data file this reads: {', '.join(SUFFIXES)}")
    try:
        if path.suffix == ".npz":
            return _read_npz(path)
        if path.suffix == ".jsonl":
            return read_json_lines(path, reading, most)
        columns = _read_csv(path) if path.suffix == ".csv" else read_parquet(path)
        return examples_from_columns(columns, reading, str(path), text=path.suffix == ".csv")
    except (ImportError, FileNotFoundError):
        raise
    except Exception as error:  # a damaged file makes its reader raise anything
        words = str(error) or type(error).__name__
        raise ValueError(words if str(path) in words else f"{path} cannot be read: {words}") from error


def _examples(env: Classification, where: str) -> Examples:
    labels = env.classes[env.losses.argmin(1)]
    refuse_quantity(labels.tolist(), where)
    return Examples(env.contexts, labels)


def _read_npz(path: Path) -> Examples:
    env = Classification.from_npz(path)
    large = np.argwhere(np.abs(env.contexts) > LARGEST)
    if len(large):
        row, column = large[0]
        raise ValueError(too_large(f"{path}, row {row + 1}, column {column + 1}", env.contexts[row, column]))
    return _examples(env, f"{path}, y")


def _read_csv(path: Path) -> dict[str, tuple[str, ...]]:
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
    return dict(zip(header, zip(*body, strict=True), strict=True))
