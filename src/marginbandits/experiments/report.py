"""Pictures of results: the one door to matplotlib (the extra `report`)."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from marginbandits.evaluation import interval
from marginbandits.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves"]


def plot_curves(curves: Mapping[str, Array], path: str | os.PathLike[str], *, title: str) -> None:
    """Draw progressive loss over rounds, one line with a 95% band per name; each value is seeds x rounds."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "marginbandits[report]"') from error
    figure = Figure(figsize=(8.5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    n_rounds = max(values.shape[1] for values in curves.values())
    shown = np.unique(np.geomspace(20, n_rounds, 120).astype(int)) - 1
    ends = []
    for number, (name, values) in enumerate(sorted(curves.items(), key=lambda item: -item[1][:, -1].mean())):
        at = shown[shown < values.shape[1]]
        bands = [interval(values[:, t]) for t in at]
        colour = f"C{number}"
        axes.plot(at + 1, [band.mean for band in bands], color=colour, linewidth=1.8)
        if len(values) > 1:
            axes.fill_between(at + 1, [b.low for b in bands], [b.high for b in bands], color=colour, alpha=0.15, lw=0)
        ends.append((bands[-1].mean, name, colour))
    axes.set_xscale("log")
    axes.set_xlim(20, n_rounds)
    axes.set_ylim(0, min(1.0, 1.05 * max(end[0] for end in ends) + 0.05))
    _label_ends(axes, ends)
    ticks = [t for t in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000) if t <= n_rounds]
    axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
    axes.minorticks_off()
    axes.set_xlabel("rounds")
    axes.set_ylabel("mean loss so far")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    figure.savefig(path, dpi=150)


def _label_ends(axes: "Axes", ends: list[tuple[float, str, str]]) -> None:
    """Write each name beside the end of its line, pushed apart evenly where lines end close together."""
    low, high = axes.get_ylim()
    gap = 0.055 * (high - low)
    order = sorted(ends)
    up, down = [end[0] for end in order], [end[0] for end in order]
    for i in range(1, len(order)):
        up[i] = max(up[i], up[i - 1] + gap)
        down[-1 - i] = min(down[-1 - i], down[-i] - gap)
    for (value, name, colour), position in zip(order, np.add(up, down) / 2, strict=True):
        axes.annotate(
            f"{name}  {value:.3f}",
            (1.0, position),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )
