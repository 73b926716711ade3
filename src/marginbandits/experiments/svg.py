"""Just enough SVG for pages that work offline and in print: axes, and lines with bands on them.

A chart is as wide as its words need at their natural size, about a phone's screen, so that they can be read there too.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from marginbandits.experiments.marks import DASHES, SHAPES, sample
from marginbandits.types import Array

__all__ = ["Axis", "Frame", "Line", "round_steps", "xy_chart"]


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
        """Wide enough for all values, from 0 or below unless logarithmic; round marks unless some are given.

        >>> [name for _, name in Axis.of([35_000.0, 38_000.0], "regret", log=True).marks]
        ['35,000', '40,000']
        """
        finite = [value for value in values if math.isfinite(value) and (value > 0.0 or not log)]
        low, high = min(finite), max(finite)
        if log:
            low, high = low / 1.12, high * 1.12
            some = list(marks) or _round_powers(low, high)
        else:
            low, high = min(low, 0.0), high + 0.06 * (high - min(low, 0.0) or 1.0)
            some = list(marks) or round_steps(low, high)
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

    @property
    def key(self) -> str:
        """A picture of it for legends."""
        return sample(self.colour, DASHES[int(self.dashed)], SHAPES[0] if self.dots else "")


@dataclass(frozen=True, slots=True)
class Frame:
    """Two axes on a rectangle, and where their values lie on it."""

    x: Axis
    y: Axis
    width: int = 360
    height: int = 230
    left: int = 44
    right: int = 18

    @property
    def top(self) -> int:
        """Room for the vertical axis' label."""
        return 24 if self.y.label else 8

    @property
    def bottom(self) -> int:
        """The height of the horizontal axis."""
        return self.height - (38 if self.x.label else 24)

    def across(self, value: float) -> float:
        """From the left."""
        return self.left + self.x.share(value) * (self.width - self.left - self.right)

    def down(self, value: float) -> float:
        """From the top."""
        return self.top + (1.0 - self.y.share(value)) * (self.bottom - self.top)

    def points(self, x: Iterable[float], y: Iterable[float]) -> list[str]:
        """Pairs of coordinates."""
        return [f"{self.across(a):.1f},{self.down(b):.1f}" for a, b in zip(x, y, strict=True)]

    def drawn(self, inside: Iterable[str]) -> str:
        """The picture: axes with their words, then what is inside."""
        end = self.width - self.right
        parts = [f'<svg viewBox="0 0 {self.width} {self.height}" class="chart" role="img">']
        for mark, words in self.y.marks:
            at = self.down(mark)
            parts.append(f'<line x1="{self.left}" x2="{end}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
            parts.append(f'<text x="{self.left - 6}" y="{at + 4:.1f}" text-anchor="end">{words}</text>')
        parts += [
            f'<text x="{self.across(mark):.1f}" y="{self.bottom + 17}" text-anchor="middle">{words}</text>'
            for mark, words in self.x.marks
        ]
        if self.x.label:
            parts.append(f'<text x="{end}" y="{self.height - 4}" text-anchor="end">{escape(self.x.label)}</text>')
        if self.y.label:
            parts.append(f'<text x="2" y="11">{escape(self.y.label)}</text>')
        return "".join([*parts, *inside, "</svg>"])


def xy_chart(lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """Lines on two axes; the first is drawn last, on top."""
    frame = Frame(x, y)
    parts = []
    for one in reversed(lines):
        points = frame.points(one.x, one.y)
        if one.low is not None and one.high is not None:
            around = frame.points(one.x, one.high) + frame.points(one.x, one.low)[::-1]
            parts.append(f'<polygon points="{" ".join(around)}" fill="{one.colour}" opacity="0.13"/>')
        parts.append(
            f'<polyline class="line" points="{" ".join(points)}" stroke="{one.colour}" stroke-width="1.8" '
            f'stroke-dasharray="{DASHES[int(one.dashed)]}">'
            f"<title>{escape(one.name)}: {one.y[-1]:.4f}</title></polyline>"
        )
        if one.dots:
            places = (point.split(",") for point in points)
            parts += [f'<circle cx="{a}" cy="{b}" r="3" fill="{one.colour}"/>' for a, b in places]
    return frame.drawn(parts)


def round_steps(low: float, high: float, most: float = 5.5) -> list[float]:
    """Round values between two ends, at most about `most` of them.

    >>> round_steps(0.0, 0.7)
    [0.0, 0.2, 0.4, 0.6]
    """
    span = high - low
    base = 10.0 ** math.floor(math.log10(span))
    step = next(m * base for m in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if span / (m * base) <= most)
    return [round(i * step, 10) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _round_powers(low: float, high: float) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [m * 10.0**e for e in exponents for m in marks if low <= m * 10.0**e <= high]
        if len(found) >= 3:
            break
    return found[:: math.ceil(len(found) / 7)] if found else round_steps(low, high)
