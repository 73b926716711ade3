"""Pages that need no network: one style, tables, figures, and what is needed to run a thing again.

>>> "<h1>Tea</h1>" in page("Tea", ["<h1>Tea</h1>"])
True
"""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from importlib.metadata import PackageNotFoundError, version

from marginbandits import __version__
from marginbandits.experiments.marks import Mark, sample
from marginbandits.experiments.svg import Line

__all__ = ["breakable", "column", "count", "failed_tasks", "figure", "page", "rerun", "scroll", "table", "who"]


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """A whole document, with a style of its own after everyone's."""
    common = resources.files("marginbandits.experiments").joinpath("page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{common}{style}</style></head><body>{''.join(body)}</body></html>"
    )


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "seed"), count(2000, "seed")
    ('1 seed', '2,000 seeds')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def breakable(name: str) -> str:
    """A name that may go on in another line after a bracket.

    >>> breakable("LinUCB(alpha=<1>)")
    'LinUCB(<wbr>alpha=&lt;1&gt;)'
    """
    return escape(name).replace("(", "(<wbr>")


def who(mark: Mark | None, name: str, note: str = "") -> str:
    """A learner in a table: number, picture, name; one without a place has its name under the others' names."""
    small = f"<small>{escape(note)}</small>" if note else ""
    number, picture = (mark.number, mark.key) if mark else ("–", sample("none"))
    return f'<span class="who"><b>{number}</b>{picture}<span>{breakable(name)}{small}</span></span>'


def column(mark: Mark, name: str) -> str:
    """A learner at the head of a narrow column: number and picture, the name where a pointer rests on it."""
    return f'<span title="{escape(name)}"><b>{mark.number}</b>{mark.key}</span>'


def figure(title: str, chart: str, lines: Sequence[Line] = ()) -> str:
    """A chart with its title, and a legend of the lines that have names."""
    entries = "".join(f"<span>{one.key}{escape(one.name)}</span>" for one in lines if one.name)
    names = f'<p class="legend">{entries}</p>' if entries else ""
    return f"<figure><h3>{escape(title)}</h3>{chart}{names}</figure>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "", foot: Sequence[str] = ()) -> str:
    """Cells are HTML, the first of a row is its head; one that is a <td> or <th> already stays as it is."""
    top = "".join(_cell(cell, '<th scope="col">', "</th>") for cell in head)
    last = f"<tfoot>{_row(foot)}</tfoot>" if foot else ""
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{"".join(map(_row, rows))}</tbody>{last}</table>'


def scroll(content: str, label: str, *, fits: bool = True) -> str:
    """A table that may be wider than a narrow screen (a wide one too, unless it `fits`): it moves in its own frame."""
    hint = '<p class="note hint">→ Moves sideways where it is wider than the screen.</p>'
    return (
        f'{hint}<div class="scroll{" fits" * fits}" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"{content}</div>"
    )


def failed_tasks(failures: Sequence[tuple[str, str]]) -> str:
    """What failed, in words, and why; or nothing."""
    if not failures:
        return ""
    shown = "".join(f"<h3>{escape(what)}</h3><pre>{escape(why)}</pre>" for what, why in failures[:20])
    more = "<p>The first 20 are shown.</p>" if len(failures) > 20 else ""
    return f'<h2 id="failed">{count(len(failures), "task")} failed</h2>{more}{shown}'


def rerun(settings: Mapping[str, object]) -> str:
    """Versions, the command, and the plan it stood for."""
    packages = ("numpy", "scipy", "numba", "scikit-learn", "vowpalwabbit")
    versions = [f"marginbandits {__version__}", f"Python {platform.python_version()}"]
    for package in packages:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    shown = {name: value for name, value in settings.items() if name != "command"}
    return (
        f'<h2 id="again">To run it again</h2><p>{escape(", ".join(versions))}.</p>'
        f"<pre>{escape(str(settings.get('command', '')))}</pre>"
        f"<details><summary>The plan</summary><pre>{escape(json.dumps(shown, indent=2))}</pre></details>"
    )


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    return "<tr>" + _cell(first, '<th scope="row">', "</th>") + "".join(_cell(one) for one in others) + "</tr>"


def _cell(cell: str, before: str = "<td>", after: str = "</td>") -> str:
    return cell if cell.startswith(("<td", "<th")) else before + cell + after
