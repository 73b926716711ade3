"""What is wrong with JSON, in words that help: which names there are, or what a value may be.

>>> from typing import Literal
>>> class Hat(msgspec.Struct, forbid_unknown_fields=True):
...     size: int = 0
...     kind: Literal["top", "flat"] = "top"
>>> for text in (b'{"siz": 1}', b'{"kind": "tall"}', b'{"size": "x"}', b'{"size": 1'):
...     try:
...         decoded(msgspec.json.Decoder(Hat), text)
...     except ValueError as error:
...         print(error)
there is no field 'siz'; did you mean 'size'?
kind must be one of flat, top, got 'tall'
size must be a whole number, got a string
the JSON ends before it is whole, after 10 bytes

What is too large, or not there, is named by its place.

>>> from typing import Annotated, Any
>>> class Head(msgspec.Struct):
...     size: Annotated[int, msgspec.Meta(ge=40, le=70)]
...     known: dict[str, Any] = {}
>>> for text in (b'{"size": 90}', b"{}", b'{"size": 50, "known": {"hair": {"grey": [1, 1e999]}}}'):
...     try:
...         decoded(msgspec.json.Decoder(Head), text)
...     except ValueError as error:
...         print(error)
size must be at most 70, got 90
size is missing
known.hair.grey[1] must be a finite number, and this one is too large
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from marginbandits.wording import quoted, suggestion

__all__ = ["converted", "decoded"]

_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_ENUM = re.compile(r"Invalid enum value (.*)$", re.DOTALL)
_KIND = re.compile(r"Expected `([a-z |]+)`, got `([a-z]+)`$")
_WORDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_MISSING = re.compile(r"Object missing required field `(.*)`$", re.DOTALL)
_BOUND = re.compile(r"Expected `(?:int|float)` (<=|>=|<|>) (.*)$")
_LENGTH = re.compile(r"Expected `(\w+)` of length (<=|>=|<|>)? ?(\d+)(?:, got \d+)?$")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'$", re.DOTALL)
_TOO_LARGE = ("Number out of range", "Integer value out of range")
_BOUNDS = {"<=": "at most", ">=": "at least", "<": "below", ">": "above", None: "exactly"}
_LONGEST_NUMBER = 400
"""Digits of a number that is too large to be any."""
_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")


def decoded(decoder: "msgspec.json.Decoder[Any]", text: bytes) -> Any:
    """What a text holds; or a ValueError that says what it should."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), decoder.type, _read(text))) from None
    except UnicodeDecodeError:
        raise ValueError("the JSON must be UTF-8, and a text in it is not") from None
    except msgspec.DecodeError as error:
        if "truncated" not in str(error):
            raise
        if _read(text) is not None:  # what is cut short is a text in it
            raise ValueError("the JSON must have whole characters, and a text in it has half of one") from None
        ends = f"the JSON ends before it is whole, after {len(text):,} bytes"
        raise ValueError(ends if text else "there is no JSON: the request is empty") from None


def converted(given: Any, kind: Any, within: str = "") -> Any:
    """The same of what has been read already, and stands in a field of this name."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), kind, given, within)) from None


def _read(text: bytes) -> Any:
    """What a text that is JSON holds, numbers that are too large as infinity."""
    try:
        return json.loads(text, parse_int=lambda told: float(told) if len(told) > _LONGEST_NUMBER else int(told))
    except (ValueError, RecursionError):  # then places are not told
        return None


def _explained(told: str, kind: Any, given: Any, within: str = "") -> str:
    place = _PLACE.search(told)
    path = place[1] if place else ""
    what = told[: place.start()] if place else told
    steps = _STEP.findall(path)
    if what in _TOO_LARGE:
        steps = _largest(given, steps) or steps
    where = _written([within, *steps] if within else steps)
    found = list(_there(inspect.type_info(kind), steps))
    unknown, other = _UNKNOWN.match(what), _ENUM.match(what)
    if unknown is not None:
        known = {field.encode_name for one in found if isinstance(one, inspect.StructType) for field in one.fields}
        return f"{where or 'there'}{' has' if where else ' is'} no field {unknown[1][:80]!r}" + suggestion(
            unknown[1][:80], known
        )
    if other is not None:
        values = [str(value) for one in found if isinstance(one, inspect.LiteralType) for value in one.values]
        number = " or a whole number" * any(isinstance(one, inspect.IntType) for one in found)
        return f"{where} must be one of {', '.join(values)}{number}, got {other[1][:80]}"
    if (missing := _MISSING.match(what)) is not None:
        return f"{_written([*([where] if where else []), missing[1]])} is missing"
    if (wanted := _wanted(what, found, _at(given, steps))) is not None:
        return f"{where or 'this'} must {wanted}"
    return f"{where}: {what[:1].lower()}{what[1:]}" if where else what


def _wanted(what: str, found: list[Any], value: Any) -> str | None:
    """What a value should be, and what it is; None where a record has said so itself."""
    if what in _TOO_LARGE:
        return "be a finite number, and this one is too large"
    if (mistaken := _KIND.match(what)) is not None:
        may, got = (_words(one) for one in mistaken.groups())
        fields = [field.encode_name for one in found if isinstance(one, inspect.StructType) for field in one.fields]
        if fields:
            may = may.replace("an object", f"an object of {', '.join(fields)}")
        return f"be {may}, got {got}"
    if (bound := _BOUND.match(what)) is not None:
        return f"be {_BOUNDS[bound[1]]} {float(bound[2]):.15g}, got {quoted(value)}"
    if (length := _LENGTH.match(what)) is not None:
        got = f", got {len(value)}" if isinstance(value, str | list | dict) else ""
        one, many = ("character", "characters") if length[1] == "str" else ("entry", "entries")
        return f"have {_BOUNDS[length[2]]} {int(length[3]):,} {one if length[3] == '1' else many}{got}"
    if (pattern := _PATTERN.match(what)) is not None:
        told = "text without zeros" if "x00" in pattern[1] else f"text that matches {pattern[1]}"
        return f"be {told}, got {quoted(value)}"
    return None


def _written(steps: list[str]) -> str:
    """A place, from its steps."""
    return "".join(one if one.startswith("[") or k == 0 else f".{one}" for k, one in enumerate(steps))


def _next(given: Any, step: str) -> Any:
    """What is one step further; None where that is not known."""
    if isinstance(given, list) and step.startswith("["):
        return given[int(step[1:-1])]
    return given.get(step) if isinstance(given, dict) else None


def _at(given: Any, steps: list[str]) -> Any:
    for step in steps:
        given = _next(given, step)
    return given


def _largest(given: Any, steps: list[str]) -> list[str] | None:
    """The steps to the first number that is too large; those by a name that was not told (`[...]`) are looked for."""
    if not steps:
        return [] if isinstance(given, float) and math.isinf(given) else None
    step, *rest = steps
    names = list(given) if step == "[...]" and isinstance(given, dict) else [step]
    for name in names:
        if (found := _largest(_next(given, name), rest)) is not None:
            return [name, *found]
    return None


def _words(kinds: str) -> str:
    return " or ".join(_WORDS.get(one, one) for one in kinds.split(" | "))


def _there(kind: Any, path: list[str]) -> Iterator[Any]:
    """The types that may stand at a path."""
    if isinstance(kind, inspect.Metadata):
        yield from _there(kind.type, path)
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from _there(one, path)
    elif not path:
        yield kind
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            if field.encode_name == path[0]:
                yield from _there(field.type, path[1:])
    elif isinstance(kind, inspect.DictType):
        yield from _there(kind.value_type, path[1:])
    elif isinstance(kind, inspect.ListType):
        yield from _there(kind.item_type, path[1:])
