"""How near the kernels come to what the machine can do.

    python benchmarks/limits.py [--only ridge] [--turns 7] [--milliseconds 20]

On one thread, in the processor's time. In every turn the machine's limits and the kernel are measured one after the
other, so that whatever else the machine does meets both; shown is the turn in which the kernel's share is the median.

    GFLOP/s    arithmetic done: by the formula beside each kernel here, a square root or a division counted as one
    GB/s       bytes that must be read and written, by formula: each array once for each time that it is gone through
    limit      the smaller of two rates: of a matrix product in the same precision, the faster of NumPy's of 512 x 512
               and of one that stays in the first cache, whole lines of memory at a time; and of memory, which is the
               faster of reading and copying an array as large as what the kernel works on, times GFLOP/GB
    share      GFLOP/s over the limit
    waits      what the kernel also asks for, and which part of its time that takes alone, measured as often in a loop
               of its own. Where the share is low and the part is high, this is why.
"""

import argparse
import os
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from beside.asked import count, seconds
from limited.kernels import Kernel, Run, kernels, repeated
from limited.loops import copy, read

from marginbandits.lanes import across
from marginbandits.samplers.potential import _add_products


def often(run: Run, seconds: float) -> int:
    """How many times take about so long."""
    times = 1
    while (taken := spent(run, times) * times) < seconds / 2.0:
        times = max(2 * times, int(times * seconds / max(taken, 1e-5) / 2.0))
    return times


def spent(run: Run, times: int) -> float:
    """Seconds of one, of so many."""
    start = time.process_time()
    run(times)
    return (time.process_time() - start) / times


def measured(one: Kernel, turns: int, seconds: float) -> str:
    """Kernel and limits in alternation: the line of the turn with the median share."""
    square = np.ones((512, 512), one.precision)
    array = np.ones(max(int(one.room) // square.itemsize, 16), one.precision)
    out = np.zeros(2, one.precision)
    lines = 2 * across(1, one.precision)
    near = square[:64], square[:, :lines].copy(), np.zeros((67, lines), one.precision)
    runs: list[Run] = [
        one.run,
        repeated(square.__matmul__, square),
        repeated(_add_products, *near),
        lambda times: read(times, array, out),
        lambda times: copy(times, array, out),
        *(wait.run for wait in one.waits),
    ]
    for run in runs:
        run(1)  # so that it is compiled
    counts = [often(run, seconds) for run in runs]
    found = []
    for _ in range(turns):
        own, product, nearer, reading, copying, *waiting = (spent(*pair) for pair in zip(runs, counts, strict=True))
        peak = max(2 * 512**3 / product, 2 * 64 * 512 * lines / nearer)
        memory = array.nbytes / min(reading, copying)
        limit = min(peak, memory * one.flops / one.moved)
        parts = [wait.often * seconds / own for wait, seconds in zip(one.waits, waiting, strict=True)]
        found.append((one.flops / own / limit, own, peak, memory, limit, parts))
    share, own, peak, memory, limit, parts = sorted(found)[turns // 2]
    bound = "memory" if limit < peak else "matrix"
    rates = f"{one.flops / own / 1e9:>9.2f}{one.moved / own / 1e9:>8.1f}{peak / 1e9:>9.1f}{memory / 1e9:>8.1f}"
    waits = ", ".join(f"{part:.2f} {wait.what}" for part, wait in zip(parts, one.waits, strict=True))
    name, kind = f"{one.name}, {one.size}", np.dtype(one.precision).name
    return f"{name:<64}{kind:<9}{1e6 * own:>10.2f}{rates}  {bound:<7}{share:>6.2f}  {waits}".rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=count, default=7)
    parser.add_argument("--milliseconds", type=seconds, default=20.0, help="of each kernel and each limit in a turn")
    parser.add_argument("--only", default="", help="kernels whose name has this in it (default: all)")
    options = parser.parse_args()
    some = [one for one in kernels() if options.only in one.name]
    if not some:
        parser.error(
            f"no kernel has {options.only!r} in its name: {'; '.join(dict.fromkeys(one.name for one in kernels()))}"
        )
    print(f"{'':<83}{'reached':>17}{'the machine':>17}")
    print(
        f"{'kernel':<64}{'':<9}{'µs':>10}{'GFLOP/s':>9}{'GB/s':>8}{'GFLOP/s':>9}{'GB/s':>8}  {'limit':<7}{'share':>6}"
        "  waits"
    )
    for one in some:
        print(measured(one, options.turns, options.milliseconds / 1e3), flush=True)


if __name__ == "__main__":
    main()
