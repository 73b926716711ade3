"""Out of the journal, and into it: closed events as `Rounds`, which every format of logs is written from and read to.

What goes out is what was learnt: decisions with their probabilities, in the order in which they closed, each with its
reward as a share of its loop's range. What comes in is written as events of the *past*: they are part of the journal,
so that the model stays a function of it.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np

from marginbandits.environments.logs.writing import write_log
from marginbandits.log_parts import LogParts
from marginbandits.rounds import Rounds
from marginbandits.service.join import Closed, Joiner
from marginbandits.service.journal import PAST, Draft, Journal
from marginbandits.service.loop import read
from marginbandits.service.records import Decided, Offer, Past, encode

__all__ = ["closed_events", "drafts", "export", "rounds"]

AT_ONCE = 1000


def closed_events(journal: Journal, loop: str) -> Iterator[Closed]:
    """All events of a loop that have closed, in order, but for those that were never used."""
    joiner = Joiner(loop)
    for entry in read(journal):
        yield from (one for one in joiner.observe(entry) if one.reason != "inactive")


def rounds(closed: Iterable[Closed], start: int = 0) -> Iterator[Rounds]:
    """The same, some at a time."""
    events = iter(closed)
    while some := list(islice(events, AT_ONCE)):
        made = [_offered(one) for one in some]
        laws = np.zeros((len(some), max(len(offer) for offer, _ in made)))
        for law, one in zip(laws, some, strict=True):
            own = [p for place, p in enumerate(one.decided.probabilities) if place not in set(one.decided.excluded)]
            law[: len(own)] = own
        low, high = some[-1].decided.reward_range
        rewards = np.array([one.reward for one in some])
        yield Rounds(
            contexts=[one.decided.context or {} for one in some],
            actions=np.array([place for _, place in made]),
            losses=1.0 - np.clip((rewards - low) / (high - low), 0.0, 1.0),
            probabilities=np.array([one.decided.probabilities[one.decided.chosen] for one in some]),
            laws=laws,
            offers=[offer for offer, _ in made],
            keys=[one.id for one in some],
            times=[datetime.fromtimestamp(one.at / 1e6, UTC).isoformat() for one in some],
            versions=[f"{one.decided.policy}.{one.decided.learnt}" for one in some],
            start=start,
            within=(low, high),
            rewards=True,
        )
        start += len(some)


def _offered(closed: Closed) -> tuple[Mapping[int | str, Mapping[str, object]], int]:
    """What could have been chosen, and the place of what was."""
    decided = closed.decided
    kept = [place for place in range(len(decided.actions)) if place not in set(decided.excluded)]
    return {decided.actions[k].id: decided.actions[k].features or {} for k in kept}, kept.index(decided.chosen)


def export(journal: Journal, loop: str, path: Path) -> int:
    """Write the events of a loop to a file, in the format its name ends in; returns how many."""
    return write_log(LogParts(_Parts(journal, loop)), path)


class _Parts:
    """Closed events, as often as they are asked for."""

    def __init__(self, journal: Journal, loop: str) -> None:
        self._journal, self._loop = journal, loop

    def __iter__(self) -> Iterator[Rounds]:
        return rounds(closed_events(self._journal, self._loop))


def drafts(loop: str, parts: Iterable[Rounds], reward_range: tuple[float, float]) -> Iterator[Draft]:
    """What a log says, as events of the past; a round whose key the loop had from a log already is not repeated."""
    low, high = reward_range
    for some in parts:
        if some.probabilities is None:
            raise ValueError("a log must have the probability of each decision, and this one has none")
        for i in range(len(some)):
            offer = some.offers[i] if some.offers is not None else {str(one): {} for one in some.labels or ()}
            ids = [str(one) for one in offer]
            place, p = int(some.actions[i]), float(some.probabilities[i])
            others = (1.0 - p) / max(len(ids) - 1, 1)
            context = some.contexts[i] if some.contexts is not None else None
            decided = Decided(
                request="",
                context=_named(context, some.columns),
                actions=[Offer(one, dict(features) or None) for one, features in zip(ids, offer.values(), strict=True)],
                probabilities=[p if k == place else others for k in range(len(ids))],
                law=[],
                chosen=place,
                baseline=0,
                policy=0,
                learnt=0,
                window=0.0,
                default=low,
                reward_range=reward_range,
            )
            reward = high - float(some.losses[i]) * (high - low)
            key = None if some.keys is None or some.keys[i] in (None, "") else f"past:{some.keys[i]}"
            yield Draft(loop, PAST, uuid.uuid4().hex, encode(Past(decided, reward)), key)


def _named(context: object, columns: tuple[str, ...] | None) -> dict[str, object] | None:
    """A context as names and values."""
    if context is None or isinstance(context, dict):
        return context
    numbers = np.asarray(context, float).ravel().tolist()
    names = columns or tuple(f"x{k}" for k in range(len(numbers)))
    return dict(zip(names, numbers, strict=True))
