"""Finished work, kept: one SQLite file, one row per task, written the moment the task ends.

A row is keyed by the fingerprint of what made it, and writing it twice changes nothing, so an interrupted run loses
only what was under way and a worker that repeats a task does no harm. Bake-offs have outcomes, with the losses of every
round as a compressed blob; claims have experiments, which are numbers by name. What a task is called is no part of its
row: the facts of the last run say which names stand for which keys.

>>> store = Store(":memory:")
>>> store.put(Outcome(key="k", n_actions=2, losses=np.array([0.0, 1.0]), metrics={}))
>>> store.put(Experiment(key="e", values={"regret": 3.0}))
>>> sorted(store.finished())
['e', 'k']
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from marginbandits.types import Array
from marginbandits.validation import quoted

__all__ = ["Experiment", "Failure", "Outcome", "Record", "Store"]

T = TypeVar("T")

FORMAT = 2
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS outcomes (
    key TEXT PRIMARY KEY, seconds REAL, n_actions INTEGER, losses BLOB, metrics TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS experiments (key TEXT PRIMARY KEY, seconds REAL, numbers TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (key TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
COMMIT;
"""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a task of a bake-off came to: the loss of every round, and what else was measured."""

    key: str
    n_actions: int
    losses: Array
    metrics: Mapping[str, float]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment of a claim measured."""

    key: str
    values: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task could not be done: a sentence, or a traceback."""

    key: str
    reason: str


Record: TypeAlias = Outcome | Experiment | Failure


class Store:
    """A SQLite file of records; `:memory:` keeps them nowhere. A file that is no such thing is a `ValueError`."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._db = sqlite3.connect(path, timeout=60.0)
        try:
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and version != FORMAT:
                raise ValueError(f"{path} is of another version of marginbandits: take a new folder")
            if not tables:  # else nothing is written, so that what lies on a read-only disk can be read
                self._db.executescript(_SCHEMA)
        except sqlite3.OperationalError:
            self._db.close()
            raise
        except (sqlite3.DatabaseError, ValueError) as error:
            self._db.close()
            raise ValueError(str(error) if isinstance(error, ValueError) else f"{path}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def put(self, record: Record) -> None:
        """Write a record, durably before this returns.

        What is finished forgets an earlier failure; what has failed is tried again by the next run.
        """
        with self._db:
            if isinstance(record, Failure):
                self._write("failures", record.key, record.reason)
                return
            if isinstance(record, Outcome):
                blob = zlib.compress(np.asarray(record.losses, np.float32).tobytes(), 6)
                numbers = json.dumps(dict(record.metrics), default=float)
                self._write("outcomes", record.key, record.seconds, record.n_actions, blob, numbers)
            else:
                self._write("experiments", record.key, record.seconds, json.dumps(dict(record.values), default=float))
            self._db.execute("DELETE FROM failures WHERE key = ?", (record.key,))

    def finished(self) -> dict[str, float]:
        """Keys of all outcomes and experiments, with the seconds each took."""
        rows = self._rows("SELECT key, seconds FROM outcomes UNION ALL SELECT key, seconds FROM experiments")
        return {key: self._sound(key, float, seconds) for key, seconds in rows}

    def outcomes(self, keys: Collection[str]) -> dict[str, Outcome]:
        """The outcomes of these keys that are there."""
        rows = self._chosen("SELECT key, seconds, n_actions, losses, metrics FROM outcomes", keys)
        return {row[0]: self._sound(row[0], _outcome, *row) for row in rows}

    def experiments(self, keys: Collection[str]) -> dict[str, Experiment]:
        """The experiments of these keys that are there."""
        rows = self._chosen("SELECT key, seconds, numbers FROM experiments", keys)
        return {row[0]: self._sound(row[0], _experiment, *row) for row in rows}

    def failures(self, keys: Collection[str]) -> dict[str, str]:
        """Why those of these keys failed that did, and have not succeeded since."""
        return {key: str(reason) for key, reason in self._chosen("SELECT key, reason FROM failures", keys)}

    def set_facts(self, facts: Mapping[str, object]) -> None:
        """Remember things about the whole run, as JSON, all or none; a store of one kind of run is not another's."""
        before = self.fact("run")
        if before not in (None, facts.get("run", before)):  # what it has would no longer be found
            raise ValueError(f"{self.path} holds a {before}, not a {facts['run']}: take another folder")
        with self._db:
            for name, value in facts.items():
                self._write("facts", name, json.dumps(value))

    def fact(self, name: str) -> object:
        """What was remembered under this name, or None."""
        found = [value for key, value in self._rows("SELECT name, value FROM facts") if key == name]
        return self._sound(name, json.loads, found[0]) if found else None

    def _write(self, table: str, *row: object) -> None:
        self._db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def _chosen(self, query: str, keys: Collection[str]) -> Iterator[tuple[Any, ...]]:
        wanted = set(keys)
        return (row for row in self._rows(query) if row[0] in wanted)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query).fetchall()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path}: {error}") from error

    def _sound(self, key: str, read: Callable[..., T], *row: Any) -> T:
        try:
            return read(*row)
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error) as error:
            raise ValueError(f"{self.path} is damaged at {quoted(key)} ({error}): take a new folder") from error


def _outcome(key: str, seconds: Any, n_actions: Any, blob: Any, metrics: Any) -> Outcome:
    losses = np.frombuffer(zlib.decompress(blob), np.float32).astype(float)
    return Outcome(key, int(n_actions), losses, _numbers(metrics), float(seconds))


def _experiment(key: str, seconds: Any, numbers: Any) -> Experiment:
    return Experiment(key, _numbers(numbers), float(seconds))


def _numbers(text: Any) -> dict[str, float]:
    return {name: float(value) for name, value in json.loads(text).items()}
