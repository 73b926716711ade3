"""Labelled rows of a file: what is asked of it, what comes of it, and what can be neither context nor class.

The label is the name asked for, or else the first called label, target, class or y. Labels are classes: if all of them
are numbers, more than 50 differ, and either most of these are not whole or there is more than one for every five rows,
they are a quantity, and refused.

>>> refuse_quantity([f"{k / 7:.2f}" for k in range(100)], "a.csv, column 'price'")
Traceback (most recent call last):
    ...
ValueError: a.csv, column 'price': 100 different numbers in 100 rows, such as 0.00, 0.14, 0.29, are a quantity, not ...
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from marginbandits.features.entries import Entries
from marginbandits.validation import suggestion

__all__ = ["MISSING", "Examples", "Missing", "Reading", "label_among", "named", "number", "refuse_quantity"]

Missing = Literal["refuse", "drop", "keep"]
MISSING: tuple[Missing, ...] = get_args(Missing)
"""What may become of a row with an empty cell."""
LABEL_NAMES = ("label", "target", "class", "y")
MOST_CLASSES, LEAST_ROWS = 50, 5
"""Numbers that differ in more than so many values, and come in fewer rows for each, are no classes."""
_SHOWN = 50
"""Names that an error lists, at most."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Which name is the label, which names are not read, and what becomes of rows with an empty cell."""

    label: str | None = None
    drop: tuple[str, ...] = ()
    missing: Missing = "refuse"


class Examples(NamedTuple):
    """Contexts (rows of numbers, or mappings), the label of each, and how many rows were left out for a gap."""

    contexts: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    left_out: int = 0


def label_among(names: Iterable[str], reading: Reading, where: str, what: str) -> str | None:
    """The name of the label; None if none was asked for, and none of these is a usual one."""
    if reading.label and reading.label in reading.drop:
        raise ValueError(f"the label {reading.label!r} is to be dropped; give another --label, or do not --drop it")
    left = [one for one in names if one not in reading.drop]
    if reading.label and reading.label not in left:
        raise ValueError(f"{where} has no {what} {reading.label!r}; it has {', '.join(left[:_SHOWN])}")
    return reading.label or next((one for one in left if one.lower() in LABEL_NAMES), None)


def named(
    contexts: Sequence[dict[str, Any]], labels: Sequence[str], places: Sequence[str], drop: Sequence[str] = ()
) -> Examples:
    """Examples of names and values, but for those to `drop`; what no learner takes is refused with its place."""
    entries = Entries(text=(), categorical=(), drop=drop, interactions=(), seed=0)
    kept, found = [], set[str]()
    for context, place in zip(contexts, places, strict=True):
        try:
            entries.rows([context])
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        kept.append(_without(context, drop, "", found))
    for name in drop:
        if name not in found:
            seen = itertools.islice(dict.fromkeys(path for one in kept for path in _paths(one, "")), _SHOWN)
            raise ValueError(f"{places[0]} and after: no entry {name!r} to drop{suggestion(name, seen)}")
    if not any(kept):
        raise ValueError(f"{places[0]} and after: nothing but labels")
    return Examples(np.array(kept, object), np.asarray(labels))


def refuse_quantity(labels: Sequence[Any], where: str) -> None:
    """Refuse labels that are no classes, with advice."""
    numbers = [number(one) for one in set(labels)]
    known = [one for one in numbers if one is not None]
    if len(numbers) <= MOST_CLASSES or len(known) < len(numbers):
        return
    if 2 * sum(not one.is_integer() for one in known) > len(known) or LEAST_ROWS * len(known) > len(labels):
        raise ValueError(
            f"{where}: {len(known)} different numbers in {len(labels)} rows, such as "
            f"{', '.join(str(one) for one in dict.fromkeys(labels[:3]))}, are a quantity, not classes; cut them into "
            "classes, as np.digitize(y, np.quantile(y, [1/3, 2/3])) cuts y into thirds, or name another --label"
        )


def number(cell: Any) -> float | None:
    """A cell as a finite number, if it is one."""
    try:
        found = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _without(context: Mapping[str, Any], drop: Sequence[str], prefix: str, found: set[str]) -> dict[str, Any]:
    """The context but for names to drop, those of namespaces after their own and a dot; and which were `found`."""
    kept = {}
    for name, value in context.items():
        path = prefix + name
        if path in drop:
            found.add(path)
        else:
            kept[name] = _without(value, drop, path + ".", found) if isinstance(value, Mapping) else value
    return kept


def _paths(context: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, value in context.items():
        yield prefix + name
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{name}.")
