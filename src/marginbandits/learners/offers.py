"""What a round offers, by name: some of the actions a learner was built with, or actions with features of their own.

    ["mens", "none"]                          some of the learner's `actions`
    {"a17": {"price": 20}, "b3": {...}}       each with its features; one model serves all, and each round has its own

What is learnt of an action with features is learnt of what is said of it. Its row has three namespaces,

    user     the context, if there is one
    action   its features
    id       its name

and, unless a `Table` says otherwise, products of what the user is with what the action is, and with its name.

>>> names = Names(["mens", "womens", "none"])
>>> names.place("none"), names.mask(["none", "mens"])
(2, array([ True, False,  True]))
>>> rows({"age": 31}, {"a17": {"price": 20}})
[{'user': {'age': 31}, 'action': {'price': 20}, 'id': 'a17'}]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marginbandits import frames
from marginbandits.types import Action, Mask
from marginbandits.validation import quoted

__all__ = ["Names", "is_name", "is_one_offer", "plain", "rows"]

INTERACTIONS = [["user", "action"], ["user", "id"]]
"""Of a context with these, where nobody says otherwise."""


class Names:
    """The names of actions, in order."""

    def __init__(self, names: Iterable[Action]) -> None:
        self.names = tuple(map(plain, names))
        self._places = {name: place for place, name in enumerate(self.names)}

    def place(self, action: object) -> int:
        """Where an action stands; numbers are no names unless they were given as such."""
        place = self._places.get(plain(action)) if is_name(action) else None
        if place is None:
            raise ValueError(f"action must be one of {quoted(self.names)}, got {quoted(action)}")
        return place

    def mask(self, offered: object) -> Mask:
        """Which of them are offered: a list of one or more."""
        if not isinstance(offered, list | tuple | set | frozenset) or not offered:
            raise ValueError(f"actions must be a list of one or more of {quoted(self.names)}, got {quoted(offered)}")
        mask = np.zeros(len(self.names), bool)
        mask[[self.place(one) for one in offered]] = True
        return mask


def rows(context: Any, offered: object) -> list[dict[str, Any]]:
    """What is said of each action that is offered: a mapping for each."""
    if not isinstance(offered, Mapping) or not offered:
        raise ValueError(f"actions must be a mapping of names to features, got {quoted(offered)}")
    if frames.is_row(context):
        context = dict(context.items())
    if not (context is None or isinstance(context, Mapping)):
        raise ValueError(
            f"context must be names and values, or None, where actions have features, got {quoted(context)}"
        )
    user = {} if context is None else {"user": context}
    found = []
    for name, features in offered.items():
        if not is_name(name):
            raise ValueError(f"actions must have words or whole numbers for names, got {quoted(name)}")
        if not (features is None or isinstance(features, Mapping)):
            raise ValueError(f"actions[{quoted(name)}] must be names and values, or None, got {quoted(features)}")
        found.append({**user, "action": features or {}, "id": str(plain(name))})
    if len({one["id"] for one in found}) < len(found):
        raise ValueError(f"actions must have names that differ as words, got {quoted(list(offered))}")
    return found


def is_name(action: object) -> bool:
    """Whether an action can be called so: a word, or a whole number of at most 63 bits."""
    if isinstance(action, int | np.integer) and not isinstance(action, bool | np.timedelta64):
        return bool(-(2**63) < action < 2**63)
    return isinstance(action, str)


def plain(name: Any) -> Action:
    """A name as it is written to files and logs."""
    return str.__str__(name) if isinstance(name, str) else int(name)


def is_one_offer(actions: object) -> bool:
    """Whether it is what every one of several rounds offers, and not a sequence of offers."""
    return not isinstance(actions, Sequence) or any(is_name(one) for one in actions)
