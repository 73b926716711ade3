"""Examples from named columns: as rows of numbers or, where gaps are kept, as mappings.

As numbers, a column of numbers is a feature, and a column of words a 0/1 feature for each word. As mappings, cells are
what they are, and a gap is None; in a file that is all text, a column is numbers if every cell that is not empty is
one. A cell is empty if it is None, NaN or no text. Nothing is guessed about bad cells: a word among numbers, or a
number beyond ±1e100, which no learner takes, is refused with its row, counted from 1 as a person would, and column.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marginbandits.contexts import LARGEST
from marginbandits.environments.examples import Examples, Reading, label_among, named, number, refuse_quantity
from marginbandits.types import Array
from marginbandits.validation import quoted, suggestion

__all__ = ["examples_from_columns", "too_large"]

MOST_WORDS = 100
Cells = Sequence[Any]


def examples_from_columns(columns: Mapping[str, Cells], reading: Reading, name: str, *, text: bool) -> Examples:
    """The examples of a file of this `name`; `text` says that its cells are as they were written."""
    for one in reading.drop:
        if one not in columns:
            raise ValueError(f"{name} has no column {one!r} to drop{suggestion(one, columns)}")
    left = {column: cells for column, cells in columns.items() if column not in reading.drop}
    if len(left) < 2:
        raise ValueError(f"{name} must have a label column and at least one more, it has {list(left)}")
    label = label_among(columns, reading, name, "column") or list(left)[-1]
    n_rows = len(left[label])
    gaps = {column: _gaps(cells) for column, cells in left.items()}
    if reading.missing == "drop":
        rows = sorted(set(range(n_rows)).difference(*gaps.values()))
        if not rows:
            raise ValueError(f"{name} has an empty cell in every row; --drop columns, or --missing keep")
        left = {column: [cells[row] for row in rows] for column, cells in left.items()}
    else:
        rows = list(range(n_rows))
        for column in [label] if reading.missing == "keep" else left:
            if gaps[column]:
                advice = "--missing drop" if column == label else "--missing drop or --missing keep"
                raise ValueError(f"{_place(name, gaps[column][0], column)}: empty; fill it, or say {advice}")
    labels = [str(cell) for cell in left.pop(label)]
    refuse_quantity(labels, f"{name}, column {label!r}")
    if reading.missing == "keep":
        whole = {column: _values(cells, column, name, text=text) for column, cells in left.items()}
        contexts = [dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True)]
        return named(contexts, labels, [f"{name}, row {row + 1}" for row in rows])
    features = [one for column, cells in left.items() for one in _features(cells, rows, column, name)]
    return Examples(np.stack(features, 1), np.asarray(labels), n_rows - len(rows))


def too_large(where: str, cell: float) -> str:
    """What is said of a number that no learner takes."""
    return f"{where}: {cell:g} is beyond ±{LARGEST:g}, which no learner takes; mend it or drop the row"


def _place(name: str, row: int, column: str) -> str:
    return f"{name}, row {row + 1}, column {column!r}"


def _empty(cell: Any) -> bool:
    return bool(cell is None or (isinstance(cell, str) and not cell) or cell != cell)


def _gaps(cells: Cells) -> list[int]:
    return [row for row, cell in enumerate(cells) if _empty(cell)]


def _values(cells: Cells, column: str, name: str, *, text: bool) -> list[Any]:
    """Cells as a learner is handed them."""
    filled = [row for row, cell in enumerate(cells) if not _empty(cell)]
    values: list[Any] = [None] * len(cells)
    numbers = _numbers([cells[row] for row in filled], filled, column, name) if text else None
    for place, row in enumerate(filled):
        values[row] = cells[row] if numbers is None else numbers[place]
    return values


def _features(cells: Cells, rows: Sequence[int], column: str, name: str) -> list[Array]:
    numbers = _numbers(cells, rows, column, name)
    if numbers is not None:
        found = np.array(numbers)
        large = np.flatnonzero(np.abs(found) > LARGEST)
        if len(large):
            raise ValueError(too_large(_place(name, rows[large[0]], column), found[large[0]]))
        return [found]
    words = sorted({str(cell) for cell in cells})
    if len(words) > MOST_WORDS:
        raise ValueError(
            f"{name}, column {column!r}: {len(words)} different words; leave it out (--drop), group them, or take rows "
            "by name (--missing keep), where words may be many"
        )
    return [np.array([str(cell) == word for cell in cells], float) for word in words]


def _numbers(cells: Cells, rows: Sequence[int], column: str, name: str) -> list[float] | None:
    """A column as numbers; None if half of it or more are none."""
    found = [number(cell) for cell in cells]
    numbers = [one for one in found if one is not None]
    if len(numbers) == len(cells):
        return numbers
    if 2 * len(numbers) <= len(cells):
        return None
    bad = found.index(None)
    raise ValueError(
        f"{_place(name, rows[bad], column)}: {quoted(cells[bad])} among numbers; mend or empty it, or --drop the column"
    )
