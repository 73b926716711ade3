"""Loss over rounds of many learners on one chart, each line with its number at its end.

Two dozen bands would hide each other, so one is shown: that of the learner that ends best, or of the one that the
reader picked (`pick` and `pick_style`: no script, the style sheet does it). It spans the seeds: intervals of a few
seeds, taken anew at every round, jump about and say less.

>>> chart = curves_chart({"A": np.array([[0.5, 0.3], [0.4, 0.4]]), "B": np.array([[0.9, 0.8], [0.9, 0.9]])})
>>> chart.count('class="line"'), 's1 best' in chart
(2, True)
"""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from scipy.optimize import isotonic_regression

from marginbandits.experiments.html import breakable
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
    bands, lines = [], []
    for i, (name, values) in enumerate(learners.items()):
        mark, points = Mark.of(i), frame.points(at, means[i])
        kind = f"s{mark.number}{' best' * (i == best)}"
        if len(values) > 1:
            seen = values[:, at - 1]
            around = frame.points(at, seen.max(0)) + frame.points(at, seen.min(0))[::-1]
            bands.append(f'<polygon class="band {kind}" points="{" ".join(around)}" fill="{mark.colour}"/>')
        end, label = points[-1], frame.width - frame.right + 22
        lines.append(
            f'<g class="curve {kind}"><title>{mark.number}. {escape(name)}: {means[i, -1]:.3f}</title>'
            f'<polyline class="line" points="{" ".join(points)}" stroke="{mark.colour}" '
            f'stroke-width="{2.2 if i < 8 else 1.4}" stroke-dasharray="{mark.dash}"/>'
            f'<path class="lead" d="M{end}L{label - 4},{heights[i]:.1f}" stroke="{mark.colour}"/>'
            f'<path transform="translate({end}) scale(0.75)" d="{mark.shape}" fill="{mark.colour}"/>'
            f'<text x="{label}" y="{heights[i] + 3.8:.1f}">{mark.number}</text></g>'
        )
    return frame.drawn([*bands, *reversed(lines)])


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
    """A legend whose entries can be chosen: in the `.charts` after it that learner stands out, with its band."""
    inputs = "".join(
        f'<input type="radio" name="pick" id="pick{i}"{" checked" * (i == 0)}>' for i in range(len(names) + 1)
    )
    entries = "".join(
        f'<label for="pick{mark.number}"><b>{mark.number}</b>{mark.key}<span>{breakable(name)}</span></label>'
        for name, mark in ((name, Mark.of(i)) for i, name in enumerate(names))
    )
    return f'{inputs}<div class="pick"><label for="pick0"><span>all learners</span></label>{entries}</div>'


def pick_style(n_learners: int) -> str:
    """What makes `pick` work: siblings, not `:has`, which takes seconds to compute on a page of this size."""
    labels = "".join(
        f"#pick{i}:checked ~ .pick [for=pick{i}]::before {{ content: '●'; }} "
        f"#pick{i}:focus-visible ~ .pick [for=pick{i}] {{ outline: 2px solid; }}\n"
        for i in range(n_learners + 1)
    )
    charts = "".join(
        f"#pick{i}:checked ~ .charts .curve:not(.s{i}) {{ opacity: 0.13; }} "
        f"#pick{i}:checked ~ .charts .band:not(.s{i}) {{ display: none; }} "
        f"#pick{i}:checked ~ .charts .band.s{i} {{ display: inline; }}\n"
        for i in range(1, n_learners + 1)
    )
    return labels + charts


def _decades(first: int, last: int) -> list[int]:
    marks = [m * 10**e for e in range(7) for m in (1, 3)]
    return [mark for mark in marks if first <= mark <= last]
