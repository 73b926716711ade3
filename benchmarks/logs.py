"""Reading a log from Parquet, every row checked, beside pyarrow's reading of the same file: seconds, the best of three.

python benchmarks/logs.py [--rows 1000000] [--columns 50]
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import marginbandits as mb
from marginbandits.frames import ParquetFile


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    options = parser.parse_args()
    print(f"{options.rows:,} rows x {options.columns} columns, 5 actions")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        written(path, options.rows, options.columns)
        print(f"pyarrow, some rows at a time  {best_of_three(read_by_pyarrow, path):9.1f} s")
        print(f"read_log, every row checked   {best_of_three(read_as_log, path):9.1f} s")


def written(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    file = ParquetFile(path)
    for first in range(0, rows, 100_000):
        n = min(100_000, rows - first)
        context = {f"x{j}": rng.standard_normal(n) for j in range(columns)}
        outcome = {"action": rng.integers(5, size=n), "loss": rng.random(n), "probability": np.full(n, 0.2)}
        file.write(context | outcome)
    file.close()


def best_of_three(read: Callable[[Path], int], path: Path) -> float:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        assert read(path) > 0
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def read_by_pyarrow(path: Path) -> int:
    return sum(batch.num_rows for batch in pq.ParquetFile(path).iter_batches(batch_size=8192))


def read_as_log(path: Path) -> int:
    return sum(len(rounds) for rounds in mb.read_log(path))


if __name__ == "__main__":
    main()
