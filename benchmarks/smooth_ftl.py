"""What SmoothFTL costs: rounds per second, whether that holds, and the time of one large fit of its oracle.

    python benchmarks/smooth_ftl.py [--rounds 200000] [--rows 100000]

One thread. Digits (64 features, 10 actions, 365 with the random ones) once, then over and over, through `act` and
`learn`. Then `HingeERM` on `--rows` unit rows of 500 features and 10 actions, one cost each, labels of a linear rule
with a tenth of them wrong, to a relative gap of 1e-4, from nothing and from its own solution.
"""

import argparse
import os
import resource
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.oracles.hinge_erm import HingeERM


def play(agent: mb.Learner, rounds: list[tuple[np.ndarray, np.ndarray]], first: int, last: int) -> float:
    start = time.perf_counter()
    for t in range(first, last):
        x, losses = rounds[t % len(rounds)]
        decision = agent.act(x)
        agent.learn(x, decision, losses[decision.action])
    return time.perf_counter() - start


def rounds_per_second(n_rounds: int) -> None:
    rounds = [(one.context, one.losses) for one in mb.Classification.bundled("digits", seed=0)]
    play(mb.SmoothFTL(10, seed=1), rounds, 0, 300)  # compiled by now
    once = play(mb.SmoothFTL(10, seed=0), rounds, 0, len(rounds))
    print(f"digits once        {len(rounds) / once:>8,.0f} rounds/s", flush=True)
    agent, tenth = mb.SmoothFTL(10, seed=0), n_rounds // 10
    seconds = [play(agent, rounds, k * tenth, (k + 1) * tenth) for k in range(10)]
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n_rounds:,} rounds     {n_rounds / sum(seconds):>8,.0f} rounds/s")
    print(f"first tenth, last  {tenth / seconds[0]:>8,.0f} {tenth / seconds[-1]:,.0f} rounds/s")
    print(f"resident memory    {resident:>8,.0f} MB", flush=True)


def oracle(n: int, d: int = 500, K: int = 10) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = (rows @ rng.standard_normal((K, d)).T).argmax(1)
    labels = np.where(rng.random(n) < 0.1, rng.integers(K, size=n), labels)
    actions, costs = rng.integers(K, size=n), np.zeros((n, K))
    costs[np.arange(n), actions] = K * (actions != labels)
    for margin in (0.1, 0.03):
        start = None
        for kind in ("cold", "warm"):
            begin = time.perf_counter()
            fit = HingeERM(margin).minimise(rows, costs, start)
            seconds, start = time.perf_counter() - begin, fit.weights
            print(
                f"{n:,} x {d} x {K}, γ = {margin}, {kind}  {seconds:6.1f} s, {fit.evaluations} evaluations, "
                f"gap {fit.gap / fit.value:.1e}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200_000)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    rounds_per_second(options.rounds)
    oracle(options.rows)


if __name__ == "__main__":
    main()
