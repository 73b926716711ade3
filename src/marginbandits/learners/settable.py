"""What of a learner may be set once it has begun.

By then arrays have been made by its parameters, and compiled code believes what these say. Numbers with a fraction make
no arrays: they may be set at any time, and are checked as when they were given. All else is settled, and how many
actions there are, and what they are called, from the beginning.

>>> import marginbandits as mb
>>> agent = mb.Bag(2, seed=0)
>>> agent.learn([1.0], agent.act([1.0]), loss=0.5)
>>> agent.learning_rate = 0.25
>>> agent.n_policies = 5000
Traceback (most recent call last):
    ...
ValueError: n_policies is settled once a learner has begun: build another one, got 5000
"""

from collections.abc import Hashable
from typing import Any, cast

from marginbandits.settled import rules
from marginbandits.validation import cleaned, quoted

__all__ = ["settable"]

_ACTIONS = "n_actions", "actions"


def settable(learner: Any, name: str, value: object) -> object:
    """The value as the parameter of this name may be set to it; what is no parameter may be anything."""
    own, kind = vars(learner), cast(Hashable, type(learner))
    called = name in _ACTIONS and "_everything" in own
    if name not in own or not (called or own.get("_state") is not None):
        return value
    rule = rules(kind).get(name)
    if rule is not None and (called or type(own[name]) is not float):
        raise ValueError(f"{name} is settled once a learner has begun: build another one, got {quoted(value)}")
    return cleaned(rule, name, value)
