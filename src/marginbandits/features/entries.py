"""What is written in a context of names and values: (code, value) pairs, whatever else is known of it.

    31, 0.5          a number: the code of its name, and the number
    "DE", True       a category: the code of its name and value, and 1
    "red shoes"      text, if it has a space in it or is declared: a category for each word, lower case
    ["new", "sale"]  a bag: a category for each of them; numbers in a list are numbers, named by their places
    {"age": 31}      a namespace: what is in it, each name after its own and a dot
    None, NaN        missing: a category of its own; a name that is absent says nothing

A code is 2h for a category and 2h + 1 for a number, h being 48 bits of BLAKE2, keyed by the seed: so that nobody finds
names that share one, and a million that come by themselves hardly ever do. Codes of what was met before are remembered,
up to a limit, so that most entries cost one look into a dictionary. (scikit-learn's `FeatureHasher` takes as long for
one row as 20 rounds of a learner.)

>>> entries = Entries(text=("title",), categorical=(), drop=(), interactions=(), seed=0)
>>> codes, values = entries.read({"age": 31, "country": "DE", "title": "Red shoes", "tags": ["new", "sale"]})
>>> values
[31.0, 1.0, 1.0, 1.0, 1.0, 1.0]
>>> codes[0] % 2, codes == entries.read({"age": 31, "country": "DE", "title": "shoes red", "tags": ["sale", "new"]})[0]
(1, False)
"""

import hashlib
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

import numpy as np

from marginbandits.contexts import LARGEST
from marginbandits.validation import quoted

__all__ = ["Entries"]

DEEPEST = 16
"""Namespaces within namespaces."""
LONGEST = 100_000
"""Characters of a string, and entries of a context."""
_REMEMBERED, _SHORT = 2**16, 100
_WORD = re.compile(r"\w+")
_BETWEEN = "\x1f"
"""Between a name and its value: what no name or value has, unless it means to be taken for another."""


T = TypeVar("T")


class Entries:
    """Contexts by the rules above; `drop`ped names are not read; `interactions` are products of two names' entries."""

    def __init__(
        self,
        *,
        text: Sequence[str],
        categorical: Sequence[str],
        drop: Sequence[str],
        interactions: Sequence[tuple[str, str]],
        seed: int,
    ) -> None:
        self._text, self._categorical, self._drop = frozenset(text), frozenset(categorical), frozenset(drop)
        self._interactions, self._seed = tuple(interactions), seed
        self._key = seed.to_bytes(4, "little")
        self._known: dict[Any, Any] = {}

    def __deepcopy__(self, memo: Any) -> "Entries":
        return Entries(
            text=tuple(self._text),
            categorical=tuple(self._categorical),
            drop=tuple(self._drop),
            interactions=self._interactions,
            seed=self._seed,
        )

    def read(self, context: Mapping[str, Any]) -> tuple[list[int], list[float]]:
        """Codes and values of all entries, in the context's order, then those of interactions."""
        codes: list[int] = []
        values: list[float] = []
        if self._interactions:
            parts: dict[str, tuple[list[int], list[float]]] = {}
            for name, value in context.items():
                parts[name] = [], []
                self._walk({name: value}, "", 1, *parts[name])
                codes += parts[name][0]
                values += parts[name][1]
            for one, other in self._interactions:
                if one in parts and other in parts:
                    self._cross(parts[one], parts[other], codes, values)
        else:
            self._walk(context, "", 1, codes, values)
        return codes, values

    def _walk(self, context: Mapping[str, Any], prefix: str, depth: int, codes: list[int], values: list[float]) -> None:
        if depth > DEEPEST:
            raise ValueError(f"context must have namespaces at most {DEEPEST} deep, got more below {quoted(prefix)}")
        known, drop = self._known, self._drop
        for name, value in context.items():
            if type(name) is not str:
                raise ValueError(f"context must have strings for names, got {quoted(name)}")
            path = prefix + name if prefix else name
            if path in drop:
                continue
            kind = type(value)
            if kind is str:
                found = known.get((path, value))
                if found is None:
                    found = self._string(path, value)
                codes += found
                values += [1.0] * len(found)
            elif kind is float or kind is int:
                if not -LARGEST <= value <= LARGEST:
                    self._number(path, value, codes, values)
                    continue
                code = known.get(path)
                if code is None:
                    code = self._named(path)
                codes.append(code)
                values.append(float(value))
            else:
                self._other(path, value, depth, codes, values)
            if len(codes) > LONGEST:
                raise ValueError(f"context must have at most {LONGEST:,} entries, got more at {quoted(path)}")

    def _other(self, path: str, value: Any, depth: int, codes: list[int], values: list[float]) -> None:
        """What is neither a plain string nor a plain number."""
        if value is None:
            codes.append(self._code(path, _BETWEEN, number=False))
            values.append(1.0)
        elif isinstance(value, bool | np.bool_):
            codes += self._string(path, str(bool(value)))
            values.append(1.0)
        elif isinstance(value, str):
            self._walk({path: str(value)}, "", depth, codes, values)
        elif isinstance(value, Mapping):
            self._walk(value, path + ".", depth + 1, codes, values)
        elif isinstance(value, numbers.Real | np.number) and not isinstance(value, np.timedelta64 | np.complexfloating):
            self._number(path, float(value), codes, values)
        elif isinstance(value, list | tuple | AbstractSet | np.ndarray):
            self._several(path, value, codes, values)
        else:
            raise ValueError(
                f"context[{path!r}] must be a number, a string, a boolean, a list or a mapping of these, "
                f"or None, got {quoted(value)}"
            )

    def _several(self, path: str, value: Any, codes: list[int], values: list[float]) -> None:
        """A bag of strings, or numbers by their places."""
        items = np.asarray(value).tolist() if isinstance(value, np.ndarray) else list(value)
        if all(isinstance(item, str) for item in items):
            for item in sorted(items) if isinstance(value, AbstractSet) else items:
                codes += self._category(path, item)
            values += [1.0] * len(items)
        elif not isinstance(value, AbstractSet) and all(isinstance(item, int | float) for item in items):
            for place, item in enumerate(items):
                self._number(f"{path}.{place}", item, codes, values)
        else:
            raise ValueError(
                f"context[{path!r}] must have only strings or, in order, only numbers, got {quoted(value)}"
            )

    def _number(self, path: str, value: float, codes: list[int], values: list[float]) -> None:
        if math.isnan(value):
            self._other(path, None, 1, codes, values)
        elif not -LARGEST <= value <= LARGEST:
            raise ValueError(f"context[{path!r}] must be a number within ±1e100, got {quoted(value)}")
        else:
            codes.append(self._named(path))
            values.append(float(value))

    def _named(self, path: str) -> int:
        """The code of a number of this name."""
        return int(self._remember(path, self._code(path, "", number=True)))

    def _string(self, path: str, value: str) -> list[int]:
        """The code of a string, or those of its words."""
        if path in self._text or (" " in value and path not in self._categorical):
            _refuse_long(path, value)
            found = [code for word in _WORD.findall(value.lower()) for code in self._category(path, word)]
        else:
            found = self._category(path, value)
        return found if len(value) > _SHORT else self._remember((path, value), found)

    def _category(self, path: str, value: str) -> list[int]:
        """The code of a name and value."""
        found: list[int] | None = self._known.get((path, value, None))
        if found is not None:
            return found
        _refuse_long(path, value)
        found = [self._code(path, value, number=False)]
        return found if len(value) > _SHORT else self._remember((path, value, None), found)

    def _code(self, path: str, value: str, *, number: bool) -> int:
        return 2 * self._hash((path + _BETWEEN + value).encode("utf-8", "surrogatepass")) + number

    def _hash(self, text: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(text, digest_size=6, key=self._key).digest(), "little")

    def _remember(self, key: Any, found: T) -> T:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = found
        return found

    def _cross(
        self,
        one: tuple[list[int], list[float]],
        other: tuple[list[int], list[float]],
        codes: list[int],
        values: list[float],
    ) -> None:
        """Every entry of one with every entry of the other: a number if either is."""
        if len(one[0]) * len(other[0]) > LONGEST:
            raise ValueError(f"context must have at most {LONGEST:,} interactions, got {len(one[0]) * len(other[0]):,}")
        for a, x in zip(*one, strict=True):
            for b, y in zip(*other, strict=True):
                codes.append(2 * self._hash(b"%d %d" % (a, b)) + ((a | b) & 1))
                values.append(x * y)


def _refuse_long(path: str, value: str) -> None:
    if len(value) > LONGEST:
        raise ValueError(f"context[{path!r}] must have at most {LONGEST:,} characters, got {len(value):,}")
