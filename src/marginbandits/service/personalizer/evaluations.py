"""Offline evaluations: what is asked for, what is kept of it, and how each dialect tells it.

An evaluation is made when it is asked for, and kept as a fact of the journal, `personalizer-evaluation/<loop>/<id>`.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from marginbandits.service.journal import Journal
from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.personalizer.judging import BUCKET, Judged
from marginbandits.service.personalizer.policies import Contract
from marginbandits.service.personalizer.sums import Sums
from marginbandits.service.personalizer.times import duration, microseconds, moment

__all__ = ["Evaluation", "EvaluationContract", "filtered", "found", "kept"]

MOST_POLICIES = 10
TOO_MANY = "A maximum of 10 custom policies are allowed"
WINDOWS = (
    "Incompatible intervalInMinutes and window parameters. Valid rolling window intervals: 60 minutes, 360 minutes, "
    "720 minutes, 1440 minutes. Valid expanding window interval: 5 minutes."
)
FILTER = (
    "Error in the filter expression. Use an expression to filter the evaluations against evaluation metadata. Only "
    "evaluations where the expression evaluates to true are included in the response. Here is an example, "
    "metadata=evaluationType eq 'Manual'."
)
_FILTER = re.compile(r"(?:metadata=)?evaluationType eq '(Manual|Auto)'")


class EvaluationContract(msgspec.Struct, frozen=True, rename="camel"):
    """What is asked for."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    start_time: str
    end_time: str
    policies: list[Contract] = []

    def range(self) -> tuple[int, int]:
        """From when to when; or why the contract is none."""
        start, end = microseconds(self.start_time), microseconds(self.end_time)
        if start >= end:
            raise ValueError(f"endTime must be after startTime, got {self.start_time[:40]} to {self.end_time[:40]}")
        if len(self.policies) > MOST_POLICIES:
            raise FaultError("InvalidEvaluationContract", TOO_MANY)
        if len({one.name for one in self.policies}) < len(self.policies):
            raise FaultError("DuplicateCustomPolicyNames")
        return start, end


class Evaluation(msgspec.Struct, frozen=True):
    """What is kept."""

    id: str
    name: str
    start: int
    end: int
    made: int
    judged: list[Judged]

    def head(self, status: str) -> dict[str, Any]:
        """What every dialect tells of it."""
        return {
            "id": self.id,
            "name": self.name,
            "startTime": moment(self.start),
            "endTime": moment(self.end),
            "status": status,
            "evaluationType": "Manual",
            "creationTime": moment(self.made),
        }

    def v1(self) -> dict[str, Any]:
        """In v1.0 and v1.1."""
        results = [
            {
                "name": one.name,
                "arguments": one.arguments,
                "policySource": one.source,
                "summary": [_summary(sums, at, BUCKET) for at, sums in sorted(one.sums.items())],
                "totalSummary": _summary(_added(one, self.start, self.end), self.start, self.end - self.start),
            }
            for one in self.judged
        ]
        more = {"jobId": self.id, "policyResults": results, "featureImportance": []}
        return self.head("completed") | more

    def v2022(self, start: int, end: int, minutes: int, window: str) -> dict[str, Any]:
        """In the dialect of 2022: events from `start` to `end`, by so many minutes."""
        if (window, minutes) not in (("Expanding", 5), *(("Rolling", some) for some in (60, 360, 720, 1440))):
            raise FaultError("BadRequest", WINDOWS)
        content = {
            "startTime": moment(start),
            "endTime": moment(end),
            "intervalInMinutes": minutes,
            "value": [_result(one, start, end, minutes, expanding=window == "Expanding") for one in self.judged],
        }
        return self.head("Succeeded") | {"content": content}


def kept(journal: Journal, loop: str) -> list[Evaluation]:
    """All of a loop, the newest first."""
    facts = journal.facts(f"personalizer-evaluation/{loop}/").values()
    return sorted((msgspec.json.decode(one, type=Evaluation) for one in facts), key=lambda one: -one.made)


def found(journal: Journal, loop: str, name: str) -> Evaluation:
    """The one of this id."""
    fact = journal.fact(f"personalizer-evaluation/{loop}/{name}")
    if fact is None:
        raise FaultError("EvaluationNotFound")
    return msgspec.json.decode(fact, type=Evaluation)


def keep(journal: Journal, loop: str, name: str, evaluation: Evaluation | None) -> None:
    """Keep one; None takes it away."""
    value = None if evaluation is None else msgspec.json.encode(evaluation)
    journal.put(f"personalizer-evaluation/{loop}/{name}", value)


def filtered(expression: str | None) -> bool:
    """Whether a filter lets through evaluations that were asked for; there are no others."""
    if expression is None:
        return True
    told = _FILTER.fullmatch(expression.strip())
    if told is None:
        raise FaultError("BadRequest", FILTER)
    return told[1] == "Manual"


def _added(one: Judged, start: int, end: int) -> Sums:
    return sum((sums for at, sums in one.sums.items() if start - BUCKET < at < end), Sums())


def _summary(sums: Sums, at: int, width: int) -> dict[str, Any]:
    return {
        "timeStamp": moment(at),
        "ipsEstimatorNumerator": sums.wr,
        "ipsEstimatorDenominator": float(sums.n),
        "snipsEstimatorDenominator": sums.w,
        "aggregateTimeWindow": duration(width / 1e6),
        "nonZeroProbability": sums.used / sums.n if sums.n else 0.0,
        "sumOfSquares": sums.wwrr,
        "confidenceInterval": sums.half_width,
        "averageReward": sums.snips,
    }


def _expected(sums: Sums) -> dict[str, Any]:
    half = sums.half_width
    return {"expectedReward": sums.snips, "confidenceInterval": [sums.snips - half, sums.snips + half]}


def _result(one: Judged, start: int, end: int, minutes: int, *, expanding: bool) -> dict[str, Any]:
    width = minutes * 60_000_000
    series: dict[int, Sums] = {}
    for at, sums in sorted(one.sums.items()):
        if start - BUCKET < at < end:
            place = at - at % width
            series[place] = series.get(place, Sums()) + sums
    if expanding:
        so_far = Sums()
        for place, sums in series.items():
            series[place] = so_far = so_far + sums
    return {
        "name": one.name,
        "arguments": one.arguments,
        "policySource": one.source,
        "summary": _expected(_added(one, start, end)),
        "timeseries": {"data": [{"timeStamp": moment(at)} | _expected(sums) for at, sums in series.items()]},
    }
