"""Losses of a bake-off as ratios, with intervals over data sets.

    marginbandits export FOLDER --to losses.csv
    python benchmarks/ratios.py losses.csv --base "LinUCB(features=fourier)" [--half unseen]

Each learner's loss on a data set is its mean over seeds. Printed are the mean loss, the ratio of mean losses, and the
mean over data sets of the ratios, each with its 95% bootstrap interval over data sets (2,000 resamples, all learners on
the same ones), and on how many sets it lost less or more than the base. `--half` takes every other set of the 75 of the
documents, by name: the second, fourth, ... are the `unseen` ones, on which no choice was made.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from marginbandits.environments.benchmark_sets import BENCHMARK_SETS

HALVES = {"all": slice(None), "seen": slice(0, None, 2), "unseen": slice(1, None, 2)}


def losses(path: str) -> tuple[list[str], dict[str, dict[str, float]]]:
    """Sets in order, and each learner's loss on each."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["learner"]][row["data"]].append(float(row["loss"]))
    means = {learner: {name: float(np.mean(own)) for name, own in each.items()} for learner, each in found.items()}
    return sorted(set.union(*(set(each) for each in means.values()))), means


def table(names: list[str], means: dict[str, dict[str, float]], base: str) -> None:
    """One line for each learner, the best first; only sets that all of them finished count."""
    names = [name for name in names if all(name in each for each in means.values())]
    draws = np.random.default_rng(0).integers(len(names), size=(2000, len(names)))
    own = np.array([means[base][name] for name in names])
    print(f"{len(names)} data sets")
    print(f"{'learner':45} {'loss':>6}  {'ratio of means':>22}  {'mean of ratios':>22}  less more")
    for learner in sorted(means, key=lambda one: np.mean([means[one][name] for name in names])):
        loss = np.array([means[learner][name] for name in names])
        ratio = loss / np.maximum(own, 1e-3)
        shown = []
        for value, several in (
            (loss.mean() / own.mean(), loss[draws].mean(1) / own[draws].mean(1)),
            (ratio.mean(), ratio[draws].mean(1)),
        ):
            low, high = np.quantile(several, [0.025, 0.975])
            shown.append(f"{value:.3f} ({low:.3f} to {high:.3f})")
        sides = f"{(loss < own).sum():4} {(loss > own).sum():4}"
        print(f"{learner:45} {loss.mean():.4f}  {shown[0]:>22}  {shown[1]:>22}  {sides}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("losses", help="what `marginbandits export` wrote")
    parser.add_argument("--base", default="LinUCB(features=fourier)")
    parser.add_argument("--half", choices=HALVES, default="all")
    options = parser.parse_args()
    if not Path(options.losses).is_file():
        parser.error(f"there is no file {options.losses!r}")
    names, means = losses(options.losses)
    half = sorted({*names, *(one.name for one in BENCHMARK_SETS)})[HALVES[options.half]]
    table([name for name in names if name in half], means, options.base)


if __name__ == "__main__":
    main()
