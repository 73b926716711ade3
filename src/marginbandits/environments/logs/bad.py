"""Rounds of a log that cannot be used: which, why, and what is said of them all.

>>> found = Tally()
>>> found.add([Bad("a.csv, line 3", "probability is 0", "probability must lie above 0, got 0")])
>>> found.add([Bad("a.csv, line 9", "probability is 0", "probability must lie above 0, got 0.0")])
>>> found.counts
{'probability is 0': 2}
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Bad", "Report", "Tally", "refusal"]

SHOWN = 10
"""Bad rows that are shown one by one."""


class Bad(NamedTuple):
    """A row that is no round: where it stands, for what reason, and what it says."""

    place: str
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.place}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Report:
    """What reading a log once has shown; prints as sentences."""

    rounds: int
    skipped: dict[str, int]
    first: tuple[Bad, ...]
    notes: tuple[str, ...]

    @staticmethod
    def joined(parts: "Sequence[Report]") -> "Report":
        """Of several files, one after another."""
        skipped: Counter[str] = Counter()
        for one in parts:
            skipped.update(one.skipped)
        first = tuple(bad for one in parts for bad in one.first)[:SHOWN]
        notes = tuple(dict.fromkeys(note for one in parts for note in one.notes))
        return Report(sum(one.rounds for one in parts), dict(skipped), first, notes)

    def __str__(self) -> str:
        left = sum(self.skipped.values())
        lines = [f"{self.rounds:,} rounds" + (f", {left:,} rows left out:" if left else "")]
        lines += [f"  {count:,} x {reason}" for reason, count in self.skipped.items()]
        lines += [f"    {one}" for one in self.first]
        return "\n".join([*lines, *self.notes])


@dataclass(slots=True)
class Tally:
    """Bad rows so far: all of them counted, the first few kept."""

    counts: dict[str, int] = field(default_factory=Counter)
    first: list[Bad] = field(default_factory=list)

    def add(self, found: Sequence[Bad]) -> None:
        """Some more."""
        for one in found:
            self.counts[one.reason] = self.counts.get(one.reason, 0) + 1
        self.first += found[: max(SHOWN - len(self.first), 0)]
        self.counts = dict(self.counts)


def refusal(found: Sequence[Bad]) -> ValueError:
    """What a strict reading raises: the first bad rows, one a line."""
    shown = "\n".join(f"  {one}" for one in found[:SHOWN])
    more = f"\n  and {len(found) - SHOWN:,} more just after these" * (len(found) > SHOWN)
    rows = "row is" if len(found) == 1 else "rows are"
    return ValueError(
        f'{len(found):,} {rows} bad; mend them, or have such rows left out and counted by bad="skip":\n{shown}{more}'
    )
