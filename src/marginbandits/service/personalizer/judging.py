"""Policies judged by the log: that which was online, the baseline, an even choice, and any that could have been.

Only decisions made in Online mode count, as others say nothing of what was not served. A policy of one's own is played
through the log: at each event its law is asked first, and then it learns the event.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from marginbandits.service.join import Closed, Joiner
from marginbandits.service.journal import Journal, now
from marginbandits.service.loop import read
from marginbandits.service.model import Model
from marginbandits.service.personalizer.sums import Sums
from marginbandits.service.records import Policy

__all__ = ["Imitation", "Judged", "closed", "imitation", "judge"]

BUCKET = 300_000_000
"""Microseconds that are summed together."""


class Judged(msgspec.Struct, frozen=True):
    """A policy, and sums by the beginning of each five minutes."""

    name: str
    arguments: str
    source: str
    sums: dict[int, Sums]


class Imitation(msgspec.Struct, frozen=True, rename="camel"):
    """How often a learner in Apprentice mode would have done what the baseline did."""

    start_time: int
    last_processed_event_time: int
    number_of_events: int
    number_of_imitated_events: int
    sum_of_rewards: float
    sum_of_imitated_rewards: float


def closed(journal: Journal, loop: str) -> Iterator[Closed]:
    """All events whose windows are over, but those that were never activated."""
    joiner, end = Joiner(loop), now()
    for entry in read(journal):
        yield from (one for one in joiner.observe(entry) if one.reason != "inactive")
    yield from (one for one in joiner.advance(end) if one.reason != "inactive")


def judge(
    journal: Journal, loop: str, start: int, end: int, online: str, custom: dict[str, tuple[str, Policy, float]]
) -> list[Judged]:
    """Everything that a log can say of decisions from `start` to `end`; `custom` has arguments, policy, exploration."""
    sums: dict[str, defaultdict[int, Sums]] = defaultdict(lambda: defaultdict(Sums))
    models = {name: Model(policy) for name, (_, policy, _) in custom.items()}
    for one in closed(journal, loop):
        decided = one.decided
        if start <= one.at < end and decided.mode == "Online":
            bucket, p = one.at - one.at % BUCKET, decided.probabilities[decided.chosen]
            kept = [offer for place, offer in enumerate(decided.actions) if place not in decided.excluded]
            weights = {"Online": 1.0, "Baseline": (decided.chosen == decided.baseline) / p, "Random": 1 / len(kept) / p}
            for name, (_, _, share) in custom.items():
                law = models[name].law(decided.context, kept)[0][kept.index(decided.actions[decided.chosen])]
                weights[f"Custom {name}"] = ((1.0 - share) * law + share / len(kept)) / p
            for name, weight in weights.items():
                sums[name][bucket] += Sums.of(weight, one.reward)
        for model in models.values():
            model.learn(one)
    named = [("Online", online, "Online"), ("Baseline", "", "Baseline"), ("Random", "", "Random")]
    judged = [Judged(*one, dict(sums[one[2]])) for one in named]
    return judged + [Judged(name, one[0], "Custom", dict(sums[f"Custom {name}"])) for name, one in custom.items()]


def imitation(journal: Journal, loop: str) -> Imitation | None:
    """Of all events decided in Apprentice mode; None if there are none."""
    found = [one for one in closed(journal, loop) if one.decided.mode == "Apprentice"]
    if not found:
        return None
    same = [one for one in found if one.decided.shadow == one.decided.baseline]
    return Imitation(
        start_time=found[0].at,
        last_processed_event_time=found[-1].at,
        number_of_events=len(found),
        number_of_imitated_events=len(same),
        sum_of_rewards=sum(one.reward for one in found),
        sum_of_imitated_rewards=sum(one.reward for one in same),
    )
