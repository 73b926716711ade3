"""The service without its door: a journal, one thread that writes it, one that follows it, and the loops.

A decision is made by the model there is, written, and then told. The follower reads the journal from its own place in
it, closes events, learns them, and keeps checkpoints: however long it takes, nobody waits for it. Where time passes and
nobody writes, it writes a tick, so that windows close.

Where several processes serve one journal, one of them *leads*: it follows, and keeps a checkpoint every second. The
others take the model of the latest checkpoint, every second, and the settings of the journal; so they decide with a
model that is at most 3 seconds behind that of the leader. When the leader is gone, another takes over from its
checkpoint. Should two ever lead, they learn the same twice: the model is a function of the journal.
"""

import contextlib
import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Iterator

import msgspec

from marginbandits.service.journal import (
    ACTIVATION,
    DECISION,
    ERASURE,
    EVENTS,
    POLICY,
    REWARD,
    SETTINGS,
    TICK,
    Draft,
    Entry,
    Journal,
    JournalError,
    now,
)
from marginbandits.service.loop import AT_ONCE, DamagedError, Loop, answer, read
from marginbandits.service.model import built, warm
from marginbandits.service.records import Decided, Erased, Policy, Rewarded, Settings, decode, encode
from marginbandits.service.requests import Answer, Ask, Receipt
from marginbandits.service.writer import FullError, Writer

__all__ = ["ConflictError", "Service", "UnknownError"]

CHECKPOINTS, SHARED = 10.0, 1.0
"""Seconds between two checkpoints of a loop that learns: alone, and where other processes decide by them."""
RETIRING = 3600.0
"""Seconds between two looks at what is too old to be kept."""
_LOOK, _PAUSE = 0.2, 0.02
_LOG = logging.getLogger("marginbandits.service")


class ConflictError(Exception):
    """The same id was used for something else."""


class UnknownError(Exception):
    """There is no such loop, event or policy."""


class Service:
    """Loops over one journal."""

    def __init__(self, journal: Journal, *, checkpoints: float | None = None) -> None:
        self.journal = journal
        self._checkpoints = checkpoints if checkpoints is not None else SHARED if journal.shared else CHECKPOINTS
        self._wake, self._ended = threading.Event(), threading.Event()
        self._changing = threading.RLock()
        self.failure: BaseException | None = None
        self.loops: dict[str, Loop] = {}
        self.leads: bool | None = None  # not known yet
        self.seen, self._kept = 0, 0
        self._due, self._retiring = time.monotonic() + self._checkpoints, 0.0
        self.writer = Writer(journal, self._wake.set)
        self._take_turn()
        self._follower = threading.Thread(target=self._follow, name="follower", daemon=True)
        self._follower.start()

    def _started(self, name: str) -> Loop:
        secret = self.journal.fact(f"secret/{name}") or self.journal.first(f"secret/{name}", secrets.token_bytes(32))
        loop, checkpoint = Loop(name, secret), self.journal.fact(f"checkpoint/{name}")
        try:
            if self.leads:
                loop.restore(self.journal, checkpoint)
            else:
                loop.follow(checkpoint, self.journal.changes())
        except DamagedError as error:
            _LOG.warning("%s: its model is learnt again from the journal", error)
            loop = Loop(name, secret)
            loop.restore(self.journal, None)
        warm(loop.model.policy.learner)
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
                policy = msgspec.structs.replace(policy, reward_range=settings.reward_range)
                built(policy)  # refused before anything is written
                warm(policy.learner)
            self._write(Draft(name, SETTINGS, "", encode(settings)))
            while policy is not None:
                number = str(max((one.number for one in self.policies(name)), default=0) + 1)
                body = encode(msgspec.structs.replace(policy, number=int(number)))
                _, fresh = self._write(Draft(name, POLICY, number, body, f"policy:{number}"))
                if fresh:  # else another process was first
                    break
            if loop is None:
                self.loops[name] = loop = self._started(name)
        self.settle()
        return self.loop(name)

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
        erased = Erased(entries, events, hashlib.sha256(unit.encode("utf-8", "surrogatepass")).hexdigest())
        self._write(Draft(name, ERASURE, "", encode(erased)))
        self.settle()
        return erased

    def erase_until(self, name: str, until: int | None = None) -> None:
        """Forget all events of a loop up to an entry, or up to now; the model learns anew."""
        self.loop(name)
        last = self.journal.last()
        end = until if until is not None else 0 if last is None else last.seq
        self._write(Draft(name, ERASURE, "", encode(Erased(until=end))))
        self.settle()

    def _retire(self) -> None:
        """Forget what is older than its loop keeps, and has closed."""
        for name, loop in list(self.loops.items()):
            if loop.settings.retention_days is not None:
                oldest = now() - round(loop.settings.retention_days * 86400e6)
                first = loop.joiner.first_seq(self.seen + 1)
                old = [one for one in _older(self.journal, oldest, first) if one.loop == name and one.body is not None]
                if any(one.kind in EVENTS for one in old):
                    self.writer.put(Draft(name, ERASURE, "", encode(Erased(until=old[-1].seq))))

    def _write(self, draft: Draft) -> tuple[Entry, bool]:
        return self.writer.put(draft).result()

    # Following.

    def settle(self) -> None:
        """Wait until everything written so far has been taken in."""
        last = self.journal.last()
        while last is not None and self.seen < last.seq and self._follower.is_alive():
            self._wake.set()
            time.sleep(0.005)

    def _follow(self) -> None:
        try:
            while not self._ended.is_set():
                self._wake.wait(_LOOK)
                self._ended.wait(_PAUSE)
                self._wake.clear()
                self._try_turn()
            if self.leads:
                self._due = 0.0
                self._try_turn()
        except BaseException as error:
            self.failure = error
            _LOG.exception("learning has stopped; decisions go on with the model there is")

    def _try_turn(self) -> None:
        try:
            self._take_turn()
        except JournalError as error:
            self.leads = False  # what is half taken in is read again, from the checkpoint
            _LOG.warning("%s", error)
            self._ended.wait(_LOOK)

    def _take_turn(self) -> None:
        """Follow the journal as far as it goes, if this process leads; else follow the one that does."""
        leads, due = self.journal.lead(), time.monotonic() >= self._due
        if leads != self.leads or (due and not leads):
            with self._changing:
                self.leads = leads
                names = dict.fromkeys(one.loop for one in self.journal.changes())
                self.loops = {name: self._started(name) for name in names}
                self.seen = min((loop.seen for loop in self.loops.values()), default=0)
        if leads:
            if not self._catch_up() and self._overdue():
                with contextlib.suppress(FullError):  # then others write
                    self.writer.put(Draft("", TICK, "", b"{}"))
            if due and self.seen != self._kept:
                self._keep()
            if time.monotonic() >= self._retiring:
                self._retiring = time.monotonic() + RETIRING
                self._retire()
        if due:
            self._due = time.monotonic() + self._checkpoints

    def _catch_up(self) -> bool:
        """Every loop up to the end of the journal, one that was made meanwhile from where it is; whether any is new."""
        before = self.seen
        while (last := self.journal.last()) is not None and self.seen < last.seq:
            for entry in self.journal.entries(self.seen, AT_ONCE):
                for loop in list(self.loops.values()):
                    for one in (entry,) if loop.seen == entry.seq - 1 else read(self.journal, loop.seen, entry.seq):
                        loop.observe(one, self.journal)
                if entry.kind == SETTINGS and entry.loop not in self.loops:
                    self._join_in(entry.loop)
                self.seen = entry.seq
        return self.seen > before

    def _join_in(self, name: str) -> None:
        """A loop that another process made."""
        with self._changing:
            if name not in self.loops:
                self.loops[name] = self._started(name)

    def _overdue(self) -> bool:
        return any((at := loop.joiner.next_close) is not None and at <= now() for loop in self.loops.values())

    def _keep(self) -> None:
        for name, loop in self.loops.items():
            self.journal.put(f"checkpoint/{name}", loop.checkpoint())
        self._kept = self.seen

    def close(self) -> None:
        """Write what waits, learn what is closed, keep it, end."""
        self.writer.close()
        self._ended.set()
        self._wake.set()
        self._follower.join()
        self.journal.close()


def _older(journal: Journal, at: int, before: int) -> Iterator[Entry]:
    """Entries earlier than a time, and before one."""
    for entry in read(journal, 0, before - 1):
        if entry.at >= at:
            return
        yield entry


def _same(entry: Entry, draft: Draft) -> None:
    """Whether a decision that is there was asked for by the same request."""
    if entry.kind != DECISION or entry.body is None:
        raise ConflictError(f"event {draft.id[:80]!r} was used for something else")
    if decode(Decided, entry.body).request != decode(Decided, draft.body).request:
        raise ConflictError(f"event {draft.id[:80]!r} was decided for another request")
