"""What of an object may be set once it is built: numbers with a fraction, checked as when they were given.

Arrays are made by all else, and several learners may share a part.

>>> from marginbandits.features import Fourier
>>> recipe = Fourier(n_components=20)
>>> recipe.n_components = 40
Traceback (most recent call last):
    ...
ValueError: n_components of Fourier is settled: build another Fourier, got 40
"""

import functools
from collections.abc import Hashable
from typing import Any, cast

from marginbandits.validation import Constraint, cleaned, constraints, quoted

__all__ = ["rules", "unsettled"]


def unsettled(owner: object, name: str, value: object) -> object:
    """The value as this parameter may be set to it; what is no parameter may be anything."""
    rule, kind = rules(cast(Hashable, type(owner))).get(name), type(owner).__name__
    if rule is not None and type(vars(owner)[name]) is not float:
        raise ValueError(f"{name} of {kind} is settled: build another {kind}, got {quoted(value)}")
    return cleaned(rule, name, value)


@functools.cache
def rules(cls: Any) -> dict[str, Constraint]:
    """The constraint of each argument that an object of this class is built with."""
    made = [vars(one)["__init__"] for one in reversed(cls.__mro__) if one is not object and "__init__" in vars(one)]
    return {name: rule for init in made for name, rule in constraints(init).items()}
