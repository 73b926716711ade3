"""The page of an evaluation: every estimate with its interval in one picture, what it assumes, how the log is.

>>> from marginbandits.evaluation.off_policy import Evidence, value
>>> import numpy as np
>>> one = value(Evidence(np.ones(50), np.arange(50) % 2), "ips", policy="always a")
>>> "always a" in "".join(body([one], "visits.csv", "", None))
True
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from marginbandits.evaluation.off_policy.diagnostics import Finding
from marginbandits.evaluation.off_policy.estimate import Estimate
from marginbandits.evaluation.off_policy.estimators import METHODS
from marginbandits.experiments.forest import forest
from marginbandits.experiments.html import figure, page, rerun, scroll, table
from marginbandits.experiments.marks import Mark
from marginbandits.experiments.svg import Axis, Line, xy_chart
from marginbandits.saving import write_text

__all__ = ["body", "write_page"]


def write_page(
    path: Path, estimates: Sequence[Estimate], *, title: str, command: str = "", report: Any | None = None
) -> None:
    """Write the page of some estimates from one log; `report` is what reading it has shown."""
    write_text(path, page(f"{title}: what other policies would have earned", body(estimates, title, command, report)))


def body(estimates: Sequence[Estimate], title: str, command: str, report: Any | None) -> list[str]:
    """What stands on it."""
    policies = list(dict.fromkeys(one.policy for one in estimates))
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="note">{estimates[0].n:,} rounds</p>']
    for policy in policies:
        own = [one for one in estimates if one.policy == policy]
        sentence, *_ = str(own[0]).split("\n")
        parts.append(f'<p class="lead">{escape(sentence)}</p>')
        parts += [f"<p><strong>Beware:</strong> {escape(one)}.</p>" for one in own[0].warnings]
    if report is not None and (report.skipped or report.notes):
        parts.append(f"<h2>Reading the log</h2><pre>{escape(str(report))}</pre>")
    parts += ["<h2>Estimates</h2>", _picture(estimates, policies), _table(estimates), *_paths(estimates)]
    parts += ["<h2>The log</h2>", "<p>Whether it can answer at all.</p>", _findings(estimates, policies)]
    said = dict.fromkeys(line for one in estimates for line in one.assumptions)
    parts.append("<h2>What is assumed</h2><ul>" + "".join(f"<li>{escape(one)}</li>" for one in said) + "</ul>")
    parts.append(rerun({"command": command, "estimates": [one.to_dict() | {"path": None} for one in estimates]}))
    return parts


def _picture(estimates: Sequence[Estimate], policies: Sequence[str]) -> str:
    several = len(policies) > 1
    rows = [
        (f"{one.policy}, {one.method}" if several else one.method, one.ends, Mark.of(policies.index(one.policy)))
        for one in estimates
    ]
    first = estimates[0]
    label = f"mean {first.outcome}" + (f" minus that of {first.against}" if first.against else "")
    label += f", {100 * first.level:g}% intervals ({first.interval})"
    return figure(f"Mean {first.outcome}", forest(rows, label=label, digits=4))


def _table(estimates: Sequence[Estimate]) -> str:
    rows = [
        [
            escape(one.policy),
            escape(METHODS[one.method]),
            f"{one.value:.4f}, {one.low:.4f} to {one.high:.4f}" + f", bias at most {one.bias:.2g}" * (one.bias > 0),
        ]
        for one in estimates
    ]
    return table(["policy", "estimator", "value, interval"], rows, "claims")


def _paths(estimates: Sequence[Estimate]) -> list[str]:
    """Confidence sequences, as they narrow."""
    charts = []
    for place, one in enumerate(estimates):
        if one.path is None or len(one.path.times) < 2:
            continue
        times, colour = one.path.times.astype(float), Mark.of(place).colour
        flat = Line(one.policy, times, [one.value] * len(times), colour, one.path.low, one.path.high)
        ends = [*one.path.low.tolist(), *one.path.high.tolist()]
        x, y = Axis.of(times.tolist(), "rounds", log=True), Axis.of(ends, f"mean {one.outcome}")
        charts.append(figure(f"{one.policy}, {one.method}: round by round", xy_chart([flat], x, y)))
    return [f'<div class="charts">{"".join(charts)}</div>'] if charts else []


def _findings(estimates: Sequence[Estimate], policies: Sequence[str]) -> str:
    """A row for each diagnostic, and a column for each policy."""
    found = [next(one for one in estimates if one.policy == policy).findings for policy in policies]
    names = dict.fromkeys(one.name for own in found for one in own)
    rows = [
        [escape(name), *("".join(_words(one) for one in own if one.name == name) for own in found)] for name in names
    ]
    head = ["finding", *map(escape, policies)]
    return table(head, rows, "claims") if len(policies) == 1 else scroll(table(head, rows), "The log")


def _words(one: Finding) -> str:
    return escape(one.text) if one.good else f"<strong>{escape(one.text)}</strong>. {escape(one.advice)}"
