"""Features as Personalizer's clients send them: lists of objects, which become one mapping of names and values.

Names that begin with an underscore are ignored; null is the word "null"; a list holds numbers alone. What several
objects say of the same name is put together: namespaces are merged, values stand side by side in a list.

>>> merged([{"user": {"age": 31}, "_id": 7}, {"user": {"likes": None}, "new": True}])
{'user': {'age': 31, 'likes': 'null'}, 'new': True}
>>> merged([{"tag": "hat"}, {"tag": "shoe"}])
{'tag': ['hat', 'shoe']}
"""

from collections.abc import Sequence
from typing import Any

from marginbandits.service.personalizer.faults import FaultError

__all__ = ["merged"]

NO_PAIRS = "Features are not in key value pair format."
NO_NUMBERS = "Features should not contain array with non-number items."
NO_NAME = "Context features and action features cannot use the empty string as an id."


def merged(features: Sequence[Any]) -> dict[str, Any]:
    """One mapping of all of them."""
    whole: dict[str, Any] = {}
    for one in features:
        if not isinstance(one, dict):
            raise FaultError("InvalidRankRequest", NO_PAIRS)
        _put(whole, _read(one))
    return whole


def _read(namespace: dict[str, Any]) -> dict[str, Any]:
    if "" in namespace:
        raise FaultError("InvalidRankRequest", NO_NAME)
    return {name: _value(value) for name, value in namespace.items() if not name.startswith("_")}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _read(value)
    if isinstance(value, list) and not all(type(one) in (int, float) for one in value):
        raise FaultError("InvalidRankRequest", NO_NUMBERS)
    return "null" if value is None else value


def _put(whole: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        there = whole.get(name)
        if there is None:
            whole[name] = value
        elif isinstance(there, dict) != isinstance(value, dict):
            raise ValueError(f"feature {name[:80]!r} must have a namespace everywhere, or nowhere")
        elif isinstance(there, dict):
            _put(there, value)
        else:
            whole[name] = _listed(there) + _listed(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
