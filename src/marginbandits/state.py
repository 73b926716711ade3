"""What is learnt, as one record: named arrays with declared limits, and a journal that can take a round back.

A `Record` owns arrays and says what they may hold: `fields` names them with their limits, `check` says how they hang
together. Saving writes them, loading believes nothing that they do not allow. Before a round changes anything, what it
is about to change goes into the `Journal`; whatever then happens, memory, an oracle, an interrupt, `undo` puts it back.

>>> import numpy as np
>>> weights, journal = np.zeros((2, 3)), Journal()
>>> journal.keep(weights, 1)
>>> weights[1] = 7.0
>>> journal.undo()
>>> weights[1]
array([0., 0., 0.])

Arrays of a state are made by `zeros`, which knows how much room there is.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginbandits.lanes import LINE

__all__ = [
    "COUNT",
    "HUGE",
    "LIMIT",
    "SQUARES",
    "Field",
    "Journal",
    "Record",
    "State",
    "TooLargeError",
    "aligned",
    "refuse_large",
    "room",
    "zeros",
]

LIMIT = 8 * 2**30
"""Bytes that one learner may take: a larger one is refused before anything is allocated. Set it to have more."""

HUGE = 1e140
"""What no number in a state exceeds unless it is declared to: its products with contexts, and its square, are numbers.
"""

SQUARES = 1e250
"""What no sum of squares in a state exceeds."""

COUNT = 2**53
"""Where counting ends, as it does in floats: one more is as many."""


class TooLargeError(ValueError):
    """A state would not fit."""


_left: ContextVar[int | None] = ContextVar("left", default=None)


@contextmanager
def room(size: int | None = None) -> Iterator[Callable[[], int]]:
    """Let `zeros` hand out so many bytes in all, and no more; `LIMIT` if none are said. Yields how many it has."""
    limit = LIMIT if size is None else size
    token = _left.set(limit)
    try:
        yield lambda: limit - (_left.get() or 0)
    finally:
        _left.reset(token)


def zeros(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """`np.zeros`, refused in words where there is no room for it."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    left = _left.get()
    if size > (LIMIT if left is None else left):
        sides = " x ".join(f"{n:,}" for n in shape)
        raise TooLargeError(f"an array of {sides} numbers takes {_words(size)}")
    if left is not None:
        _left.set(left - size)
    return aligned(shape, dtype)


def refuse_large(what: str, size: int) -> None:
    """Raise in words where something that is made later would take more than `LIMIT` bytes."""
    if size > LIMIT:
        raise TooLargeError(f"{what} takes {_words(size)}")


def aligned(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """`np.zeros` that begin where a line of memory does."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    whole = np.zeros(size + LINE, np.uint8)
    first = -whole.ctypes.data % LINE
    return whole[first : first + size].view(dtype).reshape(shape)


def _words(size: int) -> str:
    size = min(size, 2**100)  # more is no float, and as impossible
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"


class Field(NamedTuple):
    """An array of a state, the least and the largest number it may hold, and what its rows are before they change."""

    array: npt.NDArray[Any]
    low: float = -HUGE
    high: float = HUGE
    initial: npt.NDArray[Any] | None = None  # of one row; zeros if None
    triangular: bool = False  # each row a lower triangular matrix
    per_block: bool = False  # a row for each block: of an action, or one for all

    def _adopt(self, before: "Field", places: Any) -> None:
        """Hold what it held before; where there is a row for each block, row i what was in row `places[i]`, if any."""
        if self.per_block:
            kept = np.flatnonzero(places >= 0)
            self.array[kept] = before.array[places[kept]]
        else:
            self.array[...] = before.array


class Record:
    """Arrays that are learnt. A subclass fills `fields`, and `check` where limits alone do not say enough."""

    journal: "Journal"

    def attach(self, journal: "Journal") -> None:
        """From now on, keep in this journal what changes."""
        self.journal = journal
        if type(self).undo is not Record.undo:
            journal.keeps_itself(self)

    def fields(self) -> Mapping[str, Field]:
        """The live arrays, by name."""
        raise NotImplementedError

    def keep_all(self) -> None:
        """Put everything into the journal, as it is."""
        for field in self.fields().values():
            self.journal.keep(field.array)

    def undo(self, stamp: int) -> None:
        """Put back what changed under this stamp: for records that keep it themselves, at most once a round."""

    def _adopt(self, before: Any, places: Any) -> None:
        """Hold what another record of its kind held; block i what was in block `places[i]`, nothing where it is -1."""
        fields = before.fields()
        for name, field in self.fields().items():
            field._adopt(fields[name], places)

    def refuse_saving(self) -> None:
        """Raise a ValueError if there is more to the record than its arrays."""

    def check(self) -> None:
        """Raise a ValueError where the arrays cannot be what learning left."""


class State:
    """All the records of a learner: their fields by name, one journal for all."""

    def __init__(self, parts: Mapping[str, Record | Field], journal: "Journal") -> None:
        self.parts = parts
        for one in parts.values():
            if isinstance(one, Record):
                one.attach(journal)

    def fields(self) -> dict[str, Field]:
        """Every array with its limits; those of a record are named after it."""
        found: dict[str, Field] = {}
        for name, part in self.parts.items():
            if isinstance(part, Field):
                found[name] = part
            else:
                found.update({f"{name}.{inner}": field for inner, field in part.fields().items()})
        return found

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array, by name."""
        return {name: field.array for name, field in self.fields().items()}

    def shown(self) -> dict[str, npt.NDArray[Any]]:
        """The same, not to be written to."""
        shown = {name: array.view() for name, array in self.arrays().items()}
        for array in shown.values():
            array.flags.writeable = False
        return shown

    def _adopt(self, before: "State", places: Any) -> None:
        """Hold what was held before, of actions that have moved to other `places`."""
        for name, part in self.parts.items():
            old: Any = before.parts[name]
            if part is not old:
                part._adopt(old, places)

    def refuse_saving(self) -> None:
        """Raise a ValueError if it cannot be written as arrays."""
        for part in self.parts.values():
            if isinstance(part, Record):
                part.refuse_saving()

    def check(self) -> None:
        """Raise a ValueError that names the first array that learning cannot have left so."""
        for name, field in self.fields().items():
            array = field.array
            if array.size and not (float(array.min()) >= field.low and float(array.max()) <= field.high):
                raise ValueError(f"{name} must be within {field.low:g} and {field.high:g}")
        for name, part in self.parts.items():
            if isinstance(part, Record):
                try:
                    part.check()
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None


class Journal:
    """What a round is about to change, as it was. Entries are put back last first.

    Records that keep themselves know their journal, which does not hold them: what was learnt is given back at once
    when its learner goes, and does not wait for the collector of cycles.
    """

    def __init__(self) -> None:
        self.stamp = 0
        self.kept: list[Any] = []
        self._whole = self._drawn = False
        self.records = ()

    @property
    def records(self) -> "tuple[Record, ...]":
        """Those that keep themselves."""
        return tuple(found for one in self._records if (found := one()) is not None)

    @records.setter
    def records(self, records: "tuple[Record, ...]") -> None:
        self._records = tuple(map(weakref.ref, records))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_records": self.records}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.records = state["_records"]

    def begin(self) -> None:
        """Forget what was kept: a round begins."""
        self.kept.clear()
        self._whole = self._drawn = False
        self.stamp += 1

    def keep(self, array: npt.NDArray[Any], index: Any = ...) -> None:
        """Remember `array[index]`."""
        if not self._whole:
            self.kept.append((array, index, array[index].copy()))

    def keep_none(self, array: npt.NDArray[Any], index: Any) -> None:
        """Remember that `array[index]` is nothing but zeros, without looking."""
        if not self._whole:
            self.kept.append((array, index, 0))

    def keeps_itself(self, record: Record) -> None:
        """A record that keeps what it changes under the journal's `stamp`, by itself."""
        self.records = (*self.records, record)

    def keep_all(self, state: State) -> None:
        """Remember everything, once for many rounds."""
        for part in state.parts.values():
            if isinstance(part, Field):
                self.keep(part.array)
            else:
                part.keep_all()
        self.keep_no_more()

    def keep_no_more(self) -> None:
        """Nothing of what was there needs to be remembered: there was nothing, or all is kept."""
        self._whole = True

    def keep_generator(self, rng: np.random.Generator) -> None:
        """Remember where the learner's generator is."""
        if not self._drawn:
            self.kept.append((rng.bit_generator, "state", rng.bit_generator.state))
            self._drawn = True

    def keep_attribute(self, owner: object, name: str) -> None:
        """Remember what `owner.name` is."""
        self.kept.append((owner, name, getattr(owner, name)))

    def undo(self) -> None:
        """Put everything back; an interrupt while doing so only makes it begin again."""
        while True:
            try:
                for entry in reversed(self.kept):
                    self._put_back(entry)
                for record in () if self._whole else self.records:
                    record.undo(self.stamp)
                self.kept.clear()
            except KeyboardInterrupt:
                continue
            return

    def _put_back(self, entry: Any) -> None:
        target, where, before = entry
        if isinstance(target, np.ndarray):
            target[where] = before
        else:
            setattr(target, where, before)
