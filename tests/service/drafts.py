"""Drafts of decisions, and where a chain is broken."""

from marginbandits.service.journal import DECISION, START, Draft, Journal, unbroken
from marginbandits.service.loop import read

__all__ = ["broken", "decision"]


def decision(event: str, body: bytes = b"{}", key: str | None = None, loop: str = "shop") -> Draft:
    return Draft(loop, DECISION, event, body, key)


def broken(journal: Journal) -> list[int]:
    """The entries at which the chain breaks."""
    before, found = START, []
    for entry in read(journal):
        if not unbroken(before, entry):
            found.append(entry.seq)
        before = entry.sha256
    return found
