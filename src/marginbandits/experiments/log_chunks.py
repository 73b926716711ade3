"""A log as chunks of arrays, whatever it is: one record of arrays, `Logged`, or anything that yields such records.

A record has `contexts`, `actions` (places from 0), `losses`, `probabilities`, and where the log knows them `available`
and `laws` (n x K), `labels` and `offers`. Records are cut into chunks, so that nothing larger is ever made from them.

>>> from marginbandits.environments import Logged
>>> log = LogChunks(Logged(np.zeros((3, 1)), [0, 1, 1], [0.0, 1.0, 0.5], [0.5, 0.5, 0.5], n_actions=2))
>>> log.n_actions, [len(one) for one in log]
(2, [3])
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Booleans, Integers, Numbers
from marginbandits.types import Action, Array, Mask
from marginbandits.validation import quoted

__all__ = ["Chunk", "LogChunks"]

ROUNDS = 2**16
"""How many rounds a chunk has at most."""

_PLACES, _LOSSES, _ABOVE = Integers(1, low=0), Numbers(1, low=0, high=1, booleans=True), Numbers(1, above=0, high=1)
_LAWS, _MASKS = Numbers(2, low=0, high=1 + 1e-3), Booleans(2)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rounds, checked; `start` is the number of the first."""

    start: int
    contexts: Any
    actions: npt.NDArray[np.int64]
    losses: Array
    probabilities: Array | None
    available: Mask | None
    laws: Array | None
    offers: Sequence[Any] | None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def at(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where in n x K what was taken stands."""
        return np.arange(len(self)), self.actions

    def drawn_by(self, laws: Array) -> "Chunk":
        """The same rounds, as if drawn by these laws."""
        return replace(self, laws=laws, probabilities=laws[self.at])


class LogChunks:
    """The chunks of a log, as often as they are asked for."""

    def __init__(self, log: Any, n_actions: int | None = None) -> None:
        self._log = log
        self._whole = hasattr(log, "contexts") and hasattr(log, "losses")
        if not self._whole and not hasattr(log, "__iter__"):
            raise ValueError(f"log must be records of contexts, actions, losses and so on, got {quoted(log)}")
        self._first: Any = None
        self.once = not self._whole and iter(log) is log
        if self.once:
            self._first = next(iter(log), None)
        first = log if self._whole else self._first if self.once else next(iter(log), None)
        if first is None:
            raise ValueError("log has no rounds")
        for name in ("contexts", "actions", "losses"):
            if not hasattr(first, name):
                raise ValueError(f"log must have {name}, got {quoted(first)}")
        self.labels: tuple[Action, ...] | None = getattr(first, "labels", None)
        self.n_actions = self._count(first, n_actions)

    def _count(self, first: Any, told: int | None) -> int:
        if told is not None:
            return told
        for source in (self._log, first):
            for name in ("labels", "n_actions"):
                found = getattr(source, name, None)
                if found is not None:
                    return int(found) if name == "n_actions" else len(found)
        for name in ("laws", "available"):
            if getattr(first, name, None) is not None:
                return int(np.shape(getattr(first, name))[1])
        raise ValueError("n_actions must say how many actions there are: the log does not")

    def __iter__(self) -> Iterator[Chunk]:
        start = 0
        for source in self._records():
            total = len(source.actions)
            for begin in range(0, total, ROUNDS):
                part = slice(begin, min(begin + ROUNDS, total))
                yield self._chunk(source, part, start + begin)
            start += total

    def _records(self) -> Iterator[Any]:
        if self._whole:
            return iter([self._log])
        if not self.once:
            return iter(self._log)
        if self._first is None:
            raise ValueError("log can be read once, and was: give a list, or a reader that starts again")
        first, self._first = self._first, None
        return itertools.chain([first], self._log)

    def _chunk(self, source: Any, part: slice, start: int) -> Chunk:
        def read(name: str, rule: Numbers, shape: tuple[int, ...]) -> Any:
            found = getattr(source, name, None)
            if found is None:
                return None
            try:
                array = rule.clean(found[part])
            except ValueError:
                raise ValueError(f"{name} must be {rule}, got {_wrong(found, part, rule)}") from None
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape} in rounds from {start}, got {array.shape}")
            return array

        n, K = part.stop - part.start, self.n_actions
        actions = read("actions", _PLACES, (n,))
        if actions.max(initial=0) >= K:
            bad = int(np.argmax(actions >= K))
            raise ValueError(f"actions must be below {K}, got {actions[bad]} in round {start + bad}")
        offers, contexts = getattr(source, "offers", None), source.contexts
        return Chunk(
            start,
            None if contexts is None else contexts[part],
            actions,
            read("losses", _LOSSES, (n,)),
            read("probabilities", _ABOVE, (n,)),
            read("available", _MASKS, (n, K)),
            read("laws", _LAWS, (n, K)),
            None if offers is None else offers[part],
        )


def _wrong(found: Any, part: slice, rule: Numbers) -> str:
    """The first value that a rule refuses, and its round; all of it where no single one is to blame."""
    values = found[part]
    for i, one in enumerate(values):
        try:
            type(rule)(low=rule.low, high=rule.high, above=rule.above, below=rule.below, booleans=True).clean(one)
        except (ValueError, TypeError):
            return f"{quoted(one.item() if isinstance(one, np.generic) else one)} in round {part.start + i}"
    return quoted(values)
