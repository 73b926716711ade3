"""What each part of Mixture is worth: one left out at a time.

    python benchmarks/mixture_parts.py FOLDER --to parts.csv [--rounds 3000] [--widest 300] [--seeds 1]
    python benchmarks/ratios.py parts.csv --base Mixture

FOLDER has classification sets as `.npz` files of X and y. Those with at most `widest` columns are played, their rows in
an order drawn by the seed. A line is written as soon as a run has ended; what is there already is not run again.
"""

import argparse
import csv
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import marginbandits as mb


class NotAnew(mb.Mixture):
    """Without learning the first rounds anew."""

    EARLY = 0


def without(*kinds: type[mb.Expert]) -> Callable[[mb.Classification, int], mb.Mixture]:
    """The usual experts but for those."""

    def build(env: mb.Classification, seed: int) -> mb.Mixture:
        K, d = env.n_actions, env.contexts.shape[1]
        usual = mb.Mixture.usual(K, wide=K * (d + 201) ** 2 > mb.Mixture.WIDE)
        return mb.Mixture(K, experts=[one for one in usual if not isinstance(one, kinds)], seed=seed)

    return build


PARTS: dict[str, Callable[[mb.Classification, int], mb.Learner]] = {
    "Mixture": lambda env, seed: mb.Mixture(env.n_actions, seed=seed),
    "without trees": without(mb.TreesExpert),
    "without one right": without(mb.OneRightExpert),
    "without trees and one right": without(mb.TreesExpert, mb.OneRightExpert),
    "without learning anew": lambda env, seed: NotAnew(env.n_actions, seed=seed),
    "LinUCB(features=fourier)": lambda env, seed: mb.LinUCB(env.n_actions, features="fourier", seed=seed),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--widest", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    done = set()
    if options.to.exists():
        with options.to.open(newline="", encoding="utf-8") as file:
            done = {(row["data"], row["learner"], int(row["seed"])) for row in csv.DictReader(file)}
    else:
        options.to.write_text("data,learner,seed,loss,seconds\n", encoding="utf-8")
    for path in sorted(options.folder.glob("*.npz")):
        for seed in range(options.seeds):
            env = mb.Classification.from_npz(path, n_rounds=options.rounds, seed=seed)
            if env.contexts.shape[1] > options.widest:
                break
            for name, build in PARTS.items():
                if (path.stem, name, seed) not in done:
                    start = time.perf_counter()
                    lost = mb.simulate(build(env, seed), env).losses.mean()
                    with options.to.open("a", encoding="utf-8") as out:
                        out.write(f"{path.stem},{name},{seed},{lost},{time.perf_counter() - start:.1f}\n")
                    print(f"{path.stem:20} {name:30} {lost:.4f}", flush=True)


if __name__ == "__main__":
    main()
