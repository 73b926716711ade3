"""Where a loop stood: from here it goes on as if it had never stopped. All of it can be made again from the journal.

A checkpoint names the last entry that it saw, by number and hash. Where the journal does not have that entry, it is not
the checkpoint that is wrong: the journal's end is missing, or is another one.
"""

import hashlib

import msgspec

from marginbandits.service.journal import ERASURE, Entry, Journal, JournalError, scrubbed

__all__ = ["Checkpoint", "DamagedError", "opened"]


class DamagedError(Exception):
    """A checkpoint that is not what was written; everything in it can be made again."""


class Checkpoint(msgspec.Struct, frozen=True):
    """A loop after entry `seen`, whose hash is `head`: what was closed last, and from where open events are read."""

    policy: int
    learnt: int
    skipped: int
    model: bytes
    sha256: str
    seen: int
    head: bytes
    first: int
    open: int
    closed: tuple[int, int]
    counts: dict[str, int]
    watch: bytes

    def follows(self, journal: Journal, loop: str) -> None:
        """An error, if the journal is not the one that it saw."""
        there = journal.entries(self.seen - 1, 1, self.seen)
        if there and there[0].sha256 == self.head:
            return
        wrong = "is another one now" if there else "is missing now"
        raise JournalError(
            f"loop {loop!r} has learnt from entry {self.seen}, which {wrong}: the journal is not whole. Take a backup "
            f"that is; or, to go on with what there is, delete 'checkpoint/{loop}' from its table fact"
        )

    def forgets(self, journal: Journal, loop: str, changes: list[Entry]) -> None:
        """An error, if it was made before an erasure that is complete: it may hold who was erased."""
        clean = scrubbed(journal)
        for one in changes:
            if (one.loop, one.kind) == (loop, ERASURE) and self.seen < one.seq <= clean:
                raise DamagedError(f"it is from before erasure {one.seq}, and may hold who was erased")


def opened(kept: bytes) -> Checkpoint:
    """As it was written."""
    try:
        found = msgspec.msgpack.decode(kept, type=Checkpoint)
    except (msgspec.MsgspecError, TypeError) as error:  # SQLite gives text, if somebody wrote text
        raise DamagedError(f"it cannot be read: {error}") from None
    if hashlib.sha256(found.model).hexdigest() != found.sha256:
        raise DamagedError("its model is not what was written")
    if not 0 < found.first <= found.seen + 1:
        raise DamagedError("its open events begin after it")
    return found
