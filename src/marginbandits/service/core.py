"""The service without its door: what is asked of its loops, what they are set to, and whom they forget.

A decision is made by the model there is, written, and then told. What becomes of it is `following`'s.

Whoever is to be forgotten is looked for twice. What was written until the first erasure has been found by then, early
rewards too; the second takes what came meanwhile. What speaks of a decision goes with it, up to the moment when that is
gone. What comes after is new, and stays.
"""

import asyncio
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from marginbandits.service.explaining import decoded
from marginbandits.service.following import Follower, LateError, UnknownError
from marginbandits.service.journal import ACTIVATION, DECISION, ERASURE, NOTE, POLICY, REWARD, SETTINGS, Draft, Entry
from marginbandits.service.logbook import LOG
from marginbandits.service.loop import Loop, answer, settings_of
from marginbandits.service.model import built, tried, warm
from marginbandits.service.records import (
    Decided,
    Erased,
    Note,
    Past,
    Policy,
    Rewarded,
    Settings,
    changed,
    decode,
    encode,
)
from marginbandits.service.requests import Answer, Ask, Receipt, digest
from marginbandits.service.writer import Appended, FullError

__all__ = ["FORCED", "Change", "ConflictError", "Forgotten", "LateError", "Service", "UnknownError"]

FORCED = "forced, and not judged"
RANGED = "settings: another reward_range"
"""Why a policy decides: it was asked for, and that was all; or rewards are shares of something else."""

_DECIDED = msgspec.json.Decoder(Decided)


class ConflictError(Exception):
    """The same id was used for something else, or what was asked for rests on what is no longer so."""


class Change(NamedTuple):
    """What is named of the settings; the policy that is to decide, if it is another; what is noted beside them."""

    settings: Mapping[str, Any]
    policy: Policy | None = None
    note: Note | None = None


class Forgotten(NamedTuple):
    """How many events and entries; `complete` if the disk has forgotten them, too: else it will be tried again."""

    events: int
    entries: int
    complete: bool


class Service(Follower):
    """Loops over one journal."""

    # What is asked. What came again, and counted once, is counted here: the journal does not have it.

    async def decide(self, name: str, ask: Ask, key: str | None = None) -> Answer:
        """Decide, write, tell. Whoever asks, what is written is what can be read again."""
        loop, there = self.loop(name), None
        try:
            loop.room(self.untaken)
        except FullError:  # what is there already has its answer
            if (there := await asyncio.to_thread(self._before, name, ask.event_id, key)) is None:
                raise
        try:
            ((draft, told),) = self._made(loop, [(ask, key)])
        except ValueError:  # so it has where the loop would refuse it by now
            there = there or await asyncio.to_thread(self._before, name, ask.event_id, key)
            if there is None or (before := _written_for(there, ask)) is None:
                raise
            return self._answered(name, ask.event_id, there.id, before, (there, False))
        decoded(_DECIDED, draft.body)
        return told(await self.writer.append(draft) if there is None else (there, False))

    def _before(self, name: str, event: str | None, key: str | None) -> Entry | None:
        """The decision that was made for a key, or of an event, as the store would find it."""
        if event is None and key is None:
            return None
        asked = Draft(name, DECISION, event or "", b"", _keyed(key))
        there = None if asked.key is None else self.journal.keyed(name, asked.key)
        return self.journal.find(name, event) if there is None and event is not None else there

    async def reward(self, name: str, event: str, value: float, key: str | None = None) -> Receipt:
        """Write what an event was worth."""
        loop = self.loop(name)
        if loop.settings.strict or loop.crowded:
            await asyncio.to_thread(self._known, loop, event)
        draft, told = self.rewarded(loop, event, value, key)
        return told(await self.writer.append(draft))

    def asked(
        self, loop: Loop, asked: Sequence[tuple[Ask, str | None]]
    ) -> list[tuple[Draft, Callable[[Appended], Answer]]]:
        """For requests with their keys: what is to be written, and what is to be told of what has been."""
        loop.room(self.untaken)
        return self._made(loop, asked)

    def _made(
        self, loop: Loop, asked: Sequence[tuple[Ask, str | None]]
    ) -> list[tuple[Draft, Callable[[Appended], Answer]]]:
        keyed = [(ask, _keyed(key)) for ask, key in asked]
        named = [ask.event_id for ask, _ in asked]
        made = zip(named, loop.decide(keyed), strict=True)
        return [
            (draft, partial(self._answered, loop.name, event, draft.id, decided)) for event, (draft, decided) in made
        ]

    def rewarded(
        self, loop: Loop, event: str, value: float, key: str | None
    ) -> tuple[Draft, Callable[[Appended], Receipt]]:
        """The same of a reward; whether its event must be there has been looked at."""
        draft = Draft(loop.name, REWARD, event, encode(Rewarded(value + 0.0)), None if key is None else f"reward:{key}")

        def told(written: Appended) -> Receipt:
            entry, fresh = written
            if not fresh and (entry.kind, entry.id, entry.body) != (REWARD, event, draft.body):
                raise ConflictError(f"key {key!r} was used for something else")
            return self._receipted(loop.name, written)

        return draft, told

    async def activate(self, name: str, event: str) -> Receipt:
        """Write that a deferred decision was used."""
        known = await asyncio.to_thread(self._known, self.loop(name), event)
        key = f"activate:{event}" if known else None  # before its decision, another try may be the one that counts
        return self._receipted(name, await self.writer.append(Draft(name, ACTIVATION, event, b"{}", key)))

    def _receipted(self, name: str, written: Appended) -> Receipt:
        entry, fresh = written
        self.repeated[name, entry.kind] += not fresh
        return Receipt("recorded" if fresh else "repeated", entry.of is not None)

    def _answered(self, name: str, asked: str | None, event: str, decided: Decided, written: Appended) -> Answer:
        entry, fresh = written
        if asked is not None and entry.id != asked:
            raise ConflictError(f"the same key was used for event {entry.id[:80]!r}, and now for {asked[:80]!r}")
        if fresh:
            return answer(event, decided)
        there = _same(entry, event, decided)
        self.repeated[name, DECISION] += 1
        return answer(entry.id, there)

    def _known(self, loop: Loop, event: str) -> bool:
        """Whether an event is there; one that is not is refused where all must be, or where too much waits for such."""
        known = "\0" not in event and self.journal.find(loop.name, event) is not None
        if loop.settings.strict and not known:
            raise UnknownError(f"there is no event {event[:80]!r}")
        if loop.crowded and not known:
            n, most = loop.joiner.n_early, "no more may than events may be open (most_open)"
            raise FullError(f"{n:,} rewards and activations wait for their decisions: {most}")
        return known

    # What is set.

    def set(
        self,
        name: str,
        settings: Settings | Mapping[str, Any],
        policy: Policy | None = None,
        after: Policy | None = None,
    ) -> Loop:
        """Make a loop, or set it otherwise, in what is named; with a policy, that one decides, when it has learnt.

        If `after` is given, only if that is the last policy still: another one comes with settings, which are written
        once after those that there were.
        """
        given = msgspec.to_builtins(settings) if isinstance(settings, Settings) else settings

        def change(_: Settings, deciding: Policy) -> Change:
            if after is not None and deciding.number != after.number:
                raise ConflictError(f"policy {deciding.number} decides since, not {after.number}: ask again")
            return Change(given, policy)

        return self.change(name, change)

    def change(self, name: str, change: Callable[[Settings, Policy], Change]) -> Loop:
        """Set a loop, or make it, by what the journal says it is set to, and which policy decides; it is in force."""
        with self._changing:
            while not self._put(name, self._settings(name), change):
                pass  # another process has set it meanwhile, which this one must not take back
            self._join_in(name)
        self.settle()
        return self.loop(name)

    def made(self, name: str, settings: Settings, policy: Policy | None = None) -> bool:
        """Make a loop where there is none, whoever else makes it now; whether it is as it is made here.

        If it is not, nothing was written. It is there in either case.
        """
        first = Change(msgspec.to_builtins(settings), policy)
        with self._changing:
            won = not (there := self._settings(name)) and self._put(name, there, lambda *_: first)
            self._join_in(name)
        self.settle()
        return won

    def _settings(self, name: str) -> list[Entry]:
        """All that a loop was ever set to, in order."""
        return [one for one in self.journal.changes() if (one.loop, one.kind) == (name, SETTINGS)]

    def _put(self, name: str, own: list[Entry], change: Callable[[Settings, Policy], Change]) -> bool:
        """Write a change of what these left, unless the loop was set since; whether it was written, all of it."""
        written = self.writer.put_all(self._drafts(name, own, change)).result()
        return written[0][1]

    def _drafts(self, name: str, own: list[Entry], change: Callable[[Settings, Policy], Change]) -> list[Draft]:
        """What that is: the key of the first is that of settings after the last of these."""
        before = settings_of(name, own)
        given, policy, note = change(before or Settings(), Policy() if before is None else self.deciding(name))
        settings = changed(before or Settings(), given)
        if before is None:
            policy = policy or Policy()
        elif policy is not None:
            policy = msgspec.structs.replace(policy, reason=policy.reason or FORCED)
        elif settings.reward_range != before.reward_range:
            policy = msgspec.structs.replace(self.deciding(name), reason=RANGED)
        drafts = [Draft(name, SETTINGS, "", encode(settings), f"settings:{own[-1].seq if own else 0}")]
        if policy is not None:
            policy = msgspec.structs.replace(policy, reward_range=settings.reward_range)
            built(policy)  # refused before anything is written
            warm(policy.learner)
        if settings.actions is not None and (policy is not None or "actions" in given):
            tried(policy or self.deciding(name), settings.actions)
        if policy is not None:
            number = self._numbered(name)
            body = encode(msgspec.structs.replace(policy, number=number))
            drafts.append(Draft(name, POLICY, str(number), body, f"policy:{number}", joined=True))
        if note is not None:
            drafts.append(Draft(name, NOTE, note.name, encode(note), joined=True))
        return drafts

    def _numbered(self, name: str) -> int:
        """The number of the next policy: this process has it, whoever else makes one now."""
        number, own = max((one.number for one in self.policies(name)), default=0) + 1, secrets.token_bytes(8)
        while self.journal.first(f"policy/{name}/{number}", own) != own:
            number += 1
        return number

    def last_entry(self) -> int:
        """The number of the last entry."""
        last = self.journal.last()
        return 0 if last is None else last.seq

    def policies(self, name: str) -> list[Policy]:
        """All that a loop ever had, in order."""
        changes = self.journal.changes()
        return [decode(Policy, one.body) for one in changes if (one.loop, one.kind) == (name, POLICY) and one.body]

    def deciding(self, name: str) -> Policy:
        """The last of them: it decides, or will when it has learnt what there is."""
        return self.policies(name)[-1]

    # Whom they forget.

    def erase(self, name: str, unit: str) -> Forgotten:
        """Forget a subject: its decisions, and what speaks of them."""
        subject = hmac.new(self.loop(name).secret, unit.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        events: list[str] = []
        n = 0
        for _ in range(2):
            text = msgspec.json.encode(unit)
            events += [one.id for one in self.journal.holding(name, text) if _of(one, unit)]
            entries = self.journal.speaking(name, events)
            if entries:
                self._forget(Draft(name, ERASURE, "", encode(Erased(entries=entries, subject=subject))))
                n += len({*entries, *(one.seq for seq in entries for one in self.journal.of(seq))})
        return self._receipt(name, Forgotten(len(events), n, self.scrubbed()))

    def erase_all(self, name: str) -> bool:
        """Forget all events of a loop up to now; whether the disk has, too."""
        self.loop(name)
        last = self.journal.last()
        self._forget(Draft(name, ERASURE, "", encode(Erased(until=0 if last is None else last.seq))))
        return self.scrubbed()

    @staticmethod
    def _receipt(name: str, found: Forgotten) -> Forgotten:
        """The same, told to the log."""
        disk = "and nothing is left on the disk" if found.complete else "what the disk still has is tried again"
        LOG.info("%s: erased %d events (%d entries of the journal), %s", name, found.events, found.entries, disk)
        return found

    def _forget(self, erasure: Draft) -> None:
        """Until nothing that is kept was made of what is erased."""
        entry, _ = self.writer.put(erasure).result()
        self.wait(lambda: self.kept >= entry.seq)


def _keyed(key: str | None) -> str | None:
    """A decision's key, as it is in the journal."""
    return None if key is None else f"decide:{key}"


def _of(entry: Entry, unit: str) -> bool:
    """Whether an event that names somebody is theirs; one that cannot be read is."""
    body = entry.body or b""
    try:
        return (decode(Decided, body) if entry.kind == DECISION else decode(Past, body).decided).unit == unit
    except (ValueError, RecursionError):
        return True


def _same(entry: Entry, event: str, decided: Decided) -> Decided:
    """The decision that is there, if it was asked for by the same request as this one."""
    if entry.kind != DECISION or entry.body is None:
        raise ConflictError(f"event {event[:80]!r} was used for something else")
    there = decode(Decided, entry.body)
    if there.request != decided.request and not _alike(_asked(there), _asked(decided)):
        raise ConflictError(f"event {event[:80]!r} was decided for another request")
    return there


def _written_for(entry: Entry, ask: Ask) -> Decided | None:
    """The decision that is there, if it was asked for in just these words."""
    if entry.kind != DECISION or entry.body is None:
        return None
    there = decode(Decided, entry.body)
    return there if there.request == digest(ask) else None


def _asked(one: Decided) -> Any:
    """What a decision was asked for, however that was written."""
    return msgspec.to_builtins([one.context, one.actions, one.excluded, one.baseline, one.deferred, one.unit])


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same as JSON: names in whatever order, 1 and 1.0, but not 1 and true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
