"""Learners as files: everything learnt, and the generators, as bytes; see `saving` for what is in them.

A learner is saved under its lock. It is loaded by building it anew from its parameters, allocating its state in no more
room than the file warrants, filling it, and believing it only if its records do.
"""

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from marginbandits import saving
from marginbandits.contexts import CODES, Shape
from marginbandits.features import Table
from marginbandits.parametrised import Parametrised
from marginbandits.state import Field, Journal, State, room
from marginbandits.validation import quoted

__all__ = ["Stored"]


class Stored(Parametrised, ABC):
    """What of a learner has to do with files. A subclass has the state."""

    takes_sparse: bool = False
    """Whether features may be `Sparse` rows; for others they are made dense."""
    sparse_from: int = 1
    """So are rows of fewer columns."""

    constants: ClassVar[Mapping[str, float]] = {}
    """Class attributes that shape play but are no parameters: a file keeps them as they were, none above its limit."""

    seed: int | np.random.Generator | None
    _draws: np.random.Generator
    _rng: np.random.Generator
    _lock: threading.RLock
    _shape: Shape | None
    _state: State | None
    _names: Table | None
    _journal: Journal
    _taken: int

    @property
    @abstractmethod
    def _learners(self) -> tuple[Any, ...]: ...

    @abstractmethod
    def _start(self, shape: Shape, size: int | None = None) -> None: ...

    @abstractmethod
    def _hasten(self) -> None:
        """Find what there is of it in compiled code, on the arrays that it has now."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The live arrays that hold everything learnt, features included, to be read: compiled code goes by them."""
        return {} if self._state is None else self._state.shown()

    def names(self) -> Table | None:
        """Where contexts have names and values: the table that gives them columns, as far as it has been learnt."""
        return self._names

    def dumps(self) -> bytes:
        """Everything learnt, and the generators, as the bytes of an `.npz` file; `loads` continues bit for bit."""
        with self._lock:
            return self._archive().to_bytes()

    def save(self, target: saving.Source) -> None:
        """Write `dumps` to a path or to a file open for writing bytes; `load` continues bit for bit."""
        saving.write_target(target, self.dumps())

    @classmethod
    def loads(cls, content: bytes, *, device: str | None = None, body: Any = None) -> Self:
        """A learner of this class as it was when saved; damaged or foreign bytes are refused.

        Its networks, if it has any, compute on the `device` they did, or on this one. Those that were saved with a
        `body` of the user's own need it again: files hold names, shapes and weights, and no code.
        """
        if not isinstance(content, bytes):
            raise ValueError(f"content must be bytes, got {quoted(content)}")
        return cls._loaded(content, "the content", device, body)

    @classmethod
    def load(cls, source: saving.Source, *, device: str | None = None, body: Any = None) -> Self:
        """A learner of this class as it was when saved to a path or file; see `loads`."""
        return cls._loaded(*saving.read_source(source), device, body)

    def _archive(self) -> saving.Archive:
        if self._state is not None:
            self._state.refuse_saving()
        parameters = self.parameters()
        if isinstance(self.seed, np.random.Generator):
            parameters["seed"] = None  # what was drawn from it is saved below; the generator itself is the caller's
        given: dict[str, saving.Numbers] = {}
        described = {name: saving.describe(value) for name, value in parameters.items()}
        header = {
            "class": saving.public_name(type(self)),
            "version": saving.version(),
            "parameters": saving.lifted(described, given),
            "constants": {name: saving.constant(self, name, limit) for name, limit in self.constants.items()},
            "context": None if self._shape is None else [self._shape.shared, self._shape.width, self._shape.sparse],
            "generators": {"draws": self._draws.bit_generator.state, "rng": self._rng.bit_generator.state},
        }
        archive = saving.Archive(header, given)
        archive.put_state({} if self._state is None else self._fields(), self._taken)
        return archive

    def _fields(self) -> Mapping[str, Field]:
        """What a file keeps: all fields, unless a learner can make some again from the others."""
        assert self._state is not None
        return self._state.fields()

    @classmethod
    def _loaded(cls, content: bytes, name: str, device: str | None, body: Any) -> Self:
        archive = saving.Archive.from_bytes(content, name)
        try:
            description = archive.take_given()
            _hand_in(description, device, body)
            with room(archive.room):
                learner = saving.rebuild(description, cls)
            vars(learner)["seed"] = archive.header["parameters"].get("seed")
            for constant, value in archive.constants(learner.constants).items():
                known = getattr(learner, constant)
                setattr(learner, constant, saving.like(constant, value, known, learner.constants[constant]))
            context = archive.header["context"]
            if context is not None:
                together, width, sparse = context
                if type(together) is not bool or type(sparse) is not bool or type(width) is not int or width < 1:
                    raise ValueError(f"context must be a layout, a width and a kind, got {quoted(context)}")
                learner._start(
                    Shape(together, width, sparse and learner._keeps_sparse(width), width == CODES), archive.room
                )
                learner._restore(archive)
                learner._hasten()  # by what was restored
                learner._journal.begin()  # that there was nothing is no longer kept
            archive.done()
            for which, generator in (("draws", learner._draws), ("rng", learner._rng)):
                saved = saving.restore_generator(archive.header["generators"][which])
                generator.bit_generator.state = saved.bit_generator.state  # copies of the learner share it
        except Exception as error:  # whatever a damaged file makes of a learner
            raise ValueError(f"{name} cannot be loaded: {saving.told(error)}") from error
        return learner

    def _restore(self, archive: saving.Archive) -> None:
        assert self._state is not None
        for field_name, field in self._state.fields().items():
            archive.get(field_name, field)
        self._state.check()
        for one in self._learners:
            one._check()

    @abstractmethod
    def _keeps_sparse(self, width: int) -> bool:
        """Whether sparse rows of so many columns stay so."""

    def _check(self) -> None:
        """Raise a ValueError where parts of the state contradict each other."""

    def __getstate__(self) -> dict[str, Any]:
        lock = vars(self).get("_lock")
        made = {"_swift": None, "_usual_one": None, "_drawing": None}  # which are made again
        if lock is None:  # a copy that another learner keeps, and is copied with, generator and journal shared
            return {**vars(self), **made}
        with lock:  # what is copied or pickled is one state, whoever learns meanwhile
            return copy.deepcopy({**vars(self), **made, "_lock": None})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_lock" in state:
            self._lock = threading.RLock()
            self._hasten()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        state = self.__getstate__()
        twin.__setstate__(state if "_lock" in state else copy.deepcopy(state, memo))
        return twin


def _hand_in(description: dict[str, Any], device: str | None, body: Any) -> None:
    """Put networks that were saved on another device, and give them the bodies that files do not hold."""
    found: list[dict[str, Any]] = []

    def placed(was: Any) -> Any:
        from marginbandits.scores.devices import NAMES  # most files have no networks

        return device if was in NAMES else None

    def counted(was: Any) -> None:
        found.extend([was] if isinstance(was, dict) and "module" in was else [])

    def bodied(was: Any) -> Any:
        from marginbandits.scores.modules import restored

        return restored(next(bodies), was) if isinstance(was, dict) and "module" in was else None

    if device is not None and not saving.change(description, "device", placed):
        raise ValueError(f"device={quoted(device)} is for learners that have networks, and this one has none")
    saving.change(description, "body", counted)
    if body is not None and not found:
        raise ValueError(f"body={type(body).__name__} is for networks that were saved with one, and there are none")
    if body is None and found:
        raise ValueError("it was saved with a body of its own: hand it in again, load(…, body=module)")
    given = body if isinstance(body, list | tuple) else [body] * bool(found)
    if len(given) != len(found):
        raise ValueError(f"body must be a list of the {len(found)} it was saved with, in their order, got {len(given)}")
    bodies = iter(given)
    saving.change(description, "body", bodied)
