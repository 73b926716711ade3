"""The one door to narwhals and the frame libraries behind it (the extra `frames`).

Parquet files as named columns; frames of pandas, polars, Arrow and others as matrices of numbers, or as mappings.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["is_frame", "is_row", "read_frame", "read_parquet", "write_parquet"]

_LIBRARIES = {"cudf", "modin", "pandas", "polars", "pyarrow"}


def is_frame(value: object) -> bool:
    """Whether it is a frame, by the name of its class: none of these libraries is imported to see."""
    kind = type(value)
    return kind.__name__ in ("DataFrame", "Table") and kind.__module__.partition(".")[0] in _LIBRARIES


def is_row(value: object) -> bool:
    """Whether it is a row of a pandas frame that is not all numbers: a series of objects, by name."""
    kind: Any = type(value)
    named = kind.__name__ == "Series" and kind.__module__.partition(".")[0] in _LIBRARIES
    return named and str(getattr(value, "dtype", "")) == "object"


def read_frame(frame: Any, *, named: bool) -> Any:
    """Its numbers as a matrix, if it has nothing else and need not be `named`; else its rows as mappings."""
    nw, _ = _narwhals()
    known = nw.from_native(frame, eager_only=True)
    if not named and all(kind.is_numeric() or kind == nw.Boolean for kind in known.schema.values()):
        return known.to_numpy()
    return known.rows(named=True)


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
        raise ImportError('frames and Parquet files need narwhals: pip install "marginbandits[frames]"') from error
    for backend in ("pyarrow", "polars", "pandas"):
        try:
            __import__(backend)
        except ImportError:
            continue
        return narwhals, backend
    raise ImportError("frames and Parquet files need one of pyarrow, polars or pandas besides narwhals")
