"""Outcomes as flat tables: CSV with nothing installed, Parquet with narwhals and a frame library."""

import csv
import io
from pathlib import Path
from typing import Any

from marginbandits.experiments.store import Store
from marginbandits.frames import write_parquet

__all__ = ["rows", "to_csv", "to_parquet"]


def rows(store: Store) -> list[dict[str, Any]]:
    """One flat row per finished task."""
    return [
        {
            "data": outcome.data,
            "learner": outcome.learner,
            "seed": outcome.seed,
            "n_actions": outcome.n_actions,
            "rounds": len(outcome.losses),
            **outcome.metrics,
            "key": outcome.key,
        }
        for outcome in store.outcomes()
    ]


def to_csv(store: Store) -> str:
    """The rows as CSV with a header."""
    table = rows(store)
    out = io.StringIO()
    if table:
        writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    return out.getvalue()


def to_parquet(store: Store, path: Path) -> None:
    """The rows as a Parquet file."""
    table = rows(store)
    write_parquet({name: [row[name] for row in table] for name in (table[0] if table else ())}, path)
