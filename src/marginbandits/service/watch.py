"""What there is to see of a loop: sums, copies of sums, and the last decisions, in memory that does not grow with them.

Rewards are those of closed events that were decided Online, scaled to [0, 1] by their range for the intervals. Where
that range changes, or the share that is held back, they begin anew: rewards before were worth something else, or came
at other times to one arm than to the other. Events that were not activated do not count: whether one is must not depend
on what was chosen. Of contexts nothing is kept but counts by the one value that `Settings.segment` names.

Everything is a function of the journal: times are those of its entries.
"""

import threading

import msgspec

from marginbandits.service.draws import Audit
from marginbandits.service.join import Closed
from marginbandits.service.journal import Entry
from marginbandits.service.records import Decided, Settings
from marginbandits.service.series import Series, Stand, three
from marginbandits.service.tallies import Segment, Table, segment_of

__all__ = ["Recent", "Seen", "Watch"]

RECENT = 50
ACTIONS, SEGMENTS, SEGMENT_ACTIONS = 300, 20, 30
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
    """All of it."""

    wealth: list[float]
    stand: Stand = msgspec.field(default_factory=Stand)
    series: list[Series] = msgspec.field(default_factory=three)
    actions: Table = msgspec.field(default_factory=lambda: Table(ACTIONS))
    segment: str | None = None
    segments: dict[str, Segment] = {}
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
        self._seen = Seen(Audit().wealth) if seen is None else seen
        self.audit = Audit(self._seen.wealth)
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
            self.audit.observe(decided.probabilities, decided.chosen)
            ids = [one.id for one in decided.actions]
            seen.actions.decided(ids, decided.probabilities, decided.chosen)
            if seen.segment is not None:
                part = self._segment(decided, seen.segment)
                part.decisions += 1
                part.table.decided(ids, decided.probabilities, decided.chosen)
            if decided.shadow >= 0:
                seen.shadowed += 1
                seen.imitated += decided.shadow == decided.baseline
            seen.recent.append(_recent(entry, decided, ids))
            del seen.recent[:-RECENT]

    def closed(self, closed: Closed) -> None:
        """One more is over."""
        with self._lock:
            seen, decided = self._tick(closed.closes), closed.decided
            seen.last_closed = closed.closes
            for one in seen.recent:
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
            if decided.mode == "Online" and self._comparable(closed):
                _count(seen.stand, decided, closed.reward)
                if seen.segment is not None:
                    tally = part.held if decided.held else part.bandit
                    tally.closed, tally.reward = tally.closed + 1, tally.reward + closed.reward

    def forget(self, events: set[str], until: int = 0) -> None:
        """Nothing more is shown of these, nor of any up to an entry; sums, in which nobody is seen, stay."""
        with self._lock:
            self._seen.recent = [one for one in self._seen.recent if one.id not in events and one.seq > until]

    def dumps(self) -> bytes:
        """All of it."""
        with self._lock:
            self._seen.wealth = self.audit.wealth
            return msgspec.msgpack.encode(self._seen)

    @classmethod
    def loads(cls, kept: bytes) -> "Watch":
        """As it was."""
        return cls(msgspec.msgpack.decode(kept, type=Seen))

    def look(self) -> Seen:
        """A copy, for one who reads while events come in."""
        return msgspec.msgpack.decode(self.dumps(), type=Seen)

    def _tick(self, at: int) -> Seen:
        for series in self._seen.series:
            series.tick(at, self._seen.stand)
        return self._seen

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
        if (decided.reward_range, decided.holdback) != (seen.reward_range, seen.holdback):
            if closed.at <= seen.since:
                return False
            if seen.stand.paired.up.n:
                seen.anew, seen.series, seen.stand = True, three(), Stand()
            seen.since, seen.reward_range, seen.holdback = closed.at, decided.reward_range, decided.holdback
        return True


def _count(stand: Stand, decided: Decided, reward: float) -> None:
    low, high = decided.reward_range
    y, place, base = (reward - low) / (high - low), decided.chosen, decided.baseline
    (stand.held if decided.held else stand.bandit).add(y)
    p = decided.probabilities[place]
    u = (place == base) / p
    stand.baseline.add(y, u)
    stand.paired.add_pair(y, _bandit(decided, place) / p, u, 1.0 - _bandit(decided, base))


def _bandit(decided: Decided, place: int) -> float:
    """The probability of a place where nothing is held back."""
    own = decided.law[place - sum(one < place for one in decided.excluded)]
    return (1.0 - decided.exploration) * own + decided.exploration / len(decided.law)


def _recent(entry: Entry, decided: Decided, ids: list[str]) -> Recent:
    p, place = decided.probabilities, decided.chosen
    others = [k for k in range(len(ids)) if k != place and k not in decided.excluded]
    second = max(others, key=p.__getitem__, default=None)
    if decided.mode != "Online":
        why = "baseline"
    elif decided.held:
        why = "held back"
    elif decided.learnt == 0:
        why = "nothing learnt"
    else:
        why = (
            "likeliest" if _bandit(decided, place) >= max(_bandit(decided, k) for k in [place, *others]) else "explored"
        )
    more = (None, 0.0) if second is None else (ids[second], p[second])
    return Recent(entry.id, entry.seq, entry.at, ids[place], p[place], why, decided.policy, decided.learnt, *more)
