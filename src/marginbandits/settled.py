"""What of an object may be set once it is built: nothing that it was built with, but what its class calls `live`.

Arrays are made by all else, compiled code believes what it says, several learners may share a part, and a file is read
by building everything again. What is live is asked for anew in every round, and checked as when it was given.

>>> import marginbandits as mb
>>> agent = mb.LinUCB(2, seed=0)
>>> agent.alpha = 0.5
>>> agent.alpha = -1.0
Traceback (most recent call last):
    ...
ValueError: alpha must be a finite number at least 0, got -1.0
>>> agent.regularisation = 0.5
Traceback (most recent call last):
    ...
ValueError: regularisation of LinUCB is settled: build another LinUCB, got 0.5
"""

import functools
from typing import Any, cast

from marginbandits.parametrised import written_out
from marginbandits.validation import Constraint, cleaned, constraints, quoted

__all__ = ["rules", "unsettled"]


def unsettled(owner: object, name: str, value: object) -> object:
    """The value as this attribute may be set to it; what is no parameter, or is not there yet, may be anything."""
    cls = cast(Any, type(owner))
    read = isinstance(getattr(cls, name, None), property) and hasattr(owner, name)
    if not (read or name in vars(owner)) or name not in rules(cls):
        return value
    if name not in getattr(cls, "live", ()) or name not in _written(cls):  # which a file would not say
        raise ValueError(f"{name} of {cls.__name__} is settled: build another {cls.__name__}, got {quoted(value)}")
    return cleaned(rules(cls)[name], name, value)


@functools.cache
def rules(cls: Any) -> dict[str, Constraint | None]:
    """Each argument that an object of this class, or of one that it builds on, is built with; and its constraint."""
    made = [vars(one)["__init__"] for one in reversed(cls.__mro__) if one is not object and "__init__" in vars(one)]
    return {name: constraints(init).get(name) for init in made for name in _named(init)}


@functools.cache
def _written(cls: Any) -> frozenset[str]:
    return _named(cls.__init__)


def _named(init: Any) -> frozenset[str]:
    found = written_out(init).parameters.values()
    return frozenset(one.name for one in found if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)) - {"self"}
