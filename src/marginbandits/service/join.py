"""Decisions and what became of them: each event is closed once, at a time that the journal alone decides.

The window of an event closes at `closes`, its decision's time and the window it was given. It is closed by the first
entry, of whatever kind or loop, that is as late, and events are closed in the order of (closes, seq): so what is
learnt, and in which order, is a function of the journal, and not of when anybody looked.

    rewards within the window          their aggregate          "rewarded"
    none                               the default              "default"
    deferred, and not activated then   not learnt               "inactive"
    after the window                   kept, counted as late, not learnt
    an event of another log            closed at once       "past"
    before the decision                counts if the decision comes within two minutes; else it is an orphan

>>> joiner = Joiner("shop")
>>> joiner.advance(10), joiner.counts["rewarded"]
([], 0)
"""

import heapq
import statistics
from collections import Counter
from collections.abc import Callable

import msgspec

from marginbandits.service.journal import ACTIVATION, DECISION, PAST, REWARD, Entry
from marginbandits.service.records import Decided, Past, Rewarded, decode

__all__ = ["Closed", "Joiner"]

EARLY = 120_000_000
"""Microseconds that a reward waits for its decision."""
_AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    "earliest": lambda values: values[0],
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


class Closed(msgspec.Struct, frozen=True):
    """An event whose window is over: `reward` is within its range; `clipped` says that it was not."""

    seq: int
    id: str
    at: int
    closes: int
    decided: Decided
    reward: float
    reason: str
    clipped: bool = False


class _Open:
    __slots__ = ("active", "closes", "decided", "entry", "rewards")

    def __init__(self, entry: Entry, decided: Decided, rewards: list[float]) -> None:
        self.entry, self.decided, self.rewards, self.active = entry, decided, rewards, not decided.deferred
        self.closes = entry.at + round(decided.window * 1e6)

    def close(self) -> Closed:
        decided = self.decided
        reward, reason = decided.default, "default"
        if not self.active:
            reason = "inactive"
        elif self.rewards:
            reward, reason = _AGGREGATES[decided.aggregation](self.rewards), "rewarded"
        low, high = decided.reward_range
        within = min(max(reward, low), high)
        return Closed(
            self.entry.seq, self.entry.id, self.entry.at, self.closes, decided, within, reason, within != reward
        )


class Joiner:
    """The open events of one loop, fed with every entry of the journal in order."""

    def __init__(self, loop: str) -> None:
        self.loop = loop
        self.counts: Counter[str] = Counter()
        self._open: dict[str, _Open] = {}
        self._closing: list[tuple[int, int, str]] = []
        self._early: dict[str, list[tuple[int, int, float]]] = {}

    def observe(self, entry: Entry) -> list[Closed]:
        """What this entry closes; then it is taken in."""
        closed = self.advance(entry.at)
        if entry.loop == self.loop:
            if entry.kind == DECISION and entry.body is not None:
                self._decision(entry, decode(Decided, entry.body))
            elif entry.kind == REWARD and entry.body is not None:
                self._reward(entry, decode(Rewarded, entry.body).value)
            elif entry.kind == PAST and entry.body is not None:
                past = decode(Past, entry.body)
                self.counts["past"] += 1
                closed.append(Closed(entry.seq, entry.id, entry.at, entry.at, past.decided, past.reward, "past"))
            elif entry.kind == ACTIVATION:
                event = self._open.get(entry.id)
                self.counts["activated" if event else "late activations"] += 1
                if event is not None:
                    event.active = True
        return closed

    def advance(self, at: int) -> list[Closed]:
        """The events whose windows are over at this time, in order."""
        closed = []
        while self._closing and self._closing[0][0] <= at:
            _, _, event = heapq.heappop(self._closing)
            one = self._open.pop(event).close()
            self.counts[one.reason] += 1
            self.counts["clipped"] += one.clipped
            closed.append(one)
        while self._early and (first := next(iter(self._early.values())))[0][0] + EARLY <= at:
            self.counts["orphans"] += len(first)
            del self._early[next(iter(self._early))]
        return closed

    def _decision(self, entry: Entry, decided: Decided) -> None:
        early = [value for _, _, value in self._early.pop(entry.id, ())]
        event = _Open(entry, decided, early)
        self._open[entry.id] = event
        heapq.heappush(self._closing, (event.closes, entry.seq, entry.id))

    def _reward(self, entry: Entry, value: float) -> None:
        event = self._open.get(entry.id)
        if event is not None:
            event.rewards.append(value)
        elif entry.of is not None:
            self.counts["late"] += 1
        else:
            self._early.setdefault(entry.id, []).append((entry.at, entry.seq, value))

    @property
    def next_close(self) -> int | None:
        """When the next window closes."""
        return self._closing[0][0] if self._closing else None

    @property
    def n_open(self) -> int:
        """How many events wait."""
        return len(self._open)

    def first_seq(self, end: int) -> int:
        """The first entry that open events and early rewards need; `end` if there is none."""
        waiting = [event.entry.seq for event in self._open.values()]
        waiting += [seq for early in self._early.values() for _, seq, _ in early]
        return min(waiting, default=end)
