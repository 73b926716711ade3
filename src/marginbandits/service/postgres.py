"""The journal in a PostgreSQL database, which several processes may serve at once.

A group of entries is one transaction under a lock of the database, so that `seq`, `at` and the chain of hashes are one
order whoever appends; what is acknowledged is on the database's disk, also where the role or the server has
synchronous_commit off. `durability="process"` does not wait for that: a killed service loses nothing, a killed database
the last moments. Nothing can be done here about a server that waits for no disk at all (fsync): it is named.

A second lock, held as long as a connection lives, says which of the processes learns. What only that one may write is
written by that connection: once another process learns, this one can write nothing of it. A connection that breaks is
an error to those who waited, and is made again by the next who asks. Errors never tell the password.

A process may stop without going: frozen, or on a machine that is. A lock that it holds is taken from it. The database
ends its transaction when it has said nothing in it for seconds; and every process ends the sessions of others that hold
a lock while the database waits for their client. Who waits for a lock waits for seconds, and fails.

Time is the database's, which is asked when it is opened and every second.
"""

import copy
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from marginbandits.service.clock import Told
from marginbandits.service.journal import Draft, Entry, JournalError, timed
from marginbandits.service.sqlite import copied
from marginbandits.service.store import ERASE, FACT, FORMAT, INSERT, TABLES, TAIL, Store

__all__ = ["Postgres"]

_LOCKS = 7_236_946
"""Under which the locks of a database are those of a journal: 1 to write, 2 to learn."""
_TYPES = {"INTEGER": "BIGINT", "BLOB": "BYTEA"}
_SECONDS = "-c lock_timeout=5s -c idle_in_transaction_session_timeout=4s"
"""For a lock that another has, and for what comes next in a transaction: the second first."""
_WRITES = " -c statement_timeout=15s"
"""For one statement of those that append: none takes long."""
_ALIVE = " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2"
"""So that a machine that is gone does not hold a lock; and one whose database is gone finds out."""
_ALIVE_HERE: dict[str, Any] = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2}
_BEAT, _FROZEN = 1.0, 10
"""Seconds between two signs of life of who may hold the second lock; without one for so many, it is taken from him."""
_SILENT = f"""
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND classid = {_LOCKS} AND pid <> pg_backend_pid()
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND wait_event_type = 'Client' AND state_change < clock_timestamp() - interval '{_FROZEN} s'
"""
"""Ends sessions that hold a lock while the database has waited for their client for so long."""
_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_ERASED_AT_ONCE = 1000
"""Decisions whose entries are erased while nobody can append."""
_OLDER = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_xmin IS NOT NULL AND xact_start < ?"
)
"""Transactions that may still read what was there before."""

_WAITS = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
"""Whatever else it may be waits for the disk, and perhaps for others."""
_CARELESS = "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name"
_AT_RISK = "{} is off in the database: what has been acknowledged may be lost with the power of its machine"

_PUT = FACT + "UPDATE SET value = excluded.value"
Connection = psycopg.Connection[tuple[Any, ...]]


class _Line:
    """A connection for one at a time, made when it is needed; of one that is not to be made again, the error stays."""

    def __init__(self, url: str, durability: str = "full", settings: str = _SECONDS, *, again: bool = True) -> None:
        self._url, self._durability, self._settings, self.again = url, durability, settings + _ALIVE, again
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
                    self._connection = psycopg.connect(
                        self._url, autocommit=True, connect_timeout=10, options=self._settings, **_ALIVE_HERE
                    )
                    process = self._durability == "process"
                    self._connection.execute(b"SET synchronous_commit = off" if process else _WAITS.encode())
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
                if self.again:
                    self._connection = None


class Postgres(Store):
    """A `Journal` in a database."""

    shared = True
    careless: Sequence[str] = ()
    _MANY, _HOLDS = "= ANY(?)", "position(?::bytea in body) > 0"

    def __init__(self, url: str, *, durability: str = "full", serving: bool = True) -> None:
        self._writing = _Line(url, durability, _SECONDS + _WRITES)
        self._reading, self._leading = _Line(url), _Line(url, durability)
        self._held: Connection | None = None  # that has the lock of the one that learns
        self._closed, self._beating = threading.Event(), threading.Thread(target=self._beat, name="beat", daemon=True)
        self._day = Told()
        with self._reading.open() as db:
            there = _format(db)
            if there is None and serving:
                there = self._made()
            if there is None:
                raise JournalError(f"{self._reading.name} has no journal: marginbandits serve --database makes one")
            if there != f"format {FORMAT}":
                raise JournalError(f"{self._reading.name} has a journal of {there}; this is for format {FORMAT}")
            self.careless = [_AT_RISK.format(name) for (name,) in _ask(db, _CARELESS)]
            self._day.ask(lambda: _time(db))
        timed(self._day)

    def _made(self) -> str:
        """Make the tables, unless another process is faster; the format of those that there are."""
        with self._writing.open() as db, db.transaction():
            _locked(db)
            there = _format(db)
            if there is None:
                tables = TABLES
                for known, own in _TYPES.items():
                    tables = tables.replace(known, own)
                db.execute(tables.encode())
                db.execute(f"COMMENT ON TABLE entry IS 'format {FORMAT}'".encode())
            return there or f"format {FORMAT}"

    @staticmethod
    def _many(values: list[str]) -> list[str]:
        return values

    def lead(self) -> bool:
        """Whether this process holds the lock; an error, once, when the connection that held it broke."""
        if self._beating.ident is None:
            self._beating.start()
        if self._held is not None:
            with self._lead() as db:
                _ask(db, "SELECT 1")
            return True
        with self._leading.open() as db:
            if _ask(db, "SELECT pg_try_advisory_lock(?, 2)", (_LOCKS,)) == [(True,)]:
                self._held = db
        return self._held is not None

    @contextmanager
    def _lead(self) -> Iterator[Connection]:
        """The connection that holds the lock; an error if it does not live any more."""
        try:
            with self._leading.open() as db:
                if db is not self._held:
                    raise JournalError(f"{self._leading.name}: the connection of the process that learns was lost")
                yield db
        except BaseException:
            self._held = None
            raise

    def _beat(self) -> None:
        """A sign of life, a look at the clock, and an end of those who give none."""
        while not self._closed.wait(_BEAT):
            with suppress(JournalError), self._leading.open() as db:  # who leads learns of it when he writes
                self._day.ask(lambda db=db: _time(db))  # type: ignore[misc]
                _ask(db, _SILENT)

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
        except JournalError:
            if not self._reading.again:
                raise
            with self._reading.open() as db:
                return _ask(db, query, given)

    def erase(self, seqs: Iterable[int]) -> int:
        """From the table; the database's files have it until `scrub`, its own log until that is recycled."""
        several, n = list(seqs), 0
        for start in range(0, len(several), _ERASED_AT_ONCE):
            some = several[start : start + _ERASED_AT_ONCE]
            with self._writing.open() as db, db.transaction():
                _locked(db)  # else what is being appended would speak of one that is gone when it is there
                n += db.execute(_own(ERASE.format("= ANY(?)")), (some, some)).rowcount
        return n

    def scrub(self) -> bool:
        """Vacuum; a transaction from before keeps what it may yet read."""
        with self._lead() as db:
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
                db.execute(_own(_PUT), (name, value))

    def keep(self, name: str, value: bytes) -> None:
        """The same by the connection that holds the lock of the one that learns: while it lives, no other does."""
        with self._lead() as db:
            db.execute(_own(_PUT), (name, value))

    def first(self, name: str, value: bytes) -> bytes:
        """The named value that there is; else this one, from now on."""
        with self._writing.open() as db:
            db.execute(_own(FACT + "NOTHING"), (name, value))
        return self.fact(name) or value

    @contextmanager
    def still(self) -> Iterator["Postgres"]:
        """The same, of which all that is read is of one moment; meanwhile nothing can be vacuumed."""
        one = copy.copy(self)
        one._reading = self._long(again=False)
        try:
            with one._reading.open() as db:
                db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                _ask(db, TAIL)  # the moment is that of the first look
            yield one
        finally:
            one._reading.close()

    def backup(self, path: str) -> None:
        """A journal file of SQLite with all of it, as it is at one moment."""
        line = self._long()
        with line.open() as db, db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            facts = _ask(db, "SELECT name, value FROM fact")
            with db.cursor(name="backup") as entries:
                copied(path, entries.execute(_own(TAIL.partition(" ORDER")[0] + " ORDER BY seq")), facts)
        line.close()

    def _long(self, *, again: bool = True) -> _Line:
        """A connection for one who reads all of it in one transaction, and thinks in between."""
        return _Line(self._writing._url, settings="-c idle_in_transaction_session_timeout=0", again=again)

    def close(self) -> None:
        """Let go of the database."""
        self._closed.set()
        if self._beating.ident is not None:
            self._beating.join()
        self._held = None
        for line in (self._writing, self._reading, self._leading):
            line.close()


def _own(query: str) -> bytes:
    return query.replace("?", "%s").encode()


def _ask(db: Connection, query: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    return db.execute(_own(query), given).fetchall()


def _format(db: Connection) -> str | None:
    """What the journal there is says of itself; None if there is none."""
    found: str | None = _ask(db, "SELECT obj_description(to_regclass('entry'), 'pg_class')")[0][0]
    return found


def _time(db: Connection) -> int:
    """Microseconds since 1970."""
    return int(_ask(db, _TIME)[0][0])


def _locked(db: Connection) -> None:
    """Nobody else appends until this transaction ends."""
    db.execute(_own("SELECT pg_advisory_xact_lock(?, 1)"), (_LOCKS,))
