"""Policies judged by the log: that which was online, the baseline, an even choice, and any that could have been.

Weights are those of `evaluating`: a policy of one's own is asked at every decision, and has learnt what had
closed by then.
"""

from collections import defaultdict

import msgspec

from marginbandits.service.evaluating import Rival, weighed
from marginbandits.service.exporting import closed_events
from marginbandits.service.journal import Journal
from marginbandits.service.personalizer.sums import Sums

__all__ = ["Imitation", "Judged", "imitation", "judge"]

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


def judge(
    journal: Journal, loop: str, start: int, end: int, online: str, custom: dict[str, tuple[str, Rival]]
) -> list[Judged]:
    """Everything that a log can say of decisions from `start` to `end`; `custom` has arguments, and who plays them."""
    rivals = {"Baseline": Rival("baseline"), "Random": Rival("uniform")}
    rivals |= {f"Custom {name}": rival for name, (_, rival) in custom.items()}
    sums: dict[str, defaultdict[int, Sums]] = defaultdict(lambda: defaultdict(Sums))
    with journal.still() as still:
        for one in weighed(still, loop, rivals, start, end):
            bucket = one.closed.at - one.closed.at % BUCKET
            sums["Online"][bucket] += Sums.of(1.0, one.closed.reward)
            for name, (weight, _) in one.rivals.items():
                sums[name][bucket] += Sums.of(weight, one.closed.reward)
    named = [("Online", online, "Online"), ("Baseline", "", "Baseline"), ("Random", "", "Random")]
    judged = [Judged(*one, dict(sums[one[2]])) for one in named]
    return judged + [Judged(name, one[0], "Custom", dict(sums[f"Custom {name}"])) for name, one in custom.items()]


def imitation(journal: Journal, loop: str) -> Imitation | None:
    """Of all events decided in Apprentice mode; None if there are none."""
    n, same, first, last, rewards, imitated = 0, 0, 0, 0, 0.0, 0.0
    with journal.still() as still:
        for one in closed_events(still, loop):
            if one.decided.mode == "Apprentice":
                n, first, last, rewards = n + 1, first or one.at, one.at, rewards + one.reward
                if one.decided.shadow == one.decided.baseline:
                    same, imitated = same + 1, imitated + one.reward
    return Imitation(first, last, n, same, rewards, imitated) if n else None
