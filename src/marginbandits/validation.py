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

A plain class as an annotation is a declaration too (`game: Game`, `sharp: bool`), and so is `Callable`; arrays are
declared with `marginbandits.arrays`. The same declarations give the tests their bad values, and the documentation its
allowed ranges, so the three cannot disagree. Everything that is refused is refused with a `ValueError` that names the
argument and quotes at most a line of the value. Only a call that does not fit the signature is a `TypeError`.
"""

import functools
import math
import numbers
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ParamSpec, TypeVar, Unpack, get_args, get_origin, get_type_hints

import numpy as np

from marginbandits.parametrised import written_out
from marginbandits.wording import quoted, suggestion

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

__all__ = [
    "ActionCount",
    "Choice",
    "Constraint",
    "Count",
    "Function",
    "Horizon",
    "Instance",
    "Integer",
    "ListOf",
    "OneOf",
    "Positive",
    "Real",
    "Seed",
    "cleaned",
    "constraints",
    "fits",
    "limits",
    "quoted",
    "record",
    "remembered",
    "suggestion",
    "validated",
    "within",
]


LARGEST = 1e100
"""No number is beyond this unless it is declared to: its square, and its product with a context, are numbers too."""


class Constraint(ABC):
    """What one argument may be: a description for people, a check, and examples of what is refused."""

    @abstractmethod
    def __str__(self) -> str:
        """Complete the sentence "eta must be …"."""

    def __repr__(self) -> str:
        return f"<{self}>"

    @abstractmethod
    def clean(self, value: object) -> object:
        """Return the value as stored (a plain int or float); raise `ValueError` if it is not allowed."""

    @abstractmethod
    def bad_values(self) -> Iterator[object]:
        """Yield values that must be refused; tests are generated from these."""


class Integer(Constraint):
    """A whole number in [low, high]; booleans and spans of time are not numbers here."""

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high

    def __str__(self) -> str:
        return f"a whole number {limits(self.low, self.high)}".strip()

    def clean(self, value: object) -> int:
        number = value if type(value) is int else _whole(value)
        if (self.low is None or number >= self.low) and (self.high is None or number <= self.high):
            return number
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from ("three", 2.5, math.nan, True, None, 1j, np.timedelta64(3, "s"))
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
        least, most = within(low, high, above, below)
        self._least = max(least, -LARGEST)
        self._most = most if high is not None else min(most, LARGEST)

    def __str__(self) -> str:
        return f"a finite number {limits(self.low, self.high, self.above, self.below)}".strip()

    def clean(self, value: object) -> float:
        number = value if type(value) is float else _real(value)
        if self._least <= number <= self._most:
            return number
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from ("much", math.nan, math.inf, -math.inf, 1e101, None, True, 1j, np.timedelta64(1, "s"))
        yield from (limit for limit in (self.above, self.below) if limit is not None)
        if self.low is not None:
            yield self.low - 1
        if self.high is not None:
            yield self.high + max(1.0, 1e-9 * abs(self.high))


def limits(
    low: float | None = None, high: float | None = None, above: float | None = None, below: float | None = None
) -> str:
    """An interval in words.

    >>> limits(0, below=1)
    'at least 0 and below 1'
    """
    words = (("at least", low), ("above", above), ("at most", high), ("below", below))
    return " and ".join(f"{word} {limit:.15g}" for word, limit in words if limit is not None)


def within(
    low: float | None = None, high: float | None = None, above: float | None = None, below: float | None = None
) -> tuple[float, float]:
    """The least and the largest float of an interval; where it has no end, finite ones all the same."""
    least, most = -sys.float_info.max, sys.float_info.max
    least = max(least if low is None else low, least if above is None else math.nextafter(above, math.inf))
    most = min(most if high is None else high, most if below is None else math.nextafter(below, -math.inf))
    return float(least), float(most)


_NO_NUMBERS = (bool, np.bool_, np.timedelta64)
"""What Python or NumPy counts among the numbers though it is none."""


def _whole(value: object) -> int:
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, numbers.Integral):
        raise ValueError
    return int(value)


def _real(value: object) -> float:
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, numbers.Real):
        raise ValueError
    try:
        return float(value)
    except OverflowError:
        raise ValueError from None


class Choice(Constraint):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __str__(self) -> str:
        return "one of " * (len(self.words) > 1) + ", ".join(repr(word) for word in self.words)

    def clean(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from ("", self.words[0] + "x", 0)


class Instance(Constraint):
    """An object of one of the given classes."""

    def __init__(self, *classes: type) -> None:
        self.classes = classes

    def __str__(self) -> str:
        names = ["None" if one is type(None) else one.__name__ for one in self.classes]
        article = "" if names == ["None"] else "an " if names[0][0] in "AEIOU" else "a "
        return article + " or ".join(names)

    def clean(self, value: object) -> object:
        if isinstance(value, self.classes):
            return value
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield object()


class Function(Constraint):
    """Anything that can be called."""

    def __str__(self) -> str:
        return "a function"

    def clean(self, value: object) -> object:
        if callable(value):
            return value
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from ("f", 1, None)


class ListOf(Constraint):
    """A list, tuple or array of one or more values under one constraint."""

    def __init__(self, item: Constraint) -> None:
        self.item = item

    def __str__(self) -> str:
        return f"a list of one or more, each item {self.item}"

    def clean(self, value: object) -> list[object]:
        plain = isinstance(value, np.ndarray) and value.ndim == 1 and not np.ma.is_masked(value)
        if (isinstance(value, list | tuple) or plain) and len(value) > 0:  # type: ignore[arg-type]  # each has a length
            return [self.item.clean(one) for one in value]  # type: ignore[attr-defined]  # and items
        raise ValueError

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
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        for value in (value for option in self.options for value in option.bad_values()):
            try:
                self.clean(value)
            except ValueError:
                yield value


ActionCount = Annotated[int, Integer(2, 10**7)]
"""K: a bandit needs at least two actions."""

Count = Annotated[int, Integer(1, 10**9)]
"""How many there are of something that is kept in memory."""

Horizon = Annotated[int, Integer(1, 10**66)]
"""T, where rounds are only spoken of."""

Positive = Annotated[float, Real(1e-30, 1e30)]
"""A margin, a radius, a bound: what is squared and multiplied without leaving the range of floats."""

Seed = Annotated[
    int | np.random.Generator | None,
    OneOf(Integer(0, 2**128 - 1), Instance(np.random.Generator), Instance(type(None))),
]
"""A whole number, a NumPy generator, or None for a fresh whole number (see `remembered`)."""


def fits(**sizes: int) -> None:
    """Refuse, before it is made, an array of these sizes with more than 10^9 numbers (8 GB).

    >>> fits(n_rounds=10**6, n_features=10**6)
    Traceback (most recent call last):
        ...
    ValueError: n_rounds x n_features must be at most 10^9 numbers, got 1000000 x 1000000
    """
    if math.prod(sizes.values()) > 10**9:
        raise ValueError(
            f"{' x '.join(sizes)} must be at most 10^9 numbers, got {' x '.join(map(str, sizes.values()))}"
        )


def remembered(seed: int | np.random.Generator | None) -> int | np.random.Generator:
    """The seed, or a fresh one in place of None: kept by whoever asked, it repeats the run."""
    return secrets.randbits(63) if seed is None else seed


@functools.cache
def constraints(function: Callable[..., object]) -> dict[str, Constraint]:
    """The constraint of each declared argument, by name."""
    hints = get_type_hints(function, include_extras=True)
    for name, hint in list(hints.items()):
        if get_origin(hint) is Unpack:  # **options, each named by a TypedDict
            hints |= get_type_hints(get_args(hints.pop(name))[0], include_extras=True)
    found = {name: _constraint(hint) for name, hint in hints.items() if name != "return"}
    return {name: one for name, one in found.items() if one is not None}


def _constraint(hint: Any) -> Constraint | None:
    for item in getattr(hint, "__metadata__", ()):
        if isinstance(item, Constraint):
            return item
    if get_origin(hint) is Callable:
        return Function()
    # A bare int or float says too little: 1 is a float to most people, True is none.
    if isinstance(hint, type) and get_origin(hint) is None and hint not in (int, float, object, Any):
        return Instance(hint)
    return None


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """Check every declared argument of a call before the function runs.

    Options that many functions share are declared once, as a `TypedDict`, and taken by `**options: Unpack[…]`; in the
    signature they stand like any other, None unless given.
    """
    signature = written_out(function)
    names = list(signature.parameters)
    more = any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())  # who knows what
    rules: dict[str, Constraint] = {}

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> R:
        if not rules:  # not before the first call: an annotation may name what is defined later
            rules.update(constraints(function))
        if args:
            own = [cleaned(rules.get(name), name, one) for name, one in zip(names, args, strict=False)]
            args = (*own, *args[len(names) :])
        for name, value in kwargs.items():
            if name not in signature.parameters and not more:
                known = [one for one in names if one != "self"]
                raise TypeError(
                    f"{function.__qualname__}() has no argument {name[:80]!r}{suggestion(name[:80], known)}"
                )
            kwargs[name] = cleaned(rules.get(name), name, value)
        return function(*args, **kwargs)

    checked.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect.signature` looks for
    return checked


def cleaned(rule: Constraint | None, name: str, value: object) -> object:
    """The value as its constraint has it, if there is any, or an error that names it."""
    if rule is None:
        return value
    try:
        return rule.clean(value)
    except ValueError:
        raise ValueError(f"{name} must be {rule}, got {quoted(value)}") from None


def record(cls: type[T]) -> type[T]:
    """Check the fields of a dataclass by their declarations whenever one is made.

    >>> from dataclasses import dataclass
    >>> @record
    ... @dataclass(frozen=True)
    ... class Point:
    ...     x: Annotated[float, Real()]
    >>> Point("left")
    Traceback (most recent call last):
        ...
    ValueError: x must be a finite number, got 'left'
    """
    cls.__init__ = validated(cls.__init__)  # type: ignore[method-assign]  # it has the same arguments
    return cls
