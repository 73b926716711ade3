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
>>> Offered({"age": 31}, {"a17": {"price": 20}}).rows()
[{'user': {'age': 31}, 'action': {'price': 20}, 'id': 'a17'}]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marginbandits import frames
from marginbandits.features.entries import Offer
from marginbandits.types import Action, Mask
from marginbandits.validation import quoted

__all__ = ["Names", "Offered", "is_name", "is_one_offer", "plain"]

INTERACTIONS = [["user", "action"], ["user", "id"]]
"""Of a context with these, where nobody says otherwise."""
_WORDS, _PLAIN = {str}, {dict, type(None)}


class Names:
    """The names of actions, in order."""

    def __init__(self, names: Iterable[Action]) -> None:
        given = tuple(names)
        self.names: tuple[Action, ...] = given if set(map(type, given)) == _WORDS else tuple(map(plain, given))
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


class Offered:
    """A context and what is offered in it, checked: the names of actions as words, and the features of each."""

    __slots__ = ("context", "features", "names")

    def __init__(self, context: Any, offered: Any) -> None:
        if not isinstance(offered, Mapping) or not offered:
            raise ValueError(f"actions must be a mapping of names to features, got {quoted(offered)}")
        if context is not None and type(context) is not dict:
            context = dict(context.items()) if frames.is_row(context) else context
            if not isinstance(context, Mapping):
                raise ValueError(
                    f"context must be names and values, or None, where actions have features, got {quoted(context)}"
                )
        self.context: Mapping[str, Any] | None = context
        self.names: list[str] = list(offered)
        self.features: list[Mapping[str, Any] | None] = list(offered.values())
        if set(map(type, self.names)) != _WORDS or not _PLAIN.issuperset(map(type, self.features)):
            self._check()

    def _check(self) -> None:
        """Names and features that are not all of the usual types."""
        for name, features in zip(self.names, self.features, strict=True):
            if not is_name(name):
                raise ValueError(f"actions must have words or whole numbers for names, got {quoted(name)}")
            if not (features is None or isinstance(features, Mapping)):
                raise ValueError(f"actions[{quoted(name)}] must be names and values, or None, got {quoted(features)}")
        words = [str(plain(name)) for name in self.names]
        if len(set(words)) < len(words):
            raise ValueError(f"actions must have names that differ as words, got {quoted(self.names)}")
        self.names = words

    def said(self) -> Offer:
        """All of it, for a table."""
        return self.context, self.names, self.features

    def rows(self) -> list[dict[str, Any]]:
        """What is said of each action: a mapping for each."""
        user = {} if self.context is None else {"user": self.context}
        both = zip(self.names, self.features, strict=True)
        return [{**user, "action": features or {}, "id": name} for name, features in both]


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
