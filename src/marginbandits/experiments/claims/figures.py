"""Charts that several claims share: how something grows, with its interval, under its bound."""

from collections.abc import Mapping, Sequence

import numpy as np

from marginbandits.experiments.claims.claim import Chart, Results
from marginbandits.experiments.marks import PALETTE
from marginbandits.experiments.svg import Axis, Line
from marginbandits.theory import exponents

__all__ = ["curves", "exponent_curves", "growth"]


def growth(
    title: str,
    groups: Mapping[str, Results],
    *,
    over: str,
    of: str = "regret",
    bound: str | None = "bound",
    label: str = "regret (dashed: bound)",
    floor: float = 0.0,
) -> Chart:
    """A line for each group on logarithmic axes: the mean over seeds with its 95% band, and the mean bound, dashed.

    What is below `floor` is drawn there.
    """
    lines: list[Line] = []
    for (name, results), colour in zip(groups.items(), PALETTE, strict=False):
        x = sorted(results.each(over))
        bands = [results.where(**{over: one}).interval(of) for one in x]
        mean = [max(band.mean, floor) for band in bands]
        many = len(results) > len(x)
        low = [max(band.low, floor, 0.2 * band.mean) for band in bands] if many else None
        high = [max(band.high, floor) for band in bands] if many else None
        lines.append(Line(name, x, mean, colour, low, high, dots=True))
        if bound is not None:
            limit = [float(results.where(**{over: one}).values(bound).mean()) for one in x]
            lines.append(Line(f"{name}, bound", x, limit, colour, dashed=True))
    marks = sorted({float(x) for line in lines for x in line.x})
    across = Axis.of(marks, over, log=True, marks=marks)
    down = Axis.of([float(y) for line in lines for y in line.y], label, log=True)
    return Chart(title, lines, across, down, [line for line in lines if not line.dashed])


def curves(title: str, lines: Sequence[Line], x: Axis, y_label: str, *, log_y: bool = False) -> Chart:
    """Lines as they are, on a vertical axis that holds them all."""
    down = Axis.of([float(y) for line in lines for y in np.asarray(line.y)], y_label, log=log_y)
    return Chart(title, lines, x, down, lines)


def exponent_curves(largest: float) -> list[Line]:
    """The three lines of Figure 1, up to some p."""
    p = np.linspace(0.0, largest, 161)
    names = {"margin": "margin, this paper", "full": "full information", "square": "square loss"}
    return [
        Line(words, p, [exponents(one)[name] for one in p], colour)
        for (name, words), colour in zip(names.items(), PALETTE, strict=False)
    ]
