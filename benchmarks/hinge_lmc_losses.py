"""Whether HingeLMC loses what it did in another version: both play the same rounds of the same sets.

    python benchmarks/hinge_lmc_losses.py [FOLDER] --beside SOURCES [--rounds 2000] [--orders 2]

FOLDER has sets as `.npz` files with arrays X and y; without it, four that come with scikit-learn are played. SOURCES
is another version of the package (`src` of a checkout). Of every set, in orders of its rows that are the same for both,
each version plays so many rounds, in a process of its own, with defaults. Printed are the mean loss of both on each
set, and the mean over all sets of the difference, with the interval of 95% that Student's t gives: sets are what it is
uncertain about, and with few of them it is wide. SOURCES may be those that play anyway: then nothing differs.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from beside.asked import count, sources
from scipy import stats
from sklearn import datasets

import marginbandits as mb

BUNDLED = ["breast_cancer", "digits", "iris", "wine"]


def folder(text: str) -> list[str]:
    """The sets of a folder, of which there must be two."""
    found = sorted(Path(text).absolute().glob("*.npz"))
    if len(found) < 2:
        raise argparse.ArgumentTypeError(f"must be a folder with two .npz files or more, got {text!r}")
    return [str(path) for path in found]


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Contexts and labels, of a file or by the name of a set that comes along."""
    if name in BUNDLED:
        return getattr(datasets, f"load_{name}")(return_X_y=True)  # type: ignore[no-any-return]  # not typed
    with np.load(name) as file:
        return np.asarray(file["X"], float), file["y"]


def lost(name: str, rounds: int, orders: int) -> float:
    """The mean loss over some orders of the rows, which depend on nothing that versions may change."""
    contexts, named = read(name)
    classes, labels = np.unique(named, return_inverse=True)
    losses = []
    for seed in range(orders):
        agent = mb.HingeLMC(len(classes), seed=seed)
        for row in np.random.default_rng([seed, 1]).permutation(len(labels))[:rounds]:
            decision = agent.act(contexts[row])
            losses.append(float(decision.action != labels[row]))
            agent.learn(contexts[row], decision, losses[-1])
    return float(np.mean(losses))


def playing(source: Path, names: list[str], rounds: int, orders: int) -> Iterator[float]:
    """The same of every set, of a version: it plays on while the other does."""
    ask = [sys.executable, __file__, "--alone", json.dumps([names, rounds, orders])]
    with subprocess.Popen(
        ask, env={**os.environ, "PYTHONPATH": str(source)}, text=True, stdout=subprocess.PIPE
    ) as told:
        assert told.stdout is not None
        yield from map(float, told.stdout)


def main() -> None:
    if sys.argv[1:2] == ["--alone"]:
        names, rounds, orders = json.loads(sys.argv[2])
        for name in names:
            print(lost(name, rounds, orders), flush=True)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=folder, metavar="FOLDER", nargs="?", default=BUNDLED)
    parser.add_argument("--beside", type=sources, metavar="SOURCES", required=True)
    parser.add_argument("--rounds", type=count, default=2_000)
    parser.add_argument("--orders", type=count, default=2)
    options = parser.parse_args()
    ours = Path(mb.__file__).parents[1]
    differences = []
    print(f"{'set':<24} {'here':>7} {'there':>7} {'here - there':>13}")
    both = (playing(source, options.sets, options.rounds, options.orders) for source in (ours, options.beside))
    for name, here, there in zip(options.sets, *both, strict=True):
        differences.append(here - there)
        print(f"{Path(name).stem:<24} {here:>7.4f} {there:>7.4f} {here - there:>+13.4f}", flush=True)
    mean, error = float(np.mean(differences)), float(stats.sem(differences))
    far = float(stats.t.ppf(0.975, len(differences) - 1)) * error
    less, more = sum(one < 0 for one in differences), sum(one > 0 for one in differences)
    print(
        f"over {len(differences)} sets: {mean:+.4f} ({mean - far:+.4f} to {mean + far:+.4f}), "
        f"less on {less}, more on {more}"
    )


if __name__ == "__main__":
    main()
