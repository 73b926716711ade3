"""What is written in a context of names and values: (code, value) pairs, whatever else is known of it.

    31, 0.5          a number: the code of its name, and the number; a category where it is declared one
    "DE", True       a category: the code of its name and value, and 1
    "red shoes"      text, if it has a space in it or is declared: a category for each word, lower case
    ["new", "sale"]  a bag: a category for each of them; numbers in a list are numbers, named by their places
                     (what is there twice is there: counts would make the commonest words the loudest)
    {"age": 31}      a namespace: what is in it, each name after its own and a dot
    None, NaN        missing: a category of its own; a name that is absent says nothing

A code has 16 bits of the name's hash, 32 of the name's and value's, and one that says whether it is a number: BLAKE2,
keyed by the seed. Codes of what was met before are remembered, up to a limit, so that most entries cost one look into a
dictionary. (scikit-learn's `FeatureHasher` takes several times as long: `benchmarks/tables.py`.)

>>> entries = Entries(text=("title",), categorical=(), drop=(), interactions=(), seed=0)
>>> one = {"age": 31, "country": "DE", "title": "Red shoes", "tags": ["new", "sale"]}
>>> codes, values, starts = entries.rows([one, {"age": 47}])
>>> values, starts
(array([31.,  1.,  1.,  1.,  1.,  1., 47.]), array([0, 6, 7]))
>>> bool(codes[0] == codes[6]), codes % 2
(True, array([1, 0, 0, 0, 0, 0, 1]))
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
from marginbandits.features.products import Places, crossed, multiplied
from marginbandits.types import Array
from marginbandits.validation import quoted

__all__ = ["Entries", "Offer", "Seen"]

DEEPEST = 16
"""Namespaces within namespaces."""
LONGEST, MOST, TOGETHER = 100_000, 10_000, 1_000_000
"""Characters of a string, entries of a context, and of all rows of what is offered together."""
_TIME: tuple[Any, ...] = (np.timedelta64, np.datetime64)  # numbers to the abstract classes, but of what?
_PLAIN = "biufU"
"""NumPy's kinds that are numbers, booleans or strings."""
_REMEMBERED, _SHORT = 2**16, 100
_WORD = re.compile(r"\w+")
_NONE: dict[str, int] = {}
SPACES = "user", "action", "id"
"""Of a row of an action that is offered."""
_BETWEEN = "\x1f"
"""Between a name and its value: what no name or value has, unless it means to be taken for another."""


T = TypeVar("T")
Part = tuple[list[int], list[float]]
"""Codes and values."""
Seen = dict[tuple[str, int], tuple[Any, Part]]
"""By name and identity: a mapping, and its part."""
Offer = tuple[Mapping[str, Any] | None, Sequence[str], Sequence[Mapping[str, Any] | None]]
"""What is known of the user, what actions are called, and what is known of each of them."""


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
        self._known: dict[Any, Any] = {}  # codes of numbers' names, and of whole strings
        self._values: dict[str, dict[str, int]] = {}  # of categories, name by name
        self._n_values = 0
        spaces = {name: place for place, name in enumerate(SPACES)}
        self._crossed = [(spaces[a], spaces[b]) for a, b in interactions if a in spaces and b in spaces]

    def __deepcopy__(self, memo: Any) -> "Entries":
        return Entries(
            text=tuple(self._text),
            categorical=tuple(self._categorical),
            drop=tuple(self._drop),
            interactions=self._interactions,
            seed=self._seed,
        )

    def rows(
        self, contexts: Sequence[Mapping[str, Any]], instead: Mapping[int, int] | None = None, at: int = 0
    ) -> tuple[Places, Array, Places]:
        """Codes and values of all entries of each context, in its order, then those of interactions; and row starts.

        What several contexts share, as rows of actions do the user, is looked at once. In row `at`, codes may be others
        `instead`, in interactions too.
        """
        codes: list[int] = []
        values: list[float] = []
        spans: list[int] = []
        starts, ends = [0], [0]
        seen: Seen = {}
        for position, one in enumerate(contexts):
            try:
                found, more, pairs = self._read(one, seen)
            except ValueError as error:
                raise ValueError(f"contexts[{position}]: {error}" if len(contexts) > 1 else str(error)) from None
            codes += found if instead is None or position != at else [instead.get(code, code) for code in found]
            values += more
            starts.append(len(codes))
            spans += pairs
            ends.append(len(spans) // 4)
        plain = np.array(codes, np.int64), np.array(values, np.float64), np.array(starts)
        return multiplied(*plain, spans, ends) if spans else plain

    def offered(self, offers: Sequence[Offer]) -> tuple[Places, Array, Places]:
        """`rows` of what is offered: for each action of each offer the user, if any, its features, and its name.

        The same as of mappings {"user": …, "action": …, "id": …}; each user is looked at once.
        """
        codes: list[int] = []
        values: list[float] = []
        marks: list[int] = []
        n, pairs, known = 0, self._crossed, self._known
        read, named, asked = "action" not in self._drop, "id" not in self._drop, "user" not in self._drop
        for user, names, features in offers:
            at, left, rows, before = len(codes), [MOST], len(marks), n
            try:
                if user is not None and asked:
                    _spend(left, 1)
                    self._walk(user, "user.", 2, left, codes, values)
                own = len(codes)
                shared = own - at
                for name, said in zip(names, features, strict=True):
                    first = len(codes)
                    marks += at, own, first, first, first
                    if said and read:
                        self._walk(said, "action.", 2, left, codes, values)
                        marks[-2] = len(codes)
                    if named:
                        found = known.get(("id", name))
                        if found is None:
                            found = self._string("id", name, left)
                        codes += found
                        values += [1.0] * len(found)
                    marks[-1] = last = len(codes)
                    sizes, more = (shared, marks[-2] - first, last - marks[-2]), 0
                    for one, other in pairs:
                        more += sizes[one] * sizes[other]
                    _spend(left, more + 2)  # names that are there, whatever they say
                    left[0] = MOST - shared
                    n += shared + last - first + more
                    if n - before > TOGETHER:
                        raise ValueError(f"what is offered must have at most {TOGETHER:,} entries together, got more")
            except ValueError as error:
                raise ValueError(_offering(str(error), names, (len(marks) - rows) // 5 - 1)) from None
        return crossed(np.array(codes, np.int64), np.array(values, np.float64), marks, pairs, n)

    def _read(self, context: Mapping[str, Any], seen: Seen) -> tuple[list[int], list[float], list[int]]:
        """Codes and values in the context's order, and of which of them there are products."""
        codes: list[int] = []
        values: list[float] = []
        left = [MOST]  # entries that may still come, namespaces included
        pairs = [(one, other) for one, other in self._interactions if one in context and other in context]
        if not pairs:
            self._walk(context, "", 1, left, codes, values)
            return codes, values, []
        places = {}
        for name, value in context.items():
            own, own_values = self._part(name, value, left, seen)
            places[name] = len(codes), len(codes) + len(own)
            codes += own
            values += own_values
        spans: list[int] = []
        for one, other in pairs:
            (first, last), (other_first, other_last) = places[one], places[other]
            _spend(left, (last - first) * (other_last - other_first))
            spans += (first, last, other_first, other_last)
        return codes, values, spans

    def _part(self, name: str, value: Any, left: list[int], seen: Seen) -> Part:
        """The entries of one name; those of a mapping that was seen before are what they were then."""
        before = seen.get((name, id(value)))
        if before is not None:
            _spend(left, len(before[1][0]))
            return before[1]
        part: Part = [], []
        self._walk({name: value}, "", 1, left, *part)
        if isinstance(value, Mapping):
            seen[name, id(value)] = value, part  # with the mapping itself: while it is here, no other has its id
        return part

    def _walk(
        self,
        context: Mapping[str, Any],
        prefix: str,
        depth: int,
        left: list[int],
        codes: list[int],
        values: list[float],
    ) -> None:
        if depth > DEEPEST:
            raise ValueError(f"context must have namespaces at most {DEEPEST} deep, got more below {quoted(prefix)}")
        _spend(left, len(context))
        known, drop, categorical = self._known, self._drop, self._categorical
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
                    found = self._string(path, value, left)
                codes += found
                values += [1.0] * len(found)
            elif (kind is float or kind is int) and -LARGEST <= value <= LARGEST and path not in categorical:
                code = known.get(path)
                if code is None:
                    code = self._named(path)
                codes.append(code)
                values.append(float(value))
            else:
                self._other(path, value, depth, left, codes, values)

    def _other(self, path: str, value: Any, depth: int, left: list[int], codes: list[int], values: list[float]) -> None:
        """What is neither a plain string nor a plain number."""
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            value = value.item() if value.dtype.kind in _PLAIN else value
        if value is None or (isinstance(value, float) and math.isnan(value)):
            codes.append(self._code(path, _BETWEEN, number=False))
            values.append(1.0)
        elif isinstance(value, bool):
            codes.append(self._category(path, str(value)))
            values.append(1.0)
        elif isinstance(value, str):
            found = self._string(path, str.__str__(value), left)
            codes += found
            values += [1.0] * len(found)
        elif isinstance(value, Mapping):
            self._walk(value, path + ".", depth + 1, left, codes, values)
        elif isinstance(value, numbers.Real) and not isinstance(value, _TIME):
            if not -LARGEST <= value <= LARGEST:  # type: ignore[operator]  # every real number can be compared
                raise ValueError(f"context[{quoted(path)}] must be a number within ±1e100, got {quoted(value)}")
            number = path not in self._categorical
            codes.append(self._named(path) if number else self._category(path, repr(float(value))))
            values.append(float(value) if number else 1.0)
        elif isinstance(value, list | tuple | AbstractSet | np.ndarray):
            self._several(path, value, left, codes, values)
        else:
            raise ValueError(
                f"context[{quoted(path)}] must be a number, a string, a boolean, a list or a mapping of these, "
                f"or None, got {quoted(value)}"
            )

    def _several(self, path: str, value: Any, left: list[int], codes: list[int], values: list[float]) -> None:
        """A bag of strings, or numbers by their places."""
        if type(value) is list and set(map(type, value)) == {str}:  # what most bags are
            _spend(left, len(value))
            found = self._words(path, value)
            codes += found
            values += [1.0] * len(found)
            return
        plain = not isinstance(value, np.ndarray) or value.dtype.kind in _PLAIN
        items = [one.item() if isinstance(one, np.generic) else one for one in value] if plain else [value]
        _spend(left, len(items))
        if all(isinstance(item, str) for item in items):
            words = [str.__str__(item) for item in items]
            found = self._words(path, sorted(words) if isinstance(value, AbstractSet) else words)
            codes += found
            values += [1.0] * len(found)
        elif not isinstance(value, AbstractSet) and all(isinstance(item, numbers.Real) for item in items):
            for place, item in enumerate(items):
                self._other(f"{path}.{place}", float(item) if isinstance(item, bool) else item, 1, left, codes, values)
        else:
            raise ValueError(
                f"context[{quoted(path)}] must have only strings or, in order, only numbers, got {quoted(value)}"
            )

    def _named(self, path: str) -> int:
        """The code of a number of this name."""
        return int(self._remember(path, self._code(path, "", number=True), path))

    def _string(self, path: str, value: str, left: list[int]) -> list[int]:
        """The code of a string, or those of its words."""
        if path in self._text or (" " in value and path not in self._categorical):
            _refuse_long(path, value)
            words = _WORD.findall(value.lower())
            _spend(left, len(words))
            found = self._words(path, words)
        else:
            found = [self._category(path, value)]
        return self._remember((path, value), found, path + value)

    def _words(self, path: str, words: list[str]) -> list[int]:
        """The codes of several values of one name: each once, however often it is there."""
        known = self._values.get(path, _NONE)
        found = dict.fromkeys(map(known.get, words))
        if None not in found:
            return list(found)  # type: ignore[arg-type]  # by the line above
        return list(dict.fromkeys(self._category(path, word) for word in words))

    def _category(self, path: str, value: str) -> int:
        """The code of a name and value."""
        found = self._values.get(path, _NONE).get(value)
        if found is None:
            _refuse_long(path, value)
            found = self._code(path, value, number=False)
            if len(path) + len(value) <= _SHORT:
                if self._n_values >= _REMEMBERED:
                    self._values.clear()
                    self._n_values = 0
                self._values.setdefault(path, {})[value] = found
                self._n_values += 1
        return found

    def _code(self, path: str, value: str, *, number: bool) -> int:
        """16 bits of the name, 32 of name and value, and whether it is a number."""
        _refuse_long(path, path)
        both = (path + _BETWEEN + value).encode("utf-8", "surrogatepass")
        return self._name(path) << 33 | self._hash(both, 4) << 1 | number

    def _name(self, path: str) -> int:
        found: int | None = self._known.get((path,))
        if found is None:
            found = self._remember((path,), self._hash(path.encode("utf-8", "surrogatepass"), 2), path)
        return found

    def _hash(self, text: bytes, size: int) -> int:
        return int.from_bytes(hashlib.blake2b(text, digest_size=size, key=self._key).digest(), "little")

    def _remember(self, key: Any, found: T, text: str) -> T:
        if len(text) <= _SHORT:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = found
        return found


def _spend(left: list[int], n: int) -> None:
    left[0] -= n
    if left[0] < 0:
        raise ValueError(f"context must have at most {MOST:,} entries, got more")


def _offering(told: str, names: Sequence[str], place: int) -> str:
    """What is wrong with an offer, by the names that were given: of the user where no action has been read.

    >>> _offering("context['user.age'] must be so", ["hat"], -1)
    "context['age'] must be so"
    >>> _offering("context['action.price'] must be so", ["hat", "shoe"], 1)
    "actions['shoe']['price'] must be so"
    """
    if place < 0:
        return told.replace("context['user.", "context['", 1)
    own = f"actions[{quoted(names[place])}]"
    return told.replace("context['action.", f"{own}['", 1) if "context['action." in told else f"{own}: {told}"


def _refuse_long(path: str, value: str) -> None:
    if len(value) > LONGEST:
        raise ValueError(f"context[{quoted(path)}] must have at most {LONGEST:,} characters, got {len(value):,}")
