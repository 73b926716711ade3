"""What another policy would have earned, by the loop's own journal: what it would have decided at every event, then.

A rival learns as the loop's model did, every event when it closed, and is asked for its law at every decision, before
anything of it is known. With the logged probability p of what was chosen, its weight is π(a)/p, and estimates are those
of `evaluation.off_policy`: its value, the lift over what was logged, and that over what the policy now deciding would
have done at the same events, both paired, with intervals that hold at all times and for logs of a policy that was
learning. Events held back, explored or neither are one log, by their probabilities.

    a Policy     its learner's law, with the loop's share of exploration
    "baseline"   always the baseline         "uniform"   every action alike
"""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from marginbandits.evaluation.off_policy import Estimate, Evidence, Pair, value
from marginbandits.service.join import Closed, Joiner
from marginbandits.service.journal import DECISION, Journal
from marginbandits.service.loop import read
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Policy, decode
from marginbandits.service.requests import Judged
from marginbandits.types import Array

__all__ = ["DECIDING", "Rival", "Weighed", "judged", "weighed"]

DECIDING = "deciding"
"""What the policy that decides now is called among rivals."""


class Rival(NamedTuple):
    """A policy, with a share of exploration of its own, or that of each event; or one of the two by their names."""

    policy: Policy | str
    exploration: float | None = None


class Weighed(NamedTuple):
    """A closed event; for each rival its weight there, and how far its law is from the logged one.

    `apart` is how far each is from the law of the rival that is called `DECIDING`, where there is one.
    """

    closed: Closed
    rivals: dict[str, tuple[float, float]]
    apart: dict[str, float]


def weighed(
    journal: Journal, loop: str, rivals: dict[str, Rival], start: int = 0, end: int | None = None
) -> Iterator[Weighed]:
    """The events decided Online between `start` and `end`, microseconds since 1970, that have closed."""
    joiner, known = Joiner(loop), dict[int, tuple[dict[str, tuple[float, float]], dict[str, float]]]()
    models = {name: Model(one.policy) for name, one in rivals.items() if isinstance(one.policy, Policy)}
    for entry in read(journal):
        events = joiner.observe(entry)
        for closed in events:
            weights = known.pop(closed.seq, None)
            if weights is not None and closed.reason != "inactive":
                yield Weighed(closed, *weights)
        for model in models.values():
            model.learn([closed for closed in events if closed.seq > model.policy.since])
        if entry.kind == DECISION and entry.loop == loop and entry.body is not None:
            decided = decode(Decided, entry.body)
            if decided.mode == "Online" and entry.at >= start and (end is None or entry.at < end):
                laws = {name: _law(decided, one, models.get(name)) for name, one in rivals.items()}
                now, p = laws.get(DECIDING), decided.probabilities
                known[entry.seq] = (
                    {name: (law[decided.chosen] / p[decided.chosen], _apart(law, p)) for name, law in laws.items()},
                    {} if now is None else {name: _apart(law, now) for name, law in laws.items()},
                )


def judged(
    journal: Journal, loop: str, rivals: dict[str, Rival], deciding: Policy, *, level: float = 0.95
) -> list[Judged]:
    """Each rival, and first the policy that decides now, by all that has closed.

    Rewards are shares of the range that the last of these events has; what is beyond counts as its end.
    """
    rivals = {DECIDING: Rival(deciding), **rivals}
    rewards, found = array("d"), {name: array("d") for name in rivals}  # of an event no more is kept
    with journal.still() as still:  # or an event that is erased meanwhile would have its decision, and no reward
        for one in weighed(still, loop, rivals):
            rewards.append(one.closed.reward)
            span = one.closed.decided.reward_range
            for name, both in one.rivals.items():
                found[name].extend((*both, one.apart[name]))
    if not rewards:
        raise ValueError(
            "no event that was decided Online has closed: there is nothing to judge by (events of the past, that "
            "warmed the loop, teach but judge nobody)"
        )
    kept = {name: np.array(one).reshape(-1, 3) for name, one in found.items()}
    now = kept[DECIDING][:, 0]
    return [_judged(name, one, now, np.array(rewards), span, level) for name, one in kept.items()]


def _law(decided: Decided, rival: Rival, model: Model | None) -> list[float]:
    """The probability of each place."""
    left_out = set(decided.excluded)
    kept = [place for place in range(len(decided.actions)) if place not in left_out]
    law = [0.0] * len(decided.actions)
    if model is not None:
        own, _ = model.law(decided.context, [decided.actions[place] for place in kept])
        e = decided.exploration if rival.exploration is None else rival.exploration
        for place, q in zip(kept, own, strict=True):
            law[place] = (1.0 - e) * q + e / len(kept)
    elif rival.policy == "baseline":
        law[decided.baseline] = 1.0
    elif rival.policy == "uniform":
        for place in kept:
            law[place] = 1.0 / len(kept)
    else:
        raise ValueError(f"a rival must be a policy, 'baseline' or 'uniform', got {rival.policy!r}")
    return law


def _apart(law: list[float], other: list[float]) -> float:
    """In which share of such events two laws choose otherwise."""
    return min(sum(abs(one - two) for one, two in zip(law, other, strict=True)) / 2.0, 1.0)


def _judged(name: str, found: Array, now: Array, rewards: Array, span: tuple[float, float], level: float) -> Judged:
    low, width = span[0], span[1] - span[0]
    shares = np.clip((rewards - low) / width, 0.0, 1.0)
    evidence, logged = Evidence(found[:, 0], shares), Evidence(np.ones(len(shares)), shares)
    own = value(evidence, "ips", interval="sequence", level=level, outcome="reward")
    deciding = Evidence(now, shares)
    lift, over = (
        value(Pair(evidence, other, apart), "ips", interval="sequence", level=level, outcome="reward")
        for other, apart in ((logged, found[:, 1]), (deciding, found[:, 2]))
    )
    return Judged(
        rival=name,
        events=len(shares),
        reward=low + width * _within(own),
        low=low + width * own.low,
        high=low + width * own.high,
        lift=width * _within(lift),
        lift_low=width * lift.low,
        lift_high=width * lift.high,
        over_deciding=width * _within(over),
        over_deciding_low=width * over.low,
        over_deciding_high=width * over.high,
        logged=float(rewards.mean()),
        level=level,
    )


def _within(found: Estimate) -> float:
    """What is told of an estimate: it may be beyond what can happen, its interval is not."""
    return min(max(found.value, found.low), found.high)
