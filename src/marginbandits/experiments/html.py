"""Pages that need no network: one style, tables, figures, and what is needed to run a thing again.

>>> "<h1>Tea</h1>" in page("Tea", ["<h1>Tea</h1>"])
True
"""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version

from marginbandits import __version__

__all__ = ["count", "failed_tasks", "figure", "key", "legend", "page", "rerun", "table"]

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
.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
.claims td, .claims th { text-align: left; white-space: normal; vertical-align: top; padding: 7px 10px; }
.claims td:first-child { width: 30%; } .claims a { color: inherit; }
.badge { display: inline-block; color: #fff; border-radius: 4px; padding: 1px 8px; font-size: 13px; }
@media (max-width: 640px) { .claims tr:first-child { display: none; }
  .claims td, .claims tr { display: block; border: 0; }
  .claims td:first-child { width: auto; font-weight: 600; } .claims td { padding: 2px 0; }
  .claims tr { border-bottom: 1px solid var(--line); padding: 8px 0; } }
@media print { body { max-width: none; padding: 0; font-size: 11px; } h2 { break-after: avoid; }
  .scroll { overflow: visible; } }
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole document."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>"
    )


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "seed"), count(2000, "seed")
    ('1 seed', '2,000 seeds')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def key(colour: str) -> str:
    """A patch of colour."""
    return f'<span class="key" style="background:{colour}"></span>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Names with their colours."""
    return " ".join(f'<span class="entry">{key(colour)}{escape(name)}</span>' for name, colour in entries)


def figure(title: str, chart: str, entries: Sequence[tuple[str, str]] = ()) -> str:
    """A chart with its title and legend."""
    names = f'<p class="note">{legend(entries)}</p>' if entries else ""
    return f"<figure><h3>{escape(title)}</h3>{chart}{names}</figure>"


def table(head: list[str], rows: list[list[str]], kind: str = "") -> str:
    """Cells are HTML; one that is a <td> already stays as it is."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table class="{kind}"><tr>{top}</tr>{lines}</table></div>'


def failed_tasks(failures: Sequence[tuple[str, str]]) -> str:
    """What failed, in words, and why; or nothing."""
    if not failures:
        return ""
    shown = "".join(f"<h3>{escape(what)}</h3><pre>{escape(why)}</pre>" for what, why in failures[:20])
    return f"<h2>{len(failures)} tasks failed</h2>{shown}"


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
        f"<h2>To run it again</h2><p>{escape(', '.join(versions))}.</p>"
        f"<pre>{escape(str(settings.get('command', '')))}</pre>"
        f"<details><summary>The plan</summary><pre>{escape(json.dumps(shown, indent=2))}</pre></details>"
    )


def _cell(cell: str) -> str:
    return cell if cell.startswith("<td") else f"<td>{cell}</td>"
