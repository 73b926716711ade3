"""The one door to narwhals and the frame library behind it: Parquet files as named columns (the extra `frames`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["read_parquet", "write_parquet"]


def read_parquet(path: Path) -> dict[str, list[Any]]:
    """The columns of a Parquet file."""
    nw, backend = _narwhals()
    frame = nw.read_parquet(str(path), backend=backend)
    return {name: frame[name].to_list() for name in frame.columns}


def write_parquet(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write named columns of one length as a Parquet file."""
    nw, backend = _narwhals()
    nw.from_dict(dict(columns), backend=backend).write_parquet(str(path))


def _narwhals() -> tuple[Any, str]:
    try:
        import narwhals
    except ImportError as error:
        raise ImportError('Parquet files need narwhals: pip install "marginbandits[frames]"') from error
    for backend in ("pyarrow", "polars", "pandas"):
        try:
            __import__(backend)
        except ImportError:
            continue
        return narwhals, backend
    raise ImportError("Parquet files need one of pyarrow, polars or pandas besides narwhals")
