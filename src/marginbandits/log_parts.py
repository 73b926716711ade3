"""A log as rounds after rounds, whatever it is: `Rounds`, a `Log`, `Logged`, any record of arrays, or what yields such.

A record has `contexts`, `actions` (places from 0), `losses`, `probabilities`, and where it knows them `available` and
`laws` (n x K), `labels` and `offers`. Long records are cut, so that nothing larger is ever made from them. Rounds are
numbered from 0 in each file, or in the log where it is in none: what is added up file by file is the same numbers
whether one process reads all files or several read one each.

>>> from types import SimpleNamespace
>>> some = SimpleNamespace(contexts=np.zeros((3, 1)), actions=[0, 1, 1], losses=[0.0, 1.0, 0.5], probabilities=None)
>>> log = LogParts(some, n_actions=2)
>>> log.n_actions, [len(one) for one in log]
(2, [3])
"""

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from marginbandits import frames
from marginbandits.contexts import read_numbers
from marginbandits.rounds import Rounds
from marginbandits.types import Action
from marginbandits.validation import quoted

__all__ = ["LogParts", "is_log", "record"]

ROUNDS = 2**16
"""How many rounds are made of a record at a time."""
_COLUMNS = ("actions", "losses", "probabilities", "available", "laws", "offers")


def is_log(thing: Any) -> bool:
    """Whether it is a log rather than contexts alone: a record, or what yields `Rounds`."""
    if isinstance(thing, str | os.PathLike):
        raise ValueError(f"contexts must be a log that mb.read_log gives, not the name of a file, got {quoted(thing)}")
    if hasattr(thing, "losses") and hasattr(thing, "contexts"):
        return True
    if isinstance(thing, list | tuple):
        return bool(thing) and hasattr(thing[0], "losses") and hasattr(thing[0], "contexts")
    return hasattr(thing, "rounds") and hasattr(thing, "__iter__")


class LogParts:
    """The rounds of a log, some at a time, as often as they are asked for; `start` is counted within each file."""

    def __init__(self, log: Any, n_actions: int | None = None) -> None:
        self._log, self._told = log, n_actions
        self._whole = hasattr(log, "contexts") and hasattr(log, "losses")
        if isinstance(log, str | os.PathLike):
            raise ValueError(f"log must be what mb.read_log gives, not the name of a file, got {quoted(log)}")
        if not self._whole and (not hasattr(log, "__iter__") or getattr(log, "shape", None) == ()):
            raise ValueError(f"log must be records of contexts, actions, losses and so on, got {quoted(log)}")
        self.once = not self._whole and iter(log) is log
        self._first: Any = next(iter(log), None) if self.once else None
        first = log if self._whole else self._first if self.once else next(iter(log), None)
        if first is None or (
            hasattr(first, "actions") and hasattr(first.actions, "__len__") and not len(first.actions)
        ):
            raise ValueError("log has no rounds")
        for name in ("contexts", "actions", "losses"):
            if not hasattr(first, name):
                raise ValueError(f"log must have {name}, got {quoted(first)}")
        self.labels: tuple[Action, ...] | None = getattr(first, "labels", None)
        self.offers = getattr(first, "offers", None) is not None
        self.n_actions = 0 if self.offers else self._count(first)
        """K; 0 where rounds offer their own."""

    def _count(self, first: Any) -> int:
        known = getattr(self._log, "labels", None) or getattr(first, "labels", None)
        if self._told is not None:
            if known is not None and len(known) != self._told:
                raise ValueError(f"n_actions must be the log's {len(known)}, got {self._told}")
            return self._told
        for source in (self._log, first):
            for name in ("labels", "n_actions"):
                found = getattr(source, name, None)
                if found is not None:
                    return int(found) if name == "n_actions" else len(found)
        for name in ("laws", "available"):
            if getattr(first, name, None) is not None:
                return int(np.shape(getattr(first, name))[1])
        raise ValueError("n_actions must say how many actions there are: the log does not")

    def __iter__(self) -> Iterator[Rounds]:
        files: tuple[str, ...] | None = None
        start = 0
        for source in self._records():
            own = None if getattr(source, "places", None) is None else source.places.files
            if own != files:
                files, start = own, 0
            total = len(source.actions)
            for begin in range(0, total, ROUNDS):
                part = slice(begin, min(begin + ROUNDS, total))
                yield self._rounds(source, part, start + begin)
            start += total

    def files(self) -> Iterator[Iterator[Rounds]]:
        """The rounds of each file, one after another; all of them where there are none."""

        def key(one: Rounds) -> tuple[str, ...] | None:
            return None if one.places is None else one.places.files

        return (own for _, own in itertools.groupby(self, key))

    def _records(self) -> Iterator[Any]:
        if self._whole:
            return iter([self._log])
        if not self.once:
            return iter(self._log)
        if self._first is None:
            raise ValueError("log can be read once, and was: give a list, or a reader that starts again")
        first, self._first = self._first, None
        return itertools.chain([first], self._log)

    def _rounds(self, source: Any, part: slice, start: int) -> Rounds:
        if isinstance(source, Rounds):
            whole = part == slice(0, len(source))
            return replace(source if whole else source.take(np.arange(part.start, part.stop)), start=start)
        labels = self.labels if self.labels is not None else tuple(range(self.n_actions))
        return record(source, labels=None if self.offers else tuple(labels), part=part, start=start)


def record(source: Any, *, labels: tuple[Action, ...] | None, part: slice = slice(None), start: int = 0) -> Rounds:
    """Some rounds of a record of anything array-like."""
    columns: dict[str, Any] = {name: _cut(getattr(source, name, None), part) for name in _COLUMNS}
    contexts = None if source.contexts is None else _contexts(_cut(source.contexts, part))
    return Rounds(contexts, **columns, labels=labels, start=start)


def _cut(column: Any, part: slice) -> Any:
    """Some rounds of a column; what is none is not cut, but refused as it is, and all of one are no copy."""
    if part == slice(None):
        return column
    rows = hasattr(column, "__getitem__") and hasattr(column, "__len__") and getattr(column, "shape", None) != ()
    return column[part] if rows and not isinstance(column, Mapping | type) else column


def _contexts(given: Any) -> Any:
    if frames.is_frame(given):
        given = frames.read_frame(given, named=False)
    if scipy.sparse.issparse(given) or (isinstance(given, np.ndarray) and given.dtype.kind in "fiub"):
        return given
    if isinstance(given, list) and (not given or isinstance(given[0], Mapping)):
        return given
    if isinstance(given, np.ndarray) and given.dtype == object:
        return given.tolist()
    return read_numbers("contexts", given)
