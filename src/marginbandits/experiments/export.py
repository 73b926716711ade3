"""Outcomes as flat tables: CSV with nothing installed, Parquet with narwhals and a frame library."""

import csv
import io
from pathlib import Path
from typing import Any

from marginbandits.experiments.store import Store

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
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError('Parquet files need narwhals: pip install "marginbandits[frames]"') from error
    table = rows(store)
    columns = {name: [row[name] for row in table] for name in table[0]} if table else {}
    for backend in ("pyarrow", "polars", "pandas"):
        try:
            nw.from_dict(columns, backend=backend).write_parquet(str(path))
        except ImportError:
            continue
        return
    raise ImportError("Parquet files need one of pyarrow, polars or pandas besides narwhals")
