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
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from marginbandits.wording import suggestion

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
_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")


def decoded(decoder: "msgspec.json.Decoder[Any]", text: bytes) -> Any:
    """What a text holds; or a ValueError that says what it should."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), decoder.type)) from None
    except msgspec.DecodeError as error:
        if "truncated" not in str(error):
            raise
        ends = f"the JSON ends before it is whole, after {len(text):,} bytes"
        raise ValueError(ends if text else "there is no JSON: the request is empty") from None


def converted(given: Any, kind: Any, within: str = "") -> Any:
    """The same of what has been read already, and stands in a field of this name."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), kind, within)) from None


def _explained(told: str, kind: Any, within: str = "") -> str:
    place = _PLACE.search(told)
    path = place[1] if place else ""
    what = told[: place.start()] if place else told
    where = ".".join(one for one in (within, path) if one)
    found = list(_there(inspect.type_info(kind), _STEP.findall(path)))
    unknown, other = _UNKNOWN.match(what), _ENUM.match(what)
    if unknown is not None:
        known = {field.encode_name for one in found if isinstance(one, inspect.StructType) for field in one.fields}
        return f"{where or 'there'}{' has' if where else ' is'} no field {unknown[1][:80]!r}" + suggestion(
            unknown[1][:80], known
        )
    if other is not None:
        values = [str(value) for one in found if isinstance(one, inspect.LiteralType) for value in one.values]
        return f"{where} must be one of {', '.join(values)}, got {other[1][:80]}"
    if (mistaken := _KIND.match(what)) is not None:
        may, got = (_words(one) for one in mistaken.groups())
        return f"{where or 'this'} must be {may}, got {got}"
    return f"{where}: {what[:1].lower()}{what[1:]}" if where else what


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
