"""What the stores share: the tables, how they are asked, and how drafts become the next entries.

Queries are written once, with ? for what is given and {many} for what a list is compared with; a store says how it asks
its own database (`_rows`), what a list is there (`_MANY`, `_many`), and how bytes are looked for in a body (`_HOLDS`).
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from marginbandits.service.journal import (
    ACTIVATION,
    CHANGES,
    DECISION,
    EVENTS,
    REWARD,
    START,
    Draft,
    Entry,
    linked,
    now,
)

__all__ = ["ERASE", "FACT", "FORMAT", "INSERT", "PLACES", "TABLES", "TAIL", "Rows", "Store"]

FORMAT = 5
TABLES = f"""
CREATE TABLE IF NOT EXISTS entry (
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, loop TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, key TEXT,
  of INTEGER, body BLOB, salt BLOB, told_sha256 BLOB NOT NULL, sha256 BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS entry_event ON entry (loop, id) WHERE kind = 'decision' AND body IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS entry_key ON entry (loop, key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_of ON entry (of) WHERE of IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_change ON entry (seq) WHERE kind IN {CHANGES};
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""
_COLUMNS = "seq, at, loop, kind, id, key, of, body, salt, told_sha256, sha256"
_SELECT = f"SELECT {_COLUMNS} FROM entry WHERE "
PLACES = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT = f"INSERT INTO entry ({_COLUMNS}) VALUES {PLACES}"
TAIL = f"SELECT {_COLUMNS} FROM entry ORDER BY seq DESC LIMIT 1"
_KEPT = f"kind IN {EVENTS} AND body IS NOT NULL"
_DECISION = "kind = 'decision' AND body IS NOT NULL AND loop = ?"
_EVENTS = _SELECT + _DECISION + " AND id {many}"
_KEYS = _SELECT + "loop = ? AND key {many}"
ERASE = "UPDATE entry SET id = '', key = NULL, body = NULL, salt = NULL WHERE body IS NOT NULL AND (seq {0} OR of {0})"
FACT = "INSERT INTO fact VALUES (?, ?) ON CONFLICT (name) DO "

Rows = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


class Store:
    """The part of a `Journal` that reads, over a store's own `_rows`."""

    _MANY = _HOLDS = ""

    @staticmethod
    def _many(values: list[str]) -> Any:
        raise NotImplementedError

    def _rows(self, query: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def _entries(self, query: str, given: tuple[Any, ...] = ()) -> list[Entry]:
        return [Entry(*row) for row in self._rows(query, given)]

    def find(self, loop: str, event: str) -> Entry | None:
        """The decision of an event."""
        return _only(self._entries(_SELECT + _DECISION + " AND id = ?", (loop, event)))

    def keyed(self, loop: str, key: str) -> Entry | None:
        """The entry of a key."""
        return _only(self._entries(_SELECT + "loop = ? AND key = ?", (loop, key)))

    def entries(self, after: int, limit: int, until: int | None = None) -> list[Entry]:
        """In order, those after `after`."""
        end = 2**62 if until is None else until
        return self._entries(_SELECT + "seq > ? AND seq <= ? ORDER BY seq LIMIT ?", (after, end, limit))

    def of(self, seq: int) -> list[Entry]:
        """What speaks of a decision."""
        return self._entries(_SELECT + "of = ? ORDER BY seq", (seq,))

    def changes(self) -> list[Entry]:
        """All settings, policies, candidates, notes and erasures."""
        return self._entries(f"{_SELECT}kind IN {CHANGES} ORDER BY seq")

    def holding(self, loop: str, text: bytes) -> list[Entry]:
        """Decisions of a loop, and events of other logs, whose bodies have this in them."""
        query = _SELECT + "kind IN ('decision', 'past') AND loop = ? AND " + self._HOLDS + " ORDER BY seq"
        return self._entries(query, (loop, text))

    def speaking(self, loop: str, events: Sequence[str]) -> list[int]:
        """The numbers of a loop's entries that have these ids and have not been erased."""
        query = f"SELECT seq FROM entry WHERE loop = ? AND {_KEPT} AND id {self._MANY} ORDER BY seq"
        return [seq for (seq,) in self._rows(query, (loop, self._many(list(events))))]

    def kept(self, loop: str, until: int) -> list[int]:
        """The numbers of a loop's events that have not been erased."""
        query = f"SELECT seq FROM entry WHERE loop = ? AND seq <= ? AND {_KEPT} ORDER BY seq"
        return [seq for (seq,) in self._rows(query, (loop, until))]

    def span(self, loop: str) -> tuple[int, int] | None:
        """The times of the first and the last decision that has not been erased."""
        query = f"SELECT min(at), max(at) FROM entry WHERE {_DECISION}"
        (first, last) = self._rows(query, (loop,))[0]
        return None if first is None else (first, last)

    def last(self) -> Entry | None:
        """The newest."""
        return _only(self._entries(TAIL))

    def fact(self, name: str) -> bytes | None:
        """A named value."""
        rows = self._rows("SELECT value FROM fact WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def facts(self, prefix: str) -> dict[str, bytes]:
        """All whose names begin so."""
        return dict(self._rows("SELECT name, value FROM fact WHERE substr(name, 1, ?) = ?", (len(prefix), prefix)))

    def _next(self, tail: Entry | None, drafts: Sequence[Draft], rows: Rows) -> list[tuple[Entry, bool]]:
        """What drafts become after `tail`: new entries, or those that are there; `rows` asks within the transaction."""
        spoken = [one for one in drafts if one.kind in (DECISION, REWARD, ACTIVATION)]
        events = self._known(rows, _EVENTS, ((one.loop, one.id) for one in spoken), lambda entry: entry.id)
        keyed = ((one.loop, one.key) for one in drafts if one.key is not None)
        keys = self._known(rows, _KEYS, keyed, lambda entry: entry.key)
        before, seq, at = (START, 0, 0) if tail is None else (tail.sha256, tail.seq, tail.at)
        found: list[tuple[Entry, bool]] = []
        for draft in drafts:
            event, key = (draft.loop, draft.id), (draft.loop, draft.key)
            decision = events.get(event)
            there = None if draft.key is None else keys.get(key)
            if there is None and draft.kind == DECISION:
                there = decision
            if draft.joined and not found[-1][1]:
                there = found[-1][0]
            if there is not None:
                found.append((there, False))
                continue
            seq, at = seq + 1, max(at + 1, now())
            of = decision.seq if decision is not None and draft.kind in (REWARD, ACTIVATION) else None
            entry = linked(before, seq, at, draft, of, os.urandom(16))
            before = entry.sha256
            if draft.kind == DECISION:
                events[event] = entry
            if draft.key is not None:
                keys[key] = entry
            found.append((entry, True))
        return found

    def _known(
        self, rows: Rows, query: str, wanted: Iterable[tuple[str, str]], named: Callable[[Entry], str | None]
    ) -> dict[tuple[str, str | None], Entry]:
        by_loop: dict[str, list[str]] = {}
        for loop, name in wanted:
            by_loop.setdefault(loop, []).append(name)
        known: dict[tuple[str, str | None], Entry] = {}
        for loop, names in by_loop.items():
            for row in rows(query.format(many=self._MANY), (loop, self._many(names))):
                entry = Entry(*row)
                known[loop, named(entry)] = entry
        return known


def _only(entries: list[Entry]) -> Entry | None:
    return entries[0] if entries else None
