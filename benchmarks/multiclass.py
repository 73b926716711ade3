"""Banditron, Newtron and SOBA on the synthetic documents of their papers: separable, and with 5% of labels wrong.

    python benchmarks/multiclass.py [--rounds 20000] [--seeds 8]

Mean losses with standard errors over seeds, for exploration γ from 1/8 to 1/256 and for the defaults. The contexts are
the 0/1 vectors as they are. The papers play 10^6 documents and choose γ in hindsight; the data are rebuilt from
descriptions, see `Keywords`. Then the orderings, as differences paired by seed: they hold or fail where the difference
is more than two standard errors from 0, else they stay open. They are what the papers' abstracts and bounds stand for;
the numbers in their figures are not compared.

    Newtron < Banditron on both            Hazan & Kale (2011)
    SOBA < Newtron, Banditron under noise  Beygelzimer, Orabona & Zhang (2017)

Where the data are separable, SOBA's paper proves no more than Banditron's √T mistakes, and nothing is claimed here: the
less γ the better for the other two, while SOBA, which learns from right guesses alone, cannot do without it.
"""

import argparse
import os
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.types import Array

LEARNERS = (mb.Banditron, mb.Newtron, mb.SOBA)
GAMMAS = (1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 256)
SETTINGS: list[dict[str, Any]] = [*({"gamma": gamma} for gamma in GAMMAS), {}]
DATA = {"separable": 0.0, "noisy": 0.05}
CLAIMS = [
    ("separable", "Newtron", "Banditron"),
    ("noisy", "Newtron", "Banditron"),
    ("noisy", "SOBA", "Banditron"),
    ("noisy", "SOBA", "Newtron"),
]


def mean_losses(noise: float, rounds: int, seeds: int) -> dict[str, Array]:
    """Settings x seeds for each learner."""
    out = {cls.__name__: np.empty((len(SETTINGS), seeds)) for cls in LEARNERS}
    for seed in range(seeds):
        env = mb.Keywords(rounds, noise=noise, seed=seed)
        for cls in LEARNERS:
            for i, setting in enumerate(SETTINGS):
                agent = cls(env.n_actions, features=mb.Identity(), seed=seed, **setting)
                out[cls.__name__][i, seed] = mb.simulate(agent, env).losses.mean()
    return out


def shown(losses: Array) -> str:
    return f"{losses.mean():.3f} ± {losses.std(ddof=1) / len(losses) ** 0.5:.3f}"


def verdict(losses: Array, other: Array) -> str:
    difference = losses - other
    error = 2.0 * difference.std(ddof=1) / len(difference) ** 0.5
    word = "holds" if difference.mean() < -error else "fails" if difference.mean() > error else "open"
    return f"{word} ({difference.mean():+.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    names = [*(f"1/{round(1 / gamma)}" for gamma in GAMMAS), "default"]
    print(f"{'data':<11}{'learner':<11}" + "".join(f"{name:>15}" for name in names))
    losses = {}
    for data, noise in DATA.items():
        losses[data] = mean_losses(noise, options.rounds, options.seeds)
        for learner, table in losses[data].items():
            print(f"{data:<11}{learner:<11}" + "".join(f"{shown(row):>15}" for row in table), flush=True)
    print(f"\n{'ordering':<34}{'best γ (hindsight)':>20}{'γ = 1/16':>18}{'defaults':>18}")
    for data, better, worse in CLAIMS:
        a, b = losses[data][better], losses[data][worse]
        best = verdict(a[a[:-1].mean(1).argmin()], b[b[:-1].mean(1).argmin()])
        same = verdict(a[GAMMAS.index(1 / 16)], b[GAMMAS.index(1 / 16)])
        print(f"{f'{data}: {better} < {worse}':<34}{best:>20}{same:>18}{verdict(a[-1], b[-1]):>18}")


if __name__ == "__main__":
    main()
