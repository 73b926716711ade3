"""Networks on real sets: with a margin and without, alone and as an expert of Mixture, beside LinUCB.

    python benchmarks/networks.py FOLDER --to alone.csv [--rounds 8000] [--seeds 1] [--sets eeg_eye,mnist,...]
    python benchmarks/networks.py FOLDER --to long.csv --mixture --rounds 10000 --sets long
    python benchmarks/ratios.py alone.csv --base "squared error"

FOLDER has classification sets as `.npz` files of X and y. `--sets long` are all that have as many rows as there are
rounds. One thread. A line is written as soon as a run has ended; what is there already is not run again.
"""

import argparse
import csv
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import marginbandits as mb

EIGHT = "eeg_eye,mnist,covtype,weight_lifting,avila,electricity,letter,segmentation"
Build = Callable[[mb.Classification, int], mb.Learner]


def alone(surrogate: str) -> Build:
    return lambda env, seed: mb.HingeLMC(env.n_actions, scores=mb.Networks(), surrogate=surrogate, seed=seed)


def mixture(*, networks: bool) -> Build:
    def build(env: mb.Classification, seed: int) -> mb.Mixture:
        K, d = env.n_actions, env.contexts.shape[1]
        wide = K * (d + 201) ** 2 > mb.Mixture.WIDE
        return mb.Mixture(K, experts=mb.Mixture.usual(K, wide=wide, networks=networks), seed=seed)

    return build


LINUCB: dict[str, Build] = {
    "LinUCB(features=fourier)": lambda env, seed: mb.LinUCB(env.n_actions, features="fourier", seed=seed)
}
ALONE: dict[str, Build] = {"squared hinge": alone("squared_hinge"), "squared error": alone("squared_error"), **LINUCB}
MIXTURE: dict[str, Build] = {"Mixture": mixture(networks=True), "without networks": mixture(networks=False), **LINUCB}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--mixture", action="store_true")
    parser.add_argument("--rounds", type=int, default=8000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", default=EIGHT)
    options = parser.parse_args()
    done = set()
    if options.to.exists():
        with options.to.open(newline="", encoding="utf-8") as file:
            done = {(row["data"], row["learner"], int(row["seed"])) for row in csv.DictReader(file)}
    else:
        options.to.write_text("data,learner,seed,loss,seconds\n", encoding="utf-8")
    for path in sorted(options.folder.glob("*.npz")):
        if options.sets != "long" and path.stem not in options.sets.split(","):
            continue
        for seed in range(options.seeds):
            env = mb.Classification.from_npz(path, n_rounds=options.rounds, seed=seed)
            if options.sets == "long" and len(env) < options.rounds:
                break
            for name, build in (MIXTURE if options.mixture else ALONE).items():
                if (path.stem, name, seed) not in done:
                    start = time.perf_counter()
                    loss = mb.simulate(build(env, seed), env, laws=False).losses.mean()
                    line = f"{path.stem},{name},{seed},{loss:.5f},{time.perf_counter() - start:.1f}"
                    print(line, flush=True)
                    with options.to.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")


if __name__ == "__main__":
    main()
