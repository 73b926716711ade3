"""The journal in a PostgreSQL database, which several processes may serve at once.

A group of entries is one transaction under a lock of the database, so that `seq`, `at` and the chain of hashes are one
order whoever appends; what is acknowledged is on the database's disk. `durability="process"` does not wait for that: a
killed service loses nothing, a killed database the last moments.

A second lock, held as long as a connection lives, says which of the processes learns. A connection that breaks is an
error to those who waited, and is made again by the next who asks. Errors never tell the password.
"""

import copy
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from marginbandits.service.journal import Draft, Entry, JournalError
from marginbandits.service.sqlite import copied
from marginbandits.service.store import ERASE, FACT, FORMAT, INSERT, TABLES, TAIL, Store

__all__ = ["Postgres"]

_LOCKS = 7_236_946
"""Under which the locks of a database are those of a journal: 1 to write, 2 to learn."""
_TYPES = {"INTEGER": "BIGINT", "BLOB": "BYTEA"}
_ALIVE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2"
"""So that a machine that is gone does not hold a lock."""
_OLDER = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_xmin IS NOT NULL AND xact_start < ?"
)
"""Transactions that may still read what was there before."""

Connection = psycopg.Connection[tuple[Any, ...]]


class _Line:
    """A connection for one at a time, made when it is needed."""

    def __init__(self, url: str, durability: str) -> None:
        self._url, self._durability = url, durability
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        try:
            told = conninfo_to_dict(url)
        except psycopg.Error:
            raise JournalError(
                "the database's address cannot be read: postgresql://user:password@host:port/name"
            ) from None
        self._secrets = {str(told.get("password") or ""), urlsplit(url).password or ""} - {""}
        self.name = f"database {told.get('dbname')!r} at {told.get('host') or 'this machine'}"

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """The connection; whatever goes wrong ends it."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10, options=_ALIVE)
                    if self._durability == "process":
                        self._connection.execute("SET synchronous_commit = off")
                yield self._connection
            except psycopg.Error as error:
                self.close()
                text = " ".join(str(error).split())
                for secret in self._secrets:
                    text = text.replace(secret, "…")
                raise JournalError(f"{self.name}: {text}") from None
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Until it is needed again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


class Postgres(Store):
    """A `Journal` in a database."""

    shared = True
    _MANY, _HOLDS = "= ANY(?)", "position(?::bytea in body) > 0"

    def __init__(self, url: str, *, durability: str = "full", serving: bool = True) -> None:
        self._writing, self._reading, self._leading = (_Line(url, durability) for _ in range(3))
        self._leads = False
        with self._writing.open() as db, db.transaction():
            _locked(db)
            (there,) = _ask(db, "SELECT obj_description(to_regclass('entry'), 'pg_class')")[0]
            if there is None and not serving:
                raise JournalError(f"{self._writing.name} has no journal: marginbandits serve --database makes one")
            if there not in (None, f"format {FORMAT}"):
                raise JournalError(f"{self._writing.name} has a journal of {there}; this is for format {FORMAT}")
            if there is None:
                tables = TABLES
                for known, own in _TYPES.items():
                    tables = tables.replace(known, own)
                db.execute(tables.encode())
                db.execute(f"COMMENT ON TABLE entry IS 'format {FORMAT}'".encode())

    @staticmethod
    def _many(values: list[str]) -> list[str]:
        return values

    def lead(self) -> bool:
        """Whether this process holds the lock; an error, once, when the connection that held it broke."""
        was, self._leads = self._leads, False
        with self._leading.open() as db:
            query, given = ("SELECT true", ()) if was else ("SELECT pg_try_advisory_lock(?, 2)", (_LOCKS,))
            self._leads = bool(_ask(db, query, given)[0][0])
        return self._leads

    def append(self, drafts: Sequence[Draft]) -> list[tuple[Entry, bool]]:
        """One transaction, in the order of all processes."""
        with self._writing.open() as db, db.transaction():
            _locked(db)
            tail = [Entry(*row) for row in _ask(db, TAIL)]
            found = self._next(tail[0] if tail else None, drafts, lambda query, given: _ask(db, query, given))
            fresh = [msgspec.structs.astuple(entry) for entry, new in found if new]
            db.cursor().executemany(_own(INSERT), fresh)
            return found

    def _rows(self, query: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._reading.open() as db:
                return _ask(db, query, given)
        except JournalError:  # reading again does no harm
            with self._reading.open() as db:
                return _ask(db, query, given)

    def erase(self, seqs: Iterable[int]) -> int:
        """From the table; the database's files have it until `scrub`, its own log until that is recycled."""
        with self._writing.open() as db, db.transaction():
            _locked(db)  # else what is being appended would speak of one that is gone when it is there
            several = list(seqs)
            return db.execute(_own(ERASE.format("= ANY(?)")), (several, several)).rowcount

    def scrub(self) -> bool:
        """Vacuum; a transaction from before keeps what it may yet read."""
        with self._writing.open() as db:
            before = _ask(db, "SELECT clock_timestamp()")[0]
            db.execute("VACUUM entry")
            db.execute("VACUUM fact")
            return _ask(db, _OLDER, before) == []

    def put(self, name: str, value: bytes | None) -> None:
        """Replace a named value."""
        with self._writing.open() as db:
            if value is None:
                db.execute(_own("DELETE FROM fact WHERE name = ?"), (name,))
            else:
                db.execute(_own(FACT + "UPDATE SET value = excluded.value"), (name, value))

    def first(self, name: str, value: bytes) -> bytes:
        """The named value that there is; else this one, from now on."""
        with self._writing.open() as db:
            db.execute(_own(FACT + "NOTHING"), (name, value))
        return self.fact(name) or value

    @contextmanager
    def still(self) -> Iterator["Postgres"]:
        """The same, of which all that is read is of one moment; meanwhile nothing can be vacuumed."""
        one = copy.copy(self)
        one._reading = _Line(self._writing._url, "full")
        try:
            with one._reading.open() as db:
                db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                _ask(db, TAIL)  # the moment is that of the first look
            yield one
        finally:
            one._reading.close()

    def backup(self, path: str) -> None:
        """A journal file of SQLite with all of it, as it is at one moment."""
        line = _Line(self._writing._url, "full")
        with line.open() as db, db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            facts = _ask(db, "SELECT name, value FROM fact")
            with db.cursor(name="backup") as entries:
                copied(path, entries.execute(_own(TAIL.partition(" ORDER")[0] + " ORDER BY seq")), facts)
        line.close()

    def close(self) -> None:
        """Let go of the database."""
        for line in (self._writing, self._reading, self._leading):
            line.close()


def _own(query: str) -> bytes:
    return query.replace("?", "%s").encode()


def _ask(db: Connection, query: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    return db.execute(_own(query), given).fetchall()


def _locked(db: Connection) -> None:
    """Nobody else appends until this transaction ends."""
    db.execute(_own("SELECT pg_advisory_xact_lock(?, 1)"), (_LOCKS,))
