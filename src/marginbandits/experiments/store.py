"""Finished work, kept: one SQLite file, one row per task, written the moment the task ends.

A row is keyed by the task's hash, and writing it twice changes nothing, so an interrupted run loses only what was under
way and a worker that repeats a task does no harm. Losses of every round are kept as a compressed blob: curves, tests
and intervals are computed from them when they are read.

>>> store = Store(":memory:")
>>> store.put(Outcome(key="k", learner="A", data="d", n_actions=2, seed=0, losses=np.array([0.0, 1.0]), metrics={}))
>>> store.finished()
{'k'}
"""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from marginbandits.types import Array

__all__ = ["Failure", "Outcome", "Store"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcomes (
    key TEXT PRIMARY KEY, learner TEXT, data TEXT, n_actions INTEGER, seed INTEGER, losses BLOB, metrics TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY, learner TEXT, data TEXT, seed INTEGER, traceback TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One task's result: the loss of every round, and what else was measured."""

    key: str
    learner: str
    data: str
    n_actions: int
    seed: int
    losses: Array
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """One task that raised."""

    key: str
    learner: str
    data: str
    seed: int
    traceback: str


class Store:
    """A SQLite file of outcomes; `:memory:` keeps them nowhere."""

    def __init__(self, path: str | Path) -> None:
        self._db = sqlite3.connect(path, timeout=60.0)
        with self._db:
            self._db.executescript(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def put(self, outcome: Outcome) -> None:
        """Write an outcome, durably before this returns; a failure of the same task is forgotten."""
        blob = zlib.compress(np.asarray(outcome.losses, np.float32).tobytes(), 6)
        row = (outcome.key, outcome.learner, outcome.data, outcome.n_actions, outcome.seed, blob)
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, json.dumps(outcome.metrics))
            )
            self._db.execute("DELETE FROM failures WHERE key = ?", (outcome.key,))

    def put_failure(self, failure: Failure) -> None:
        """Write down that a task raised; it is tried again by the next run."""
        row = (failure.key, failure.learner, failure.data, failure.seed, failure.traceback)
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)", row)

    def finished(self) -> set[str]:
        """Keys of all outcomes."""
        return {key for (key,) in self._db.execute("SELECT key FROM outcomes")}

    def outcomes(self, keys: Collection[str] | None = None) -> Iterator[Outcome]:
        """Outcomes in the order of data, learner, seed; only those of `keys` if given."""
        query = "SELECT key, learner, data, n_actions, seed, losses, metrics FROM outcomes ORDER BY data, learner, seed"
        wanted = None if keys is None else set(keys)
        for key, learner, data, n_actions, seed, blob, metrics in self._db.execute(query):
            if wanted is None or key in wanted:
                losses = np.frombuffer(zlib.decompress(blob), np.float32).astype(float)
                yield Outcome(key, learner, data, n_actions, seed, losses, json.loads(metrics))

    def failures(self) -> list[Failure]:
        """Tasks that raised and have not succeeded since."""
        rows = self._db.execute("SELECT key, learner, data, seed, traceback FROM failures ORDER BY data, learner, seed")
        return [Failure(*row) for row in rows]

    def set_fact(self, name: str, value: object) -> None:
        """Remember something about the whole run, as JSON."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def fact(self, name: str) -> object:
        """What was remembered under this name, or None."""
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])
