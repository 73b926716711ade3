"""What Prometheus reads: counts and gauges of the service and of each loop, as text."""

from collections.abc import Callable

from marginbandits.service.core import Service
from marginbandits.service.door import Door
from marginbandits.service.loop import Loop
from marginbandits.service.series import found
from marginbandits.service.wording import Units

__all__ = ["exposition"]


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

    loops = list(service.loops.values())
    metric("entries_total", "counter", "Entries appended by this process.", ({}, writer.appended))
    metric("groups_total", "counter", "Groups they were appended in.", ({}, writer.groups))
    metric("waiting", "gauge", "Entries that wait for the disk.", ({}, writer.waiting))
    metric("refused_total", "counter", "Requests refused.", ({}, door.refused))
    metric("writing", "gauge", "1 if the last group was written.", ({}, float(writer.failure is None)))
    metric("learning", "gauge", "1 if the follower runs.", ({}, float(service.failure is None)))
    metric("decisions_total", "counter", "Decisions.", *by_loop(lambda one: one.watch.decisions))
    metric("open", "gauge", "Events whose windows are open.", *by_loop(lambda one: one.joiner.n_open))
    metric("learnt", "gauge", "Events the model has learnt.", *by_loop(lambda one: one.model.learnt))
    counts = [
        ({"loop": one.name, "kind": kind.replace(" ", "_")}, float(count))
        for one in loops
        for kind, count in sorted(one.joiner.counts.items())
    ]
    metric("events_total", "counter", "Events and rewards by what became of them.", *counts)
    looks = [(one, one.watch.look()) for one in loops]
    rewards, lifts = [], []
    for one, seen in looks:
        units, four = Units(seen.reward_range), found([seen.stand])[0]
        for policy, interval in (("bandit", four.bandit), ("holdback", four.held), ("baseline", four.baseline)):
            if interval.n:
                told = units.low + units.width * interval.value
                rewards.append(({"loop": one.name, "policy": policy}, told))
        if four.lift.n:
            ends = (("value", four.lift.value), ("low", four.lift.low), ("high", four.lift.high))
            lifts += [({"loop": one.name, "end": end}, units.width * value) for end, value in ends]
    metric("reward", "gauge", "Mean reward so far, as the page has it.", *rewards)
    metric("lift", "gauge", "Bandit less holdback, or baseline, so far, and its 95% interval.", *lifts)
    evidence = by_loop(lambda one: min(one.watch.audit.evidence, 1e300))
    metric("draws_evidence", "gauge", "Against draws following their probabilities; alarming from 1e6.", *evidence)
    return ("\n".join(lines) + "\n").encode()


def _number(value: float) -> str:
    """Whole numbers in full: of a large count, the last digit is what changes."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**63 else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
