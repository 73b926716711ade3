"""Out of the journal: closed events as `Rounds`, which every format of logs is written from.

What goes out is what was learnt: decisions with their probabilities, in the order in which they closed. Rewards are
written as they are (as costs, with their signs turned, in the formats of Vowpal Wabbit), with one range for the whole
file: what all ranges that the loop ever had lie within. Beside them stand the unit, and whether an event was held back.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marginbandits.environments.logs.writing import write_log
from marginbandits.log_parts import LogParts
from marginbandits.ranges import as_losses
from marginbandits.rounds import Rounds
from marginbandits.service.join import Closed
from marginbandits.service.journal import Journal
from marginbandits.service.loop import closings

__all__ = ["Exported", "closed_events", "export", "rounds"]

AT_ONCE = 1000


class Exported(NamedTuple):
    """How many events were written, how many have names that the format cannot hold, and what is said of the first."""

    events: int
    left_out: int = 0
    why: str = ""


def closed_events(journal: Journal, loop: str, until: int | None = None) -> Iterator[Closed]:
    """All events of a loop that have closed (by an entry), in order, but for those that were never used."""
    return (one for one in closings(journal, loop, until) if one.reason != "inactive")


def rounds(closed: Iterable[Closed], within: tuple[float, float], start: int = 0) -> Iterator[Rounds]:
    """The same, some at a time; their rewards lie within this range."""
    events = iter(closed)
    while some := list(islice(events, AT_ONCE)):
        made = [_offered(one) for one in some]
        laws = np.zeros((len(some), max(len(offer) for offer, _ in made)))
        for law, one in zip(laws, some, strict=True):
            own = [p for place, p in enumerate(one.decided.probabilities) if place not in set(one.decided.excluded)]
            law[: len(own)] = own
        rewards = np.array([one.reward for one in some])
        yield Rounds(
            contexts=[one.decided.context or {} for one in some],
            actions=np.array([place for _, place in made]),
            losses=np.clip(as_losses(rewards, within, rewards=True), 0.0, 1.0),
            probabilities=np.array([one.decided.probabilities[one.decided.chosen] for one in some]),
            laws=laws,
            offers=[offer for offer, _ in made],
            keys=[one.id for one in some],
            times=[datetime.fromtimestamp(one.at / 1e6, UTC).isoformat() for one in some],
            versions=[f"{one.decided.policy}.{one.decided.learnt}" for one in some],
            beside={"unit": [one.decided.unit or "" for one in some], "held": [one.decided.held for one in some]},
            start=start,
            within=within,
            rewards=True,
            outcomes=rewards,
        )
        start += len(some)


def _offered(closed: Closed) -> tuple[Mapping[int | str, Mapping[str, object]], int]:
    """What could have been chosen, and the place of what was."""
    decided = closed.decided
    kept = [place for place in range(len(decided.actions)) if place not in set(decided.excluded)]
    return {decided.actions[k].id: decided.actions[k].features or {} for k in kept}, kept.index(decided.chosen)


def export(journal: Journal, loop: str, path: Path) -> Exported:
    """Write the events of a loop that have closed by now to a file, in the format its name ends in.

    They are of one moment: of an event that is erased meanwhile the file has all or nothing.
    """
    with journal.still() as still:
        return _exported(still, loop, path)


def _exported(journal: Journal, loop: str, path: Path) -> Exported:
    last, left_out = journal.last(), list[str]()
    until = 0 if last is None else last.seq
    spans = {one.decided.reward_range for one in closed_events(journal, loop, until)}
    if not spans:
        raise ValueError(f"no event of {loop!r} has closed: there is nothing to write")
    within = min(low for low, _ in spans), max(high for _, high in spans)
    try:
        parts = LogParts(_Parts(journal, loop, until, within))
        n = write_log(parts, path, rewards=True, private=True, left_out=left_out.append)
    except ValueError as error:
        raise ValueError(f"{error} ({len(left_out):,} left out: {left_out[0]})" if left_out else str(error)) from None
    return Exported(n, len(left_out), left_out[0] if left_out else "")


class _Parts:
    """Closed events, as often as they are asked for."""

    def __init__(self, journal: Journal, loop: str, until: int, within: tuple[float, float]) -> None:
        self._journal, self._loop, self._until, self._within = journal, loop, until, within

    def __iter__(self) -> Iterator[Rounds]:
        return rounds(closed_events(self._journal, self._loop, self._until), self._within)
