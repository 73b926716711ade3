"""Parts of learners in words: `Networks(width=32)` as `scores`, `Fourier(width=0.3)` as `features`.

Only what `features` and `scores` export is known; nothing else is ever made, and nothing is evaluated.

>>> part("Networks", {"width": 32}).width
32
>>> written(part("Networks", {"width": 32})), written("fourier")
('Networks(width=32)', 'fourier')
"""

import inspect
from collections.abc import Collection
from typing import Any

from marginbandits import features, scores
from marginbandits.parametrised import Parametrised, written_out
from marginbandits.saving import Part
from marginbandits.validation import quoted, suggestion

__all__ = ["known_parts", "part", "refuse_unknown", "written"]


def known_parts() -> dict[str, type[Part]]:
    """By name."""
    exported = [getattr(room, name) for room in (features, scores) for name in room.__all__]
    some = [one for one in exported if inspect.isclass(one) and issubclass(one, Part) and not inspect.isabstract(one)]
    return {one.__name__: one for one in some}


def part(name: str, parameters: dict[str, Any]) -> Part:
    """One of them; what is unknown is answered with the nearest known."""
    known = known_parts()
    if name not in known:
        raise ValueError(f"nothing that a learner is made of is called {quoted(name)}{suggestion(name[:80], known)}")
    allowed = written_out(known[name]).parameters
    refuse_unknown(name, parameters, allowed)
    for one, declared in allowed.items():
        if declared.default is inspect.Parameter.empty and one not in parameters:
            raise ValueError(f"{name} needs {one}: {name}({one}=…)")
    return known[name](**parameters)


def refuse_unknown(name: str, parameters: Collection[str], allowed: Collection[str]) -> None:
    """Raise a ValueError for the first parameter there is not."""
    for one in parameters:
        if one not in allowed:
            raise ValueError(f"{name} has no parameter {quoted(one)}{suggestion(one[:80], allowed)}")


def written(value: object) -> str:
    """A value as people write it: of a part its name, and what it has that is not usual."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if not isinstance(value, Parametrised):
        return str(value)
    usual = written_out(type(value)).parameters
    shown = [
        f"{name}={written(one)}"
        for name, one in value.parameters().items()
        if usual[name].default is inspect.Parameter.empty or one != usual[name].default
    ]
    return f"{type(value).__name__}({', '.join(shown)})" if shown else type(value).__name__
