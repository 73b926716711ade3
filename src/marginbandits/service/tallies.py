"""Traffic, probability and reward by action and by segment, of so many, and of the others together.

>>> table = Table(most=2)
>>> table.decided(["a", "b", "c"], [0.5, 0.3, 0.2], 0)
>>> table.closed("a", 1.0)
>>> table.closed("c", 0.0)
>>> table.rows["a"], table.rest.closed
(Tally(offered=1, weight=0.5, chosen=1, closed=1, reward=1.0), 1)
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from marginbandits.service.running import Running

__all__ = ["NONE", "Segment", "Table", "Tally", "segment_of"]

NONE = "(none)"
"""The segment of contexts that have no value there."""
LONGEST = 64
"""Characters of a segment's name."""


class Tally(msgspec.Struct, array_like=True):
    """How often offered, with which probabilities in all, how often chosen, closed, with which rewards in all."""

    offered: int = 0
    weight: float = 0.0
    chosen: int = 0
    closed: int = 0
    reward: float = 0.0

    def join(self, other: "Tally") -> None:
        """Count another's as well."""
        self.offered, self.weight = self.offered + other.offered, self.weight + other.weight
        self.chosen += other.chosen
        self.closed, self.reward = self.closed + other.closed, self.reward + other.reward


class Table(msgspec.Struct):
    """Actions by name, at most so many; where one more is chosen, the rarer half goes to the rest."""

    most: int
    rows: dict[str, Tally] = {}
    rest: Tally = msgspec.field(default_factory=Tally)

    def decided(self, actions: Sequence[str], probabilities: Sequence[float], place: int) -> None:
        """What was offered, and which place was chosen."""
        if actions[place] not in self.rows and len(self.rows) >= self.most:
            self._fold()
        for at, (action, probability) in enumerate(zip(actions, probabilities, strict=True)):
            row = self.rows.get(action)
            if row is None:
                if at != place and len(self.rows) >= self.most - 1:
                    continue  # the last place is for what is chosen
                row = self.rows[action] = Tally()
            row.offered, row.weight, row.chosen = row.offered + 1, row.weight + probability, row.chosen + (at == place)

    def closed(self, action: str, reward: float) -> None:
        """What was chosen once was worth so much."""
        row = self.rows.get(action, self.rest)
        row.closed, row.reward = row.closed + 1, row.reward + reward

    def _fold(self) -> None:
        order = sorted(self.rows, key=lambda one: (-self.rows[one].chosen, one))
        self.keep(set(order[: self.most // 2]))

    def keep(self, actions: set[str]) -> None:
        """These by name; others go to the rest."""
        for action in [one for one in self.rows if one not in actions]:
            self.rest.join(self.rows.pop(action))

    def top(self, n: int) -> tuple[list[tuple[str, Tally]], Tally]:
        """The most frequent, and the others together."""
        order = sorted(self.rows.items(), key=lambda one: (-one[1].chosen, -one[1].weight, one[0]))
        rest = msgspec.structs.replace(self.rest)
        for _, other in order[n:]:
            rest.join(other)
        return order[:n], rest


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
