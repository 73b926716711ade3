"""What Prometheus reads: counts and gauges of the service and of each loop, as text.

What is of a loop is told by the process that learns, and by no other: a sum over processes counts everything once. What
came again is told by the process that it came to.
"""

from collections.abc import Callable

from marginbandits.service.core import Service
from marginbandits.service.door import Door
from marginbandits.service.journal import ACTIVATION, DECISION, REWARD
from marginbandits.service.loop import Loop
from marginbandits.service.running import Interval, intervals
from marginbandits.service.series import found
from marginbandits.service.wording import Units
from marginbandits.service.writer import BOUNDS, Writer

__all__ = ["exposition"]

Sample = tuple[dict[str, str], float]
STATUSES = 400, 401, 403, 404, 409, 413, 429, 500, 503
"""Told from the start, so that the first of them is an increase; so with kinds."""
KINDS = (
    "rewarded",
    "default",
    "inactive",
    "late",
    "orphans",
    "clipped",
    "late activations",
    "orphan activations",
)


def exposition(service: Service, door: Door) -> bytes:
    """Text of format 0.0.4."""
    writer = service.writer
    lines: list[str] = []

    def metric(name: str, kind: str, help_text: str, *values: tuple[dict[str, str], float]) -> None:
        lines.extend([f"# HELP marginbandits_{name} {help_text}", f"# TYPE marginbandits_{name} {kind}"])
        for labels, value in values:
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            lines.append(f"marginbandits_{name}{'{' + shown + '}' if shown else ''} {_number(value)}")

    def by_loop(value: Callable[[Loop], float]) -> list[tuple[dict[str, str], float]]:
        return [({"loop": one.name}, value(one)) for one in loops]

    repeated = [
        ({"loop": name, "kind": kind}, float(service.repeated[name, kind]))
        for name in list(service.loops)
        for kind in (DECISION, REWARD, ACTIVATION)
    ]
    leads = service.leads or service.failure is not None  # what fails to learn still tells what it knows
    loops = list(service.loops.values()) if leads else []
    metric("entries_total", "counter", "Entries appended by this process.", ({}, writer.appended))
    metric("groups_total", "counter", "Groups they were appended in.", ({}, writer.groups))
    lines.extend(_commits(writer))
    metric("waiting", "gauge", "Entries that wait for the disk.", ({}, writer.waiting))
    refused = [({"status": str(status)}, float(door.refused[status])) for status in sorted({*STATUSES, *door.refused})]
    metric("refused_total", "counter", "Requests refused, by the status of the answer.", *refused)
    metric("repeated_total", "counter", "What came again at this process, and counted once.", *repeated)
    metric("writing", "gauge", "1 if the last group was written.", ({}, float(writer.failure is None)))
    metric("learning", "gauge", "1 if learning does not fail.", ({}, float(service.failure is None)))
    metric(
        "leads", "gauge", "1 if this process learns; others decide by its model.", ({}, float(service.leads is True))
    )
    metric("behind", "gauge", "Entries that have not been taken in.", ({}, service.behind))
    metric("ahead_seconds", "gauge", "By how much the journal's clock is ahead of the machine's.", ({}, service.ahead))
    metric("decisions_total", "counter", "Decisions.", *by_loop(lambda one: one.watch.decisions))
    metric("open", "gauge", "Events whose windows are open.", *by_loop(lambda one: one.joiner.n_open))
    metric("learnt", "gauge", "Events the model has learnt.", *by_loop(lambda one: one.model.learnt))
    counts = [
        ({"loop": one.name, "kind": kind.replace(" ", "_")}, float(counted.get(kind, 0)))
        for one in loops
        for counted in (dict(one.joiner.counts),)
        for kind in sorted({*KINDS, *counted})
    ]
    metric("events_total", "counter", "Events and rewards by what became of them.", *counts)
    looks = [(one, one.watch.look()) for one in loops]
    rewards, lifts, by_policy = list[Sample](), list[Sample](), list[Sample]()
    lifts_by_policy: list[Sample] = []
    for one, seen in looks:
        units, means = Units(seen.reward_range), found([seen.stand])[0]
        for arm, interval in (
            ("bandit", means.bandit),
            ("holdback", means.held),
            ("baseline", means.baseline),
            ("served", means.served),
        ):
            if interval.n:
                told = units.low + units.width * interval.value
                rewards.append(({"loop": one.name, "arm": arm}, told))
        lifts += _ends({"loop": one.name}, means.lift, units.width)
        for number, reign in sorted(seen.policies.items()):
            labels = {"loop": one.name, "policy": str(number)}
            earned, gained = intervals([reign.bandit, reign.paired])
            if earned.n:
                by_policy.append((labels, units.low + units.width * earned.value))
            lifts_by_policy += _ends(labels, gained, units.width)
    metric(
        "reward",
        "gauge",
        "Mean reward so far of the bandit, the holdback, the baseline, and where that alone is served.",
        *rewards,
    )
    metric("lift", "gauge", "Bandit less holdback, or baseline, so far, and its 95% interval.", *lifts)
    metric("policy_reward", "gauge", "Mean reward while a policy decided, by its number.", *by_policy)
    metric("policy_lift", "gauge", "The lift while a policy decided, and its 95% interval.", *lifts_by_policy)
    evidence = by_loop(lambda one: min(one.watch.audit.evidence, 1e300))
    metric("draws_evidence", "gauge", "Against draws following their probabilities; alarming from 1e6.", *evidence)
    return ("\n".join(lines) + "\n").encode()


def _commits(writer: Writer) -> list[str]:
    """How long groups took to be written, the wait for the disk included, as a histogram."""
    name = "marginbandits_commit_seconds"
    told = [f"# HELP {name} Seconds that a group took to be written, and to be on disk.", f"# TYPE {name} histogram"]
    n, total, within = writer.groups, writer.seconds, list(writer.within)
    bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    told += [f'{name}_bucket{{le="{bound}"}} {m}' for bound, m in zip(bounds, [*within, n], strict=True)]
    return [*told, f"{name}_sum {_number(total)}", f"{name}_count {n}"]


def _ends(labels: dict[str, str], one: Interval, width: float) -> list[Sample]:
    """A difference, and what it is between."""
    ends = (("value", one.value), ("low", one.low), ("high", one.high)) if one.n else ()
    return [({**labels, "end": end}, width * value) for end, value in ends]


def _number(value: float) -> str:
    """Whole numbers in full: of a large count, the last digit is what changes."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**63 else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
