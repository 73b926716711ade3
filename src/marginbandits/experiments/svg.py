"""Just enough SVG for a report that works offline and in print: lines with bands on any axes, and a dot plot."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from marginbandits.evaluation import interval
from marginbandits.types import Array

__all__ = ["PALETTE", "Axis", "Line", "Series", "curves_chart", "dot_chart", "xy_chart"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#6A3D9A")
OTHERS = "#b8bec6"
"""Colours that colour-blind readers can tell apart; whatever comes after them is grey."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, with a mark and its words at some values."""

    low: float
    high: float
    marks: Sequence[tuple[float, str]]
    log: bool = False
    label: str = ""

    @classmethod
    def of(cls, values: Iterable[float], label: str, *, log: bool = False, marks: Sequence[float] = ()) -> "Axis":
        """Wide enough for all values, from 0 or below unless logarithmic; round marks unless some are given."""
        finite = [value for value in values if math.isfinite(value) and (value > 0.0 or not log)]
        low, high = min(finite), max(finite)
        if log:
            low, high = low / 1.12, high * 1.12
            some = list(marks) or _round_powers(low, high)
        else:
            low, high = min(low, 0.0), high + 0.06 * (high - min(low, 0.0) or 1.0)
            some = list(marks) or _round_steps(low, high)
        return cls(low, high, [(mark, f"{mark:,.10g}") for mark in some if low <= mark <= high], log, label)

    def share(self, value: float) -> float:
        """Where a value lies between the ends, cut off there."""
        if self.high <= self.low:
            return 0.5
        value = min(max(value, self.low), self.high)
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Points joined in order, a band around them if it has ends; a bound is dashed, measured points have dots."""

    name: str
    x: Sequence[float] | Array
    y: Sequence[float] | Array
    colour: str
    low: Sequence[float] | Array | None = None
    high: Sequence[float] | Array | None = None
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One line: seeds x rounds of progressive loss."""

    name: str
    values: Array
    colour: str


def xy_chart(lines: Sequence[Line], x: Axis, y: Axis, *, width: int = 330, height: int = 220) -> str:
    """Lines on two axes; the first is drawn last, on top."""
    left, right, top, bottom = 44, 18, 22 if y.label else 8, 38 if x.label else 26

    def across(value: float) -> float:
        return left + x.share(value) * (width - left - right)

    def down(value: float) -> float:
        return top + (1.0 - y.share(value)) * (height - top - bottom)

    parts = [_frame(width, height)]
    for mark, words in y.marks:
        at = down(mark)
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
        parts.append(f'<text x="{left - 5}" y="{at + 3.5:.1f}" text-anchor="end">{words}</text>')
    parts.extend(
        f'<text x="{across(mark):.1f}" y="{height - bottom + 18}" text-anchor="middle">{words}</text>'
        for mark, words in x.marks
    )
    if x.label:
        parts.append(f'<text x="{width - right}" y="{height - 5}" text-anchor="end">{escape(x.label)}</text>')
    if y.label:
        parts.append(f'<text x="4" y="10">{escape(y.label)}</text>')
    for one in reversed(lines):
        points = [(across(a), down(b)) for a, b in zip(one.x, one.y, strict=True)]
        if one.low is not None and one.high is not None:
            upper = [f"{a:.1f},{down(b):.1f}" for (a, _), b in zip(points, one.high, strict=True)]
            lower = [f"{a:.1f},{down(b):.1f}" for (a, _), b in zip(points, one.low, strict=True)]
            parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{one.colour}" opacity="0.13"/>')
        weight = 1.0 if one.colour == OTHERS else 1.8
        dash = ' stroke-dasharray="5 4"' if one.dashed else ""
        parts.append(
            f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{one.colour}" '
            f'stroke-width="{weight}"{dash}><title>{escape(one.name)}: {one.y[-1]:.4f}</title></polyline>'
        )
        if one.dots:
            parts.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{one.colour}"/>' for a, b in points)
    return "".join([*parts, "</svg>"])


def curves_chart(series: Sequence[Series], *, width: int = 330, height: int = 220) -> str:
    """Progressive loss over rounds on a logarithmic axis, with 95% bands over seeds for the coloured lines."""
    n_rounds = max(one.values.shape[1] for one in series)
    first = min(10, n_rounds)
    at = np.unique(np.geomspace(first, n_rounds, 60).astype(int))
    ceiling = min(1.0, 1.08 * max(float(one.values[:, at - 1].mean(0).max()) for one in series))
    ceiling = max(ceiling, 0.05)
    lines = []
    for one in series:
        seen = at[at <= one.values.shape[1]]
        bands = [interval(one.values[:, t - 1]) for t in seen]
        shown = len(one.values) > 1 and one.colour != OTHERS
        low, high = ([band.low for band in bands], [band.high for band in bands]) if shown else (None, None)
        lines.append(Line(one.name, seen, [band.mean for band in bands], one.colour, low, high))
    x = Axis(first, n_rounds, [(mark, f"{mark:,}") for mark in _decades(first, n_rounds)], log=True)
    y = Axis(0.0, ceiling, [(mark, f"{mark:g}") for mark in _round_steps(0.0, ceiling)])
    return xy_chart(lines, x, y, width=width, height=height)


def dot_chart(
    rows: Sequence[tuple[str, float, float, float, str]],
    *,
    label: str,
    width: int = 720,
    left: int = 250,
    digits: int = 3,
) -> str:
    """One row per name: a dot at the mean and a line over its interval; (name, mean, low, high, colour)."""
    step, top = 22, 24
    height = top + step * len(rows) + 8
    finite = [value for _, mean, low, high, _ in rows for value in (mean, low, high) if math.isfinite(value)]
    least, most = min(finite), max(finite)
    pad = 0.06 * (most - least) or 0.05
    least, most = least - pad, most + pad

    def x(value: float) -> float:
        return left + (min(max(value, least), most) - least) / (most - least) * (width - left - 60)

    parts = [_frame(width, height), f'<text x="{left}" y="12">{escape(label)}</text>']
    for i, (name, mean, low, high, colour) in enumerate(rows):
        y = top + step * i + step / 2
        parts.append(f'<line x1="{left}" x2="{width - 60}" y1="{y}" y2="{y}" class="grid"/>')
        parts.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        if math.isfinite(high - low):
            ends = f'x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y}" y2="{y}"'
            parts.append(f'<line {ends} stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<circle cx="{x(mean):.1f}" cy="{y}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{width - 52}" y="{y + 4}">{mean:.{digits}f}</text>')
    return "".join([*parts, "</svg>"])


def _frame(width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" xmlns="http://www.w3.org/2000/svg" role="img">'


def _round_steps(low: float, high: float) -> list[float]:
    span = high - low
    base = 10.0 ** math.floor(math.log10(span))
    step = next(m * base for m in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if span / (m * base) <= 5.5)
    return [round(i * step, 10) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _round_powers(low: float, high: float) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [m * 10.0**e for e in exponents for m in marks if low <= m * 10.0**e <= high]
        if len(found) >= 3:
            break
    return found[:: math.ceil(len(found) / 7)]


def _decades(first: int, last: int) -> list[int]:
    marks = [m * 10**e for e in range(7) for m in (1, 3)]
    return [mark for mark in marks if first <= mark <= last]
