"""Learners of networks played together: rounds a second for 1, 24 and more, on the device given.

    python benchmarks/networks_batched.py [--device cpu|torch:cpu|torch:cuda] [--learners 1,24] [--rounds 1797]
    python benchmarks/networks_batched.py --device torch:cuda --to gpu.npz
    python benchmarks/networks_batched.py --beside gpu.npz

Whole learners, `HingeLMC(scores=Networks())` as it is by default, on digits, each in an order of its own: features,
widths, floors, bootstrap and what is learnt anew are all in it, as `marginbandits bakeoff --device` plays them; more
rounds than digits has go over it again. Beside
them one learner alone in NumPy, on one core, as `simulate` plays it. The share is of what one product of large matrices
in single precision reaches on the same device, for the operations of the steps.

Then how near they are: three learners together and one at a time on the device; and, of those that were asked for last,
what another device played of them (`--to` there, `--beside` here, on any machine): how many rounds all actions agree,
and by how much mean losses differ after all rounds, with the standard error. One thread on a CPU.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.learners.hinge_lmc.together import Played, together
from marginbandits.scores.devices import Device, device

DIGITS = mb.Classification.bundled("digits", seed=0)


def product_rate(where: Device) -> float:
    """Operations a second of one product of 8,192 x 8,192 matrices (1,024 on a CPU), the best of twenty."""
    n = 8192 if where.name == "torch:cuda" else 1024
    square, taken = where.there(np.random.default_rng(0).standard_normal((n, n), np.float32)), []
    for _ in range(20):
        start = time.perf_counter()
        float((square @ square)[0, 0])  # to ask for a number is to wait for it
        taken.append(time.perf_counter() - start)
    return 2.0 * n**3 / min(taken)


def learner(seed: int, where: str) -> mb.HingeLMC:
    """One of them."""
    return mb.HingeLMC(10, scores=mb.Networks(device=where), seed=seed)


def rows(seed: int, n: int) -> mb.Oblivious:
    """Digits in the order of a seed."""
    order = np.resize(np.random.default_rng(seed).permutation(len(DIGITS)), n)
    return mb.Oblivious.of(DIGITS.contexts[order], DIGITS.losses[order])


def play(seeds: list[int], where: str, n: int) -> tuple[list[Played], float]:
    """What these learners play, and the rounds a second of all of them."""
    met = [rows(seed, n) for seed in seeds]
    start = time.perf_counter()
    found = together([learner(seed, where) for seed in seeds], met)
    seconds = time.perf_counter() - start
    return [one for one in found if one is not None], len(seeds) * n / seconds


def lost(found: list[Played], seeds: list[int], n: int) -> Any:
    """The mean loss of each."""
    return np.array([rows(s, n).losses[np.arange(n), one.actions].mean() for s, one in zip(seeds, found, strict=True)])


def agreed(one: Played, other: Played) -> int:
    """Rounds until two runs part."""
    apart = np.flatnonzero(one.actions != other.actions)
    return int(apart[0]) if len(apart) else len(one.actions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--learners", default="1,24")
    parser.add_argument("--rounds", type=int, default=1797)
    parser.add_argument("--to", type=Path, help="a file for what was played")
    parser.add_argument("--beside", type=Path, help="such a file, of as many learners and rounds")
    options = parser.parse_args()
    n, counts = options.rounds, [int(one) for one in options.learners.split(",")]
    where = device(options.device)
    limit, recipe = product_rate(where), mb.Networks()
    weights = recipe._shaped(65, 10)
    first = recipe.n_networks * 65 * recipe.width  # the first layer's inputs need no slopes
    work = 2.0 * recipe.minibatch * (3 * weights.dimension - first)
    print(f"{options.device}: {limit / 1e9:,.0f} GFLOP/s of products; {work / 1e6:.0f} million operations a step")
    play([0], options.device, min(n, 600))  # so that nothing below is compiled or made ready
    mb.simulate(learner(0, "cpu"), rows(0, 100))
    some = min(n, len(DIGITS))
    start = time.perf_counter()
    mb.simulate(learner(0, "cpu"), rows(0, some))
    alone = some / (time.perf_counter() - start)
    print(f"  1 learner alone, NumPy, one core: {alone:8,.0f} rounds/s")
    found: list[Played] = []
    for count in counts:
        found, rate = play(list(range(count)), options.device, n)
        share = work * rate / limit
        print(f"{count:3} together: {rate:8,.0f} rounds/s in all, {rate / alone:.1f} x that; {share:.1%} of products")
    seeds = list(range(counts[-1]))
    each = [play([seed], options.device, n)[0][0] for seed in seeds[:3]]
    print(f"3 of them one at a time: the same actions for {[agreed(a, b) for a, b in zip(found, each, strict=False)]}")
    if options.to is not None:
        np.savez_compressed(options.to, device=options.device, actions=np.stack([one.actions for one in found]))
    if options.beside is not None:
        with np.load(options.beside) as file:
            other, name = [Played(one, np.empty((0, 10))) for one in file["actions"]], str(file["device"])
        rounds = [agreed(a, b) for a, b in zip(other, found, strict=True)]
        gap = lost(other, seeds, n) - lost(found, seeds, n)
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
        print(f"on {name}: the same actions for {min(rounds)} to {max(rounds)} of {n} rounds,", end=" ")
        print(f"mean losses differ by {gap.mean():+.5f} ± {error:.5f} (at most {np.abs(gap).max():.4f})")


if __name__ == "__main__":
    main()
