"""What it costs to import marginbandits, beside the libraries it stands on.

    python benchmarks/import_time.py [--turns 9]

Each turn starts a fresh process for every line, one after another, so that whatever else the machine does meets all
alike; the first turn, which fills the disk's cache, does not count. Seconds are the process's own clock around the
import, its median over the turns.
"""

import argparse
import statistics
import subprocess
import sys

STATEMENTS = {
    "libraries": "import numpy, scipy.sparse, numba",
    "marginbandits": "import marginbandits",
    "a learner": "import marginbandits as mb; mb.LinUCB(3)",
}


def seconds(statement: str) -> float:
    script = f"import time; start = time.perf_counter()\n{statement}\nprint(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9)
    turns = parser.parse_args().turns
    taken = [{name: seconds(statement) for name, statement in STATEMENTS.items()} for _ in range(turns + 1)][1:]
    medians = {name: statistics.median(one[name] for one in taken) for name in STATEMENTS}
    for name, statement in STATEMENTS.items():
        print(f"{name:<14}{medians[name]:>7.3f} s {medians[name] / medians['libraries']:>6.2f} x   {statement}")


if __name__ == "__main__":
    main()
