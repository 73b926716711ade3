"""What made a result: a fingerprint of the code behind it and of every value that took effect.

The code behind a class or a function is the text of its module, and of every module of this package that it imports,
directly or through others. A constant changed anywhere there is other code; what only parses, keeps or shows does not
count. Of a class from elsewhere its own module counts too, with whatever that imports from here.

>>> from marginbandits.learners import LinUCB
>>> fingerprint({"code": code(LinUCB), "alpha": 0.2}) == fingerprint({"alpha": 0.2, "code": code(LinUCB)})
True
>>> "marginbandits.oracles.ridge" in modules_behind(LinUCB), "marginbandits.cli" in modules_behind(LinUCB)
(True, False)
"""

import functools
import hashlib
import importlib
import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from marginbandits.parametrised import Parametrised
from marginbandits.validation import quoted

__all__ = ["code", "fingerprint", "modules_behind"]

PACKAGE = "marginbandits"
_ROOT = Path(__file__).parent.parent
_SHOWING = {
    f"{PACKAGE}.experiments.{name}"
    for name in (
        "claims",
        *(f"claims.{one}" for one in ("claim", "figures", "growing", "judging")),
        "marks",
        "store",
        "svg",
    )
}
"""What claims import to say and keep what was measured; nothing measured depends on them."""

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.M)
_COMMENT = re.compile(r"#.*")


def fingerprint(facts: Mapping[str, object]) -> str:
    """Of named values: equal values, equal fingerprint, in any process."""
    return hashlib.sha256(json.dumps(_plain(facts), sort_keys=True).encode()).hexdigest()[:32]


def code(*things: type | Callable[..., Any]) -> str:
    """Of the code behind classes and functions."""
    return _digest(frozenset(modules_behind(*things)), tuple(text for one in things for text in _foreign(one)))


def modules_behind(*things: type | Callable[..., Any]) -> set[str]:
    """Every module of this package whose text counts."""
    waiting = [module for one in things for module in _homes(one) if _inside(module)]
    waiting += [module for one in things for text in _foreign(one) for module in _imports(text)]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module not in found and module not in _SHOWING:
            found.add(module)
            waiting.extend(_needs(module))
    return found


def _homes(thing: type | Callable[..., Any]) -> list[str]:
    """The modules of a function, or of a class and all its bases."""
    return [one.__module__ for one in (inspect.getmro(thing) if inspect.isclass(thing) else (thing,))]


def _foreign(thing: type | Callable[..., Any]) -> Iterator[str]:
    """The text of modules outside this package that define a class, its bases or a function."""
    for one in inspect.getmro(thing) if inspect.isclass(thing) else (thing,):
        top = one.__module__.partition(".")[0]
        if top != PACKAGE and top not in sys.stdlib_module_names:
            try:
                yield inspect.getsource(sys.modules[one.__module__])
            except (OSError, TypeError):  # typed in, as in a notebook: there is no file
                yield _compiled(one)


def _compiled(thing: object) -> str:
    """What was made of a source that is gone: of every function instructions, names, constants and defaults; values."""
    if not inspect.isclass(thing):
        return _made(thing)
    own = {name: one for name, one in vars(thing).items() if name not in _OF_ANY_CLASS}
    return "".join(f"{name} {_made(one)}\n" for name, one in own.items())


_OF_ANY_CLASS = {"__module__", "__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl"}


def _made(thing: object) -> str:
    """A function, whatever it is wrapped in, or a value."""
    if isinstance(thing, property):
        return "".join(_made(one) for one in (thing.fget, thing.fset, thing.fdel) if one is not None)
    thing = inspect.unwrap(getattr(thing, "__func__", thing))  # type: ignore[arg-type]  # whatever it is
    if inspect.isfunction(thing):
        return _instructions(thing.__code__) + json.dumps(_plain([thing.__defaults__, thing.__kwdefaults__]))
    return json.dumps(_plain(thing), sort_keys=True)


def _instructions(made: CodeType) -> str:
    inner = [_instructions(one) if isinstance(one, CodeType) else repr(one) for one in made.co_consts]
    return repr((made.co_code, made.co_names, made.co_varnames, inner))


@functools.cache
def _digest(modules: frozenset[str], foreign: tuple[str, ...]) -> str:
    texts = [f"{one}\n{_text(one)}" for one in sorted(modules)]
    return hashlib.sha256("\0".join([*texts, *sorted(foreign)]).encode()).hexdigest()


@functools.cache
def _text(module: str) -> str:
    file = _file(module)
    return file.read_text(encoding="utf-8") if file else ""


@functools.cache
def _needs(module: str) -> frozenset[str]:
    return _imports(_text(module))


@functools.cache
def _imports(text: str) -> frozenset[str]:
    """The modules of this package that a text imports from; a package imported as such is all that is in it."""
    found: set[str] = set()
    for home, names, whole in _IMPORT.findall(_COMMENT.sub("", text)):
        for part in (names or whole).strip("() \t\n").split(","):
            name = part.split(" as ")[0].strip()
            if not name:  # after the last comma of several lines
                continue
            if _inside(home):
                found.update(_home_of(home, name))
            elif _inside(name):
                found.update(_below(name))
    return frozenset(found)


def _home_of(home: str, name: str) -> Iterable[str]:
    """The module that `from home import name` is about."""
    if _file(f"{home}.{name}"):
        return _below(f"{home}.{name}")
    file = _file(home)
    if name.startswith("__") or file is None:  # the package's version is no code
        return ()
    if file.name != "__init__.py":
        return (home,)
    module = getattr(getattr(importlib.import_module(home), name, None), "__module__", "")
    return (module,) if _inside(module) and module != home else _below(home)


def _below(module: str) -> Iterable[str]:
    file = _file(module)
    if file is None or file.name != "__init__.py":
        return (module,)
    parts = (one.relative_to(_ROOT).with_suffix("").parts for one in file.parent.rglob("*.py"))
    return {".".join((PACKAGE, *(one for one in part if one != "__init__"))) for part in parts} - {f"{PACKAGE}.cli"}


@functools.cache
def _file(module: str) -> Path | None:
    place = _ROOT.joinpath(*module.split(".")[1:])
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)


def _inside(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


def _plain(value: object) -> object:
    """A value as JSON; what JSON lacks by its class, its code and its parameters, or by its bytes."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return ["array", value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, Parametrised):
        return [_full_name(type(value)), code(type(value)), _plain(value.parameters())]
    if inspect.isclass(value) or (inspect.isfunction(value) and "<" not in value.__qualname__):
        return [_full_name(value), code(value)]
    try:
        return ["pickle", hashlib.sha256(pickle.dumps(value, protocol=5)).hexdigest()]
    except Exception as error:  # whatever a stranger's pickling raises, it says the same
        raise ValueError(
            f"{quoted(value)} cannot be told from others of its kind, so no result is kept by it"
        ) from error


def _full_name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
