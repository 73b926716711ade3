"""One loop: what is offered becomes a decision, closed events become the model.

The baseline is the first action that is not excluded, unless the request names another. How an action is drawn from the
learner's law is in `draws`; with which probabilities is written down and told.

Everything here but `decide` is for one thread, which follows the journal; what it has come to is kept as a
*checkpoint*, from which a loop goes on with the same model, and the same numbers, as if it had never stopped.
"""

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from marginbandits.service.checkpoint import Checkpoint, DamagedError, opened
from marginbandits.service.draws import draw, draws
from marginbandits.service.join import Closed, Joiner
from marginbandits.service.journal import CHANGES, DECISION, ERASURE, POLICY, SETTINGS, START, Draft, Entry, Journal
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Erased, Offer, Policy, Settings, decode, encode
from marginbandits.service.requests import Answer, Ask, Chance, digest
from marginbandits.service.untaken import Untaken
from marginbandits.service.watch import Watch
from marginbandits.service.writer import FullError

__all__ = ["Loop", "answer", "closings", "read", "rebuilt", "settings_of"]

AT_ONCE = 1000
"""Entries that are read at once."""
LESSONS, LARGEST = 64, 200_000
"""Events that are learnt at once, and bytes of them, if they are several: meanwhile nobody is given a law."""
MOST_ACTIONS = 1000


def read(journal: Journal, after: int = 0, until: int | None = None) -> Iterator[Entry]:
    """All entries after one, up to one, or to the last that there is when this begins: it ends, whatever is written."""
    if until is None:
        until = 0 if (last := journal.last()) is None else last.seq
    while some := journal.entries(after, AT_ONCE, until):
        yield from some
        after = some[-1].seq


class Loop:
    """Settings, model, open events, and what there is to see, of one loop."""

    def __init__(self, name: str, secret: bytes) -> None:
        self.name, self.secret = name, secret
        self.settings, self.model = Settings(), Model(Policy())
        self.joiner, self.watch = Joiner(name), Watch()
        self.seen, self._head = 0, START
        self.closed_last = (0, 0)
        self._open_elsewhere = 0  # at the process that learns, where this is another

    # Deciding.

    def room(self, untaken: Untaken) -> None:
        """Whether one more event may be open: those count, too, that were decided here and are not taken in."""
        fresh = untaken.after(self.name, self.seen)
        n_open, most = self.joiner.n_open + self._open_elsewhere + fresh, self.settings.most_open
        if n_open >= most:
            raise FullError(f"{n_open:,} events of this loop are open, and it may have {most:,} (most_open)")

    @property
    def crowded(self) -> bool:
        """Whether as many rewards and activations wait for their decisions as events may be open."""
        return self.joiner.n_early >= self.settings.most_open

    def decide(self, asked: Sequence[tuple[Ask, str | None]]) -> list[tuple[Draft, Decided]]:
        """Requests with their keys: of each what is to be written before its answer leaves, and what that says.

        If one of them is refused, all are.
        """
        settings, model = self.settings, self.model
        offers = [_offer(ask, settings) for ask, _ in asked]
        laws, learnt = model.laws([(ask.context, offer.offered) for (ask, _), offer in zip(asked, offers, strict=True)])
        several = zip(asked, offers, laws, strict=True)
        return [self._decided(ask, key, offer, settings, model, law, learnt) for (ask, key), offer, law in several]

    def _decided(
        self,
        ask: Ask,
        key: str | None,
        offer: "_Offer",
        settings: Settings,
        model: Model,
        law: list[float],
        learnt: int,
    ) -> tuple[Draft, Decided]:
        actions, kept, excluded, _, baseline = offer
        event = ask.event_id if ask.event_id is not None else _fresh_id()
        chance = settings.mode, settings.exploration, settings.holdback
        drawn = draw(draws(self.secret, event, model.erasure), law, kept, baseline, len(actions), *chance)
        body = Decided(
            request=digest(ask),
            context=ask.context,
            actions=actions,
            probabilities=drawn.probabilities,
            law=law,
            chosen=drawn.chosen,
            baseline=baseline,
            policy=model.policy.number,
            learnt=learnt,
            window=settings.window,
            default=settings.default,
            reward_range=settings.reward_range,
            aggregation=settings.aggregation,
            mode=settings.mode,
            exploration=settings.exploration,
            holdback=settings.holdback,
            held=drawn.held,
            excluded=excluded,
            shadow=drawn.shadow,
            deferred=ask.deferred,
            unit=ask.unit,
            erasure=model.erasure,
        )
        return Draft(self.name, DECISION, event, encode(body), key), body

    # Following the journal.

    def observe(self, entries: Iterable[Entry], journal: Journal) -> None:
        """Take in the next entries; events are learnt in groups, in the order in which they close."""
        lessons: list[Closed] = []
        for entry in entries:
            changes = entry.loop == self.name and entry.body is not None and entry.kind in CHANGES
            if changes and entry.kind == ERASURE:  # if this is interrupted, what has been counted is not lost with it
                self._learn(lessons)
                self.keep(journal)
            lessons += self._count(entry)
            if changes or len(lessons) >= LESSONS:
                self._learn(lessons)
            if changes:
                self.change(entry, journal)
        self._learn(lessons)

    def _learn(self, lessons: list[Closed]) -> None:
        for some in _groups(lessons, self.model.policy.since):
            self.model.learn(some)
        lessons.clear()

    def _count(self, entry: Entry) -> list[Closed]:
        """Join it, and count what there is to see; the events that it closes."""
        own = entry.loop == self.name and entry.body is not None
        decided = self.joiner.read(Decided, entry) if own and entry.kind == DECISION else None
        unreadable = own and entry.kind == DECISION and decided is None
        taken = msgspec.structs.replace(entry, body=None) if unreadable else entry
        fresh = [one for one in self.joiner.observe(taken, decided) if (one.closes, one.seq) > self.closed_last]
        for closed in fresh:
            self.closed_last = (closed.closes, closed.seq)
            if closed.reason != "past":
                self.watch.closed(closed)
        self.seen, self._head = entry.seq, entry.sha256
        if decided is not None:
            self.watch.decision(entry, decided)
        return fresh

    def change(self, entry: Entry, journal: Journal) -> None:
        """Take in settings, a policy or an erasure; a model that is not what it was is learnt from the journal."""
        if entry.kind == SETTINGS and entry.body is not None:
            self.settings = decode(Settings, entry.body)
            self.watch.settings(self.settings)
        elif entry.kind == POLICY and entry.body is not None:
            policy = decode(Policy, entry.body)
            if policy.number != self.model.policy.number:
                self.model = rebuilt(self.name, policy, journal, entry.seq)
        elif entry.kind == ERASURE and entry.body is not None:
            self._forget(entry, decode(Erased, entry.body), journal)
            self.model = rebuilt(self.name, self.model.policy, journal, entry.seq)

    def _forget(self, entry: Entry, erased: Erased, journal: Journal) -> None:
        """Bodies go, then open events are read again without them; sums, in which nobody is seen, stay."""
        spared = set(erased.spared)
        journal.erase([*erased.entries, *(seq for seq in journal.kept(self.name, erased.until) if seq not in spared)])
        joiner = Joiner(self.name)
        for one in read(journal, self.joiner.first_seq(entry.seq) - 1, entry.seq):
            joiner.observe(one)
        joiner.counts = self.joiner.counts
        self.joiner = joiner  # whole: others look at it meanwhile
        own = (one for one in read(journal, 0, entry.seq) if (one.loop, one.kind) == (self.name, DECISION) and one.body)
        decided = (Joiner(self.name).read(Decided, one) for one in own)
        self.watch.forget(erased, (one for one in decided if one is not None))

    def retrace(self, journal: Journal, until: int | None = None) -> Policy:
        """All but the model, from the journal alone, and the policy that decides then.

        Of those who were erased nothing is known here, so sums begin anew with each erasure: of what remains of events
        before, whoever asked to be forgotten would have chosen which count.
        """
        policy = self.model.policy
        for entry in read(journal, 0, until):
            self._count(entry)
            if entry.loop == self.name and entry.body is not None:
                if entry.kind == POLICY:
                    policy = decode(Policy, entry.body)
                elif entry.kind == ERASURE:
                    self._forget(entry, decode(Erased, entry.body), journal)
                    self.joiner.counts.clear()
                    self.watch.anew(entry.seq)
                else:
                    self.change(entry, journal)
        return policy

    @property
    def closed_at(self) -> int:
        """When the window of the last event that was taken in closed; 0 before the first."""
        return self.closed_last[0]

    # Checkpoints.

    def checkpoint(self) -> bytes:
        """Where it stands."""
        model, sha256 = self.model.dumps()
        return msgspec.msgpack.encode(
            Checkpoint(
                policy=self.model.policy.number,
                learnt=self.model.learnt,
                skipped=self.model.skipped,
                model=model,
                sha256=sha256,
                seen=self.seen,
                head=self._head,
                first=self.joiner.first_seq(self.seen + 1),
                open=self.joiner.n_open,
                closed=self.closed_last,
                counts=dict(self.joiner.counts),
                watch=self.watch.dumps(),
            )
        )

    def keep(self, journal: Journal) -> None:
        """Keep that."""
        journal.keep(f"checkpoint/{self.name}", self.checkpoint())

    def restore(self, journal: Journal, checkpoint: bytes | None) -> None:
        """As it stood, and on to what is the end of the journal now; without a checkpoint from the beginning."""
        if checkpoint is None:
            policy = self.retrace(journal)
            self.model = rebuilt(self.name, policy, journal, self.seen)
            return
        kept, changes = opened(checkpoint), journal.changes()
        kept.follows(journal, self.name)
        kept.forgets(journal, self.name, changes)
        self._resume(kept, changes)
        for entry in read(journal, kept.first - 1, kept.seen):
            self.joiner.observe(entry)
        self.joiner.counts = Counter(kept.counts)
        self.observe(read(journal, self.seen), journal)

    def follow(self, journal: Journal, checkpoint: bytes | None) -> None:
        """As another process left it, with today's settings; before the first checkpoint nothing is learnt."""
        changes = journal.changes()
        if checkpoint is not None:
            kept = opened(checkpoint)
            kept.forgets(journal, self.name, changes)
            self._resume(kept, changes)
            self.joiner.counts, self._open_elsewhere = Counter(kept.counts), kept.open
        self._set([one for one in changes if one.kind == SETTINGS or checkpoint is None])

    def _resume(self, kept: Checkpoint, changes: list[Entry]) -> None:
        self._set([one for one in changes if one.seq <= kept.seen])
        if kept.policy != self.model.policy.number:
            raise DamagedError(f"its policy is {kept.policy}, not {self.model.policy.number}")
        try:
            self.model.loads(kept.model, kept.learnt, kept.skipped)
            self.watch = Watch.loads(kept.watch)
        except (msgspec.MsgspecError, ValueError) as error:
            raise DamagedError(str(error)) from None
        self.model.erasure = _last_erasure(self.name, changes, kept.seen)
        self.closed_last, self.seen, self._head = kept.closed, kept.seen, kept.head

    def _set(self, changes: list[Entry]) -> None:
        """Settings and policy as these leave them; a policy has learnt nothing yet."""
        for one in changes:
            if one.loop == self.name and one.body is not None:
                if one.kind == SETTINGS:
                    self.settings = decode(Settings, one.body)
                elif one.kind == POLICY:
                    self.model = Model(decode(Policy, one.body))


def settings_of(name: str, changes: list[Entry]) -> Settings | None:
    """Those of a loop as these changes leave them; None before its first."""
    found = [one.body for one in changes if (one.loop, one.kind) == (name, SETTINGS) and one.body is not None]
    return decode(Settings, found[-1]) if found else None


def closings(journal: Journal, name: str, until: int | None = None) -> Iterator[Closed]:
    """All events of a loop that have closed by entry `until`, or by now, in order, from the journal alone."""
    joiner = Joiner(name)
    for entry in read(journal, 0, until):
        yield from joiner.observe(entry)


def rebuilt(name: str, policy: Policy, journal: Journal, until: int) -> Model:
    """The model of a policy as it is after entry `until`."""
    model = Model(policy)
    for some in _groups(closings(journal, name, until), policy.since):
        model.learn(some)
    model.erasure = _last_erasure(name, journal.changes(), until)
    return model


def _groups(events: Iterable[Closed], since: int) -> Iterator[list[Closed]]:
    """Those decided after entry `since`, in order, as they are learnt at once: however many close at once."""
    some: list[Closed] = []
    size = 0
    for one in events:
        if one.seq > since:
            if some and (len(some) == LESSONS or size + one.size > LARGEST):
                yield some
                some, size = [], 0
            some.append(one)
            size += one.size
    if some:
        yield some


def _last_erasure(name: str, changes: list[Entry], until: int) -> int:
    return max((one.seq for one in changes if (one.loop, one.kind) == (name, ERASURE) and one.seq <= until), default=0)


class _Offer(NamedTuple):
    """All actions; the places of those that are offered, and of those that are not; what is offered; the baseline."""

    actions: list[Offer]
    kept: list[int]
    excluded: list[int]
    offered: list[Offer]
    baseline: int


def _offer(ask: Ask, settings: Settings) -> _Offer:
    given = settings.actions if ask.actions is None else ask.actions
    if not given:
        raise ValueError("actions must be one or more: the request has none, and the loop has none of its own")
    if len(given) > MOST_ACTIONS:
        raise ValueError(f"actions must be at most {MOST_ACTIONS}, got {len(given)}")
    actions = [Offer(one) if isinstance(one, str) else one for one in given]
    places = {one.id: place for place, one in enumerate(actions)}
    if len(places) < len(actions):
        raise ValueError("actions must have ids that differ")
    kept, excluded, offered = list(range(len(actions))), [], actions
    if ask.excluded:
        excluded = sorted({_place("excluded", one, places) for one in ask.excluded})
        out = set(excluded)
        kept = [place for place in kept if place not in out]
        offered = [actions[place] for place in kept]
        actions = [Offer(one.id) if place in out else one for place, one in enumerate(actions)]  # nobody reads more
    if not kept:
        raise ValueError("at least one action must not be excluded")
    baseline = kept[0] if ask.baseline is None else _place("baseline", ask.baseline, places)
    if baseline in excluded:
        raise ValueError(f"baseline must not be excluded, got {ask.baseline!r}")
    return _Offer(actions, kept, excluded, offered, baseline)


def _fresh_id() -> str:
    """48 bits of the time and 80 of chance: what is new is near to what is new in an index, too."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def _place(name: str, action: str, places: dict[str, int]) -> int:
    if action not in places:
        raise ValueError(f"{name} must be among the actions, got {action[:80]!r}")
    return places[action]


def answer(event: str, decided: Decided) -> Answer:
    """What is told of a decision that has been written."""
    ids, probabilities = [one.id for one in decided.actions], decided.probabilities
    order = sorted(range(len(ids)), key=lambda place: (place != decided.chosen, -probabilities[place], place))
    return Answer(
        event_id=event,
        action=ids[decided.chosen],
        probability=probabilities[decided.chosen],
        ranking=[Chance(ids[place], probabilities[place]) for place in order],
        model=f"{decided.policy}.{decided.learnt}",
        held=decided.held,
    )
