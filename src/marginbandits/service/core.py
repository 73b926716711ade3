"""The service without its door: a journal, one thread that writes it, one that follows it, and the loops.

A decision is made by the model there is, written, and then told. The follower reads the journal from its own place in
it, closes events, learns them, and keeps checkpoints: however long it takes, nobody waits for it. Where time passes and
nobody writes, it writes a tick, so that windows close.
"""

import hashlib
import logging
import secrets
import threading
import time

import msgspec

from marginbandits.service.journal import (
    ACTIVATION,
    CHANGES,
    DECISION,
    ERASURE,
    POLICY,
    REWARD,
    SETTINGS,
    TICK,
    Draft,
    Entry,
    Journal,
    now,
)
from marginbandits.service.loop import AT_ONCE, Loop, answer, read
from marginbandits.service.model import built
from marginbandits.service.records import Decided, Erased, Policy, Rewarded, Settings, decode, encode
from marginbandits.service.requests import Answer, Ask, Receipt
from marginbandits.service.writer import Writer

__all__ = ["ConflictError", "Service", "UnknownError"]

EVENTS = (DECISION, REWARD, ACTIVATION)
CHECKPOINTS = 10.0
"""Seconds between two checkpoints of a loop that learns."""
_LOOK = 0.2
_LOG = logging.getLogger("marginbandits.service")


class ConflictError(Exception):
    """The same id was used for something else."""


class UnknownError(Exception):
    """There is no such loop, event or policy."""


class Service:
    """Loops over one journal."""

    def __init__(self, journal: Journal, *, checkpoints: float = CHECKPOINTS) -> None:
        self.journal, self._checkpoints = journal, checkpoints
        self._wake, self._ended = threading.Event(), threading.Event()
        self._changing = threading.RLock()
        self.failure: BaseException | None = None
        self.loops: dict[str, Loop] = {}
        for name in dict.fromkeys(one.loop for one in journal.changes()):
            self.loops[name] = self._started(name)
        last = journal.last()
        self.seen = 0 if last is None else last.seq
        self.writer = Writer(journal, self._wake.set)
        self._follower = threading.Thread(target=self._follow, name="follower", daemon=True)
        self._follower.start()

    def _started(self, name: str) -> Loop:
        secret = self.journal.fact(f"secret/{name}")
        if secret is None:
            secret = secrets.token_bytes(32)
            self.journal.put(f"secret/{name}", secret)
        loop = Loop(name, secret)
        loop.restore(self.journal, self.journal.fact(f"checkpoint/{name}"))
        return loop

    def loop(self, name: str) -> Loop:
        """The loop of this name."""
        found = self.loops.get(name)
        if found is None:
            raise UnknownError(f"there is no loop {name[:80]!r}")
        return found

    # What is asked.

    async def decide(self, name: str, ask: Ask, key: str | None = None) -> Answer:
        """Decide, write, tell."""
        draft = self.loop(name).decide(ask, None if key is None else f"decide:{key}")
        entry, fresh = await self.writer.append(draft)
        if not fresh:
            _same(entry, draft)
        return answer(entry)

    async def reward(self, name: str, event: str, value: float, key: str | None = None) -> Receipt:
        """Write what an event was worth."""
        loop = self.loop(name)
        if loop.settings.strict and self.journal.find(name, event) is None:
            raise UnknownError(f"there is no event {event[:80]!r}")
        draft = Draft(name, REWARD, event, encode(Rewarded(value)), None if key is None else f"reward:{key}")
        entry, fresh = await self.writer.append(draft)
        if not fresh and (entry.kind, entry.id, entry.body) != (REWARD, event, draft.body):
            raise ConflictError(f"key {key!r} was used for something else")
        return Receipt("recorded" if fresh else "repeated", entry.of is not None)

    async def activate(self, name: str, event: str) -> Receipt:
        """Write that a deferred decision was used."""
        loop = self.loop(name)
        if loop.settings.strict and self.journal.find(name, event) is None:
            raise UnknownError(f"there is no event {event[:80]!r}")
        entry, fresh = await self.writer.append(Draft(name, ACTIVATION, event, b"{}", f"activate:{event}"))
        return Receipt("recorded" if fresh else "repeated", entry.of is not None)

    # What is set.

    def set(self, name: str, settings: Settings, policy: Policy | None = None) -> Loop:
        """Make a loop, or set it otherwise; with a policy, that one decides from now on, when it has learnt."""
        with self._changing:
            loop = self.loops.get(name)
            if loop is None:
                policy = policy or Policy()
            elif policy is None and settings.reward_range != loop.settings.reward_range:
                policy = loop.model.policy
            if policy is not None:
                number = max((one.number for one in self.policies(name)), default=0) + 1
                policy = msgspec.structs.replace(policy, number=number, reward_range=settings.reward_range)
                built(policy)  # refused before anything is written
            self._write(Draft(name, SETTINGS, "", encode(settings)))
            if policy is not None:
                self._write(Draft(name, POLICY, str(policy.number), encode(policy)))
            if loop is None:
                self.loops[name] = loop = self._started(name)
            return loop

    def policies(self, name: str) -> list[Policy]:
        """All that a loop ever had, in order."""
        changes = self.journal.changes()
        return [decode(Policy, one.body) for one in changes if (one.loop, one.kind) == (name, POLICY) and one.body]

    def erase(self, name: str, unit: str) -> Erased:
        """Forget a subject: its decisions, and what speaks of them."""
        self.loop(name)
        entries: list[int] = []
        events: list[str] = []
        for entry in read(self.journal):
            own = entry.loop == name and entry.kind == DECISION and entry.body is not None
            if own and decode(Decided, entry.body or b"").unit == unit:
                entries += [entry.seq, *(one.seq for one in self.journal.of(entry.seq))]
                events.append(entry.id)
        return self._erase(name, Erased(entries, events, hashlib.sha256(unit.encode()).hexdigest()))

    def erase_all(self, name: str) -> Erased:
        """Forget everybody: all decisions, and what speaks of them."""
        self.loop(name)
        own = [one for one in read(self.journal) if one.loop == name and one.kind in EVENTS and one.body is not None]
        events = [one.id for one in own if one.kind == DECISION]
        return self._erase(name, Erased([one.seq for one in own], events, ""))

    def _erase(self, name: str, erased: Erased) -> Erased:
        self._write(Draft(name, ERASURE, "", encode(erased)))
        self.settle()
        return erased

    def _write(self, draft: Draft) -> Entry:
        return self.writer.put(draft).result()[0]

    # Following.

    def settle(self) -> None:
        """Wait until everything written so far has been taken in."""
        last = self.journal.last()
        while last is not None and self.seen < last.seq and self._follower.is_alive():
            self._wake.set()
            time.sleep(0.005)

    def _follow(self) -> None:
        due = time.monotonic() + self._checkpoints
        try:
            while not self._ended.is_set():
                self._wake.wait(_LOOK)
                self._wake.clear()
                self._catch_up()
                if self._overdue():
                    self.writer.put(Draft("", TICK, "", b"{}"))
                if time.monotonic() >= due:
                    self._keep()
                    due = time.monotonic() + self._checkpoints
            self._catch_up()
            self._keep()
        except BaseException as error:
            self.failure = error
            _LOG.exception("learning has stopped; decisions go on with the model there is")

    def _catch_up(self) -> None:
        while some := self.journal.entries(self.seen, AT_ONCE):
            for entry in some:
                for loop in list(self.loops.values()):
                    if entry.seq > loop.seen:
                        loop.observe(entry, self.journal)
                if entry.kind in CHANGES and entry.loop not in self.loops and self._ended.is_set() is False:
                    with self._changing:
                        self.loops.setdefault(entry.loop, self._started(entry.loop))
                self.seen = entry.seq

    def _overdue(self) -> bool:
        return any((at := loop.joiner.next_close) is not None and at <= now() for loop in self.loops.values())

    def _keep(self) -> None:
        for name, loop in self.loops.items():
            self.journal.put(f"checkpoint/{name}", loop.checkpoint())

    def close(self) -> None:
        """Write what waits, learn what is closed, keep it, end."""
        self.writer.close()
        self._ended.set()
        self._wake.set()
        self._follower.join()
        self.journal.close()


def _same(entry: Entry, draft: Draft) -> None:
    """Whether a decision that is there was asked for by the same request."""
    if entry.kind != DECISION or entry.body is None:
        raise ConflictError(f"event {draft.id[:80]!r} was used for something else")
    if decode(Decided, entry.body).request != decode(Decided, draft.body).request:
        raise ConflictError(f"event {draft.id[:80]!r} was decided for another request")
