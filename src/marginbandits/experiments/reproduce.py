"""The paper, run: every claim's experiments as one resumable run, and one page that says what came of each.

>>> from marginbandits.experiments.claims import chosen
>>> from marginbandits.experiments.runner import locally, run_plan
>>> programme = Programme(chosen("figure-1"), quick=True)
>>> store = Store(":memory:")
>>> run_plan(programme, store, locally(1))
0
>>> [line.verdict.value for line in judged(programme, store)[0].lines][:2]
['holds', 'holds']
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest
from pathlib import Path

from marginbandits.experiments.claims.claim import (
    Chart,
    Claim,
    Dots,
    Finding,
    Line,
    Measured,
    Results,
    Unit,
    Verdict,
)
from marginbandits.experiments.claims.errata import ERRATA
from marginbandits.experiments.claims.judging import TOLERANCE
from marginbandits.experiments.forest import forest
from marginbandits.experiments.html import count, failed_tasks, figure, page, rerun, table
from marginbandits.experiments.store import Store
from marginbandits.experiments.svg import xy_chart
from marginbandits.saving import write_text

__all__ = ["Programme", "judged", "markdown_lines", "text_lines", "write_page"]

_TINTS = {
    Verdict.HOLDS: "#009E73",
    Verdict.REACHED: "#009E73",
    Verdict.UPPER: "#0072B2",
    Verdict.IDLE: "#6b7280",
    Verdict.VACUOUS: "#6b7280",
    Verdict.UNDECIDED: "#6b7280",
    Verdict.UNSEEN: "#6b7280",
    Verdict.CORRECTED: "#B45309",
    Verdict.FAILS: "#C2410C",
}


@dataclass(frozen=True, slots=True)
class Programme:
    """Claims to test, quickly or in full."""

    claims: Sequence[Claim]
    quick: bool = False

    def tasks(self) -> Iterator[Unit]:
        """Every experiment: claims take turns, and kinds within them.

        What runs side by side is of different kinds, so that workers do not compile the same code at once.
        """
        turns = zip_longest(*(_in_turn(claim.tasks(self.quick)) for claim in self.claims))
        return (unit for turn in turns for unit in turn if unit is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self.tasks())

    def facts(self) -> dict[str, object]:
        """What the store remembers: the claims, and the key that each experiment stands for."""
        tasks = [[unit.claim, unit.parameters, unit.key] for unit in self.tasks()]
        names = [claim.name for claim in self.claims]
        return {"run": "reproduce", "programme": {"quick": self.quick, "claims": names}, "tasks": tasks}


def _in_turn(units: Sequence[Unit]) -> list[Unit]:
    """The first of every kind, then the second of every kind, and so on."""
    seen = Counter[str]()
    places = []
    for unit in units:
        places.append(seen[unit.kind])
        seen[unit.kind] += 1
    return [unit for _, unit in sorted(zip(places, units, strict=True), key=lambda pair: pair[0])]


def judged(programme: Programme, store: Store) -> list[Finding]:
    """What the stored experiments say of every claim; one whose experiments are not all there is not judged."""
    done = store.experiments({unit.key for unit in programme.tasks()})

    def of(claim: Claim, units: Sequence[Unit]) -> Finding:
        return claim.judge(Results(Measured(unit.parameters, done[unit.key].values) for unit in units))

    found = []
    for claim in programme.claims:
        units = claim.tasks(programme.quick)
        missing = sum(unit.key not in done for unit in units)
        if missing:
            note = f"{missing} of {len(units)} experiments are not finished, so this claim is not judged."
            found.append(Finding([], [], [note]))
        else:
            controls = {name: of(claim, broken) for name, broken in claim.broken(programme.quick).items()}
            found.append(replace(of(claim, claim.own(programme.quick)), controls=controls))
    return found


def text_lines(findings: Sequence[Finding]) -> str:
    """The table for a terminal: the verdict, then the claim with what was stated, measured and broken under it."""
    width = max(len(one.value) for one in Verdict)
    blank = " " * (width + 2)
    return "\n".join(
        f"{line.verdict.value:<{width}}  {line.claim}\n{blank}stated: {line.stated}\n{blank}measured: {line.measured}\n"
        f"{blank}control: {_control(finding, line)}"
        for finding in findings
        for line in finding.lines
    )


def markdown_lines(findings: Sequence[Finding]) -> str:
    """The table as Markdown, for documents."""
    rows = [
        [line.claim, line.stated, line.measured, line.verdict.value, _control(finding, line)]
        for finding in findings
        for line in finding.lines
    ]
    head = [["claim", "stated", "measured", "verdict", "control"], ["---"] * 5]
    return "\n".join("| " + " | ".join(row) + " |" for row in head + rows).replace("<", "&lt;") + "\n"


def _control(finding: Finding, line: Line) -> str:
    """What the line comes to with something broken."""
    turned = finding.turned(line)
    return "; ".join(f"{name}: {found.value}" for name, found in turned.items()) or "none turns it"


def write_page(programme: Programme, store: Store, path: Path) -> list[Finding]:
    """Write the page from what is stored, and its table as Markdown beside it; returns what it says."""
    findings = judged(programme, store)
    lines = [line for finding in findings for line in finding.lines]
    units = {unit.key: unit for unit in programme.tasks()}
    failures = [(units[key].words, reason) for key, reason in store.failures(units).items()]
    body = [
        "<h1>The paper, run</h1>",
        '<p class="note">Foster &amp; Krishnamurthy (2018), “Contextual bandits with surrogate losses: margin bounds '
        f"and efficient algorithms”; {count(len(programme), 'experiment')}{', quick' * programme.quick}</p>",
        f'<p class="lead">{_tally(lines)}</p>',
        "<p>Every verdict is computed from the experiments, and would change with them. Intervals are 95% over seeds. "
        "A bound that uniform play keeps on these rounds, too, does not bite, whatever was measured; bound/T stands "
        "beside every bound, and the T from which it would. A rate is about T → ∞: what is seen at the T "
        "that can be played neither proves nor refutes it; exponents are compared with the exponent of the bound over "
        f"the same T, and may be above it by {TOLERANCE:.3f} at most, interval included. Under each verdict stands its "
        "control: what was broken, and what became of the verdict. Errata "
        "have the numbers of the documentation's page of that name, which has a check for each.</p>",
        f"<p>{_family(lines)}</p>",
        _overview(programme, findings),
        *(_section(claim, finding) for claim, finding in zip(programme.claims, findings, strict=True)),
        _errata(programme.claims),
        failed_tasks(failures),
        rerun(
            {
                "command": store.fact("command") or "",
                "quick": programme.quick,
                "claims": [one.name for one in programme.claims],
            }
        ),
    ]
    write_text(path, page("The paper, run", body))
    write_text(path.with_suffix(".md"), markdown_lines(findings))
    return findings


def _tally(lines: Sequence[Line]) -> str:
    if not lines:
        return "Nothing is finished yet."
    counted = Counter(line.verdict for line in lines)
    return (
        f"{count(len(lines), 'line')}: " + "; ".join(f"{counted[one]} {one}" for one in Verdict if counted[one]) + "."
    )


def _family(lines: Sequence[Line]) -> str:
    """What so many intervals come to, taken together."""
    n = sum(line.intervals for line in lines)
    return (
        f"These verdicts rest on {count(n, 'interval')} of 95%, and none is widened because there are others: were "
        f"every claim true and just at its limit, about {n / 40:.0f} of them would lie beyond it by chance. One line "
        "that falls narrowly, or holds narrowly, is weak evidence; a claim is as good as its lines together."
    )


def _overview(programme: Programme, findings: Sequence[Finding]) -> str:
    """A row for each claim: where it is, and what its lines came to."""
    rows = []
    for claim, finding in zip(programme.claims, findings, strict=True):
        counted = Counter(line.verdict for line in finding.lines)
        badges = " ".join(_badge(one, f"{counted[one]} {one.value}") for one in Verdict if counted[one])
        rows.append([f'<a href="#{claim.name}">{escape(claim.title)}</a>', badges or "not finished"])
    return table(["claim", "what its lines came to"], rows, "claims")


def _badge(verdict: Verdict, words: str) -> str:
    return f'<span class="badge" style="background:{_TINTS[verdict]}">{words}</span>'


def _line(finding: Finding, line: Line) -> list[str]:
    control = f'<br><small class="note">control: {_pretty(_control(finding, line))}</small>'
    return [
        _pretty(line.claim),
        f'<td data-label="stated">{_pretty(line.stated)}</td>',
        f'<td data-label="measured">{_pretty(line.measured)}</td>',
        _badge(line.verdict, line.verdict.value) + control,
    ]


def _section(claim: Claim, finding: Finding) -> str:
    errata = f"; errata {', '.join(f'E{number}' for number in claim.errata)}" if claim.errata else ""
    rows = [_line(finding, line) for line in finding.lines]
    lines = table(["line", "stated", "measured", "verdict"], rows, "claims") if rows else ""
    notes = "".join(f"<p>{_pretty(note)}</p>" for note in finding.notes)
    return (
        f'<h2 id="{claim.name}">{escape(claim.title)}</h2><p class="note">{_pretty(claim.reference + errata)}</p>'
        f"<p>{_pretty(claim.explanation)}</p>{lines}"
        f"<div class='charts'>{''.join(map(_drawn, finding.charts))}</div>{notes}"
    )


def _drawn(chart: Chart | Dots) -> str:
    if isinstance(chart, Dots):
        return figure(chart.title, forest(chart.rows, label=chart.label, digits=0))
    return figure(chart.title, xy_chart(chart.curves, chart.x, chart.y), chart.legend)


def _pretty(words: str) -> str:
    """Exponents raised: T^{p/(p+1)}, ε^-p, 10^40; indices lowered: π_ramp, min_f; errata linked: E10."""
    raised = re.sub(r"\^(?:\{([^}]*)\}|(-?[\w.]+))", lambda m: f"<sup>{m[1] or m[2]}</sup>", escape(words))
    lowered = re.sub(r"\b(\w|min|max|inf)_(\w+|∞)", r"\1<sub>\2</sub>", raised)
    return re.sub(r"\bE(\d+)\b", r'<a href="#E\1">E\1</a>', lowered)


def _errata(claims: Sequence[Claim]) -> str:
    numbers = sorted({number for claim in claims for number in claim.errata})
    items = "".join(
        f'<p id="E{number}"><strong>E{number}</strong> {_pretty(ERRATA[number])}.</p>' for number in numbers
    )
    return f"<h2>Errata</h2>{items}" if items else ""
