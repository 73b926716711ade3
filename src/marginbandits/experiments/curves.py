"""Loss over rounds of many learners on one chart, each line with its number at its end.

Two dozen bands would hide each other, so one is shown: that of the learner that ends best, or of the one that the
reader picked (`pick` and `pick_style`: no script, the style sheet does it).

>>> chart = curves_chart({"A": np.array([[0.5, 0.3], [0.4, 0.4]]), "B": np.array([[0.9, 0.8], [0.9, 0.9]])})
>>> chart.count('class="line"'), 's1 best' in chart
(2, True)
"""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from scipy.optimize import isotonic_regression

from marginbandits.evaluation import interval
from marginbandits.experiments.marks import Mark
from marginbandits.experiments.svg import Axis, Frame, round_steps
from marginbandits.types import Array

__all__ = ["curves_chart", "pick", "pick_style", "spread"]

STEPS = 44
"""Points of a line: enough for 360 pixels, few enough for 75 charts of two dozen lines."""

LEADING = 11.5
"""Between two numbers at the ends of lines."""


def curves_chart(learners: Mapping[str, Array]) -> str:
    """Progressive loss, seeds x rounds for each learner in order of place, over rounds on a logarithmic axis."""
    n_rounds = max(values.shape[1] for values in learners.values())
    first = min(10, n_rounds)
    at = np.unique(np.geomspace(first, n_rounds, STEPS).astype(int))
    means = np.array([values[:, at - 1].mean(0) for values in learners.values()])
    ceiling = max(min(1.0, 1.06 * float(means.max())), 0.05)
    frame = Frame(
        Axis(first, n_rounds, [(mark, f"{mark:,}") for mark in _decades(first, n_rounds)], log=True),
        Axis(0.0, ceiling, [(mark, f"{mark:g}") for mark in round_steps(0.0, ceiling)]),
        height=max(230, round(36 + LEADING * len(learners))),
        left=34,
        right=42,
    )
    heights = spread([frame.down(last) for last in means[:, -1]], LEADING, frame.top, frame.bottom)
    best = int(means[:, -1].argmin())
    parts = []
    for i, (name, values) in enumerate(learners.items()):
        mark, points = Mark.of(i), frame.points(at, means[i])
        bands = [interval(values[:, t - 1], within=(0.0, 1.0)) for t in at] if len(values) > 1 else []
        around = (
            frame.points(at, (b.high for b in bands)) + frame.points(at, (b.low for b in bands))[::-1] if bands else []
        )
        end, label = points[-1], frame.width - frame.right + 22
        parts.append(
            f'<g class="curve s{mark.number}{" best" * (i == best)}">'
            f"<title>{mark.number}. {escape(name)}: {means[i, -1]:.3f}</title>"
            + f'<polygon class="band" points="{" ".join(around)}" fill="{mark.colour}"/>'
            * bool(around)
            + f'<polyline class="line" points="{" ".join(points)}" stroke="{mark.colour}" '
            f'stroke-width="{2.2 if i < 8 else 1.4}" stroke-dasharray="{mark.dash}"/>'
            f'<path class="lead" d="M{end}L{label - 4},{heights[i]:.1f}" stroke="{mark.colour}"/>'
            f'<path transform="translate({end}) scale(0.75)" d="{mark.shape}" fill="{mark.colour}"/>'
            f'<text x="{label}" y="{heights[i] + 3.8:.1f}">{mark.number}</text></g>'
        )
    return frame.drawn(reversed(parts), "curves")


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near to the wanted ones as they can be, in the same order, `gap` apart, between two ends.

    >>> spread([50.0, 20.0, 50.0], 10.0, 0.0, 100.0)
    [45.0, 20.0, 55.0]
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(order))
    fitted = isotonic_regression(np.asarray(wanted, float)[order] - steps).x
    heights = np.empty(len(order))
    heights[order] = np.clip(fitted, low, max(low, high - steps[-1])) + steps
    return [float(height) for height in heights]


def pick(names: Sequence[str]) -> str:
    """A legend whose entries can be chosen: that learner's curves stand out, with their bands."""
    entries = [
        f'<label><input type="radio" name="pick" id="pick{mark.number}"><b>{mark.number}</b>{mark.key}'
        f"<span>{escape(name)}</span></label>"
        for name, mark in ((name, Mark.of(i)) for i, name in enumerate(names))
    ]
    everyone = '<label><input type="radio" name="pick" id="pick0" checked><span>all learners</span></label>'
    return f'<fieldset class="pick"><legend>Show</legend>{everyone}{"".join(entries)}</fieldset>'


def pick_style(n_learners: int) -> str:
    """What makes `pick` work."""
    return "".join(
        f"body:has(#pick{i}:checked) .curve:not(.s{i}) {{ opacity: 0.13; }} "
        f"body:has(#pick{i}:checked) .curve:not(.s{i}) .band {{ display: none; }} "
        f"body:has(#pick{i}:checked) .s{i} .band {{ display: inline; }}\n"
        for i in range(1, n_learners + 1)
    )


def _decades(first: int, last: int) -> list[int]:
    marks = [m * 10**e for e in range(7) for m in (1, 3)]
    return [mark for mark in marks if first <= mark <= last]
