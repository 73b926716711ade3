"""Traffic, probability and reward by action and by segment, of so many, and of the others together.

>>> table = Table(most=2)
>>> table.decided(["a", "b", "c"], [0.5, 0.3, 0.2], 0, number=1, at=7)
>>> table.closed("a", 1.0)
>>> table.closed("c", 0.0)
>>> table.rows["a"], table.rest.closed
(Tally(offered=1, weight=0.5, chosen=1, closed=1, reward=1.0, last=1, at=7), 1)
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from marginbandits.service.running import Running

__all__ = ["LIVE", "NONE", "Segment", "Table", "Tally", "segment_of"]

NONE = "(none)"
"""The segment of contexts that have no value there."""
LONGEST, LIVE = 64, 1000
"""Characters of a segment's name; an action is live if it is among what was offered in so many last decisions."""


class Tally(msgspec.Struct, array_like=True):
    """How often offered, with which probabilities in all, how often chosen, closed, with which rewards in all.

    And in which decision of the loop, and when, it was offered last.
    """

    offered: int = 0
    weight: float = 0.0
    chosen: int = 0
    closed: int = 0
    reward: float = 0.0
    last: int = 0
    at: int = 0

    def join(self, other: "Tally") -> None:
        """Count another's as well."""
        self.offered, self.weight = self.offered + other.offered, self.weight + other.weight
        self.chosen += other.chosen
        self.closed, self.reward = self.closed + other.closed, self.reward + other.reward
        self.last, self.at = max(self.last, other.last), max(self.at, other.at)


class Table(msgspec.Struct):
    """Actions by name, at most so many; where one more is chosen, half goes to the rest: first what is retired."""

    most: int
    rows: dict[str, Tally] = {}
    rest: Tally = msgspec.field(default_factory=Tally)

    def decided(
        self, actions: Sequence[str], probabilities: Sequence[float], place: int, *, number: int, at: int
    ) -> None:
        """What was offered in the loop's decision of this number, when that was, and which place was chosen."""
        if actions[place] not in self.rows and len(self.rows) >= self.most:
            self._fold(number)
        for k, (action, probability) in enumerate(zip(actions, probabilities, strict=True)):
            row = self.rows.get(action)
            if row is None:
                if k != place and len(self.rows) >= self.most - 1:
                    continue  # the last place is for what is chosen
                row = self.rows[action] = Tally()
            row.offered, row.weight, row.chosen = row.offered + 1, row.weight + probability, row.chosen + (k == place)
            row.last, row.at = number, at

    def closed(self, action: str, reward: float) -> None:
        """What was chosen once was worth so much."""
        row = self.rows.get(action, self.rest)
        row.closed, row.reward = row.closed + 1, row.reward + reward

    def _fold(self, number: int) -> None:
        live, gone = self.ordered(number)
        self.keep({name for name, _ in [*live, *gone][: self.most // 2]})

    def keep(self, actions: set[str]) -> None:
        """These by name; others go to the rest."""
        for action in [one for one in self.rows if one not in actions]:
            self.rest.join(self.rows.pop(action))

    def ordered(self, number: int) -> tuple[list[tuple[str, Tally]], list[tuple[str, Tally]]]:
        """Those that are live after so many decisions, and those that are not; each the most frequent first."""
        order = sorted(self.rows.items(), key=lambda one: (-one[1].chosen, -one[1].weight, one[0]))
        live = [one for one in order if one[1].last > number - LIVE]
        return live, [one for one in order if one[1].last <= number - LIVE]


class Segment(msgspec.Struct):
    """A part of the traffic: its actions, and rewards, scaled to [0, 1], of what was, and was not, held back."""

    table: Table
    decisions: int = 0
    bandit: Running = msgspec.field(default_factory=lambda: Running(most=1.0))
    held: Running = msgspec.field(default_factory=lambda: Running(most=1.0))

    def begin(self) -> None:
        """Rewards before are not to be compared with those to come."""
        self.bandit, self.held = Running(most=1.0), Running(most=1.0)


def segment_of(context: Any, path: str) -> str:
    """The value at a dotted path, as a short text.

    >>> segment_of({"user": {"country": "fr"}}, "user.country"), segment_of({"user": 3}, "user.country")
    ('fr', '(none)')
    """
    for name in path.split("."):
        context = context.get(name) if isinstance(context, dict) else None
    if context is None or isinstance(context, dict | list):
        return NONE
    return str(context)[:LONGEST]
