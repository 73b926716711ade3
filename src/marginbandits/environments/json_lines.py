"""Examples from JSON lines: an object on each line, whose label is one entry, and whose context is all others.

Only as many lines as are wanted are read. What is wrong with one is said with its number.
"""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginbandits.environments.examples import Examples, Reading, label_among, named, refuse_quantity
from marginbandits.environments.json_objects import parse_object
from marginbandits.validation import quoted

__all__ = ["read_json_lines"]

LONGEST_LINE = 10_000_000
LONGEST_LABEL = 1000


def read_json_lines(path: Path, reading: Reading, most: int | None) -> Examples:
    """The examples of the first `most` lines; a label that is not asked for is one that the first line has."""
    contexts, labels, places = [], [], []
    name = None
    for place, line in itertools.islice(_lines(path), most):
        try:
            context = _object(line)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        if name is None:
            name = label_among(context, reading, place, "entry")
            if name is None:
                seen = ", ".join(itertools.islice(context, 50))
                raise ValueError(f"{place}: no entry is called label, target, class or y: name one by --label: {seen}")
            if name == "action" and "probability" in context.keys() - set(reading.drop):
                raise ValueError(
                    f"{place}: an action and its probability are of a log of decisions, which does not say what would "
                    "have been right; a label does. To have it all the same, --drop probability"
                )
        labels.append(_label(context.pop(name, None), name, place))
        contexts.append(context)
        places.append(place)
    if name is None:
        raise ValueError(f"{path} is empty")
    refuse_quantity(labels, f"{path}, entry {name!r}")
    return named(contexts, labels, places, reading.drop)


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every line that has something on it, after the place it stands in."""
    with path.open("rb") as file:
        for k in itertools.count(1):
            line = file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{path}, line {k}: more than {LONGEST_LINE:,} bytes; a line holds one example")
            if line.strip():
                yield f"{path}, line {k}", line


def _object(line: bytes) -> dict[str, Any]:
    try:
        return parse_object(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start + 1}") from None


def _label(value: Any, name: str, place: str) -> str:
    """A class by its name; numbers that are equal are one class, however they are written."""
    if value is None:
        raise ValueError(f"{place}: no label {name!r}, or null in it")
    real = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    if not real or len(text := str(value)) > LONGEST_LABEL:
        limit = f"at most {LONGEST_LABEL:,} characters"
        raise ValueError(f"{place}: the label {name!r} must be a word of {limit} or a number, got {quoted(value)}")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else text
