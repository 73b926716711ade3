"""The report: one HTML file, no network, for a person who was not there."""

import math
from html import escape
from pathlib import Path

import numpy as np

from marginbandits.evaluation import Interval
from marginbandits.experiments.curves import curves_chart, pick, pick_style
from marginbandits.experiments.forest import around, interval_cell, scale_cell
from marginbandits.experiments.html import column, count, failed_tasks, figure, page, rerun, scroll, table, who
from marginbandits.experiments.marks import Mark
from marginbandits.experiments.results import bake_off
from marginbandits.experiments.store import Store
from marginbandits.experiments.summary import LEARNABLE, LEVEL, Absent, Standing, Summary, summarise
from marginbandits.saving import write_text

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
        rate = one.diagnostics["rounds per second"]
        lines.append(
            f"{one.learner:<{width}}{one.loss.mean:>10.3f}"
            + f"{_range(one.loss):>18}" * several
            + f"{_normalised(one):>12}{one.rank.mean:>7.2f}{one.wins:>7}{one.losses:>8}{rate:>11,.0f}"
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
    body = [
        "<h1>Bake-off</h1>",
        f'<p class="note">{count(len(summary.data), "data set")}, {count(len(summary.learners), "learner")}, '
        f"{count(summary.n_seeds, 'seed')}, at most {settings['rounds']} rounds each</p>",
        f'<p class="lead">{escape(result_sentence(summary))}</p>',
        _left_out(summary),
        *(_compared(summary, failed=bool(record.failures)) if summary.data else ()),
        failed_tasks(record.failures),
        rerun({"command": store.fact("command") or "", **settings}),
    ]
    write_text(path, page("Bake-off", body, pick_style(len(summary.learners))))
    return summary


def _left_out(summary: Summary) -> str:
    """What no row of the leaderboard says."""
    rowless = [] if summary.data else summary.absent
    parts = [f"<p><strong>{escape(one.learner)}</strong>: {_why(one)}.</p>" for one in rowless]
    if summary.incomplete:
        names = escape(", ".join(summary.incomplete))
        parts.append(f"<p><strong>Not finished by every learner, and left out:</strong> {names}.</p>")
    return "".join(parts)


def _why(one: Absent) -> str:
    return f'<a href="#failed">{one}</a>' if one.failed else str(one)


def _compared(summary: Summary, *, failed: bool) -> list[str]:
    why = '<a href="#failed">What failed</a> ' if failed else ""
    return [
        '<nav><a href="#wins">Wins and losses</a> <a href="#sets">Loss by data set</a> '
        '<a href="#curves">Loss so far</a> <a href="#diagnostics">Diagnostics</a> '
        f'{why}<a href="#again">To run it again</a></nav>',
        _leaderboard(summary),
        _matrix(summary),
        _losses(summary),
        _curves(summary),
        _diagnostics(summary),
    ]


def _leaderboard(summary: Summary) -> str:
    several = summary.n_seeds > 1
    losses = [one.loss if several else _dot(one.loss) for one in summary.standings]
    places = [one.rank if len(summary.data) > 1 else _dot(one.rank) for one in summary.standings]
    loss_scale, rank_scale = around(losses), around(places)
    rows = []
    for mark, one, loss, rank in zip(_marks(summary), summary.standings, losses, places, strict=True):
        note = "sees every loss" if one.role == "skyline" else ""
        rows.append(
            [
                who(mark, one.learner, note),
                f'<td data-label="mean loss">{one.loss.mean:.4f}</td>',
                *[f'<td class="range" data-label="95% over seeds">{_range(one.loss)}</td>'] * several,
                f'<td class="plot">{interval_cell(loss, loss_scale, mark)}</td>',
                f'<td class="rank" data-label="mean rank">{one.rank.mean:.2f}</td>',
                f'<td class="rank plot">{interval_cell(rank, rank_scale, mark)}</td>',
                f'<td data-label="normalised loss">{_normalised(one)}</td>',
                f'<td data-label="wins">{one.wins}</td>',
                f'<td data-label="losses">{one.losses}</td>',
            ]
        )
    head = [
        "learner",
        "mean loss",
        *["95% over seeds"] * several,
        f'<th class="plot">{scale_cell(loss_scale)}</th>',
        "mean rank",
        f'<th class="plot">{scale_cell(rank_scale)}</th>',
        *("normalised loss", "wins", "losses"),
    ]
    rows += [
        [who(None, one.learner), f'<td class="absent" colspan="{len(head) - 1}">{_why(one)}</td>']
        for one in summary.absent
    ]
    explain = (
        f"Mean loss is progressive: every action was chosen before its loss was known. {_about_intervals(summary)} "
        f"Normalised loss is 0 for "
        f"{'the supervised skyline' if summary.has_skyline else 'the best learner of each data set'} and 1 for "
        f"uniform play, over the data sets where the two differ by {LEARNABLE} at least. Wins "
        f"and losses count paired differences significant at {LEVEL:.0%}, over data sets and rivals. A learner keeps "
        "its number, colour, dash and shape on the whole page."
    )
    return f'<h2 id="leaderboard">Leaderboard</h2>{table(head, rows, "board")}<p class="note">{explain}</p>'


def _about_intervals(summary: Summary) -> str:
    """What the intervals are, where they end, and which are not there."""
    seeds, sets = summary.n_seeds > 1, len(summary.data) > 1
    kinds = ["over seeds for losses, which end at 0 and 1"] * seeds
    kinds += [f"over data sets for ranks, which end at 1 and {len(summary.learners)}"] * sets
    said = [f"Intervals are Student's t at 95%: {'; '.join(kinds)}."] if kinds else []
    said += ["Two seeds say little about their spread: their intervals are wide."] * (summary.n_seeds == 2)
    said += ["One seed says nothing of its spread, so losses have no intervals."] * (not seeds)
    return " ".join(said)


def _matrix(summary: Summary) -> str:
    net = summary.wins - summary.wins.T
    scale = max(1, int(np.abs(net).max()))
    marks = _marks(summary)
    rows = []
    for i, (mark, name) in enumerate(zip(marks, summary.learners, strict=True)):
        cells = [who(mark, name)]
        for j in range(len(marks)):
            colour = "0 114 178" if net[i, j] > 0 else "213 94 0"
            text = "" if i == j else f"{summary.wins[i, j]}–{summary.wins[j, i]}"
            cells.append(_tinted(text, colour, abs(net[i, j]) / scale * 0.5))
        rows.append(cells)
    explain = (
        "Data sets on which the row's learner was significantly better – worse than the column's. The test is paired: "
        "each example's difference in loss, averaged over seeds, tested over examples, two-sided at "
        f"{LEVEL:.0%}. No parameter was chosen in hindsight, except where a name says so."
    )
    matrix = table(["better – worse than", *_columns(summary)], rows, "many")
    return f'<h2 id="wins">Wins and losses</h2><p class="note">{explain}</p>{_wide(matrix, summary, "Wins and losses")}'


def _losses(summary: Summary) -> str:
    rows = []
    for name, values in zip(summary.data, summary.table, strict=True):
        least, most = values.min(), max(values.max(), values.min() + 1e-9)
        near = ((most - values) / (most - least)) ** 3
        cells = [
            _tinted(_short(v), "0 114 178", 0.3 * share, "best" * bool(v == least))
            for v, share in zip(values, near, strict=True)
        ]
        rows.append([escape(name), *cells])
    foot = ["mean", *(_short(v) for v in summary.table.mean(0))]
    explain = (
        "Columns are the leaderboard's numbers. Losses are written without the 0 before the point; each data set's "
        "least is bold, and what is near it is tinted."
    )
    losses = table(["data set", *_columns(summary)], rows, "many", foot)
    return (
        f'<h2 id="sets">Loss by data set</h2><p class="note">{explain}</p>{_wide(losses, summary, "Loss by data set")}'
    )


def _curves(summary: Summary) -> str:
    figures = "".join(figure(data, curves_chart(lines)) for data, lines in summary.curves.items())
    band = (
        " The band spans the seeds of the learner that ends best, or of the one you pick here."
        if summary.n_seeds > 1
        else ""
    )
    return (
        '<section><h2 id="curves">Loss so far</h2><p class="note">Mean loss of the rounds so far, over rounds on a '
        f"logarithmic axis; the mean over seeds. Each line ends at its learner's number.{band}</p>"
        f'{pick(summary.learners)}<div class="charts">{figures}</div></section>'
    )


def _diagnostics(summary: Summary) -> str:
    head = ["learner", *summary.standings[0].diagnostics]
    rows = [
        [who(mark, one.learner), *(_shown(value) for value in one.diagnostics.values())]
        for mark, one in zip(_marks(summary), summary.standings, strict=True)
    ]
    explain = (
        "Smallest probability: of any action played. Effective sample share: how much of the log would be left for "
        "evaluating uniform play off-policy. Rounds per second: median, acting and learning one round at a time. "
        "State: bytes of everything learnt, the largest over data sets."
    )
    return (
        f'<h2 id="diagnostics">Diagnostics</h2><p class="note">{explain}</p>'
        f"{scroll(table(head, rows, 'wide'), 'Diagnostics')}"
    )


MOST_COLUMNS = 24
"""Of a table that is 1,100 pixels wide."""


def _wide(content: str, summary: Summary, label: str) -> str:
    return scroll(content, label, fits=len(summary.learners) <= MOST_COLUMNS)


def _marks(summary: Summary) -> list[Mark]:
    return [Mark.of(i) for i in range(len(summary.learners))]


def _columns(summary: Summary) -> list[str]:
    return [column(mark, name) for mark, name in zip(_marks(summary), summary.learners, strict=True)]


def _tinted(text: str, colour: str, strength: float, kind: str = "") -> str:
    return f'<td class="{kind}" style="background:rgb({colour} / {strength:.2f})">{text}</td>'


def _dot(one: Interval) -> Interval:
    return Interval(one.mean, one.mean, one.mean)


def _range(one: Interval) -> str:
    return f"{one.low:.3f} to {one.high:.3f}"


def _normalised(one: Standing) -> str:
    return "–" if math.isnan(one.normalised) else f"{one.normalised:.3f}"


def _short(loss: float) -> str:
    return f"{loss:.3f}".removeprefix("0")


def _shown(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")
