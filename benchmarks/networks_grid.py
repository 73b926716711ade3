"""Networks with a margin and without, each at many settings: whether the margin earns where both are tuned.

    python benchmarks/networks_grid.py FOLDER --to grid.csv [--device torch:cuda] [--rounds 8000] [--seeds 3]
        [--sets eeg_eye,mnist,...] [--rates 0.001,0.003,0.01] [--margins 0.5,1,2]
    python benchmarks/ratios.py grid.csv --base "squared_error, rate 0.003, margin 1"

FOLDER has classification sets as `.npz` files of X and y; of each, `--rounds` rows in an order of the seed, as
`benchmarks/networks.py` plays them. All settings and seeds of one surrogate on one set are one batch; its lines are
written as soon as it has ended, and what is there already is not run again.
"""

import argparse
import csv
import itertools
import time
from pathlib import Path

import numpy as np
from beside.asked import count

import marginbandits as mb
from marginbandits.learners.hinge_lmc.together import together

EIGHT = "eeg_eye,mnist,covtype,weight_lifting,avila,electricity,letter,segmentation"


def numbers(text: str) -> list[float]:
    return [float(one) for one in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path, default=Path("grid.csv"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=count, default=8000)
    parser.add_argument("--seeds", type=count, default=3)
    parser.add_argument("--sets", default=EIGHT)
    parser.add_argument("--surrogates", default="squared_hinge,squared_error")
    parser.add_argument("--rates", type=numbers, default=[0.001, 0.003, 0.01])
    parser.add_argument("--margins", type=numbers, default=[0.5, 1.0, 2.0])
    options = parser.parse_args()
    done = set()
    if options.to.exists():
        with options.to.open(newline="", encoding="utf-8") as file:
            done = {(row["data"], row["learner"], int(row["seed"])) for row in csv.DictReader(file)}
    else:
        options.to.write_text("data,learner,seed,loss,seconds\n", encoding="utf-8")
    settings = list(itertools.product(options.rates, options.margins, range(options.seeds)))
    for name, surrogate in itertools.product(options.sets.split(","), options.surrogates.split(",")):
        labels = {
            (rate, margin, seed): f"{surrogate}, rate {rate:g}, margin {margin:g}" for rate, margin, seed in settings
        }
        left = [one for one in settings if (name, labels[one], one[-1]) not in done]
        if not left:
            continue
        path = options.folder / f"{name}.npz"
        met = [mb.Classification.from_npz(path, n_rounds=options.rounds, seed=seed) for _, _, seed in left]
        learners = [
            mb.HingeLMC(
                env.n_actions,
                scores=mb.Networks(rate=rate, device=options.device),
                surrogate=surrogate,
                margin=margin,
                seed=seed,
            )
            for env, (rate, margin, seed) in zip(met, left, strict=True)
        ]
        start = time.perf_counter()
        runs = together(learners, met)
        seconds = (time.perf_counter() - start) / len(left)
        with options.to.open("a", newline="", encoding="utf-8") as file:
            for one, env, run in zip(left, met, runs, strict=True):
                lost = np.nan if run is None else env.losses[np.arange(len(env)), run.actions].mean()
                csv.writer(file).writerow([name, labels[one], one[-1], f"{lost:.5f}", f"{seconds:.1f}"])
        print(f"{name}, {surrogate}: {len(left)} learners in {seconds * len(left):.0f} s", flush=True)


if __name__ == "__main__":
    main()
