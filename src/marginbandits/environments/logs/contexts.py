"""Contexts of a log in a table: numbers as an array where all are numbers, and names and values otherwise.

Which of the two is settled by the columns' types or, in CSV, by the first rows, and holds for the whole log. There a
column is of numbers if nine in ten of its filled cells are (`MOSTLY`). A row that does not fit is bad, and says why. By
name, a gap is None, which learners take for a value of its own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginbandits.contexts import LARGEST
from marginbandits.environments.examples import number
from marginbandits.environments.logs.checks import Wrong
from marginbandits.features.entries import Entries
from marginbandits.validation import quoted

__all__ = ["Contexts", "Reading", "refuse_entries", "refuse_offer"]

MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class Reading:
    """One column that holds the context, or several, or all but the `others`; by name, as numbers, or as is fit."""

    context: str | tuple[str, ...] | None
    named: bool | None
    others: frozenset[str]
    words: frozenset[str] = frozenset()
    """Columns of names, whatever they look like."""


class Contexts:
    """What is remembered of a log's contexts from one part of it to the next."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._entries = Entries(text=(), categorical=(), drop=(), interactions=(), seed=0)
        self._width: int | None = None
        self._numeric: frozenset[str] | None = None  # columns of numbers, in files that are all text
        self._gaps = False

    def read(self, block: Any, kinds: Mapping[str, str] | None, wrong: Wrong) -> tuple[Any, tuple[str, ...] | None]:
        """Contexts of some rows, and their columns if they are numbers; rows that are wrong are added to those."""
        context = self._reading.context
        if kinds is None and not isinstance(context, str):
            return self._objects(block.values(""), wrong), None
        if isinstance(context, str):
            return self._whole(block.values(context), wrong), None
        names = context or ()
        if "cell" in (kinds or {}).values():
            return self._text(block, names, wrong)
        return self._typed(block, names, kinds or {}, wrong)

    def _objects(self, objects: Sequence[dict[str, Any]], wrong: Wrong) -> list[Any]:
        wanted, others = self._reading.context, self._reading.others
        if wanted is None:
            found = [{name: value for name, value in one.items() if name not in others} for one in objects]
        else:
            found = [{name: one[name] for name in wanted if name in one} for one in objects]
        for name in self._reading.words:
            for one in found:
                if one.get(name) is not None:
                    one[name] = str(one[name])
        refuse_entries(found, self._entries, wrong)
        return found

    def _whole(self, cells: Sequence[Any], wrong: Wrong) -> Any:
        """A column of mappings, of lists of numbers, or of text that is one of these in JSON."""
        cells = [_parsed(cell) for cell in cells]
        if self._width is None:
            first = next((one for one in cells if isinstance(one, Mapping | list)), None)
            if first is None and any(one is not None for one in cells):
                raise ValueError(
                    f"column {self._reading.context!r} should hold each context whole, as a mapping or a list, got "
                    f"{quoted(cells[0])}; if it is one column of the context, say context=[{self._reading.context!r}]"
                )
            self._width = len(first) if isinstance(first, list) else -1
        if self._width < 0:
            found = [one if one is None or isinstance(one, Mapping) else {} for one in cells]
            for row, cell in enumerate(cells):
                if not (cell is None or isinstance(cell, Mapping)):
                    detail = f"context must be names and values, got {quoted(cell)}"
                    wrong.setdefault(row, ("context is none", detail))
            refuse_entries(found, self._entries, wrong)
            return found
        out = np.zeros((len(cells), self._width))
        for row, cell in enumerate(cells):
            if isinstance(cell, list) and len(cell) == self._width and all(_real(one) for one in cell):
                out[row] = cell
            else:
                detail = f"context must be {self._width} numbers, as in the first row, got {quoted(cell)}"
                wrong.setdefault(row, ("context is none", detail))
        return out

    def _typed(
        self, block: Any, names: Sequence[str], kinds: Mapping[str, str], wrong: Wrong
    ) -> tuple[Any, tuple[str, ...] | None]:
        odd = [name for name in names if kinds[name] == "other"]
        if odd:
            raise ValueError(
                f"column {odd[0]!r} holds neither numbers nor text nor lists, so it can be no context; give it a role "
                "(time=, key=), or name the columns that are context by context=[...]"
            )
        kinds = {name: "text" if name in self._reading.words else kinds[name] for name in names}
        numeric = all(kinds[name] in ("number", "boolean") for name in names)
        if numeric and not self._reading.named:
            return block.matrix(names), tuple(names)
        if self._reading.named is False:
            text = next(name for name in names if kinds[name] not in ("number", "boolean"))
            raise ValueError(f"named=False needs contexts of numbers alone, and column {text!r} is none")
        columns = {}
        for name in names:
            if kinds[name] == "number":
                columns[name] = self._gapped(name, block.numbers(name), wrong)
            elif name in self._reading.words:
                columns[name] = [None if cell is None else str(cell) for cell in block.values(name)]
            else:
                columns[name] = block.values(name)
        found = _by_name(columns, len(block))
        if any(kinds[name] == "nested" for name in names):
            refuse_entries(found, self._entries, wrong)
        return found, None

    def _text(self, block: Any, names: Sequence[str], wrong: Wrong) -> tuple[Any, tuple[str, ...] | None]:
        if not len(block):  # none that could be read: nothing is settled by these
            return np.empty((0, len(names))), tuple(names)
        if self._numeric is None:
            filled = {name: [cell for cell in block.values(name) if cell] for name in names}
            self._gaps = any(len(cells) < len(block) for cells in filled.values())
            self._numeric = frozenset(
                name
                for name, cells in filled.items()
                if name not in self._reading.words
                and cells
                and sum(number(cell) is not None for cell in cells) >= MOSTLY * len(cells)
            )
        columns: dict[str, Any] = {}
        for name in names:
            cells = block.values(name)
            if name not in self._numeric:
                columns[name] = [cell or None for cell in cells]
                continue
            columns[name] = numbers = block.numbers(name)
            for row in np.flatnonzero(np.isnan(numbers)).tolist():
                if cells[row]:
                    detail = (
                        f"column {name!r} has {quoted(cells[row])} among numbers: if it has names, say words=[{name!r}]"
                    )
                    wrong.setdefault(row, ("a word among numbers", detail))
        words = [name for name in names if name not in self._numeric]
        if self._reading.named is False and words:
            raise ValueError(f"named=False needs contexts of numbers alone, and column {words[0]!r} is none")
        if not words and not self._reading.named and (self._reading.named is False or not self._gaps):
            matrix = np.empty((len(block), len(names)))
            for place, name in enumerate(names):
                matrix[:, place] = columns[name]
            return matrix, tuple(names)
        for name in self._numeric:
            columns[name] = self._gapped(name, columns[name], wrong)
        return _by_name(columns, len(block)), None

    def _gapped(self, name: str, numbers: Any, wrong: Wrong) -> list[Any]:
        large = np.flatnonzero(np.abs(np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)) > LARGEST)
        for row in large.tolist():
            detail = f"context column {name!r} has {numbers[row]}: it must be within ±1e100"
            wrong.setdefault(row, ("context not finite", detail))
        return [None if one != one else one for one in numbers.tolist()]


def refuse_entries(contexts: Sequence[Any], entries: Entries, wrong: Wrong) -> None:
    """Add to the wrong rows those whose names and values no learner takes."""
    for row, context in enumerate(contexts):
        if context is None:
            continue
        try:
            entries.rows([context])
        except ValueError as error:
            wrong.setdefault(row, ("context that no learner takes", str(error)))


def refuse_offer(offer: Mapping[Any, Any], entries: Entries, row: int, wrong: Wrong) -> None:
    """The same for what a round offers."""
    found: Wrong = {}
    refuse_entries(list(offer.values()), entries, found)
    for detail in found.values():
        wrong.setdefault(row, detail)


def _by_name(columns: Mapping[str, Sequence[Any]], n: int) -> list[dict[str, Any]]:
    if not columns:
        return [{} for _ in range(n)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _parsed(cell: Any) -> Any:
    if isinstance(cell, str):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
