"""One million rounds of fifty columns: IPS, SNIPS and doubly robust, beside reading the file and one ridge regression.

    python benchmarks/off_policy_scale.py [--rounds 1000000] [--columns 50]

The log is written as a Parquet file and read back in batches, twice, as one larger than memory would be. Needs pyarrow.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import Ridge

import marginbandits as mb

K = 5


class Batches:
    """A Parquet file as records of arrays, from the start whenever it is asked."""

    n_actions = K

    def __init__(self, path: Path, columns: int) -> None:
        self.path, self.names = path, [f"x{j}" for j in range(columns)]

    def __iter__(self) -> Iterator[SimpleNamespace]:
        for batch in pq.ParquetFile(self.path).iter_batches(2**16):
            contexts = np.empty((batch.num_rows, len(self.names)))
            for j, name in enumerate(self.names):
                contexts[:, j] = batch.column(name).to_numpy()
            rest = {name: batch.column(name).to_numpy() for name in ("actions", "losses", "probabilities")}
            yield SimpleNamespace(contexts=contexts, **rest)


def write(path: Path, n: int, columns: int) -> None:
    rng, writer = np.random.default_rng(0), None
    for begin in range(0, n, 2**16):
        size = min(2**16, n - begin)
        X, a = rng.standard_normal((size, columns)), rng.integers(0, K, size)
        loss = (rng.random(size) < 0.3 + 0.1 * (a == 1) + 0.1 * (X[:, 0] > 0)).astype(float)
        data = {f"x{j}": X[:, j] for j in range(columns)}
        table = pa.table({**data, "actions": a, "losses": loss, "probabilities": np.full(size, 1 / K)})
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    if writer is not None:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write(path, options.rounds, options.columns)
        log = Batches(path, options.columns)
        start = time.perf_counter()
        found = mb.evaluate(lambda X: (X[:, 0] > 0).astype(int), log, method=["ips", "snips", "dr"])
        ours, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        start = time.perf_counter()
        table = pq.read_table(path)
        X = np.column_stack([table.column(name).to_numpy() for name in log.names])
        y = table.column("losses").to_numpy()
        read = time.perf_counter() - start
        start = time.perf_counter()
        Ridge().fit(X, y)
        fit = time.perf_counter() - start
    for one in found:
        print(one)
    print(f"evaluate {ours:.2f} s, {peak:.2f} GB at most; reading {read:.2f} s, one ridge regression {fit:.2f} s")
    print(f"evaluate takes {ours / (read + fit):.2f} x reading and fitting")


if __name__ == "__main__":
    main()
