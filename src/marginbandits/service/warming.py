"""Into the journal: a log of past decisions, as events of the *past*, so that the model stays a function of it.

A log is looked at as a whole first, each row as a decision would be, by a learner of the kind that is to learn it; so
nothing is written of one that is not good. Who is killed while it is written begins again: what is there is found, by
its key, or else by its row in a file that has these bytes. Rewards are taken as they are, and must lie within the range
of the loop; of a log of losses, which are shares, they are shares of that range.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from marginbandits.learners.base import Learner
from marginbandits.rounds import Rounds
from marginbandits.service.core import Service
from marginbandits.service.door import LONGEST_KEY
from marginbandits.service.explaining import converted
from marginbandits.service.journal import PAST, Draft
from marginbandits.service.loop import MOST_ACTIONS
from marginbandits.service.records import Decided, Offer, Past, encode
from marginbandits.service.requests import Ask
from marginbandits.types import Array

__all__ = ["Warmed", "drafts", "warmed"]

AT_ONCE = 1000


class Warmed(NamedTuple):
    """Events that are new, that were there already, and those of the new ones that the learner refused."""

    fresh: int
    known: int
    skipped: int


def warmed(service: Service, loop: str, parts: Iterable[Rounds]) -> Warmed:
    """Teach a loop a log, some events at a time; an error if they could not all be learnt."""
    own, fresh, known = service.loop(loop), 0, 0
    skipped = own.model.skipped
    rows = drafts(loop, parts, own.settings.reward_range)
    while some := list(islice(rows, AT_ONCE)):
        waiting = [service.writer.put(one) for one in some]
        new = sum(one.result()[1] for one in waiting)
        fresh, known = fresh + new, known + len(some) - new
    service.settle()
    if service.failure is not None:
        raise ValueError(f"{fresh:,} events were written, but learning them failed: {service.failure}")
    return Warmed(fresh, known, service.loop(loop).model.skipped - skipped)


def drafts(
    loop: str, parts: Iterable[Rounds], reward_range: tuple[float, float], pupil: Learner | None = None
) -> Iterator[Draft]:
    """What a log says, as events of the past; a round that the loop had from a log already is not repeated.

    A round that is none of a decision is refused, with its place; with a pupil, so is one that it would not decide.
    """
    (low, high), told = reward_range, cache(_told)
    for some in parts:
        if some.probabilities is None:
            raise ValueError("a log must have the probability of each decision, and this one has none")
        rewards = some.outcomes if some.outcomes is not None else high - some.losses * (high - low)
        for i in range(len(some)):
            try:
                event = encode(_past(loop, some, i, float(rewards[i]), reward_range, pupil))
                yield Draft(loop, PAST, uuid.uuid4().hex, event, _key(some, i, told))
            except ValueError as error:
                raise ValueError(f"{some.where(i)}: {error}") from None


def _key(some: Rounds, i: int, told: Callable[[str], str]) -> str | None:
    """By which a round is known again: its own key, else its place; None if it has neither."""
    key = "" if some.keys is None or some.keys[i] is None else str(some.keys[i])
    if len(key) > LONGEST_KEY:
        raise ValueError(f"a key must have at most {LONGEST_KEY} characters, got {len(key)}")
    if key or some.places is None:
        return f"past:{key}" if key else None
    file, row = some.places.of(i)
    return f"row:{row}:{told(file)}"


def _told(file: str) -> str:
    """What stands for the bytes of a file."""
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:32]


def _past(
    loop: str, some: Rounds, i: int, reward: float, reward_range: tuple[float, float], pupil: Learner | None
) -> Past:
    offer = some.offers[i] if some.offers is not None else {str(one): {} for one in some.labels or ()}
    context = _named(some.contexts[i] if some.contexts is not None else None, some.columns)
    unit = (some.beside or {}).get("unit")
    ask: Ask = converted(
        {
            "context": context,
            "actions": [{"id": str(one), "features": dict(features) or None} for one, features in offer.items()],
            "unit": (unit[i] or None) if unit is not None else None,
        },
        Ask,
    )
    actions = [one for one in ask.actions or () if isinstance(one, Offer)]
    ids = [one.id for one in actions]
    if len(set(ids)) < len(ids) or len(ids) > MOST_ACTIONS:
        raise ValueError(f"actions must be at most {MOST_ACTIONS}, and differ")
    if not reward_range[0] <= reward <= reward_range[1]:
        low, high = reward_range
        raise ValueError(f"reward {reward:.15g} is beyond the reward_range of {loop!r}, {low:.15g} to {high:.15g}")
    if pupil is not None:
        pupil.law(ask.context, actions={one.id: one.features for one in actions})
    place = int(some.actions[i])
    held = (some.beside or {}).get("held")
    decided = Decided(
        request="",
        context=ask.context,
        actions=actions,
        probabilities=_probabilities(some, i, len(ids)).tolist(),
        law=[],
        chosen=place,
        baseline=0,
        policy=0,
        learnt=0,
        window=0.0,
        default=reward_range[0],
        reward_range=reward_range,
        held=held is not None and held[i] is True,
        unit=ask.unit,
    )
    return Past(decided, reward)


def _probabilities(some: Rounds, i: int, n: int) -> Array:
    """Of all actions: as the log has them; else of the one that was taken, and the others alike."""
    p = 1.0 if some.probabilities is None else float(some.probabilities[i])
    law = np.full(n, (1.0 - p) / max(n - 1, 1)) if some.laws is None else np.array(some.laws[i, :n], float)
    law[int(some.actions[i])] = p
    return law


def _named(context: object, columns: tuple[str, ...] | None) -> dict[str, object] | None:
    """A context as names and values."""
    if context is None or isinstance(context, dict):
        return context
    numbers = np.asarray(context, float).ravel().tolist()
    names = columns or tuple(f"x{k}" for k in range(len(numbers)))
    return dict(zip(names, numbers, strict=True))
