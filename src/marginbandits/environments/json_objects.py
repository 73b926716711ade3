"""JSON as a line of a file holds it: one object, each name once, and no number that JSON does not have.

>>> parse_object('{"a": 1, "b": 2')
Traceback (most recent call last):
    ...
ValueError: not JSON: Expecting ',' delimiter at character 16 of '{"a": 1, "b": 2'; was the line cut short?
"""

import json
from collections import Counter
from typing import Any

from marginbandits.validation import quoted

__all__ = ["parse_object"]


def parse_object(text: str, example: str = '{"age": 31, "label": "yes"}') -> dict[str, Any]:
    """The object; whatever is wrong is a ValueError that says what and where. `example` shows what is wanted."""
    try:
        found = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        ended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        cut = "; was the line cut short?" * ended
        where = f"at character {error.colno} of {quoted(error.doc.strip())}"
        raise ValueError(f"not JSON: {error.msg} {where}{cut}") from None
    if not isinstance(found, dict):
        raise ValueError(f"an example must be an object, as {example}, got {quoted(found)}")
    return found


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON; write null for what is missing")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {quoted(twice)} is there twice")
    return found
