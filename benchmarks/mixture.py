"""What a round of Mixture costs, whether it stays that way, the share of refits, and the worst round; and a forest.

    python benchmarks/mixture.py [--rounds 20000]

One thread, defaults, digits (64 numbers, 10 actions) over and over through `act` and `learn`, each time with other
noise, so that trees have something to learn. HingeLMC and LinUCB on Fourier features play in the same run. Forests are
of 60 trees, fitted to the first 100 and 1,000 digits, beside scikit-learn's.
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesRegressor

import marginbandits as mb
from marginbandits.oracles.extra_trees import grow


def play(agent: mb.Learner, n_rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every round, and whether it fitted a forest."""
    rounds = [(one.context, one.losses) for one in mb.Classification.bundled("digits", seed=0)]
    rng = np.random.default_rng(0)
    seconds, fitted, fits = np.zeros(n_rounds), np.zeros(n_rounds, bool), 0
    trees = [name for name in agent.state() if name.endswith(".fits")]
    for t in range(n_rounds):
        x, losses = rounds[t % len(rounds)]
        x = x + rng.standard_normal(len(x))
        start = time.perf_counter()
        decision = agent.act(x)
        agent.learn(x, decision, losses[decision.action])
        seconds[t] = time.perf_counter() - start
        trees = trees or [name for name in agent.state() if name.endswith(".fits")]
        now = int(agent.state()[trees[0]].sum()) if trees else 0
        fitted[t], fits = now > fits, now
    return seconds, fitted


def seconds_of(work: Callable[[], object]) -> float:
    """The median of nine times, after one more."""
    work()
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def compare_forests(n: int) -> None:
    """Ours and scikit-learn's, of n digits."""
    X, y = load_digits(return_X_y=True)
    rows, targets = X[:n].astype(np.float32), (y[:n] == 3).astype(np.float32)
    ours = 1e3 * seconds_of(lambda: grow(rows, targets, n_trees=60, n_columns=64, seed=0))
    theirs = 1e3 * seconds_of(lambda: ExtraTreesRegressor(60, random_state=0).fit(rows, targets))
    print(f"a forest of {n:,} rows: {ours:.1f} ms; scikit-learn's {theirs:.1f} ms, {theirs / ours:.0f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    options = parser.parse_args()
    builds: dict[str, Callable[[], mb.Learner]] = {
        "Mixture": lambda: mb.Mixture(10, seed=0),
        "Mixture, in the background": lambda: mb.Mixture(10, experts=mb.Mixture.usual(10, background=True), seed=0),
        "HingeLMC": lambda: mb.HingeLMC(10, seed=0),
        "LinUCB(features=fourier)": lambda: mb.LinUCB(10, features="fourier", seed=0),
    }
    for name, build in builds.items():
        play(build(), 300)  # compiled before anything is measured
        agent = build()
        seconds, fitted = play(agent, options.rounds)
        print(f"{name:26} {options.rounds / seconds.sum():,.0f} rounds/s over {options.rounds:,} rounds")
        print("  µs a round without fits, tenth by tenth", end="")
        for part, own in zip(np.array_split(seconds, 10), np.array_split(fitted, 10), strict=True):
            print(f" {1e6 * np.median(part[~own]):.0f}", end="")
        print(f"; worst round {1e3 * seconds.max():.0f} ms; {len(agent.dumps()) / 2**20:.1f} MB when saved")
        if fitted.any():
            share, worst = seconds[fitted].sum() / seconds.sum(), 1e3 * seconds[fitted].max()
            print(f"  {fitted.sum()} rounds fitted forests: {share:.0%} of the time, {worst:.0f} ms at most")
    for n in (100, 1000):
        compare_forests(n)


if __name__ == "__main__":
    main()
