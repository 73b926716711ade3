"""The journal in one SQLite file: write-ahead log, synchronous=FULL, so that what is acknowledged survives the power.

With synchronous=FULL every commit waits for the disk; a group of entries waits once. `durability="process"` waits for
nothing but the operating system: a killed process loses nothing, a lost power the last moments. One server has the file
at a time: a lock beside it says so.

A file that is open is written on when its name is gone, or another's. So a server looks, with each group, whether the
names of its journal and its lock are still those of the files that it has: else nothing is acknowledged.
"""

import copy
import fcntl
import itertools
import logging
import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from marginbandits.service.journal import Draft, Entry, JournalError, LostError
from marginbandits.service.store import ERASE, FACT, FORMAT, INSERT, PLACES, TABLES, TAIL, Store

__all__ = ["Sqlite", "copied"]

_LOG = logging.getLogger("marginbandits.service")
_AT_ONCE = 100
"""Rows of a statement: with one each, this thread would have to get Python's lock back from busy ones for each."""
_BUSY, _SCRUBBING = 30_000, 100
"""Milliseconds to wait for others who have the file: to write, and to empty the log while nobody can write."""


class Sqlite(Store):
    """A `Journal` in a folder."""

    shared = False
    careless: Sequence[str] = ()
    _MANY, _HOLDS = "IN (SELECT value FROM json_each(?))", "instr(body, ?) > 0"

    def __init__(self, folder: Path, *, durability: str = "full", serving: bool = True) -> None:
        file = folder / "journal.sqlite3"
        if folder.is_file():
            own = f"say {folder.parent}" if folder.name == file.name else f"a copy is served as {file.name} in one"
            raise JournalError(f"{folder} is a file, and a journal is named by its folder: {own}")
        if not serving and not file.is_file():
            raise JournalError(
                f"{folder} has no journal: marginbandits serve --data {folder} makes one, or keys make --new"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"{folder} cannot be a folder: {error.strerror}") from None
        with ExitStack() as opened:
            if serving:
                lock = opened.enter_context((folder / "lock").open("w"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise JournalError(f"{folder} is served by another process") from None
            self._writing = opened.enter_context(closing(_open(file, durability, new=serving)))
            self._reading = opened.enter_context(closing(_open(file, durability, new=False)))
            self._opened = opened.pop_all()
        self._folder = folder
        self._write_lock, self._read_lock = threading.RLock(), threading.Lock()
        names = (*(f"{file.name}{end}" for end in ("", "-wal", "-shm")), "lock") if serving else ()
        self._held = {name: (str(folder / name), _which(str(folder / name))) for name in names}
        self._stale = True  # whatever was erased before this process: it may be in pages yet

    @staticmethod
    def _many(values: list[str]) -> str:
        return msgspec.json.encode(values).decode()

    def _here(self) -> None:
        """Whether what is written is found again, and by nobody else's leave."""
        for name, (path, held) in self._held.items():
            if _which(path) != held:
                raise LostError(
                    f"{name} was removed or replaced while it was served: nothing is acknowledged until it is back, or "
                    "the service is started again"
                )

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """What the disk does not do now, as it is full, or may not be written, is no fault of ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise JournalError(f"the journal of {self._folder}: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; and what has been committed was where it is looked for."""
        db = self._writing
        with self._write_lock, self._refusals():
            db.execute("BEGIN IMMEDIATE")
            try:
                self._here()
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            self._here()

    def lead(self) -> bool:
        """Always, as no other process serves this folder: an error while one might."""
        self._here()
        return True

    def append(self, drafts: Sequence[Draft]) -> list[tuple[Entry, bool]]:
        """One transaction, one wait for the disk."""
        with self._transaction() as db:
            tail = [Entry(*row) for row in db.execute(TAIL)]
            found = self._next(
                tail[0] if tail else None, drafts, lambda query, given: db.execute(query, given).fetchall()
            )
            fresh = [msgspec.structs.astuple(entry) for entry, new in found if new]
            for start in range(0, len(fresh), _AT_ONCE):
                some = fresh[start : start + _AT_ONCE]
                db.execute(INSERT + f", {PLACES}" * (len(some) - 1), [*itertools.chain.from_iterable(some)])
        return found

    def _rows(self, query: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._read_lock, self._refusals():
            return self._reading.execute(query, given).fetchall()

    def erase(self, seqs: Iterable[int]) -> int:
        """From the table; the file and the write-ahead log have it until `scrub`."""
        with self._transaction() as db:
            self._stale = True
            before = db.total_changes
            db.executemany(ERASE.format("= ?"), [(seq, seq) for seq in seqs])
            return db.total_changes - before

    def scrub(self) -> bool:
        """Write the file anew, and empty the write-ahead log.

        What is deleted is overwritten, but pages that were parted or joined before have copies where nothing is looked
        for. One who reads older pages keeps the log from being emptied, and is not waited for. Where there is no room
        for what is to be written, nobody waits for it to be found out.
        """
        if self._stale and (missing := self._missing()) > 0:
            _LOG.warning("what was erased is still in the file, and is tried again: it needs %d more bytes", missing)
            return False
        with self._write_lock:
            self._writing.execute(f"PRAGMA busy_timeout = {_SCRUBBING}")
            try:
                if self._stale:
                    self._writing.execute("VACUUM")
                    self._stale = False
                ((busy, _, _),) = self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.OperationalError as error:
                _LOG.warning("what was erased is still in the file, and is tried again: %s", error)
                return False
            finally:
                self._writing.execute(f"PRAGMA busy_timeout = {_BUSY}")
            return not busy

    def _missing(self) -> int:
        """Bytes that are not free, of those that it takes to write all of it once more into the log."""
        (pages,), (free,), (size,), (*_, file) = (
            self._rows(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count", "page_size", "database_list")
        )
        needed: int = (pages - free) * size
        return needed - shutil.disk_usage(Path(file).parent).free

    def put(self, name: str, value: bytes | None) -> None:
        """Replace a named value."""
        with self._transaction() as db:
            if value is None:
                db.execute("DELETE FROM fact WHERE name = ?", (name,))
            else:
                db.execute(FACT + "UPDATE SET value = excluded.value", (name, value))

    def keep(self, name: str, value: bytes) -> None:
        """The same: no other process serves this folder."""
        self.put(name, value)

    def first(self, name: str, value: bytes) -> bytes:
        """The named value that there is; else this one, from now on."""
        with self._transaction() as db:
            db.execute(FACT + "NOTHING", (name, value))
        return self.fact(name) or value

    @contextmanager
    def still(self) -> Iterator["Sqlite"]:
        """The same, of which all that is read is of one moment; meanwhile the log cannot be emptied."""
        ((_, _, file),) = self._rows("PRAGMA database_list")
        with closing(_open(Path(file), "full", new=False)) as db:
            db.execute("BEGIN")
            db.execute(TAIL).fetchall()
            one = copy.copy(self)
            one._reading, one._read_lock = db, threading.Lock()
            yield one

    def backup(self, path: str) -> None:
        """A whole copy in another file: of one moment, in one step, so that it ends however much is written."""
        with _beside(path) as partial, closing(sqlite3.connect(_private(partial))) as copy, self._read_lock:
            self._reading.backup(copy)

    def close(self) -> None:
        """Let go of the file."""
        with self._write_lock, self._read_lock:
            self._opened.close()


def copied(path: str, entries: Iterable[tuple[Any, ...]], facts: Iterable[tuple[Any, ...]]) -> None:
    """Make a journal file of rows from elsewhere."""
    with _beside(path) as partial, closing(_open(partial, "full", new=True)) as db:
        db.execute("BEGIN")
        db.executemany(INSERT, entries)
        db.executemany(FACT + "NOTHING", facts)
        db.execute("COMMIT")


@contextmanager
def _beside(path: str) -> Iterator[Path]:
    """A file to copy to, that takes its place when it is whole, and is removed if it does not come to that.

    Of two at once, one is the first to make a file of that name, and the other is refused. One who is killed leaves
    what was written, by a name that says of what.
    """
    target = Path(path)
    there = JournalError(f"{path} exists: a backup never replaces anything")
    if target.exists():
        raise there
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise there from None
        partial.rename(target)
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            Path(f"{partial}{end}").unlink(missing_ok=True)


def _which(path: str) -> tuple[int, int] | None:
    """The file that has this name, if one has."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _private(file: Path) -> Path:
    """A file that its owner alone reads, if it is not there yet: contexts and secrets are in it.

    One that is there is not touched: to open and close it would let go of the locks that this process has on it.
    """
    with suppress(OSError):  # if it cannot be made, SQLite says why
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    return file


def _open(file: Path, durability: str, *, new: bool) -> sqlite3.Connection:
    """A connection to a journal; in a file that is `new`, and empty, one is made. What is no journal is left alone.

    SQLite makes files beside the one that it reads. Where that may not be, one that was closed is read as it is.
    """
    fixed = not os.access(file.parent, os.W_OK)
    whole = not os.path.exists(f"{file}-wal")
    db = sqlite3.connect(
        f"{file.absolute().as_uri()}?mode=ro&immutable=1" if fixed and whole else _private(file),
        uri=fixed and whole,
        isolation_level=None,
        check_same_thread=False,
        timeout=_BUSY / 1e3,
        cached_statements=256,
    )
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (others,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version not in (0, FORMAT):
            raise JournalError(f"{file} is a journal of format {version}; this is for format {FORMAT}")
        if version == 0 and (others or not new):
            raise JournalError(f"{file} is no journal: it {'has other tables' if others else 'is empty'}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        db.execute("PRAGMA secure_delete = ON")
        if version == 0:
            db.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")
    except sqlite3.DatabaseError as error:
        db.close()
        way = (
            "; its folder may not be written, and it was not closed: copy all of it to one that may be" if fixed else ""
        )
        raise JournalError(f"{file} cannot be read as a journal: {error}{way}") from None
    except JournalError:
        db.close()
        raise
    return db
