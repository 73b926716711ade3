"""The journal in one SQLite file: write-ahead log, synchronous=FULL, so that what is acknowledged survives the power.

With synchronous=FULL every commit waits for the disk; a group of entries waits once. `durability="process"` waits for
nothing but the operating system: a killed process loses nothing, a lost power the last moments. One server has the file
at a time: a lock beside it says so.
"""

import fcntl
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from marginbandits.service.journal import (
    ACTIVATION,
    DECISION,
    REWARD,
    START,
    Draft,
    Entry,
    JournalError,
    linked,
    now,
)

__all__ = ["Sqlite"]

FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS entry (
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, loop TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, key TEXT,
  of INTEGER, body BLOB, body_sha256 BLOB NOT NULL, sha256 BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS entry_event ON entry (loop, id) WHERE kind = 'decision';
CREATE UNIQUE INDEX IF NOT EXISTS entry_key ON entry (loop, key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_of ON entry (of) WHERE of IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_change ON entry (seq) WHERE kind IN ('settings', 'policy', 'erasure');
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = "seq, at, loop, kind, id, key, of, body, body_sha256, sha256"
_INSERT = f"INSERT INTO entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_EVENT = f"SELECT {_COLUMNS} FROM entry WHERE kind = 'decision' AND loop = ? AND id = ?"
_KEY = f"SELECT {_COLUMNS} FROM entry WHERE loop = ? AND key = ?"


class Sqlite:
    """A `Journal` in a folder."""

    def __init__(self, folder: Path, *, durability: str = "full", serving: bool = True) -> None:
        file = folder / "journal.sqlite3"
        if not serving and not file.is_file():
            raise JournalError(f"{folder} has no journal: marginbandits serve --data {folder} makes one")
        folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = (folder / "lock").open("w") if serving else None
        if self._lock_file is not None:
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise JournalError(f"{folder} is served by another process") from None
        try:
            self._writing, self._reading = self._open(file, durability), self._open(file, durability)
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{file} cannot be read as a journal: {error}") from None
        self._write_lock, self._read_lock = threading.RLock(), threading.Lock()
        self._tail = self.last()

    @staticmethod
    def _open(file: Path, durability: str) -> sqlite3.Connection:
        db = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=30.0)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        db.execute("PRAGMA secure_delete = ON")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise JournalError(f"{file} is a journal of format {version}; this is for format {FORMAT}")
        if version == 0:
            db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")
        return db

    def append(self, drafts: Sequence[Draft]) -> list[tuple[Entry, bool]]:
        """One transaction, one wait for the disk."""
        with self._write_lock:
            tail = self._tail
            before, seq, at = (START, 0, 0) if tail is None else (tail.sha256, tail.seq, tail.at)
            db, found = self._writing, []
            db.execute("BEGIN IMMEDIATE")
            try:
                for draft in drafts:
                    there = self._there(draft)
                    if there is not None:
                        found.append((there, False))
                        continue
                    seq, at = seq + 1, max(at + 1, now())
                    of = self._of(draft) if draft.kind in (REWARD, ACTIVATION) else None
                    entry = linked(before, seq, at, draft, of)
                    before, tail = entry.sha256, entry
                    db.execute(_INSERT, _row(entry))
                    found.append((entry, True))
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            self._tail = tail
            return found

    def _there(self, draft: Draft) -> Entry | None:
        row = None
        if draft.kind == DECISION:
            row = self._writing.execute(_EVENT, (draft.loop, draft.id)).fetchone()
        if row is None and draft.key is not None:
            row = self._writing.execute(_KEY, (draft.loop, draft.key)).fetchone()
        return None if row is None else Entry(*row)

    def _of(self, draft: Draft) -> int | None:
        row = self._writing.execute(_EVENT, (draft.loop, draft.id)).fetchone()
        return None if row is None else row[0]

    def _rows(self, query: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._read_lock:
            return self._reading.execute(query, given).fetchall()

    def find(self, loop: str, event: str) -> Entry | None:
        """The decision of an event."""
        rows = self._rows(_EVENT, (loop, event))
        return Entry(*rows[0]) if rows else None

    def entries(self, after: int, limit: int, until: int | None = None) -> list[Entry]:
        """In order, those after `after`."""
        end = 2**62 if until is None else until
        query = f"SELECT {_COLUMNS} FROM entry WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        return [Entry(*row) for row in self._rows(query, (after, end, limit))]

    def of(self, seq: int) -> list[Entry]:
        """What speaks of a decision."""
        return [Entry(*row) for row in self._rows(f"SELECT {_COLUMNS} FROM entry WHERE of = ? ORDER BY seq", (seq,))]

    def changes(self) -> list[Entry]:
        """All settings, policies and erasures."""
        query = f"SELECT {_COLUMNS} FROM entry WHERE kind IN ('settings', 'policy', 'erasure') ORDER BY seq"
        return [Entry(*row) for row in self._rows(query)]

    def last(self) -> Entry | None:
        """The newest."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM entry ORDER BY seq DESC LIMIT 1")
        return Entry(*rows[0]) if rows else None

    def erase(self, seqs: Iterable[int]) -> None:
        """Bodies are overwritten, and the write-ahead log is emptied."""
        with self._write_lock:
            self._writing.execute("BEGIN IMMEDIATE")
            self._writing.executemany("UPDATE entry SET body = NULL WHERE seq = ?", [(seq,) for seq in seqs])
            self._writing.execute("COMMIT")
            self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._tail = self.last()

    def fact(self, name: str) -> bytes | None:
        """A named value."""
        rows = self._rows("SELECT value FROM fact WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def facts(self, prefix: str) -> dict[str, bytes]:
        """All whose names begin so."""
        rows = self._rows("SELECT name, value FROM fact WHERE substr(name, 1, ?) = ?", (len(prefix), prefix))
        return dict(rows)

    def put(self, name: str, value: bytes | None) -> None:
        """Replace a named value."""
        with self._write_lock:
            if value is None:
                self._writing.execute("DELETE FROM fact WHERE name = ?", (name,))
            else:
                self._writing.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def backup(self, path: str) -> None:
        """A whole copy in another file."""
        if Path(path).exists():
            raise JournalError(f"{path} exists: a backup never replaces anything")
        with sqlite3.connect(path) as copy:
            self._reading.backup(copy, pages=1000)
        copy.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._write_lock, self._read_lock:
            self._writing.close()
            self._reading.close()
            if self._lock_file is not None:
                self._lock_file.close()


def _row(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.seq,
        entry.at,
        entry.loop,
        entry.kind,
        entry.id,
        entry.key,
        entry.of,
        entry.body,
        entry.body_sha256,
        entry.sha256,
    )
