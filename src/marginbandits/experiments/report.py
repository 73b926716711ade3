"""The report: one HTML file, no network, for a person who was not there."""

import json
import platform
from collections.abc import Mapping
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from marginbandits import __version__
from marginbandits.experiments.store import Failure, Store
from marginbandits.experiments.summary import LEARNABLE, LEVEL, SKYLINE, Summary, summarise
from marginbandits.experiments.svg import OTHERS, PALETTE, Series, curves_chart, dot_chart

__all__ = ["result_sentence", "text_table", "write_report"]

_STYLE = """
:root { --ink: #1d232b; --soft: #5b6673; --line: #dfe3e8; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 20px 60px; color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 8px; }
h3 { font-size: 14px; margin: 0 0 4px; }
p { max-width: 75ch; } .lead { font-size: 18px; } .note { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; color: var(--soft); font-size: 13px; white-space: normal; vertical-align: bottom; }
td.best { font-weight: 700; } .matrix td, .matrix th { text-align: center; min-width: 44px; }
.matrix td:first-child, .matrix th:first-child { text-align: left; }
.key { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; vertical-align: -1px; }
.entry { white-space: nowrap; margin-right: 14px; }
.grid-of-charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 18px; }
figure { margin: 0; break-inside: avoid; } svg { max-width: 100%; height: auto; }
svg text { font: 10.5px system-ui, sans-serif; fill: var(--soft); } svg .grid { stroke: var(--line); stroke-width: 1; }
.dots svg { min-width: 560px; } .dots text { font-size: 12.5px; fill: var(--ink); }
pre { background: #f5f6f8; padding: 12px 14px; overflow-x: auto; font-size: 13px; border-radius: 6px; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } h2 { break-after: avoid; }
  .scroll { overflow: visible; } }
"""


def result_sentence(summary: Summary) -> str:
    """The result in one sentence."""
    rivals = [one for one in summary.standings if one.learner != SKYLINE and "hindsight" not in one.learner]
    sets = _count(len(summary.data), "data set")
    best = rivals[0]
    sentence = f"{best.learner} lost least: mean loss {best.loss.mean:.3f} over {sets}"
    if len(rivals) > 1:
        second = rivals[1]
        i, j = (summary.learners.index(one.learner) for one in (best, second))
        sentence += (
            f", before {second.learner} with {second.loss.mean:.3f}; of the two, it was significantly better on "
            f"{summary.wins[i, j]} and worse on {summary.wins[j, i]}"
        )
    return sentence + "."


def text_table(summary: Summary) -> str:
    """The leaderboard for a terminal."""
    width = max(24, *(len(name) + 2 for name in summary.learners))
    several = summary.n_seeds > 1
    head = f"{'learner':<{width}}{'mean loss':>10}" + f"{'95% interval':>18}" * several
    lines = [head + f"{'normalised':>12}{'rank':>7}{'wins':>7}{'losses':>8}{'rounds/s':>11}"]
    for one in summary.standings:
        band = f"{one.loss.low:.3f} to {one.loss.high:.3f}"
        rate = one.diagnostics["rounds per second"]
        lines.append(
            f"{one.learner:<{width}}{one.loss.mean:>10.3f}"
            + f"{band:>18}" * several
            + f"{one.normalised:>12.3f}{one.rank.mean:>7.2f}{one.wins:>7}{one.losses:>8}{rate:>11,.0f}"
        )
    return "\n".join(lines)


def write_report(store: Store, path: Path, *, hindsight: bool = False) -> Summary:
    """Write the HTML report of the store's last plan; returns what it says. For `hindsight` see `summarise`."""
    plan = store.fact("plan")
    settings: Mapping[str, object] = plan if isinstance(plan, dict) else {}
    keys = settings.get("keys")
    wanted = set(keys) if isinstance(keys, list) else None
    summary = summarise(store.outcomes(wanted), shuffle=bool(settings.get("shuffle", True)), hindsight=hindsight)
    colours = dict(zip(summary.learners, (*PALETTE, *[OTHERS] * len(summary.learners)), strict=False))
    body = [
        "<h1>Bake-off</h1>",
        f'<p class="note">{_count(len(summary.data), "data set")}, {_count(len(summary.learners), "learner")}, '
        f"{_count(summary.n_seeds, 'seed')}, at most {settings.get('rounds', '?')} rounds each</p>",
        f'<p class="lead">{escape(result_sentence(summary))}</p>',
        _incomplete(summary),
        _leaderboard(summary, colours),
        _matrix(summary),
        _losses(summary),
        _curves(summary, colours),
        _diagnostics(summary, colours),
        _failures([one for one in store.failures() if wanted is None or one.key in wanted]),
        _rerun(settings),
    ]
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bake-off</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>"
    )
    path.write_text(html, encoding="utf-8")
    return summary


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _key(colour: str) -> str:
    return f'<span class="key" style="background:{colour}"></span>'


def _table(head: list[str], rows: list[list[str]], kind: str = "") -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table class="{kind}"><tr>{top}</tr>{lines}</table></div>'


def _cell(cell: str) -> str:
    return cell if cell.startswith("<td") else f"<td>{cell}</td>"


def _incomplete(summary: Summary) -> str:
    if not summary.incomplete:
        return ""
    names = escape(", ".join(summary.incomplete))
    return f"<p><strong>Not finished by every learner, and left out:</strong> {names}.</p>"


def _leaderboard(summary: Summary, colours: dict[str, str]) -> str:
    rows = []
    for one in summary.standings:
        note = " (sees every loss)" if one.learner == SKYLINE else ""
        band = f"{one.loss.low:.3f} to {one.loss.high:.3f}" if summary.n_seeds > 1 else "one seed"
        name = _key(colours[one.learner]) + escape(one.learner) + note
        numbers = [
            f"{one.loss.mean:.4f}",
            band,
            f"{one.normalised:.3f}",
            f"{one.rank.mean:.2f}",
            f"{one.wins}",
            f"{one.losses}",
        ]
        rows.append([name, *numbers])
    head = ["learner", "mean loss", "95% over seeds", "normalised loss", "mean rank", "wins", "losses"]
    dots = [(s.learner, s.loss.mean, s.loss.low, s.loss.high, colours[s.learner]) for s in summary.standings]
    explain = (
        f"Mean loss is progressive: every action was chosen before its loss was known. Normalised loss is 0 for "
        f"{'the supervised skyline' if SKYLINE in summary.learners else 'the best learner of each data set'} and 1 for "
        f"uniform play, over the data sets where the two differ by {LEARNABLE} at least. Wins "
        f"and losses count paired differences significant at {LEVEL:.0%}, over data sets and rivals."
    )
    places = [(s.learner, *s.rank, colours[s.learner]) for s in sorted(summary.standings, key=lambda s: s.rank.mean)]
    return (
        f"<h2>Leaderboard</h2>{_table(head, rows)}<p class='note'>{explain}</p>"
        f"<div class='dots scroll'>{dot_chart(dots, label='mean loss, with its 95% interval over seeds')}</div>"
        f"<div class='dots scroll'>{dot_chart(places, label='mean rank, with its 95% interval over data sets')}</div>"
    )


def _matrix(summary: Summary) -> str:
    net = summary.wins - summary.wins.T
    scale = max(1, int(np.abs(net).max()))
    rows = []
    for i, name in enumerate(summary.learners):
        cells = [f"{i + 1}. {escape(name)}"]
        for j in range(len(summary.learners)):
            strength = abs(net[i, j]) / scale * 0.55
            tint = f"rgba(0,114,178,{strength:.2f})" if net[i, j] > 0 else f"rgba(213,94,0,{strength:.2f})"
            text = "" if i == j else f"{summary.wins[i, j]}–{summary.wins[j, i]}"
            cells.append(f'<td style="background:{tint}">{text}</td>')
        rows.append(cells)
    head = ["better – worse than", *(f"{j + 1}" for j in range(len(summary.learners)))]
    explain = (
        "Data sets on which the row's learner was significantly better – worse than the column's. The test is paired: "
        "each example's difference in loss, averaged over seeds, tested over examples, two-sided at "
        f"{LEVEL:.0%}. No parameter was chosen in hindsight, except where a name says so."
    )
    return f"<h2>Wins and losses</h2>{_table(head, rows, 'matrix')}<p class='note'>{explain}</p>"


def _losses(summary: Summary) -> str:
    rows = []
    for name, values in zip(summary.data, summary.table, strict=True):
        least = values.min()
        cells = [f'<td class="best">{v:.3f}</td>' if v == least else f"{v:.3f}" for v in values]
        rows.append([escape(name), *cells])
    rows.append(["<strong>mean</strong>", *(f"<td class='best'>{v:.3f}</td>" for v in summary.table.mean(0))])
    head = ["data set", *(escape(name) for name in summary.learners)]
    return f"<h2>Mean loss by data set</h2>{_table(head, rows)}"


def _curves(summary: Summary, colours: dict[str, str]) -> str:
    legend = " ".join(f'<span class="entry">{_key(colours[name])}{escape(name)}</span>' for name in summary.learners)
    figures = []
    for data, lines in summary.curves.items():
        series = [Series(name, values, colours[name]) for name, values in lines.items()]
        figures.append(f"<figure><h3>{escape(data)}</h3>{curves_chart(series)}</figure>")
    return (
        f"<h2>Loss so far</h2><p class='note'>{legend}</p><p class='note'>Mean over seeds with a 95% band; rounds on a "
        f"logarithmic axis.</p><div class='grid-of-charts'>{''.join(figures)}</div>"
    )


def _diagnostics(summary: Summary, colours: dict[str, str]) -> str:
    head = ["learner", *summary.standings[0].diagnostics]
    rows = [
        [_key(colours[one.learner]) + escape(one.learner), *(_shown(value) for value in one.diagnostics.values())]
        for one in summary.standings
    ]
    explain = (
        "Smallest probability: of any action played. Effective sample share: how much of the log would be left for "
        "evaluating uniform play off-policy. Rounds per second: median, acting and learning one round at a time."
    )
    return f"<h2>Diagnostics</h2>{_table(head, rows)}<p class='note'>{explain}</p>"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _failures(failures: list[Failure]) -> str:
    if not failures:
        return ""
    shown = "".join(
        f"<h3>{escape(one.learner)} on {escape(one.data)}, seed {one.seed}</h3><pre>{escape(one.traceback)}</pre>"
        for one in failures[:20]
    )
    return f"<h2>{len(failures)} tasks failed</h2>{shown}"


def _rerun(settings: Mapping[str, object]) -> str:
    packages = ("numpy", "scipy", "numba", "scikit-learn", "vowpalwabbit")
    versions = [f"marginbandits {__version__}", f"Python {platform.python_version()}"]
    for package in packages:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    shown = {name: value for name, value in settings.items() if name not in ("keys", "command")}
    return (
        f"<h2>To run it again</h2><p>{escape(', '.join(versions))}.</p>"
        f"<pre>{escape(str(settings.get('command', '')))}</pre>"
        f"<details><summary>The plan</summary><pre>{escape(json.dumps(shown, indent=2))}</pre></details>"
    )
