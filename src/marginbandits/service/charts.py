"""Lines with bands over time, as SVG that needs no script; colours are the style's, by the names of lines.

A chart is as wide as its words need at their natural size, about a phone's screen.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import NamedTuple

__all__ = ["Line", "Point", "bar", "chart", "key", "steps"]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 220, 46, 14, 10, 196
LETTER, ROW = 6.0, 12
"""How wide a letter is at most, on average, and how tall a line of words."""
_MINUTE = 60_000_000
_STEPS = [n * _MINUTE for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)]
_STEPS += [n * 1440 * _MINUTE for n in (1, 2, 7, 14, 30, 60, 90, 180)]


class Point(NamedTuple):
    """When, what, and what it is between; `sure` points decide how tall a chart is, and others are faint.

    What is beyond the axis is told in the words that it has.
    """

    at: int
    value: float
    low: float
    high: float
    sure: bool = True
    words: str = ""


class Line(NamedTuple):
    """What is told of as `name`, and looks as `kind`: bandit, held, base, served, lift or count.

    Where two points are further apart than `apart`, nothing is drawn between them. Of a line that is `running`, the
    last point is of a time that is not over.
    """

    name: str
    kind: str
    points: Sequence[Point]
    apart: float = math.inf
    running: bool = False


def chart(
    lines: Sequence[Line],
    label: str,
    *,
    zero: bool = False,
    marks: Sequence[tuple[int, str]] = (),
    span: tuple[int, int] | None = None,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> str:
    """Lines on a common axis of time; the first is drawn last, on top. With `zero`, 0 is on the axis and has a line.

    The other axis shows nothing but what can be: what is `within`.

    Marks are times at which something changed, with what that was; those beyond the axis are not drawn. The axis is
    as long as the lines, or a `span`, so that charts beside one another have the same.
    """
    points = [point for line in lines for point in line.points]
    sure = [point for point in points if point.sure] or points
    low, high = min(point.low for point in sure), max(point.high for point in sure)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * (high - low) or 0.5
    low, high = max(low - room * (low != 0.0), within[0]), min(high + room, within[1])
    first, last = span or (min(point.at for point in points), max(point.at for point in points))

    def across(at: int) -> float:
        share = (at - first) / (last - first) if last > first else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def down(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return BOTTOM - share * (BOTTOM - TOP)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="chart" role="img" aria-label="{escape(label)}">']
    for mark in steps(low, high):
        at, kind = down(mark), "zero" if zero and mark == 0.0 else "grid"
        parts.append(f'<path d="M{LEFT},{at:.1f}H{WIDTH - RIGHT}" class="{kind}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_short(mark)}</text>')
    for when, text in _times(first, last):
        place = min(max(across(when), LEFT + 14.0), WIDTH - RIGHT - 14.0)
        parts.append(f'<text x="{place:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{text}</text>')
    parts += _marked([(across(when), text) for when, text in marks if first < when < last])
    for line in reversed(lines):
        parts += _drawn(line, across, down)
        parts += _beyond(line, across, low, high)
    return "".join([*parts, "</svg>"])


def _marked(marks: Sequence[tuple[float, str]]) -> Iterable[str]:
    """Each with its words beside it: on the other side near the right edge, a line lower where others stand already."""
    taken: list[float] = []  # where words end, line by line
    for x, text in marks:
        wide = LETTER * len(text)
        left = x + 3.0 if x + 3.0 + wide <= WIDTH else x - 3.0 - wide
        row = next((k for k, end in enumerate(taken) if end <= left), len(taken))
        taken[row : row + 1] = [left + wide + 4.0]
        yield f'<path d="M{x:.1f},{TOP}V{BOTTOM}" class="mark"><title>{escape(text)}</title></path>'
        anchor, at = ("start", x + 3.0) if left > x else ("end", x - 3.0)
        yield f'<text x="{at:.1f}" y="{TOP + 8 + ROW * row}" text-anchor="{anchor}">{escape(text)}</text>'


def _drawn(line: Line, across: Callable[[int], float], down: Callable[[float], float]) -> Iterable[str]:
    places = [(across(one.at), down(one.value), down(one.low), down(one.high)) for one in line.points]
    if any(one.low < one.high for one in line.points):
        around = [f"{x:.1f},{b:.1f}" for x, _, _, b in places] + [f"{x:.1f},{a:.1f}" for x, _, a, _ in places[::-1]]
        yield f'<polygon points="{" ".join(around)}" class="band {line.kind}"/>'
    for begin, end, sure in _strokes(line):
        path, kind = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places[begin:end]), line.kind + " faint" * (not sure)
        yield f'<polyline points="{path}" class="line {kind}"><title>{escape(line.name)}</title></polyline>'
        if end - begin == 1 and len(places) > 1:
            yield f'<circle cx="{places[begin][0]:.1f}" cy="{places[begin][1]:.1f}" r="1.2" class="dot {kind}"/>'
    if line.running:
        x, y, _, _ = places[-1]
        told = "<title>under way</title>"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="dot open {line.kind}">{told}</circle>'
    elif len(places) == 1:
        x, y, a, b = places[0]
        yield f'<path d="M{x:.1f},{a:.1f}V{b:.1f}" class="line {line.kind}"/>'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="dot {line.kind}"/>'


def _strokes(line: Line) -> Iterable[tuple[int, int, bool]]:
    """From which point up to which a line is drawn in one go, and whether it leads from sure ones to sure ones.

    >>> sure = [True, True, False, True, True]
    >>> list(_strokes(Line("", "", [Point(at, 0.0, 0.0, 0.0, one) for at, one in enumerate(sure)])))
    [(0, 2, True), (1, 4, False), (3, 5, True)]
    """
    points = line.points
    begins = [k for k, one in enumerate(points) if k == 0 or one.at - points[k - 1].at > line.apart]
    for begin, end in itertools.pairwise([*begins, len(points)]):
        if end - begin == 1:
            yield begin, end, points[begin].sure
        steps = [points[k].sure and points[k + 1].sure for k in range(begin, end - 1)]
        at = begin
        for sure, some in itertools.groupby(steps):
            n = len(list(some))
            yield at, at + n + 1, sure
            at += n


def _beyond(line: Line, across: Callable[[int], float], low: float, high: float) -> Iterable[str]:
    """An arrow at the edge, where values are beyond it; of several in a row one, at the farthest."""
    for side, some in itertools.groupby(line.points, lambda one: (one.value > high) - (one.value < low)):
        if side:
            farthest = max(some, key=lambda one: side * one.value)
            x, edge, step = across(farthest.at), TOP if side > 0 else BOTTOM, 7 * side
            told = f"<title>beyond the axis: {escape(farthest.words)}</title>"
            yield f'<path d="M{x - 4:.1f},{edge + step}h8l-4,{-step}z" class="dot {line.kind}">{told}</path>'


def key(line: Line) -> str:
    """A line in a legend."""
    picture = (
        f'<svg class="key" viewBox="0 0 28 12" aria-hidden="true"><path d="M1,6H27" class="line {line.kind}"/></svg>'
    )
    return f"<span>{picture}{escape(line.name)}</span>"


def bar(share: float, kind: str = "count") -> str:
    """A share of the whole, in a table."""
    width = 100.0 * min(max(share, 0.0), 1.0)
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="M0,0H100V8H0z" class="empty"/><path d="M0,0H{width:.1f}V8H0z" class="full {kind}"/></svg>'
    )


def steps(low: float, high: float) -> list[float]:
    """Round numbers between two, about four.

    >>> steps(0.0, 1.0), steps(-3.0, 12.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0])
    """
    rough = (high - low) / 5.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * one for one in (1.0, 2.0, 5.0, 10.0) if power * one >= rough * 0.999)
    return [round(k * step, 12) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _short(mark: float) -> str:
    """At most six characters.

    >>> _short(-0.05), _short(250_000.0), _short(-1e15)
    ('−0.05', '250k', '−1e15')
    """
    size = abs(mark)
    if size >= 1e12:
        text = f"{mark:.0e}".replace("e+", "e")
    else:
        unit, letter = next(((10.0**e, x) for e, x in ((9, "G"), (6, "M"), (3, "k")) if size >= 10.0**e), (1.0, ""))
        text = f"{mark / unit:.4g}{letter}"
    return text.replace("-", "−")


def _times(first: int, last: int) -> list[tuple[int, str]]:
    """Round times between two, at most five, in UTC."""
    step = next((one for one in _STEPS if (last - first) / one <= 4.5), _STEPS[-1])
    found = []
    for at in range(-(-first // step) * step, last + 1, step):
        when = datetime.fromtimestamp(at / 1e6, UTC)
        found.append((at, f"{when:%H:%M}" if at % _STEPS[11] else f"{when.day} {when:%b}"))
    if not found:
        when = datetime.fromtimestamp(last / 1e6, UTC)
        found.append((last, f"{when:%H:%M}"))
    return found
