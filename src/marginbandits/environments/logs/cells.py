"""Rows of text files, column by column, as `frames.Slice` has those of tables: of CSV, and of JSON lines.

What a cell is, is decided by the file: in CSV a column is numbers if every cell of the first rows that is not empty is
one, and an empty cell is a gap. In JSON lines an entry is what it is.
"""

import csv
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.environments.examples import number
from marginbandits.environments.json_objects import parse_object
from marginbandits.environments.logs.bad import Bad
from marginbandits.environments.logs.lines import Line, lines
from marginbandits.types import Array

__all__ = ["Cells", "csv_header", "csv_rows", "json_object", "json_rows"]

MOST_LINES = 100
"""Of one row: a quote that is left open takes in whatever follows, up to the next one."""


class Cells:
    """Some rows: lists of cells by name, the lines they stand in, and rows that could not be read."""

    def __init__(self, columns: dict[str, list[Any]], numbers: list[int], lost: list[Bad]) -> None:
        self.columns, self.line_numbers, self.lost = columns, numbers, lost

    def __len__(self) -> int:
        return len(self.line_numbers)

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def numbers(self, name: str) -> Array:
        """A column as numbers; NaN where it is none."""
        cells = self.values(name)
        try:
            return np.array(cells, float)
        except (ValueError, TypeError, OverflowError):
            found = [number(cell) for cell in cells]
            return np.array([np.nan if one is None else one for one in found])

    def matrix(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """Columns of numbers as an array of n x d."""
        out = np.empty((len(self), len(names)))
        for place, name in enumerate(names):
            out[:, place] = self.numbers(name)
        return out

    def codes(self, name: str) -> tuple[npt.NDArray[np.int64], list[Any]]:
        """For each row the place of its value among those that differ, -1 where it is empty or a list; and these."""
        places: dict[Any, int] = {}
        found = [
            -1 if cell is None or cell == "" or isinstance(cell, list | dict) else places.setdefault(cell, len(places))
            for cell in self.values(name)
        ]
        return np.array(found, np.int64), list(places)

    def values(self, name: str) -> list[Any]:
        """A column as it is; None where a row does not have it."""
        return self.columns.get(name) or [None] * len(self)


# CSV.


def csv_header(path: Path) -> list[str]:
    """The names of the columns."""
    for header in csv.reader((line.text for line in _sound(path)), strict=True):
        twice = [name for name, count in Counter(header).items() if count > 1]
        if twice:
            raise ValueError(f"{path} has two columns named {twice[0]!r}")
        return header
    raise ValueError(f"{path} is empty")


def csv_rows(path: Path, n_rows: int) -> Iterator[Cells]:
    """All rows below the header, so many at a time."""
    header = csv_header(path)
    spoilt: dict[int, tuple[str, str]] = {}
    reader = csv.reader(_noting(path, spoilt), strict=True)
    next(reader)
    rows: list[list[str]] = []
    numbers: list[int] = []
    lost: list[Bad] = []
    first = reader.line_num + 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:  # a cell that is too long, a zero byte, a quote left open: it goes on after it
            many = reader.line_num - first
            told = f", {many + 1:,} lines in one cell: was a quote left open?" * (many > 0)
            lost.append(Bad(f"{path}, line {first}", "not CSV", f"not CSV: {error}{told}"))
            first = reader.line_num + 1
            continue
        last = reader.line_num
        wrong = next((spoilt.pop(k) for k in range(first, last + 1) if k in spoilt), None)
        if row is not None and wrong is not None:
            lost.append(Bad(f"{path}, line {first}", *wrong))
        elif row and last - first >= MOST_LINES:
            detail = f"{last - first + 1:,} lines in one row: was a quote left open?"
            lost.append(Bad(f"{path}, line {first}", "a row of too many lines", detail))
        elif row and len(row) != len(header):
            detail = f"{len(row)} cells, the header has {len(header)}"
            lost.append(Bad(f"{path}, line {first}", "wrong number of cells", detail))
        elif row:
            rows.append(row)
            numbers.append(first)
        first = last + 1
        if len(numbers) + len(lost) >= n_rows or (row is None and (numbers or lost)):
            columns = zip(*rows, strict=True) if rows else ([] for _ in header)
            yield Cells(dict(zip(header, map(list, columns), strict=True)), numbers, lost)
            rows, numbers, lost = [], [], []
        if row is None:
            return


def _sound(path: Path) -> Iterator[Line]:
    """The first line or lines, refused if they are not text."""
    for line in lines(path):
        if line.wrong is not None:
            raise ValueError(f"{path}, line {line.number}: {line.wrong[1]}")
        yield line._replace(text=line.text + "\n")


def _noting(path: Path, spoilt: dict[int, tuple[str, str]]) -> Iterator[str]:
    for line in lines(path):
        if line.wrong is not None:
            spoilt[line.number] = line.wrong
        yield line.text + "\n"


# JSON lines.


def json_rows(path: Path, n_rows: int) -> Iterator[Cells]:
    """All objects, so many at a time; `columns` has the entries of each, and "" the objects themselves."""
    filled = (line for line in lines(path) if line.wrong is not None or line.text.strip())
    while some := list(itertools.islice(filled, n_rows)):
        objects, numbers, lost = [], [], []
        for line in some:
            found, wrong = json_object(line)
            if wrong is not None:
                lost.append(Bad(f"{path}, line {line.number}", *wrong))
            else:
                objects.append(found)
                numbers.append(line.number)
        names = dict.fromkeys(name for one in objects for name in one)
        yield Cells({name: [one.get(name) for one in objects] for name in names} | {"": objects}, numbers, lost)


def json_object(line: Line) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The object of a line; or none, and why."""
    if line.wrong is not None:
        return {}, line.wrong
    try:
        return parse_object(line.text, '{"action": 1, "reward": 0.5, "probability": 0.2}'), None
    except ValueError as error:
        return {}, ("not JSON", str(error))
