"""The journal: everything a service ever accepted, in one order, each entry on disk before anybody is told of it.

Entries are decisions, rewards, activations, settings, policies, erasures, and ticks of the clock. They are appended in
groups, one transaction each, and never changed, but that the body of one who is to be forgotten is taken out.

- `at`, microseconds since 1970, is given when an entry is appended, and grows from entry to entry whatever the clock
  of the machine does: it is the only clock that anything learnt depends on.
- `of` is the decision that a reward or an activation speaks of, if it was there already.
- `sha256` chains the entries: of the one before, and of everything in this one, the body by its own hash.
- A decision's id and an entry's `key` are there once in a loop: what comes again gets the entry that there is.

A store (`sqlite`, `postgres`) keeps entries, and *facts*: named values that are replaced, such as the latest model.

>>> first = linked(bytes(32), 1, 5, Draft("shop", "tick", "", b"{}"), None)
>>> first.sha256 == linked(bytes(32), 1, 5, Draft("shop", "tick", "", b"{}"), None).sha256
True
>>> unbroken(bytes(32), first), unbroken(bytes(32), msgspec.structs.replace(first, at=6))
(True, False)
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

__all__ = [
    "ACTIVATION",
    "CHANGES",
    "DECISION",
    "ERASURE",
    "EVENTS",
    "PAST",
    "POLICY",
    "REWARD",
    "SETTINGS",
    "START",
    "TICK",
    "Draft",
    "Entry",
    "Journal",
    "JournalError",
    "linked",
    "now",
    "unbroken",
]

DECISION, REWARD, ACTIVATION, TICK = "decision", "reward", "activation", "tick"
SETTINGS, POLICY, ERASURE = CHANGES = "settings", "policy", "erasure"
PAST = "past"
"""An event of another log, with its reward: closed when it is written."""
EVENTS = DECISION, REWARD, ACTIVATION, PAST
START = bytes(32)
"""What the first entry is chained to."""


class JournalError(Exception):
    """The journal is damaged, in use, or of another version."""


class Draft(msgspec.Struct, frozen=True):
    """What is to be appended; ids and keys are such as every store can keep."""

    loop: str
    kind: str
    id: str
    body: bytes
    key: str | None = None

    def __post_init__(self) -> None:
        for name in (self.id, self.key or ""):
            if "\0" in name or not (name.isascii() or name.encode("utf-8", "replace").decode() == name):
                raise ValueError(f"an id or key must be text without zeros and halves of characters, got {name[:80]!r}")


class Entry(msgspec.Struct, frozen=True):
    """What was appended; `body` is None once it has been erased."""

    seq: int
    at: int
    loop: str
    kind: str
    id: str
    key: str | None
    of: int | None
    body: bytes | None
    body_sha256: bytes
    sha256: bytes


class Journal(Protocol):
    """Where entries are kept. `append` and `lead` are for one thread at a time; everything else for any."""

    shared: bool
    """Whether several processes may serve it."""

    def lead(self) -> bool:
        """Whether this process is the one that learns; an error, once, if it may have ceased to be meanwhile."""
        ...

    def append(self, drafts: Sequence[Draft]) -> list[tuple[Entry, bool]]:
        """All of them durable, or none: for each its entry, and whether it is new."""
        ...

    def find(self, loop: str, event: str) -> Entry | None:
        """The decision of an event."""
        ...

    def entries(self, after: int, limit: int, until: int | None = None) -> list[Entry]:
        """In order, those after `after`, at most `limit`."""
        ...

    def of(self, seq: int) -> list[Entry]:
        """What speaks of a decision."""
        ...

    def changes(self) -> list[Entry]:
        """All settings, policies and erasures, in order."""
        ...

    def last(self) -> Entry | None:
        """The newest."""
        ...

    def erase(self, seqs: Iterable[int]) -> None:
        """Take out these bodies, and what the disk remembers of them."""
        ...

    def fact(self, name: str) -> bytes | None:
        """A named value."""
        ...

    def facts(self, prefix: str) -> dict[str, bytes]:
        """All whose names begin so."""
        ...

    def put(self, name: str, value: bytes | None) -> None:
        """Replace a named value, durably; None takes it away."""
        ...

    def first(self, name: str, value: bytes) -> bytes:
        """The named value that there is; else this one, from now on, whoever else tries."""
        ...

    def backup(self, path: str) -> None:
        """A copy that is whole, while others write."""
        ...

    def close(self) -> None:
        """Nothing more is asked of it."""
        ...


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def linked(before: bytes, seq: int, at: int, draft: Draft, of: int | None) -> Entry:
    """The entry that a draft becomes after one whose hash is `before`."""
    body = _hashed(draft.body)
    link = _link(before, seq, at, draft.loop, draft.kind, draft.id, draft.key, of, body)
    return Entry(seq, at, draft.loop, draft.kind, draft.id, draft.key, of, draft.body, body, link)


def unbroken(before: bytes, entry: Entry) -> bool:
    """Whether an entry is what it was when it was appended after one whose hash is `before`; it may be erased."""
    whole = entry.body is None or (type(entry.body) is bytes and _hashed(entry.body) == entry.body_sha256)
    if not whole:  # SQLite would give text, if somebody wrote text
        return False
    told = (entry.seq, entry.at, entry.loop, entry.kind, entry.id, entry.key, entry.of, entry.body_sha256)
    return _link(before, *told) == entry.sha256


def _link(before: bytes, *told: object) -> bytes:
    return _hashed(before + msgspec.msgpack.encode(told))


def _hashed(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
