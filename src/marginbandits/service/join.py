"""Decisions and what became of them: each event is closed once, at a time that the journal alone decides.

The window of an event closes at `closes`, its decision's time and the window it was given. It is closed by the first
entry, of whatever kind or loop, that is as late, and events are closed in the order of (closes, seq): so what is
learnt, and in which order, is a function of the journal, and not of when anybody looked.

    rewards within the window          their aggregate          "rewarded"
    none                               the default              "default"
    deferred, and not activated then   not learnt               "inactive"
    after the window                   kept, counted as late, not learnt
    an event of another log            closed at once       "past"
    one that cannot be read            counted as such, and nothing else: other events, and other loops, go on
    before the decision                counts if the decision comes within two minutes; else it is an orphan, as is an
                                       activation

>>> joiner = Joiner("shop")
>>> joiner.advance(10), joiner.counts["rewarded"]
([], 0)
"""

import heapq
import statistics
from collections import Counter, deque
from collections.abc import Callable
from typing import TypeVar

import msgspec

from marginbandits.service.journal import ACTIVATION, DECISION, PAST, REWARD, Entry
from marginbandits.service.records import Decided, Past, Rewarded, decode

__all__ = ["EARLY", "Closed", "Joiner"]

T = TypeVar("T")
EARLY = 120_000_000
"""Microseconds that a reward, or an activation, waits for its decision."""
_AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    "earliest": lambda values: values[0],
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


class Closed(msgspec.Struct, frozen=True, gc=False):
    """An event whose window is over: `reward` is within its range; `clipped` says that it was not.

    `size` is how many bytes were written of it.
    """

    seq: int
    id: str
    at: int
    closes: int
    decided: Decided
    reward: float
    reason: str
    clipped: bool = False
    size: int = 0


class _Open:
    """What waits for its window: the body as it is written, for what it says takes many times the room."""

    __slots__ = ("active", "at", "body", "closes", "first", "id", "rewards", "seq")

    def __init__(self, entry: Entry, decided: Decided) -> None:
        self.seq, self.id, self.at, self.body = entry.seq, entry.id, entry.at, entry.body or b""
        self.first = entry.seq  # of all that it rests on: what came before its decision, too
        self.active = not decided.deferred
        self.rewards: list[float] = []
        self.closes = entry.at + round(decided.window * 1e6)

    def close(self) -> Closed:
        decided = decode(Decided, self.body)
        reward, reason = decided.default, "default"
        if not self.active:
            reason = "inactive"
        elif self.rewards:
            reward, reason = _AGGREGATES[decided.aggregation](self.rewards), "rewarded"
        low, high = decided.reward_range
        within = min(max(reward, low), high)
        size = len(self.body)
        return Closed(self.seq, self.id, self.at, self.closes, decided, within, reason, within != reward, size)


class Joiner:
    """The open events of one loop, fed with every entry of the journal in order."""

    def __init__(self, loop: str) -> None:
        self.loop = loop
        self.counts: Counter[str] = Counter()
        self._open: dict[str, _Open] = {}
        self._closing: list[tuple[int, int, str]] = []
        self.n_early = 0
        self._early: dict[str, deque[Entry]] = {}  # rewards and activations, by their events
        self._waiting: deque[Entry] = deque()  # the same, in their order; and some whose decisions have come

    def observe(self, entry: Entry, decided: Decided | None = None) -> list[Closed]:
        """What this entry closes; then it is taken in: of a decision, what it says may be known already."""
        due = self.next_close
        closed = self.advance(entry.at) if due is not None and due <= entry.at else []
        if entry.loop == self.loop and entry.body is not None:
            if entry.kind == DECISION and (decided := decided or self.read(Decided, entry)) is not None:
                self._decision(entry, decided)
            elif entry.kind in (ACTIVATION, REWARD):
                self._spoken(entry)
            elif entry.kind == PAST and (past := self.read(Past, entry)) is not None:
                self.counts["past"] += 1
                told, size = (past.decided, past.reward, "past"), len(entry.body)
                closed.append(Closed(entry.seq, entry.id, entry.at, entry.at, *told, size=size))
        return closed

    def read(self, kind: type[T], entry: Entry) -> T | None:
        """What an event's entry says; None, and counted, if that cannot be read."""
        try:
            return decode(kind, entry.body or b"")
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
            self.counts["unreadable"] += 1
            return None

    def advance(self, at: int) -> list[Closed]:
        """The events whose windows are over at this time, in order."""
        closed = []
        while self._closing and self._closing[0][0] <= at:
            _, _, event = heapq.heappop(self._closing)
            one = self._open.pop(event).close()
            self.counts[one.reason] += 1
            self.counts["clipped"] += one.clipped
            closed.append(one)
        while (first := self._first_early()) is not None and first.at + EARLY <= at:
            self.counts["orphans" if first.kind == REWARD else "orphan activations"] += 1
            self.n_early -= 1
            self._early[first.id].popleft()
            if not self._early[first.id]:
                del self._early[first.id]
        return closed

    def _decision(self, entry: Entry, decided: Decided) -> None:
        event = self._open[entry.id] = _Open(entry, decided)
        heapq.heappush(self._closing, (event.closes, entry.seq, entry.id))
        told = self._early.pop(entry.id, ())
        self.n_early -= len(told)
        for one in told:
            event.first = min(event.first, one.seq)
            self._take(event, one)

    def _spoken(self, entry: Entry) -> None:
        """A reward, or an activation: of an open event, of one that has closed, or of none yet."""
        event = self._open.get(entry.id)
        if event is not None:
            self._take(event, entry)
        elif entry.of is not None:
            self.counts["late" if entry.kind == REWARD else "late activations"] += 1
        else:
            self.n_early += 1
            self._early.setdefault(entry.id, deque()).append(entry)
            self._waiting.append(entry)

    def _take(self, event: _Open, entry: Entry) -> None:
        if entry.kind == REWARD:
            if (rewarded := self.read(Rewarded, entry)) is not None:
                event.rewards.append(rewarded.value)
        else:
            self.counts["activated"] += 1
            event.active = True

    def _first_early(self) -> Entry | None:
        """The first that waits for its decision."""
        while self._waiting:
            first = self._waiting[0]
            if (some := self._early.get(first.id)) and some[0] is first:
                return first
            self._waiting.popleft()  # its decision has come, or it was counted
        return None

    @property
    def next_close(self) -> int | None:
        """When the next window closes, or the next that waits for its decision has waited long enough."""
        early, closes = self._first_early(), self._closing[0][0] if self._closing else None
        if early is None:
            return closes
        return early.at + EARLY if closes is None else min(closes, early.at + EARLY)

    @property
    def n_open(self) -> int:
        """How many events wait."""
        return len(self._open)

    def waiting(self, before: int) -> list[str]:
        """The ids of events that are open, or have yet to be decided, of which an entry may be older than a time."""
        return [*(event for event, one in self._open.items() if one.at < before + EARLY), *self._early]

    def first_seq(self, end: int) -> int:
        """The first entry that open events and early rewards need; `end` if there is none."""
        waiting = [event.first for event in self._open.values()]
        waiting += [one.seq for early in self._early.values() for one in early]
        return min(waiting, default=end)
