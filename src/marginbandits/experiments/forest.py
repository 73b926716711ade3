"""Dots with their intervals, a row each, on one scale: as cells of a table, or as a chart of their own.

Places are percentages of the width, so that a row fits a phone and a wide table alike while dots and words keep their
size.

>>> scale = around([Interval(0.2, 0.1, 0.3), Interval(0.6, 0.5, 0.7)])
>>> [words for _, words in scale.marks]
['0.2', '0.4', '0.6']
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from marginbandits.evaluation import Interval
from marginbandits.experiments.marks import Mark
from marginbandits.experiments.svg import Axis, round_steps

__all__ = ["around", "forest", "interval_cell", "scale_cell"]

EDGE = 0.09
"""A mark nearer than this to an end of the scale has no room for its words."""


def around(intervals: Iterable[Interval]) -> Axis:
    """A scale that holds them, with three or four round marks."""
    finite = [value for one in intervals for value in one if math.isfinite(value)]
    pad = 0.06 * (max(finite) - min(finite)) or 0.05
    low, high = min(finite) - pad, max(finite) + pad
    marks = [(mark, f"{mark:g}") for mark in round_steps(low, high, most=4.5)]
    return Axis(low, high, [(m, words) for m, words in marks if EDGE <= (m - low) / (high - low) <= 1.0 - EDGE])


def interval_cell(one: Interval, scale: Axis, mark: Mark) -> str:
    """A dot at the mean and a line over its interval, if that has ends."""
    bar = ""
    if math.isfinite(one.high - one.low):
        bar = (
            f'<line x1="{_percent(one.low, scale)}" x2="{_percent(one.high, scale)}" y1="11" y2="11" '
            f'stroke="{mark.colour}" class="bar"/>'
        )
    return (
        f'<svg class="row" width="100%" height="22" aria-hidden="true">{_grid(scale, 22)}{bar}'
        f'<svg x="{_percent(one.mean, scale)}" y="11" overflow="visible"><path d="{mark.shape}" '
        f'fill="{mark.colour}" class="dot"/></svg></svg>'
    )


def scale_cell(scale: Axis) -> str:
    """The scale's words, for the head of a column."""
    words = "".join(
        f'<text x="{_percent(mark, scale)}" y="12" text-anchor="middle">{name}</text>' for mark, name in scale.marks
    )
    return f'<svg class="row" width="100%" height="16" aria-hidden="true">{words}</svg>'


def forest(rows: Sequence[tuple[str, Interval, Mark]], *, label: str, digits: int) -> str:
    """A chart of named rows: name, dot and interval, mean."""
    scale = around(one for _, one, _ in rows)
    lines = "".join(
        f"<span>{escape(name)}</span>{interval_cell(one, scale, mark)}<span>{one.mean:,.{digits}f}</span>"
        for name, one, mark in rows
    )
    head = f"<span></span>{scale_cell(scale)}<span></span>"
    return f'<div class="forest">{head}{lines}</div><p class="note">{escape(label)}</p>'


def _percent(value: float, scale: Axis) -> str:
    return f"{100.0 * scale.share(value):.2f}%"


def _grid(scale: Axis, height: int) -> str:
    places = (_percent(mark, scale) for mark, _ in scale.marks)
    return "".join(f'<line x1="{x}" x2="{x}" y1="0" y2="{height}" class="grid"/>' for x in places)
