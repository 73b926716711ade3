"""Just enough SVG for a report that works offline and in print: loss curves with bands, and a dot plot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from marginbandits.evaluation import interval
from marginbandits.types import Array

__all__ = ["PALETTE", "Series", "curves_chart", "dot_chart"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#6A3D9A")
OTHERS = "#b8bec6"
"""Colours that colour-blind readers can tell apart; whatever comes after them is grey."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One line: seeds x rounds of progressive loss."""

    name: str
    values: Array
    colour: str


def curves_chart(series: Sequence[Series], *, width: int = 330, height: int = 220) -> str:
    """Progressive loss over rounds on a logarithmic axis, with 95% bands over seeds for the coloured lines."""
    left, right, top, bottom = 36, 8, 8, 26
    n_rounds = max(one.values.shape[1] for one in series)
    first = min(10, n_rounds)
    at = np.unique(np.geomspace(first, n_rounds, 60).astype(int))
    ceiling = min(1.0, 1.08 * max(float(one.values[:, at - 1].mean(0).max()) for one in series))
    ceiling = max(ceiling, 0.05)

    def x(t: float) -> float:
        share = math.log(t / first) / math.log(n_rounds / first) if n_rounds > first else 0.5
        return left + share * (width - left - right)

    def y(loss: float) -> float:
        return top + (1.0 - min(max(loss / ceiling, 0.0), 1.0)) * (height - top - bottom)

    parts = [_frame(width, height)]
    for tick in _ticks(ceiling):
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{left - 5}" y="{y(tick) + 3.5:.1f}" text-anchor="end">{tick:g}</text>')
    parts.extend(
        f'<text x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{tick:,}</text>'
        for tick in _decades(first, n_rounds)
    )
    for one in reversed(series):  # the best are drawn last, on top
        bands = [interval(one.values[:, t - 1]) for t in at[at <= one.values.shape[1]]]
        line = " ".join(f"{x(t):.1f},{y(band.mean):.1f}" for t, band in zip(at, bands, strict=False))
        if len(one.values) > 1 and one.colour != OTHERS:
            upper = [f"{x(t):.1f},{y(band.high):.1f}" for t, band in zip(at, bands, strict=False)]
            lower = [f"{x(t):.1f},{y(band.low):.1f}" for t, band in zip(at, bands, strict=False)]
            parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{one.colour}" opacity="0.13"/>')
        weight = 1.0 if one.colour == OTHERS else 1.8
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{one.colour}" stroke-width="{weight}">'
            f"<title>{escape(one.name)}: {bands[-1].mean:.4f}</title></polyline>"
        )
    return "".join([*parts, "</svg>"])


def dot_chart(rows: Sequence[tuple[str, float, float, float, str]], *, label: str, width: int = 720) -> str:
    """One row per name: a dot at the mean and a line over its interval; (name, mean, low, high, colour)."""
    left, step, top = 250, 22, 24
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
        parts.append(f'<text x="{width - 52}" y="{y + 4}">{mean:.3f}</text>')
    return "".join([*parts, "</svg>"])


def _frame(width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" xmlns="http://www.w3.org/2000/svg" role="img">'


def _ticks(ceiling: float) -> list[float]:
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if ceiling / s <= 5.5)
    return [round(i * step, 10) for i in range(int(ceiling / step) + 1)]


def _decades(first: int, last: int) -> list[int]:
    marks = [m * 10**e for e in range(7) for m in (1, 3)]
    return [mark for mark in marks if first <= mark <= last]
