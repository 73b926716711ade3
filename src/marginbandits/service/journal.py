"""The journal: everything a service ever accepted, in one order, each entry on disk before anybody is told of it.

Entries are decisions, rewards, activations, settings, policies, candidates, notes beside settings, erasures, and ticks
of the clock. They are appended in groups, one transaction each, and never changed, but that what one says who is to be
forgotten is taken out.

- `at`, microseconds since 1970, is given when an entry is appended, and grows from entry to entry whatever the clock
  of the machine does (`clock`): it is the only clock that anything learnt depends on.
- `of` is the decision that a reward or an activation speaks of, if it was there already.
- What an entry says, its id, key and body, is hashed together with a random salt: `told_sha256`.
- `sha256` chains the entries: of the one before, and of everything in this one, what it says by `told_sha256`.
- A decision's id and an entry's `key` are there once in a loop: what comes again gets the entry that there is,
  by its key before its id.

Who is forgotten leaves the chain whole: salt, id, key and body go, and without the salt nobody can find out by trying
what they were. Of such an entry remain its number, time, loop and kind, and the decision that it spoke of.

A store (`sqlite`, `postgres`) keeps entries, and *facts*: named values that are replaced, such as the latest model.

>>> first = linked(bytes(32), 1, 5, Draft("shop", "decision", "e", b"{}"), None, b"salt")
>>> unbroken(bytes(32), first), unbroken(bytes(32), msgspec.structs.replace(first, at=6))
(True, False)
>>> gone = msgspec.structs.replace(first, id="", body=None, salt=None)
>>> unbroken(bytes(32), gone), unbroken(bytes(32), msgspec.structs.replace(gone, id="e"))
(True, False)
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from marginbandits.service.clock import Clock

__all__ = [
    "ACTIVATION",
    "CANDIDATE",
    "CHANGES",
    "DECISION",
    "ERASURE",
    "EVENTS",
    "NOTE",
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
    "LostError",
    "begin",
    "linked",
    "now",
    "scrubbed",
    "timed",
    "unbroken",
]

DECISION, REWARD, ACTIVATION, TICK = "decision", "reward", "activation", "tick"
SETTINGS, POLICY, CANDIDATE, NOTE, ERASURE = CHANGES = "settings", "policy", "candidate", "note", "erasure"
PAST = "past"
"""An event of another log, with its reward: closed when it is written."""
EVENTS = DECISION, REWARD, ACTIVATION, PAST
START = bytes(32)
"""What the first entry is chained to."""
LATEST = 2**62
"""No entry is later, in microseconds since 1970."""
_CLOCK = Clock()
_LOG = logging.getLogger("marginbandits.service")


class JournalError(Exception):
    """The journal is damaged, in use, or of another version."""


class LostError(JournalError):
    """What would be written now, nobody would find: the journal is elsewhere, or another process may have it."""


class Draft(msgspec.Struct, frozen=True, gc=False):
    """What is to be appended; ids and keys are such as every store can keep. One that is `joined` needs the one before.

    Where that one was there already, it is not appended, and gets the entry that the other gets.
    """

    loop: str
    kind: str
    id: str
    body: bytes
    key: str | None = None
    joined: bool = False

    def __post_init__(self) -> None:
        for name in (self.id, self.key or ""):
            if "\0" in name or not (name.isascii() or name.encode("utf-8", "replace").decode() == name):
                raise ValueError(f"an id or key must be text without zeros and halves of characters, got {name[:80]!r}")


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What was appended; once it has been erased, `body`, `salt` and `key` are None, and the id is empty."""

    seq: int
    at: int
    loop: str
    kind: str
    id: str
    key: str | None
    of: int | None
    body: bytes | None
    salt: bytes | None
    told_sha256: bytes
    sha256: bytes


_FIELDS = (int, int, str, str, str, str | None, int | None, bytes | None, bytes | None, bytes, bytes)
"""What an entry consists of."""


def scrubbed(journal: "Journal") -> int:
    """The last erasure that the disk knows nothing of any more.

    0 where that cannot be believed: what the journal has not come to, in what is left of it, nobody has forgotten.
    """
    try:
        found = int(journal.fact("scrubbed") or 0)
    except (ValueError, TypeError):
        return 0
    last = journal.last()
    return found if last is not None and found <= last.seq else 0


class Journal(Protocol):
    """Where entries are kept. `append` and `lead` are for one thread at a time; everything else for any.

    `keep` and `scrub` are for the process that leads.
    """

    shared: bool
    """Whether several processes may serve it."""
    careless: Sequence[str]
    """Why what has been acknowledged may be lost with the power, where the store is set so that it may be."""

    def lead(self) -> bool:
        """Whether this process is the one that learns; an error, once, if it may have ceased to be meanwhile.

        A `LostError`, as from whatever writes, while nothing that is written would be found.
        """
        ...

    def append(self, drafts: Sequence[Draft]) -> list[tuple[Entry, bool]]:
        """All of them durable, or none: for each its entry, and whether it is new."""
        ...

    def find(self, loop: str, event: str) -> Entry | None:
        """The decision of an event."""
        ...

    def keyed(self, loop: str, key: str) -> Entry | None:
        """The entry of a key."""
        ...

    def entries(self, after: int, limit: int, until: int | None = None) -> list[Entry]:
        """In order, those after `after`, at most `limit`."""
        ...

    def of(self, seq: int) -> list[Entry]:
        """What speaks of a decision."""
        ...

    def changes(self) -> list[Entry]:
        """All settings, policies, candidates, notes and erasures, in order."""
        ...

    def holding(self, loop: str, text: bytes) -> list[Entry]:
        """Decisions of a loop, and events of other logs, whose bodies have this in them, in order."""
        ...

    def speaking(self, loop: str, events: Sequence[str]) -> list[int]:
        """The numbers of a loop's entries that have these ids and have not been erased: early rewards, too."""
        ...

    def kept(self, loop: str, until: int) -> list[int]:
        """The numbers of a loop's events up to an entry that have not been erased, in order."""
        ...

    def span(self, loop: str) -> tuple[int, int] | None:
        """The times of a loop's first and last decision that have not been erased."""
        ...

    def last(self) -> Entry | None:
        """The newest."""
        ...

    def erase(self, seqs: Iterable[int]) -> int:
        """Take out what these say, and what speaks of them, however late it came; of how many it was there."""
        ...

    def scrub(self) -> bool:
        """Have the disk forget what was taken out or replaced; False where somebody who reads does not let it yet."""
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

    def keep(self, name: str, value: bytes) -> None:
        """The same of what only the process that learns may replace: an error if this one may have ceased to be it."""
        ...

    def first(self, name: str, value: bytes) -> bytes:
        """The named value that there is; else this one, from now on, whoever else tries."""
        ...

    def still(self) -> AbstractContextManager["Journal"]:
        """The same for one who reads all of it: as it is at one moment, whatever others write or erase."""
        ...

    def backup(self, path: str) -> None:
        """A copy that is whole, while others write."""
        ...

    def close(self) -> None:
        """Nothing more is asked of it."""
        ...


def begin(journal: Journal) -> None:
    """Before anybody serves or teaches a journal: a clock far ahead of its last entry must not close and erase all."""
    last = journal.last()
    if last is not None:
        if last.at > LATEST:
            raise JournalError(f"entry {last.seq} has a time that no clock has told: it is not what was written")
        days = (_CLOCK.now() - last.at) / 86400e6
        if days > 1.0:
            _LOG.warning("it is %.1f days after the last entry, says the clock: that is watched for a minute", days)
        _CLOCK.begin(last.at)


def timed(day: Callable[[], int]) -> None:
    """The clock of this process is its journal's, which others share: a function that says it in nanoseconds."""
    _CLOCK.follow(day)


def now() -> int:
    """Microseconds since 1970, by a clock that a moment's mistake does not move."""
    return _CLOCK.now()


def linked(before: bytes, seq: int, at: int, draft: Draft, of: int | None, salt: bytes) -> Entry:
    """The entry that a draft becomes after one whose hash is `before`."""
    told = _told(salt, draft.id, draft.key, draft.body)
    link = _link(before, seq, at, draft.loop, draft.kind, of, told)
    return Entry(seq, at, draft.loop, draft.kind, draft.id, draft.key, of, draft.body, salt, told, link)


def unbroken(before: bytes, entry: Entry) -> bool:
    """Whether an entry is what it was when it was appended after one whose hash is `before`; it may be erased."""
    if type(before) is not bytes or not all(map(isinstance, msgspec.structs.astuple(entry), _FIELDS)):
        return False  # SQLite gives text, if somebody wrote text
    if entry.body is None or entry.salt is None:
        whole = (entry.id, entry.key, entry.salt, entry.body) == ("", None, None, None)
    else:
        whole = _told(entry.salt, entry.id, entry.key, entry.body) == entry.told_sha256
    link = (entry.seq, entry.at, entry.loop, entry.kind, entry.of, entry.told_sha256)
    return whole and _link(before, *link) == entry.sha256


def _told(salt: bytes, id: str, key: str | None, body: bytes) -> bytes:
    return _hashed(salt + msgspec.msgpack.encode((id, key, body)))


def _link(before: bytes, *told: object) -> bytes:
    return _hashed(before + msgspec.msgpack.encode(told))


def _hashed(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
