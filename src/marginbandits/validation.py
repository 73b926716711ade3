"""Declarations that validate: a constraint stands beside the argument it governs, and nowhere else.

>>> @validated
... def tune(*, eta: Annotated[float, Real(above=0)], n_actions: Annotated[int, Integer(2)] = 2) -> float:
...     return eta / n_actions
>>> tune(eta=1)
0.5
>>> tune(eta=-1)
Traceback (most recent call last):
    ...
ValueError: eta must be a finite number above 0, got -1

The same declarations give the tests their bad values, and the documentation its allowed ranges, so the three cannot
disagree. Everything that is refused is refused with a `ValueError` that names the argument and the value.
"""

import difflib
import functools
import inspect
import math
import numbers
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, ParamSpec, TypeVar, get_type_hints

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "ActionCount",
    "Choice",
    "Constraint",
    "Instance",
    "Integer",
    "ListOf",
    "OneOf",
    "Parametrised",
    "Real",
    "Seed",
    "constraints",
    "quoted",
    "remembered",
    "suggestion",
    "validated",
]


LARGEST = 1e100
"""No declared number is beyond this: its square, and its product with a context, are numbers too."""


class Constraint(ABC):
    """What one argument may be: a description for people, a check, and examples of what is refused."""

    @abstractmethod
    def __str__(self) -> str:
        """Complete the sentence "eta must be …"."""

    @abstractmethod
    def clean(self, value: object) -> object:
        """Return the value as stored (a plain int or float); raise `ValueError` if it is not allowed."""

    @abstractmethod
    def bad_values(self) -> Iterator[object]:
        """Yield values that must be refused; tests are generated from these."""


class Integer(Constraint):
    """A whole number in [low, high]; booleans are not numbers here."""

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high

    def __str__(self) -> str:
        limits = [f"at least {self.low}"] * (self.low is not None) + [f"at most {self.high}"] * (self.high is not None)
        return " ".join(["a whole number", " and ".join(limits)]).strip()

    def clean(self, value: object) -> int:
        if not isinstance(value, bool | np.bool_) and isinstance(value, numbers.Integral):
            number = int(value)
            if (self.low is None or number >= self.low) and (self.high is None or number <= self.high):
                return number
        raise ValueError(value)

    def bad_values(self) -> Iterator[object]:
        yield from ("three", 2.5, math.nan, True)
        if self.low is not None:
            yield self.low - 1
        if self.high is not None:
            yield self.high + 1


class Real(Constraint):
    """A finite number in an interval: `low`, `high` are inside it, `above`, `below` are not."""

    def __init__(
        self,
        low: float | None = None,
        high: float | None = None,
        *,
        above: float | None = None,
        below: float | None = None,
    ) -> None:
        self.low, self.high, self.above, self.below = low, high, above, below

    def __str__(self) -> str:
        words = (("at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below))
        limits = " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None)
        return f"a finite number {limits}".strip()

    def clean(self, value: object) -> float:
        if not isinstance(value, bool | np.bool_) and isinstance(value, numbers.Real):
            try:
                number = float(value)
            except OverflowError:
                raise ValueError(value) from None
            if (
                abs(number) <= LARGEST
                and (self.low is None or number >= self.low)
                and (self.high is None or number <= self.high)
                and (self.above is None or number > self.above)
                and (self.below is None or number < self.below)
            ):
                return number
        raise ValueError(value)

    def bad_values(self) -> Iterator[object]:
        yield from ("much", math.nan, math.inf, -math.inf, 1e101, None)
        yield from (limit for limit in (self.above, self.below) if limit is not None)
        if self.low is not None:
            yield self.low - 1
        if self.high is not None:
            yield self.high + 1


class Choice(Constraint):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(word) for word in self.words)

    def clean(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise ValueError(value)

    def bad_values(self) -> Iterator[object]:
        yield from ("", self.words[0] + "x", 0)


class Instance(Constraint):
    """An object of one of the given classes."""

    def __init__(self, *classes: type) -> None:
        self.classes = classes

    def __str__(self) -> str:
        names = ("None" if one is type(None) else one.__name__ for one in self.classes)
        return "a " + " or ".join(names)

    def clean(self, value: object) -> object:
        if isinstance(value, self.classes):
            return value
        raise ValueError(value)

    def bad_values(self) -> Iterator[object]:
        yield object()


class ListOf(Constraint):
    """A list, tuple or array of one or more values under one constraint."""

    def __init__(self, item: Constraint) -> None:
        self.item = item

    def __str__(self) -> str:
        return f"a list, each item {self.item}"

    def clean(self, value: object) -> list[object]:
        if isinstance(value, list | tuple | np.ndarray) and len(value) > 0:
            return [self.item.clean(one) for one in value]
        raise ValueError(value)

    def bad_values(self) -> Iterator[object]:
        yield from ([], "list", *([bad] for bad in self.item.bad_values()))


class OneOf(Constraint):
    """Any of several constraints; the first that accepts the value cleans it."""

    def __init__(self, *options: Constraint) -> None:
        self.options = options

    def __str__(self) -> str:
        return ", or ".join(str(option) for option in self.options)

    def clean(self, value: object) -> object:
        for option in self.options:
            try:
                return option.clean(value)
            except ValueError:
                continue
        raise ValueError(value)

    def bad_values(self) -> Iterator[object]:
        for value in (value for option in self.options for value in option.bad_values()):
            try:
                self.clean(value)
            except ValueError:
                yield value


def quoted(value: object) -> str:
    """The value as an error shows it: at most a line of it, however long it is.

    >>> quoted("x" * 1_000_000) == "'" + "x" * 59 + "…"
    True
    """
    if isinstance(value, str | bytes):
        value = value[:100]  # so that a long one is not written out only to be cut
    elif isinstance(value, int) and abs(value) >= 10**60:
        return f"a whole number of {value.bit_length()} bits"
    elif isinstance(value, np.ndarray) and value.size > 64:
        return f"an array of {value.dtype} of shape {value.shape}"
    elif isinstance(value, list | tuple | dict | set) and len(value) > 64:
        return f"a {type(value).__name__} of {len(value)} items"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a stranger's repr raises, the error it was for is more useful
        return f"an object of {type(value).__name__}"
    return text if len(text) <= 80 else text[:60] + "…"


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known one, or all of them.

    >>> suggestion("digit", ["digits", "iris"])
    "; did you mean 'digits'?"
    """
    names = sorted(known)
    near = difflib.get_close_matches(word, names, 1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names)}"


ActionCount = Annotated[int, Integer(2)]
"""K: a bandit needs at least two actions."""

Seed = Annotated[
    int | np.random.Generator | None,
    OneOf(Integer(0), Instance(np.random.Generator), Instance(type(None))),
]
"""A whole number, a NumPy generator, or None for a fresh whole number (see `remembered`)."""


def remembered(seed: int | np.random.Generator | None) -> int | np.random.Generator:
    """The seed, or a fresh one in place of None: kept by whoever asked, it repeats the run."""
    return secrets.randbits(63) if seed is None else seed


@functools.cache
def constraints(function: Callable[..., object]) -> dict[str, Constraint]:
    """The constraint of each declared argument, by name."""
    hints = get_type_hints(function, include_extras=True)
    return {
        name: item
        for name, hint in hints.items()
        for item in getattr(hint, "__metadata__", ())
        if isinstance(item, Constraint)
    }


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """Check every annotated argument of a call against its declaration before the function runs."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, constraint in constraints(function).items():
            if name in bound.arguments:
                value = bound.arguments[name]
                try:
                    bound.arguments[name] = constraint.clean(value)
                except ValueError:
                    raise ValueError(f"{name} must be {constraint}, got {quoted(value)}") from None
        return function(*bound.args, **bound.kwargs)

    return checked


class Parametrised:
    """An object whose constructor only stores its arguments, each under its own name.

    That makes it printable, comparable by its parameters, and possible to save as data.
    """

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments as they were given."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({given})"
