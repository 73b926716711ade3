"""The one door to narwhals and the frame libraries behind it (the extra `frames`).

Parquet files as named columns; frames of pandas, polars, Arrow and others as matrices of numbers, or as mappings; and
either some rows at a time (`slices`), for what need not fit into memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ParquetFile",
    "Slice",
    "columns_of",
    "is_frame",
    "is_row",
    "read_frame",
    "read_parquet",
    "slices",
    "write_parquet",
]

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


class Slice:
    """Some rows of a table, column by column; numbers without a copy where they have no gaps."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._names = {name: place for place, name in enumerate(table.schema.names)}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def numbers(self, name: str) -> npt.NDArray[np.float64] | None:
        """A column as numbers, NaN where it is empty; None if it is of something else."""
        pa = _pyarrow()
        column = self._column(name)
        if not _is_number(column.type):
            return None
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        return np.asarray(column.to_numpy(zero_copy_only=False))

    def matrix(self, names: Sequence[str]) -> npt.NDArray[np.float64] | None:
        """Columns of numbers as an array of n x d; None if one is of something else."""
        out = np.empty((len(self), len(names)))
        for place, name in enumerate(names):
            found = self.numbers(name)
            if found is None:
                return None
            out[:, place] = found
        return out

    def codes(self, name: str) -> tuple[npt.NDArray[np.int64], list[Any]]:
        """For each row the place of its value among those that differ, -1 where it is empty; and these."""
        column = self._column(name)
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), (
            encoded.dictionary.to_pylist()
        )

    def values(self, name: str) -> list[Any]:
        """A column as it is in Python."""
        return list(self._column(name).to_pylist())

    def _column(self, name: str) -> Any:
        column = self._table.column(self._names[name])
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        return column.chunk(0) if hasattr(column, "num_chunks") else column


def columns_of(source: Any) -> dict[str, str]:
    """Of a frame or a Parquet file: the names of columns, each with what it holds: number, text, nested or other."""
    if isinstance(source, Path):
        schema = _parquet(source).schema_arrow
        names = list(schema.names)
    else:
        known = _known(source)
        schema, names = known[0:1].to_arrow().schema, list(known.columns)  # Arrow's would have pandas' index too
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{source if isinstance(source, Path) else 'the frame'} has two columns named {twice[0]!r}")
    return {name: _kind(schema.field(name).type) for name in names}


def slices(source: Any, columns: Sequence[str], n_rows: int) -> Iterator[Slice]:
    """These columns of a frame or a Parquet file, at most so many rows at a time."""
    if isinstance(source, Path):
        with _parquet(source) as file:
            for batch in file.iter_batches(batch_size=n_rows, columns=list(columns)):
                yield Slice(batch)
        return
    known = _known(source)[list(columns)]
    for first in range(0, len(known), n_rows):
        yield Slice(known[first : first + n_rows].to_arrow())


class ParquetFile:
    """A Parquet file that grows by named columns of one length at a time; the first ones say of what type."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """So many rows more."""
        pa = _pyarrow()
        import pyarrow.parquet

        writer = self._writer
        table = pa.table(dict(columns), schema=None if writer is None else writer.schema)
        if writer is None:
            self._writer = writer = pyarrow.parquet.ParquetWriter(self._path, table.schema)
        writer.write_table(table)

    def close(self) -> None:
        """Finish the file; without a row there is none."""
        if self._writer is not None:
            self._writer.close()


def _known(frame: Any) -> Any:
    return _narwhals()[0].from_native(frame, eager_only=True)


def _parquet(path: Path) -> Any:
    _pyarrow()
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged file makes its reader raise anything
        raise ValueError(f"{path} is no sound Parquet file: {error}") from error


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('logs in frames and Parquet files need pyarrow: pip install "marginbandits[frames]"') from (
            error
        )
    return pyarrow


def _is_number(kind: Any) -> bool:
    types = _pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _kind(kind: Any) -> str:
    types = _pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return "boolean"
    if _is_number(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return "text"
    return "nested" if types.is_nested(kind) else "other"


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
