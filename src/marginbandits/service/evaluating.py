"""What another policy would have earned, by the loop's own journal: what it would have decided at every event, then.

A rival learns as the loop's model did, every event when it closed, and is asked for its law at every decision, before
anything of it is known. With the logged probability p of what was chosen, its weight is π(a)/p, and estimates are those
of `evaluation.off_policy`: its value, and the lift over what was logged, paired, with intervals that hold at all times
and for logs of a policy that was learning. Events held back, explored or neither are one log, by their probabilities.

    a Policy     its learner's law, with the loop's share of exploration
    "baseline"   always the baseline         "uniform"   every action alike
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from marginbandits.evaluation.off_policy import Evidence, Pair, value
from marginbandits.service.join import Joiner
from marginbandits.service.journal import DECISION, Journal
from marginbandits.service.loop import read
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Policy, decode
from marginbandits.types import Array

__all__ = ["Judged", "judged"]

Rival = Policy | str


class Judged(msgspec.Struct, frozen=True):
    """A rival's mean reward with its interval, the same of its lift over what was logged, and the sums behind them."""

    rival: str
    events: int
    reward: float
    low: float
    high: float
    lift: float
    lift_low: float
    lift_high: float
    logged: float


@dataclass
class _Seen:
    """Of one rival: weight and distance from the logged law of each open event, of each closed one, and its model."""

    weights: dict[int, tuple[float, float]]
    found: list[tuple[float, float]]
    model: Model | None


def judged(
    journal: Journal,
    loop: str,
    rivals: dict[str, Rival],
    *,
    start: int = 0,
    end: int | None = None,
    level: float = 0.95,
) -> list[Judged]:
    """Each rival by the events decided between `start` and `end`, microseconds since 1970, that have closed.

    Rewards are shares of the range that the last of these events has; what is beyond counts as its end.
    """
    joiner = Joiner(loop)
    seen = {name: _Seen({}, [], Model(one) if isinstance(one, Policy) else None) for name, one in rivals.items()}
    rewards: list[float] = []
    span = (0.0, 1.0)
    for entry in read(journal):
        for closed in joiner.observe(entry):
            known = [one.weights.pop(closed.seq, None) for one in seen.values()]
            for one, weight in zip(seen.values(), known, strict=True):
                if weight is not None and closed.reason != "inactive":
                    one.found.append(weight)
                if one.model is not None and closed.seq > one.model.policy.since:
                    one.model.learn(closed)
            if None not in known and closed.reason != "inactive":
                rewards.append(closed.reward)
                span = closed.decided.reward_range
        if entry.kind == DECISION and entry.loop == loop and entry.body is not None:
            decided = decode(Decided, entry.body)
            within = entry.at >= start and (end is None or entry.at < end)
            if within and decided.mode == "Online":
                for name, rival in rivals.items():
                    seen[name].weights[entry.seq] = _weight(decided, rival, seen[name].model)
    if not rewards:
        raise ValueError("no event of this time has closed: there is nothing to judge by")
    return [_judged(name, np.array(one.found), np.array(rewards), span, level) for name, one in seen.items()]


def _weight(decided: Decided, rival: Rival, model: Model | None) -> tuple[float, float]:
    """π(a)/p of what was chosen, and how far the two laws are apart."""
    kept = [place for place in range(len(decided.actions)) if place not in set(decided.excluded)]
    law = [0.0] * len(decided.actions)
    if model is not None:
        own, _ = model.law(decided.context, [decided.actions[place] for place in kept])
        e = decided.exploration
        for place, q in zip(kept, own, strict=True):
            law[place] = (1.0 - e) * q + e / len(kept)
    elif rival == "baseline":
        law[decided.baseline] = 1.0
    elif rival == "uniform":
        for place in kept:
            law[place] = 1.0 / len(kept)
    else:
        raise ValueError(f"a rival must be a policy, 'baseline' or 'uniform', got {rival!r}")
    apart = sum(abs(one - other) for one, other in zip(law, decided.probabilities, strict=True)) / 2.0
    return law[decided.chosen] / decided.probabilities[decided.chosen], min(apart, 1.0)


def _judged(name: str, found: Array, rewards: Array, span: tuple[float, float], level: float) -> Judged:
    low, width = span[0], span[1] - span[0]
    shares = np.clip((rewards - low) / width, 0.0, 1.0)
    evidence, logged = Evidence(found[:, 0], shares), Evidence(np.ones(len(shares)), shares)
    own = value(evidence, "ips", interval="sequence", level=level, outcome="reward")
    lift = value(Pair(evidence, logged, found[:, 1]), "ips", interval="sequence", level=level, outcome="reward")
    return Judged(
        rival=name,
        events=len(shares),
        reward=low + width * own.value,
        low=low + width * own.low,
        high=low + width * own.high,
        lift=width * lift.value,
        lift_low=width * lift.low,
        lift_high=width * lift.high,
        logged=float(rewards.mean()),
    )
