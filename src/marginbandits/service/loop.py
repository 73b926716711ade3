"""One loop: what is offered becomes a decision, closed events become the model.

The baseline is the first action that is not excluded, unless the request names another. How an action is drawn from the
learner's law is in `draws`; with which probabilities is written down and told.

Everything here but `decide` is for one thread, which follows the journal; what it has come to is kept as a
*checkpoint*, from which a loop goes on with the same model, and the same numbers, as if it had never stopped.
"""

import hashlib
import uuid
from collections.abc import Iterator

import msgspec

from marginbandits.service.draws import draw, draws
from marginbandits.service.join import Closed, Joiner
from marginbandits.service.journal import DECISION, ERASURE, EVENTS, POLICY, SETTINGS, Draft, Entry, Journal
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Erased, Offer, Policy, Settings, decode, encode
from marginbandits.service.requests import Answer, Ask, Chance
from marginbandits.service.watch import Watch

__all__ = ["DamagedError", "Loop", "answer", "read", "rebuilt"]

AT_ONCE = 1000
MOST_ACTIONS = 1000


class DamagedError(Exception):
    """A checkpoint that is not what was written; everything in it can be made again."""


class Checkpoint(msgspec.Struct, frozen=True):
    """Where a loop stood after entry `seen`: what was closed last, and from where open events are to be read again."""

    policy: int
    learnt: int
    skipped: int
    model: bytes
    sha256: str
    seen: int
    first: int
    closed: tuple[int, int]
    counts: dict[str, int]
    watch: bytes


def read(journal: Journal, after: int = 0, until: int | None = None) -> Iterator[Entry]:
    """All entries after one."""
    while some := journal.entries(after, AT_ONCE, until):
        yield from some
        after = some[-1].seq


class Loop:
    """Settings, model, open events, and what there is to see, of one loop."""

    def __init__(self, name: str, secret: bytes) -> None:
        self.name, self.secret = name, secret
        self.settings, self.model = Settings(), Model(Policy())
        self.joiner, self.watch = Joiner(name), Watch()
        self.seen = 0
        self._closed = (0, 0)

    # Deciding.

    def decide(self, ask: Ask, key: str | None = None) -> Draft:
        """What is to be written before the answer leaves."""
        settings, model = self.settings, self.model
        actions = _offers(ask, settings)
        places = {one.id: place for place, one in enumerate(actions)}
        if len(places) < len(actions):
            raise ValueError("actions must have ids that differ")
        excluded = sorted({_place("excluded", one, places) for one in ask.excluded})
        kept = [place for place in range(len(actions)) if place not in excluded]
        if not kept:
            raise ValueError("at least one action must not be excluded")
        baseline = kept[0] if ask.baseline is None else _place("baseline", ask.baseline, places)
        if baseline in excluded:
            raise ValueError(f"baseline must not be excluded, got {ask.baseline!r}")
        law, learnt = model.law(ask.context, [actions[place] for place in kept])
        event = ask.event_id if ask.event_id is not None else uuid.uuid4().hex
        chance = settings.mode, settings.exploration, settings.holdback
        drawn = draw(draws(self.secret, event), law, kept, baseline, len(actions), *chance)
        body = Decided(
            request=hashlib.sha256(msgspec.json.encode(ask)).hexdigest(),
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
        return Draft(self.name, DECISION, event, encode(body), key)

    # Following the journal.

    def observe(self, entry: Entry, journal: Journal) -> None:
        """Take in the next entry."""
        for closed in self.joiner.observe(entry):
            self._learn(closed)
        self.seen = entry.seq
        if entry.loop != self.name or entry.body is None:
            return
        if entry.kind == DECISION:
            self.watch.decision(entry, decode(Decided, entry.body))
        else:
            self.change(entry, journal)

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

    def _forget(self, entry: Entry, erased: Erased, journal: Journal) -> None:
        """Bodies go, and then everything that was made of them is made again without them."""
        old = (one for one in read(journal, 0, erased.until) if one.loop == self.name and one.kind in EVENTS)
        journal.erase([*erased.entries, *(one.seq for one in old if one.body is not None)])
        counts, first = self.joiner.counts, self.joiner.first_seq(entry.seq)
        self.joiner = Joiner(self.name)
        for one in read(journal, first - 1, entry.seq):
            self.joiner.observe(one)
        self.joiner.counts = counts
        self.watch.forget(set(erased.events), erased.until)
        self.model = rebuilt(self.name, self.model.policy, journal, entry.seq)

    def _learn(self, closed: Closed) -> None:
        key = (closed.closes, closed.seq)
        if key > self._closed:
            self._closed = key
            if closed.seq > self.model.policy.since:
                self.model.learn(closed)
            if closed.reason != "past":
                self.watch.closed(closed)

    @property
    def closed_at(self) -> int:
        """When the window of the last event that was taken in closed; 0 before the first."""
        return self._closed[0]

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
                first=self.joiner.first_seq(self.seen + 1),
                closed=self._closed,
                counts=dict(self.joiner.counts),
                watch=self.watch.dumps(),
            )
        )

    def restore(self, journal: Journal, checkpoint: bytes | None) -> None:
        """As it stood, and on to the end of the journal; without a checkpoint from the beginning."""
        if checkpoint is not None:
            kept = self._resume(checkpoint, journal.changes())
            for entry in read(journal, kept.first - 1, kept.seen):
                self.joiner.observe(entry)
            self._count(kept)
        for entry in read(journal, self.seen):
            self.observe(entry, journal)

    def follow(self, checkpoint: bytes | None, changes: list[Entry]) -> None:
        """As another process left it, with today's settings; before the first checkpoint nothing is learnt."""
        if checkpoint is not None:
            self._count(self._resume(checkpoint, changes))
        self._set([one for one in changes if one.kind == SETTINGS or checkpoint is None])

    def _resume(self, checkpoint: bytes, changes: list[Entry]) -> Checkpoint:
        try:
            kept = msgspec.msgpack.decode(checkpoint, type=Checkpoint)
            self._set([one for one in changes if one.seq <= kept.seen])
            if hashlib.sha256(kept.model).hexdigest() != kept.sha256 or kept.policy != self.model.policy.number:
                raise ValueError("its model is another")
            self.model.loads(kept.model, kept.learnt, kept.skipped)
            self.watch = Watch.loads(kept.watch)
        except (msgspec.MsgspecError, ValueError) as error:
            raise DamagedError(f"the checkpoint of {self.name!r} is damaged ({error})") from None
        gone = [one.seq for one in changes if (one.loop, one.kind) == (self.name, ERASURE) and one.seq <= kept.seen]
        self.model.erasure = max(gone, default=0)
        self._closed = kept.closed
        self.seen = kept.seen
        return kept

    def _count(self, kept: Checkpoint) -> None:
        self.joiner.counts.clear()
        self.joiner.counts.update(kept.counts)

    def _set(self, changes: list[Entry]) -> None:
        """Settings and policy as these leave them; a policy has learnt nothing yet."""
        for one in changes:
            if one.loop == self.name and one.body is not None:
                if one.kind == SETTINGS:
                    self.settings = decode(Settings, one.body)
                elif one.kind == POLICY:
                    self.model = Model(decode(Policy, one.body))


def rebuilt(name: str, policy: Policy, journal: Journal, until: int) -> Model:
    """The model of a policy as it is after entry `until`, from the journal alone."""
    model, joiner = Model(policy), Joiner(name)
    for entry in read(journal, 0, until):
        for closed in joiner.observe(entry):
            if closed.seq > policy.since:
                model.learn(closed)
        if entry.kind == ERASURE and entry.loop == name:
            model.erasure = entry.seq
    return model


def _offers(ask: Ask, settings: Settings) -> list[Offer]:
    given = settings.actions if ask.actions is None else ask.actions
    if not given:
        raise ValueError("actions must be one or more: the request has none, and the loop has none of its own")
    if len(given) > MOST_ACTIONS:
        raise ValueError(f"actions must be at most {MOST_ACTIONS}, got {len(given)}")
    return [Offer(one) if isinstance(one, str) else one for one in given]


def _place(name: str, action: str, places: dict[str, int]) -> int:
    if action not in places:
        raise ValueError(f"{name} must be among the actions, got {action[:80]!r}")
    return places[action]


def answer(entry: Entry) -> Answer:
    """What is told of a decision that has been written."""
    assert entry.body is not None
    decided = decode(Decided, entry.body)
    ids = [one.id for one in decided.actions]
    order = sorted(range(len(ids)), key=lambda place: (place != decided.chosen, -decided.probabilities[place], place))
    return Answer(
        event_id=entry.id,
        action=ids[decided.chosen],
        probability=decided.probabilities[decided.chosen],
        ranking=[Chance(ids[place], decided.probabilities[place]) for place in order],
        model=f"{decided.policy}.{decided.learnt}",
        held=decided.held,
    )
