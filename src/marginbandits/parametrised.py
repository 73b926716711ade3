"""Objects that are what they were built with, and signatures that say with what.

>>> class Point(Parametrised):
...     def __init__(self, x, label=None):
...         self.x, self.label = x, label
>>> Point(1.0).parameters(), Point(1.0)
({'x': 1.0, 'label': None}, Point(x=1.0))
"""

import inspect
from collections.abc import Callable
from typing import Any, Unpack, get_args, get_origin

__all__ = ["Parametrised", "written_out"]


class Parametrised:
    """An object whose constructor only stores its arguments, each under its own name.

    That makes it printable, comparable by its parameters, and possible to save as data.
    """

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments as they were given."""
        found = written_out(type(self)).parameters
        for name, one in found.items():
            if one.kind is one.VAR_KEYWORD:
                raise ValueError(f"{type(self).__name__} does not say what **{name} are: declare them by Unpack[…]")
        return {name: getattr(self, name) for name in found}

    def __repr__(self) -> str:
        own = [name for name in written_out(type(self)).parameters if getattr(self, name, None) is not None]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in own)})"


def written_out(function: Callable[..., object]) -> inspect.Signature:
    """The signature of a function; options that it takes together, by `**options: Unpack[…]`, each on its own."""
    signature = inspect.signature(function)
    found: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        if get_origin(one.annotation) is Unpack:
            options = get_args(one.annotation)[0].__annotations__
            kind = inspect.Parameter.KEYWORD_ONLY
            found += [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in options.items()]
        else:
            found.append(one)
    return signature.replace(parameters=found)
