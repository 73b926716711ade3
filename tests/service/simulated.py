"""A loop on simulated time, without a disk and without HTTP: entries are made up, everything else is what it is.

>>> shop = Simulated(Settings(window=60.0))
>>> event, decided = shop.decide(["hat", "shoe"])
>>> shop.reward(event, 1.0)
>>> shop.wait(60.0)
>>> shop.loop.joiner.counts["rewarded"], shop.loop.model.learnt
(1, 1)
"""

from collections.abc import Sequence
from typing import Any, cast

from marginbandits.service.journal import REWARD, SETTINGS, START, TICK, Draft, Entry, Journal, linked
from marginbandits.service.loop import Loop
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Policy, Rewarded, Settings, encode
from marginbandits.service.requests import Ask

__all__ = ["NOWHERE", "SECOND", "Simulated"]

SECOND = 1_000_000
NOWHERE = cast(Journal, None)
"""A loop that has one policy and forgets nobody never asks for its journal."""


class Simulated:
    """`at` is the clock, in microseconds; `entries` is all that was written, if they are to be kept."""

    def __init__(
        self,
        settings: Settings,
        policy: Policy | None = None,
        *,
        name: str = "shop",
        secret: bytes = b"",
        keep: bool = True,
    ) -> None:
        self.loop, self.at = Loop(name, secret), 1_700_000_000 * SECOND
        self.loop.model = Model(policy or Policy(number=1, reward_range=settings.reward_range))
        self.entries: list[Entry] = []
        self._keep, self._last, self._places = keep, (0, START), dict[str, int]()
        self.set(settings)

    def set(self, settings: Settings) -> None:
        """Set it otherwise."""
        self._append(Draft(self.loop.name, SETTINGS, "", encode(settings)))

    def wait(self, seconds: float) -> None:
        """Time passes, and what closes is closed."""
        self.at += round(seconds * SECOND)
        self._append(Draft("", TICK, "", b"{}"))

    def decide(self, actions: Sequence[str], event: str | None = None, **ask: Any) -> tuple[str, Decided]:
        """The event, and what was decided."""
        name = f"event {self._last[0]}" if event is None else event
        ((draft, decided),) = self.loop.decide([(Ask(actions=list(actions), event_id=name, **ask), None)])
        self._places[name] = self._append(draft).seq
        return name, decided

    def reward(self, event: str, value: float) -> None:
        """An event was worth so much."""
        self._append(Draft(self.loop.name, REWARD, event, encode(Rewarded(value))), self._places.get(event))

    def _append(self, draft: Draft, of: int | None = None) -> Entry:
        seq, before = self._last
        self.at += 1
        entry = linked(before, seq + 1, self.at, draft, of, b"")
        self._last = entry.seq, entry.sha256
        if self._keep:
            self.entries.append(entry)
        self.loop.observe([entry], NOWHERE)
        return entry
