"""What there is to see of a loop: sums, copies of sums, and the last decisions, in memory that does not grow with them.

Rewards are those of closed events, scaled to [0, 1] by their range for the intervals: of those decided Online, and
apart, of those where the baseline was served always. Where that range changes, or the share that is held back, they
begin anew: rewards before were worth something else, or came at other times to one arm than to the other. Events that
were not activated do not count: whether one is must not depend on what was chosen. Of contexts nothing is kept but
counts by the one value that `Settings.segment` names.

Everything is a function of the journal, times are those of its entries, as it was when they were written: who is
forgotten later stays counted, as one of many; a segment in which nobody is left goes, and the name of an action that
nobody else was offered. Made again from the journal
alone, it begins with the last erasure.
"""

import threading
from collections import deque
from collections.abc import Iterable

import msgspec

from marginbandits.service.audit import Audit
from marginbandits.service.join import Closed
from marginbandits.service.journal import Entry
from marginbandits.service.records import Decided, Erased, Settings
from marginbandits.service.running import Running
from marginbandits.service.series import Reign, Series, Stand, begun, three
from marginbandits.service.tallies import Segment, Table, segment_of

__all__ = ["Recent", "Seen", "Watch"]

RECENT = 50
ACTIONS, SEGMENTS, SEGMENT_ACTIONS, POLICIES = 300, 20, 30, 20
OTHERS = "(others)"


class Recent(msgspec.Struct):
    """A decision, and why: ids, probabilities and the reward, never the context."""

    id: str
    seq: int
    at: int
    action: str
    probability: float
    why: str
    policy: int
    learnt: int
    runner_up: str | None = None
    second: float = 0.0
    reward: float | None = None
    reason: str | None = None


class Seen(msgspec.Struct):
    """All of it; of events decided up to entry `after` nothing."""

    audit: bytes = b""
    after: int = 0
    stand: Stand = msgspec.field(default_factory=Stand)
    series: list[Series] = msgspec.field(default_factory=three)
    actions: Table = msgspec.field(default_factory=lambda: Table(ACTIONS))
    segment: str | None = None
    segments: dict[str, Segment] = {}
    policies: dict[int, Reign] = {}
    recent: list[Recent] = []
    decisions: int = 0
    first: int = 0
    last_closed: int = 0
    since: int = 0
    anew: bool = False
    reward_range: tuple[float, float] = (0.0, 1.0)
    holdback: float = 0.0
    shadowed: int = 0
    imitated: int = 0


class Watch:
    """Fed with every decision, with every event when it closes, and with every change of settings."""

    def __init__(self, seen: Seen | None = None) -> None:
        self._seen = Seen() if seen is None else seen
        self.audit = Audit.loads(self._seen.audit) if self._seen.audit else Audit()
        self._latest: deque[tuple[Entry, Decided]] = deque(maxlen=RECENT)  # to be described when somebody looks
        self._turn = 0
        self._seqs = deque([one.seq for one in self._seen.recent], RECENT)
        self._lock = threading.Lock()

    @property
    def decisions(self) -> int:
        """How many there were."""
        return self._seen.decisions

    def settings(self, settings: Settings) -> None:
        """What the loop is set to from here on."""
        with self._lock:
            if settings.segment != self._seen.segment:
                self._seen.segment, self._seen.segments = settings.segment, {}

    def decision(self, entry: Entry, decided: Decided) -> None:
        """One more was written."""
        with self._lock:
            seen = self._tick(entry.at)
            seen.first = seen.first or entry.at
            seen.decisions += 1
            seen.stand.decisions += 1
            ids = [one.id for one in decided.actions]
            self.audit.observe(decided.probabilities, decided.chosen, ids)
            offer = ids, decided.probabilities, decided.chosen
            seen.actions.decided(*offer, number=seen.decisions, at=entry.at)
            if seen.segment is not None:
                part = self._segment(decided, seen.segment)
                part.decisions += 1
                part.table.decided(*offer, number=seen.decisions, at=entry.at)
            if decided.mode == "Online":
                self._reign(decided, entry.at).decisions += 1
            if decided.shadow >= 0:
                seen.shadowed += 1
                seen.imitated += decided.shadow == decided.baseline
            self._latest.append((entry, decided))
            self._seqs.append(entry.seq)

    def closed(self, closed: Closed) -> None:
        """One more is over."""
        if closed.seq <= self._seen.after:
            return
        with self._lock:
            seen, decided = self._tick(closed.closes), closed.decided
            seen.last_closed = closed.closes
            if self._seqs and closed.seq >= self._seqs[0]:
                for one in self._recent():
                    if one.id == closed.id:
                        one.reason = closed.reason
                        one.reward = None if closed.reason == "inactive" else closed.reward
            if closed.reason == "inactive":
                return
            action = decided.actions[decided.chosen].id
            seen.actions.closed(action, closed.reward)
            if seen.segment is not None:
                part = self._segment(decided, seen.segment)
                part.table.closed(action, closed.reward)
            if not self._comparable(closed):
                return
            if decided.mode != "Online":
                seen.stand.served.add(_share(decided, closed.reward))
            else:
                _count(seen.stand, self._reign(decided, closed.at), decided, closed.reward)
                if seen.segment is not None:
                    (part.held if decided.held else part.bandit).add(_share(decided, closed.reward))

    def forget(self, erased: Erased, left: Iterable[Decided]) -> None:
        """Nothing more is shown of these; sums, in which nobody is seen, stay.

        Not so names that were theirs alone, as decisions that are left say: a segment in which nobody is left goes, an
        action that nobody was offered is counted among the others.
        """
        path, segments, actions = self._seen.segment, {OTHERS}, set[str]()
        for one in left:
            actions.update([offer.id for offer in one.actions])
            if path is not None:
                segments.add(segment_of(one.context, path))
        with self._lock:
            seen = self._seen
            seen.recent = [one for one in self._recent() if not erased.covers(one.seq)]
            seen.segments = {name: one for name, one in seen.segments.items() if name in segments}
            for table in (seen.actions, *(one.table for one in seen.segments.values())):
                table.keep(actions)

    def anew(self, seq: int) -> None:
        """Nothing is known up to an entry."""
        with self._lock:
            self._seen, self.audit = Seen(after=seq, segment=self._seen.segment), Audit()
            self._latest.clear()
            self._seqs.clear()

    def dumps(self) -> bytes:
        """All of it."""
        with self._lock:
            self._seen.audit = self.audit.dumps()
            self._recent()
            return msgspec.msgpack.encode(self._seen)

    @classmethod
    def loads(cls, kept: bytes) -> "Watch":
        """As it was."""
        return cls(msgspec.msgpack.decode(kept, type=Seen))

    def look(self) -> Seen:
        """A copy, for one who reads while events come in."""
        return msgspec.msgpack.decode(self.dumps(), type=Seen)

    def _recent(self) -> list[Recent]:
        """The last decisions, described."""
        seen = self._seen
        seen.recent = [*seen.recent, *(_described(entry, decided) for entry, decided in self._latest)][-RECENT:]
        self._latest.clear()
        return seen.recent

    def _tick(self, at: int) -> Seen:
        seen = self._seen
        if at >= self._turn:  # of the next minute, hour or day
            for series in seen.series:
                series.tick(at, seen.stand)
            self._turn = min([(series.now + 1) * series.width for series in seen.series])
        return seen

    def _reign(self, decided: Decided, at: int) -> Reign:
        """What is counted of a decision's policy; of more than so many the first go."""
        policies = self._seen.policies
        if decided.policy not in policies:
            policies[decided.policy] = Reign(at, begun(self._seen.holdback))
            if len(policies) > POLICIES:
                del policies[min(policies)]
                return policies.get(decided.policy, Reign(at, begun(self._seen.holdback)))
        return policies[decided.policy]

    def _segment(self, decided: Decided, path: str) -> Segment:
        segments, name = self._seen.segments, segment_of(decided.context, path)
        if name not in segments and len(segments) >= SEGMENTS - 1:
            name = OTHERS
        if name not in segments:
            segments[name] = Segment(Table(SEGMENT_ACTIONS))
        return segments[name]

    def _comparable(self, closed: Closed) -> bool:
        """Whether an event's reward can be added to those before it; a later event of other terms begins anew."""
        seen, decided = self._seen, closed.decided
        another = decided.reward_range != seen.reward_range
        holdback = decided.holdback if decided.mode == "Online" else seen.holdback  # else there is nothing to hold back
        if another or holdback != seen.holdback:
            if closed.at <= seen.since:
                return False
            if seen.stand.baseline.up.n or (another and seen.stand.served.up.n):
                seen.anew, seen.series, seen.stand, self._turn = True, three(), Stand(), 0
            seen.stand.begin(holdback)
            for one in seen.policies.values():
                one.bandit, one.paired = Running(most=1.0), begun(holdback)
            for part in seen.segments.values():
                part.begin()
            seen.since, seen.reward_range, seen.holdback = closed.at, decided.reward_range, holdback
        return True


def _count(stand: Stand, reign: Reign, decided: Decided, reward: float) -> None:
    y, place, base = _share(decided, reward), decided.chosen, decided.baseline
    for one in (stand.held,) if decided.held else (stand.bandit, reign.bandit):
        one.add(y)
    p = decided.probabilities[place]
    u = (place == base) / p
    stand.baseline.add(y, u)
    if decided.holdback < 1.0:  # else nothing is known of the bandit
        pair = y, _bandit(decided, place) / p, u, 1.0 - _bandit(decided, base)
        stand.paired.add_pair(*pair)
        reign.paired.add_pair(*pair)


def _share(decided: Decided, reward: float) -> float:
    """A reward, scaled to [0, 1]."""
    low, high = decided.reward_range
    return (reward - low) / (high - low)


def _bandit(decided: Decided, place: int) -> float:
    """The probability of a place where nothing is held back."""
    left_out = sum([one < place for one in decided.excluded]) if decided.excluded else 0
    own = decided.law[place - left_out]
    return (1.0 - decided.exploration) * own + decided.exploration / len(decided.law)


def _described(entry: Entry, decided: Decided) -> Recent:
    p, place, ids = decided.probabilities, decided.chosen, [one.id for one in decided.actions]
    others = [k for k in range(len(ids)) if k != place and k not in decided.excluded]
    second = max(others, key=p.__getitem__, default=None)
    if decided.mode != "Online":
        why = "baseline"
    elif decided.held:
        why = "held back"
    elif decided.learnt == 0:
        why = "nothing learnt"
    else:
        chances = [_bandit(decided, k) for k in [place, *others]]
        alike = len(chances) > 1 and max(chances) - min(chances) < 1e-9
        why = "all alike" if alike else "likeliest" if chances[0] >= max(chances) else "explored"
    more = (None, 0.0) if second is None else (ids[second], p[second])
    return Recent(entry.id, entry.seq, entry.at, ids[place], p[place], why, decided.policy, decided.learnt, *more)
