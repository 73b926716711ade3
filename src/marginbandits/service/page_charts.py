"""The charts of a loop's page: what was earned so far, and in each time.

How tall a chart is, is decided by what rests on many events; what rests on few is faint, and cut to it with an arrow.
"""

import math
import statistics
from collections.abc import Callable, Sequence

from marginbandits.service.charts import Line, Point, chart, key
from marginbandits.service.running import Interval
from marginbandits.service.series import MINUTE, Means, Series, Stand, found
from marginbandits.service.watch import Seen
from marginbandits.service.wording import Units, count

__all__ = ["each", "figures"]

ENOUGH, PART = 50, 0.25
"""A mean is of enough events if it is of so many, or of this part of what the usual time has."""


def figures(seen: Seen, units: Units, now: int) -> str:
    """Rewards so far, their difference, rewards of each time, and how many decisions there were."""
    series = next((one for one in seen.series if one.whole), seen.series[-1])
    every = series.until(seen.stand)
    stands = [one for one in every if one.baseline.up.n or one.served.up.n]
    if not stands:
        return ""
    width = "minute" if series.width == MINUTE else "hour" if series is seen.series[1] else "day"
    several = found(stands)
    than = "holdback" if several[-1].held.n else "baseline"
    ends = [max(min(one.start + series.width, now), one.start) for one in stands]  # the last time is not over yet
    rewards = [
        _so_far("bandit", "bandit", [one.bandit for one in several], ends, units.reward_of, units),
        _so_far("holdback", "held", [one.held for one in several], ends, units.reward_of, units),
        _so_far("always the baseline", "base", [one.baseline for one in several], ends, units.reward_of, units),
        _so_far("baseline, as served", "served", _while_served(several), ends, units.reward_of, units),
    ]
    lift = _so_far(f"bandit less {than}", "lift", [one.lift for one in several], ends, units.gap_of, units)
    *earned, decisions = each(every, series, units, now)
    marks = [(one.first, f"policy {number}") for number, one in sorted(seen.policies.items())[1:]]
    times = [point.at for one in (*rewards, lift, *earned, decisions) for point in one.points]
    span = min(times), max(times)
    can_be = units.reward_of(0.0), units.reward_of(1.0)
    parts = [
        _figure("Reward so far, with 95% intervals", rewards, marks, span, within=can_be),
        _figure(f"Bandit less {than} so far, with its 95% interval", [lift], marks, span, zero=True, legend=False),
        _figure(f"Reward in each {width}", earned, marks, span, within=can_be),
        _figure(f"Decisions in each {width}", [decisions], marks, span, zero=True, legend=False),
    ]
    few = any(not point.sure for one in (*rewards, lift, *earned) for point in one.points)
    told = (
        f"Times are UTC, and the same in all charts. What is so far is shown at the end of each {width}; what is "
        f"of each {width} at its beginning, and a hollow dot is the one that is under way. Where no event closed, no "
        f"reward is shown.{' What is faint rests on few events; an arrow is a value beyond the axis.' * few}"
        f"{' A dashed line is where another policy began to decide.' * bool(marks)}"
    )
    return f'<div class="charts">{"".join(parts)}</div><p class="note">{told}</p>'


def _while_served(several: Sequence[Means]) -> list[Interval]:
    """Of the baseline as it is served: where another of its events has closed, and nothing where none has."""
    before = [0, *(one.served.n for one in several)]
    nothing = Interval(0, 0.5, 0.0, 1.0)
    return [one.served if one.served.n > n else nothing for one, n in zip(several, before, strict=False)]


def _so_far(
    name: str, kind: str, means: Sequence[Interval], ends: Sequence[int], of: Callable[[float], float], units: Units
) -> Line:
    """A mean with its interval at the end of each time; the first tenth of its events are few."""
    enough = max(one.n for one in means) / 10
    points = [
        Point(at, of(one.value), of(one.low), of(one.high), one.n >= enough, _of(of(one.value), one.n, units))
        for at, one in zip(ends, means, strict=True)
        if one.n
    ]
    return Line(name, kind, points)


def _of(value: float, n: int, units: Units) -> str:
    return f"{units.raw(value)}, of {count(n, 'event')}"


def each(stands: Sequence[Stand], series: Series, units: Units, now: int) -> list[Line]:
    """What happened in each time, where it begins: the difference of two stands. Times without any are there, too."""
    arms = ("bandit", "bandit"), ("holdback", "held"), ("baseline, as served", "served")
    rewards: tuple[list[tuple[int, int, float]], ...] = ([], [], [])
    counts: list[Point] = []
    pairs = list(zip([Stand(), *stands], stands, strict=False))
    for before, after in pairs if series.whole else pairs[1:]:  # else what was before the first has gone
        at = after.start
        for means, (_, arm) in zip(rewards, arms, strict=True):
            one, other = getattr(before, arm).up, getattr(after, arm).up
            if (n := other.n - one.n) > 0:
                means.append((at, n, units.reward_of((other.total - one.total) / n)))
        _nothing_until(counts, at, series.width)
        n = after.decisions - before.decisions
        counts.append(Point(at, n, n, n))
    begun = now // series.width * series.width
    if counts and counts[-1].at < begun <= counts[-1].at + series.width * series.most:
        _nothing_until(counts, begun + series.width, series.width)
    last = counts[-1].at if counts else 0
    enough, lines = _enough(rewards), []
    for (name, kind), means in zip(arms, rewards, strict=True):
        points = [Point(at, value, value, value, n >= enough, _of(value, n, units)) for at, n, value in means]
        lines.append(Line(name, kind, points, series.width, bool(points) and points[-1].at == last))
    return [*lines, Line("decisions", "count", counts, running=bool(counts))]


def _enough(rewards: Sequence[Sequence[tuple[int, int, float]]]) -> float:
    """How many events a mean must be of, to decide how tall a chart is."""
    closed: dict[int, int] = {}
    for means in rewards:
        for at, n, _ in means:
            closed[at] = closed.get(at, 0) + n
    return min(ENOUGH, PART * statistics.median(closed.values())) if closed else 0.0


def _nothing_until(counts: list[Point], at: int, width: int) -> None:
    """Between the last of these and a time nothing was counted."""
    if counts and counts[-1].at + width < at:
        first, last = counts[-1].at + width, at - width
        counts += [Point(one, 0.0, 0.0, 0.0) for one in dict.fromkeys((first, last))]


def _figure(
    title: str,
    lines: Sequence[Line],
    marks: Sequence[tuple[int, str]],
    span: tuple[int, int],
    *,
    zero: bool = False,
    legend: bool = True,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> str:
    shown = [one for one in lines if one.points]
    if not shown:
        return ""
    names = f'<p class="legend">{"".join(map(key, shown))}</p>' if legend else ""
    drawn = chart(shown, title, zero=zero, marks=marks, span=span, within=within)
    return f"<figure><h3>{title}</h3>{drawn}{names}</figure>"
