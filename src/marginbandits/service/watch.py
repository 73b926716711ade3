"""What there is to see of a loop: sums that grow with its events and not with its history."""

from collections import deque
from typing import Any

import msgspec

from marginbandits.service.draws import Audit
from marginbandits.service.join import Closed
from marginbandits.service.journal import Entry
from marginbandits.service.records import Decided

__all__ = ["Watch"]

RECENT = 50


class _Kept(msgspec.Struct):
    decisions: int
    wealth: list[float]
    recent: list[dict[str, Any]]


class Watch:
    """Fed with every decision, and with every event when it closes."""

    def __init__(self) -> None:
        self.decisions = 0
        self.audit = Audit()
        self.recent: deque[dict[str, Any]] = deque(maxlen=RECENT)

    def decision(self, entry: Entry, decided: Decided) -> None:
        """One more was written."""
        self.decisions += 1
        self.audit.observe(decided.probabilities, decided.chosen)
        action = decided.actions[decided.chosen].id
        self.recent.append(
            {
                "id": entry.id,
                "seq": entry.seq,
                "at": entry.at,
                "action": action,
                "probability": decided.probabilities[decided.chosen],
            }
        )

    def closed(self, closed: Closed) -> None:
        """One more is over."""

    def forget(self, events: set[str], until: int) -> None:
        """Nothing more is shown of these, nor of any up to an entry."""
        kept = [one for one in self.recent if one["id"] not in events and one["seq"] > until]
        self.recent.clear()
        self.recent.extend(kept)

    def dumps(self) -> bytes:
        """All of it."""
        return msgspec.msgpack.encode(_Kept(self.decisions, self.audit.wealth, list(self.recent)))

    @classmethod
    def loads(cls, kept: bytes) -> "Watch":
        """As it was."""
        watch, was = cls(), msgspec.msgpack.decode(kept, type=_Kept)
        watch.decisions, watch.audit = was.decisions, Audit(was.wealth)
        watch.recent.extend(was.recent)
        return watch
