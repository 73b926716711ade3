"""What was measured as flat tables: CSV with nothing installed, Parquet with narwhals and a frame library.

A bake-off has a row per finished task. A reproduction has a row per number: the claim, the experiment's parameters
(empty where a claim has no such parameter), what was measured, and its value.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginbandits.experiments.results import bake_off
from marginbandits.experiments.store import Store
from marginbandits.frames import write_parquet

__all__ = ["rows", "to_csv", "to_parquet"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(store: Store) -> list[dict[str, Any]]:
    """The flat rows of what was run last; all have the same columns."""
    run = store.fact("run")
    if run not in ("bakeoff", "reproduce"):
        raise ValueError(f"{store.path} holds neither a bake-off nor a reproduction")
    found = list(_tasks(store) if run == "bakeoff" else _numbers(store))
    if not found:
        raise ValueError(f"{store.path}: nothing has been finished yet")
    columns = list(dict.fromkeys(name for row in found for name in row))
    return [{name: row.get(name) for name in columns} for row in found]


def to_csv(store: Store) -> str:
    """The rows as CSV with a header; text that a spreadsheet would run as a formula gets an apostrophe before it."""
    table = rows(store)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_inert(cell) for cell in line] for line in (table[0], *(row.values() for row in table)))
    return out.getvalue()


def to_parquet(store: Store, path: Path) -> None:
    """The rows as a Parquet file."""
    table = rows(store)
    write_parquet({name: _of_one_type([row[name] for row in table]) for name in table[0]}, path)


def _tasks(store: Store) -> Iterator[dict[str, Any]]:
    record = bake_off(store)
    entrants = {one.name: one for one in record.entrants}
    for run in record.runs:
        if run.outcome is not None:
            yield {
                "data": run.data,
                "learner": run.learner,
                "class": entrants[run.learner].family,
                "role": entrants[run.learner].role,
                "seed": run.seed,
                "n_actions": run.outcome.n_actions,
                "rounds": len(run.outcome.losses),
                **run.outcome.metrics,
                "seconds": run.outcome.seconds,
                "key": run.outcome.key,
            }


def _numbers(store: Store) -> Iterator[dict[str, Any]]:
    tasks: Any = store.fact("tasks")
    try:
        named = [(str(claim), dict(parameters), str(key)) for claim, parameters, key in tasks]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{store.path} is damaged at its tasks ({error!r}): take a new folder") from error
    done = store.experiments({key for *_, key in named})
    columns = dict.fromkeys(name for _, parameters, _ in named for name in parameters)  # in order, each once
    for claim, parameters, key in named:
        if key in done:
            for measured, value in done[key].values.items():
                last = {"measured": measured, "value": value, "seconds": done[key].seconds, "key": key}
                yield {"claim": claim, **columns, **parameters, **last}


def _inert(cell: object) -> object:
    """Text that cannot act: no formula, and on one line."""
    if not isinstance(cell, str):
        return cell
    return ("'" if cell.startswith(_FORMULA) else "") + cell.replace("\r", " ").replace("\n", " ")


def _of_one_type(cells: list[Any]) -> list[Any]:
    """Whole numbers beside fractions become fractions: a column has one type."""
    if any(isinstance(cell, float) for cell in cells):
        return [float(cell) if isinstance(cell, int) else cell for cell in cells]
    return cells
