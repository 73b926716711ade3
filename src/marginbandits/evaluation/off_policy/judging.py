"""From evidence to an estimate: a method, an interval, and what the two assume.

>>> w, loss = np.tile([0.0, 2.0], 500), np.tile([1.0, 1.0, 1.0, 0.0], 250)
>>> found = value(Evidence(w, loss), "ips", interval="bernstein")
>>> found.value, round(found.low, 3), round(found.high, 3)
(0.5, 0.398, 0.602)
"""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from marginbandits.evaluation.off_policy import intervals
from marginbandits.evaluation.off_policy.diagnostics import Finding
from marginbandits.evaluation.off_policy.estimate import Estimate
from marginbandits.evaluation.off_policy.estimators import METHODS, MODELLED, NORMALISED, Terms, difference, terms
from marginbandits.evaluation.off_policy.evidence import Evidence, Pair
from marginbandits.evaluation.off_policy.likelihood import likely_interval
from marginbandits.evaluation.off_policy.sequences import sequence
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, OneOf, Real, Seed, remembered, validated

__all__ = ["INTERVALS", "Level", "MaybeParameter", "Method", "value"]

INTERVALS: dict[str, str] = {
    "normal": "n is large, and the terms are hardly skewed: it misses on one side where weights are large",
    "hall": "n is large; corrected for skewness, so that about 20 events of the rarer outcome are enough",
    "bootstrap": "n is large; resampled t statistics, so that about 20 events of the rarer outcome are enough",
    "likelihood": "n is large; it cannot reach beyond the terms that were seen",
    "bernstein": "rounds are independent, and no weight could have been larger than {largest:.4g}; holds for any n",
    "sequence": "holds for any n, at all times together, for the mean of the rounds so far, whoever learnt meanwhile",
}
"""Every interval, and what it assumes beside what the estimator does."""

Method = Annotated[str, Choice(*METHODS)]
Kind = Annotated[str, Choice(*INTERVALS)]
Level = Annotated[float, Real(above=0, below=1)]
MaybeParameter = Annotated[float | None, OneOf(Real(above=0, high=math.inf), Instance(type(None)))]


@validated
def value(
    evidence: Annotated[Evidence | Pair, Instance(Evidence, Pair)],
    method: Method = "ips",
    *,
    interval: Kind = "hall",
    level: Level = 0.95,
    parameter: MaybeParameter = None,
    seed: Seed = 0,
    outcome: Annotated[str, Choice("loss", "reward")] = "loss",
    findings: Sequence[Finding] = (),
    estimated_propensities: bool = False,
    policy: str = "",
    against: str = "",
) -> Estimate:
    """The mean outcome of a policy, or the difference of two; `seed` is for the bootstrap alone."""
    paired = isinstance(evidence, Pair)
    used = difference(evidence, method, parameter) if isinstance(evidence, Pair) else terms(evidence, method, parameter)
    path = None
    if isinstance(evidence, Pair) and not evidence.distance.any():
        low = high = 0.0  # the same policy twice
    elif interval == "sequence":
        if method in (*MODELLED, "clipped"):
            raise ValueError(
                f"interval 'sequence' needs terms that do not look ahead, got method {method!r}, whose model or cap "
                "is chosen on the whole log: take 'ips', 'snips' or 'likelihood'"
            )
        if estimated_propensities:
            raise ValueError("interval 'sequence' needs propensities that do not look ahead, and estimated ones do")
        path = sequence(evidence, level)
        low, high = float(path.low[-1]), float(path.high[-1])
    else:
        low, high = _ends(used, method, interval, level, np.random.default_rng(remembered(seed)))
    findings = list(findings)
    if low > high or low > used.most or high < used.least:
        findings.append(_impossible(interval, low, high))
        low, high = used.least, used.most
    largest = max(evidence.first.largest, evidence.second.largest) if isinstance(evidence, Pair) else evidence.largest
    return Estimate(
        used.value,
        min(max(low, used.least), used.most),
        max(min(high, used.most), used.least),
        method,
        interval,
        level,
        len(evidence),
        outcome,
        error=_standard_error(used.values),
        bias=used.bias,
        parameter=used.parameter,
        assumptions=_assumptions(method, interval, largest, estimated_propensities),
        findings=tuple(findings),
        estimated_propensities=estimated_propensities,
        policy=policy,
        against=(against or "the second") if paired else "",
        path=path,
    )


def _ends(used: Terms, method: str, interval: str, level: float, rng: np.random.Generator) -> tuple[float, float]:
    """The lower end for the floor and the upper for the ceiling; one interval where they are the same."""
    if interval == "bernstein":
        (a, b), (c, d) = used.bounds
        return (
            intervals.bernstein(used.floor, level, b - a)[0],
            intervals.bernstein(used.ceiling, level, d - c)[1],
        )
    if used.around is None:
        return _interval(used.values, used.control, interval, level, rng)
    low, high = used.around
    return _interval(low, None, interval, level, rng)[0], _interval(high, None, interval, level, rng)[1]


def _interval(
    values: Array, control: Array | None, interval: str, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    if interval == "bootstrap":
        return intervals.bootstrap(values, level, rng)
    if interval == "likelihood":
        return likely_interval(values, control, level)
    return (intervals.normal if interval == "normal" else intervals.hall)(values, level)


def _impossible(interval: str, low: float, high: float) -> Finding:
    """That an interval holds no value that could be."""
    advice = (
        "The log's propensities are not those that its actions were drawn with, or a few rounds carry all the weight; "
        "what is shown is all that could be"
    )
    return Finding("interval", low, False, f"{interval} says at least {low:.4g} and at most {high:.4g}", advice)


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _assumptions(method: str, interval: str, largest: float, estimated: bool) -> tuple[str, ...]:
    found = ["The log's propensities are those its actions were drawn with."]
    if estimated:
        found = [
            "Propensities are estimated from the contexts: nothing else made the log's choices, and the interval takes "
            "them for known."
        ]
    if method == "dm":
        found = ["The model is right: nothing in the log corrects it, and the interval says nothing of its errors."]
    if method != "dm":
        found.append("The log could take whatever the policy takes.")
    if method == "snips":
        found.append("n is large: the self-normalised estimator is biased by about 1/n of its variance.")
    if method in NORMALISED and interval == "bernstein":
        found.append("The interval bounds the value itself, and need not lie around this estimate.")
    found.append(f"Interval: {INTERVALS[interval].format(largest=largest)}.")
    if interval != "sequence":
        found.append("Rounds are independent of one another, and the log's policy did not learn from them.")
    return tuple(found)
