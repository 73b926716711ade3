"""What actions are called in a log, and where each stands among the labels.

A label is a word or a whole number. 2.0, as tables with gaps have it, is 2; in files that are all text "2" is 2 where
every action of the file is a whole number, or where 2 is among the labels that were declared.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.types import Action, Array, Mask
from marginbandits.validation import quoted

__all__ = ["MOST", "Places", "as_label", "found_labels", "listed"]

MOST = 10_000
"""Different actions that a log may have without having said so."""


def as_label(value: Any) -> Action | None:
    """The action by its name; None if it can be none."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return None


def found_labels(values: Iterable[Any], where: str, *, text: bool) -> tuple[Action, ...]:
    """The labels among these values in order: numbers by size, words by the alphabet."""
    found = {one for one in map(as_label, values) if one is not None}
    if len(found) > MOST:
        raise ValueError(
            f"{where} has more than {MOST:,} different actions, such as {quoted(sorted(map(str, found))[:3])}; if "
            "these are actions, name them by actions=[...]"
        )
    if text and found and all(_whole(one) for one in found):
        found = {int(one) for one in found}
    return tuple(sorted(found, key=lambda one: (isinstance(one, str), one)))


def _whole(word: object) -> bool:
    digits = str(word).removeprefix("-")
    return digits.isascii() and digits.isdecimal() and str(int(digits)) == digits


class Places:
    """Where each label stands; `text` says that all was read from text."""

    def __init__(self, labels: Sequence[Action], *, text: bool) -> None:
        self._places: dict[Action, int] = {str(one): place for place, one in enumerate(labels)} if text else {}
        self._places |= {one: place for place, one in enumerate(labels)}
        self._n = len(labels)

    def of(self, value: Any) -> int:
        """The place of a value, -1 if it is no label."""
        label = as_label(value)
        return -1 if label is None else self._places.get(label, -1)

    def of_codes(self, codes: npt.NDArray[np.int64], values: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Places of coded values; a code of -1 is no label."""
        return np.array([*map(self.of, values), -1], np.int64)[codes]

    def mask(self, cell: Any) -> Mask | str:
        """Which actions a cell says are available: a boolean for each, or a list of labels; or what is wrong."""
        given = listed(cell)
        if given is not None and len(given) == self._n and all(isinstance(one, bool | np.bool_) for one in given):
            mask = np.array(given, bool)
        else:
            places = [self.of(one) for one in given or ()]
            mask = np.zeros(self._n, bool)
            if not places or min(places) < 0:
                return f"available must be a list of labels, or {self._n} booleans, got {quoted(cell)}"
            mask[places] = True
        return mask if mask.any() else f"available must leave at least one action, got {quoted(cell)}"

    def law(self, cell: Any) -> Array | str:
        """The law that a cell has: a probability for each label; or what is wrong."""
        given = listed(cell)
        try:
            law = np.array(given, float)
        except (TypeError, ValueError):
            law = np.empty(0)
        return law if law.shape == (self._n,) else f"law must be {self._n} probabilities, got {quoted(cell)}"


def listed(cell: Any) -> Any:
    """A cell as a list: one as it is, text that is one of JSON, or words between which stands |; None if it is none."""
    if isinstance(cell, str):
        if cell.startswith(("[", "{")):
            try:
                return listed(json.loads(cell))
            except (ValueError, RecursionError):
                return None
        return cell.split("|") if cell else None
    return cell if isinstance(cell, list | tuple | np.ndarray) else None
