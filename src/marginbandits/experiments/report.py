"""The report: one HTML file, no network, for a person who was not there."""

from html import escape
from pathlib import Path

import numpy as np

from marginbandits.experiments.html import count, failed_tasks, figure, key, legend, page, rerun, table
from marginbandits.experiments.results import bake_off
from marginbandits.experiments.store import Store
from marginbandits.experiments.summary import LEARNABLE, LEVEL, Summary, summarise
from marginbandits.experiments.svg import OTHERS, PALETTE, Series, curves_chart, dot_chart

__all__ = ["result_sentence", "text_table", "write_report"]


def result_sentence(summary: Summary) -> str:
    """The result in one sentence."""
    rivals = [one for one in summary.standings if one.role == "rival"]
    sets = count(len(summary.data), "data set")
    if not summary.data:
        return "No data set has been finished by every learner that finished any."
    if not rivals:
        return f"No bandit was compared: every learner that finished {sets} sees every loss."
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
    width = max(24, *(len(name) + 2 for name in summary.learners), *(len(one.learner) + 2 for one in summary.absent))
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
    lines += [f"{one.learner:<{width}}{one}" for one in summary.absent]
    if summary.incomplete:
        lines.append(f"\nNot finished by every learner, and left out: {', '.join(summary.incomplete)}")
    return "\n".join(lines)


def write_report(store: Store, path: Path, *, hindsight: bool = False) -> Summary:
    """Write the HTML report of the store's last plan; returns what it says. For `hindsight` see `summarise`."""
    record = bake_off(store)
    settings = record.settings
    summary = summarise(record, hindsight=hindsight)
    colours = dict(zip(summary.learners, (*PALETTE, *[OTHERS] * len(summary.learners)), strict=False))
    body = [
        "<h1>Bake-off</h1>",
        f'<p class="note">{count(len(summary.data), "data set")}, {count(len(summary.learners), "learner")}, '
        f"{count(summary.n_seeds, 'seed')}, at most {settings['rounds']} rounds each</p>",
        f'<p class="lead">{escape(result_sentence(summary))}</p>',
        _left_out(summary),
        *(_compared(summary, colours) if summary.data else ()),
        failed_tasks(record.failures),
        rerun({"command": store.fact("command") or "", **settings}),
    ]
    path.write_text(page("Bake-off", body), encoding="utf-8")
    return summary


def _left_out(summary: Summary) -> str:
    parts = [f"<p><strong>{escape(one.learner)}</strong> {one}.</p>" for one in summary.absent]
    if summary.incomplete:
        names = escape(", ".join(summary.incomplete))
        parts.append(f"<p><strong>Not finished by every learner, and left out:</strong> {names}.</p>")
    return "".join(parts)


def _compared(summary: Summary, colours: dict[str, str]) -> list[str]:
    return [
        _leaderboard(summary, colours),
        _matrix(summary),
        _losses(summary),
        _curves(summary, colours),
        _diagnostics(summary, colours),
    ]


def _leaderboard(summary: Summary, colours: dict[str, str]) -> str:
    rows = []
    for one in summary.standings:
        note = " (sees every loss)" if one.role == "skyline" else ""
        band = f"{one.loss.low:.3f} to {one.loss.high:.3f}" if summary.n_seeds > 1 else "one seed"
        name = key(colours[one.learner]) + escape(one.learner) + note
        numbers = [
            f"{one.loss.mean:.4f}",
            band,
            f"{one.normalised:.3f}",
            f"{one.rank.mean:.2f}",
            f"{one.wins}",
            f"{one.losses}",
        ]
        rows.append([name, *numbers])
    rows += [[escape(one.learner), escape(str(one)), *[""] * 5] for one in summary.absent]
    head = ["learner", "mean loss", "95% over seeds", "normalised loss", "mean rank", "wins", "losses"]
    dots = [(s.learner, s.loss.mean, s.loss.low, s.loss.high, colours[s.learner]) for s in summary.standings]
    explain = (
        f"Mean loss is progressive: every action was chosen before its loss was known. Normalised loss is 0 for "
        f"{'the supervised skyline' if summary.has_skyline else 'the best learner of each data set'} and 1 for "
        f"uniform play, over the data sets where the two differ by {LEARNABLE} at least. Wins "
        f"and losses count paired differences significant at {LEVEL:.0%}, over data sets and rivals."
    )
    places = [(s.learner, *s.rank, colours[s.learner]) for s in sorted(summary.standings, key=lambda s: s.rank.mean)]
    return (
        f"<h2>Leaderboard</h2>{table(head, rows)}<p class='note'>{explain}</p>"
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
    return f"<h2>Wins and losses</h2>{table(head, rows, 'matrix')}<p class='note'>{explain}</p>"


def _losses(summary: Summary) -> str:
    rows = []
    for name, values in zip(summary.data, summary.table, strict=True):
        least = values.min()
        cells = [f'<td class="best">{v:.3f}</td>' if v == least else f"{v:.3f}" for v in values]
        rows.append([escape(name), *cells])
    rows.append(["<strong>mean</strong>", *(f"<td class='best'>{v:.3f}</td>" for v in summary.table.mean(0))])
    head = ["data set", *(escape(name) for name in summary.learners)]
    return f"<h2>Mean loss by data set</h2>{table(head, rows)}"


def _curves(summary: Summary, colours: dict[str, str]) -> str:
    names = legend((name, colours[name]) for name in summary.learners)
    figures = []
    for data, lines in summary.curves.items():
        series = [Series(name, values, colours[name]) for name, values in lines.items()]
        figures.append(figure(data, curves_chart(series)))
    return (
        f"<h2>Loss so far</h2><p class='note'>{names}</p><p class='note'>Mean over seeds with a 95% band; rounds on a "
        f"logarithmic axis.</p><div class='grid-of-charts'>{''.join(figures)}</div>"
    )


def _diagnostics(summary: Summary, colours: dict[str, str]) -> str:
    head = ["learner", *summary.standings[0].diagnostics]
    rows = [
        [key(colours[one.learner]) + escape(one.learner), *(_shown(value) for value in one.diagnostics.values())]
        for one in summary.standings
    ]
    explain = (
        "Smallest probability: of any action played. Effective sample share: how much of the log would be left for "
        "evaluating uniform play off-policy. Rounds per second: median, acting and learning one round at a time. "
        "State: bytes of everything learnt, the largest over data sets."
    )
    return f"<h2>Diagnostics</h2>{table(head, rows)}<p class='note'>{explain}</p>"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
