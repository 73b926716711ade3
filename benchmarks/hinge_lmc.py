"""What a round of HingeLMC costs, whether it stays that way, and how near the sampler comes to the machine's limit.

    python benchmarks/hinge_lmc.py [--rounds 200000] [--turns 7] [--beside FOLDER]

One thread, defaults, digits (64 features, 10 actions) over and over through `act` and `learn`: rounds per second, the
time of a round in each tenth of the run, and how much resident memory the run adds. LinUCB on the same
features plays the first tenth in the same run. Then the batched sampler's gradient at d = 500, K = 10, 8 particles,
minibatch 256, against a matrix product of the machine (2048 x 2048): operations of its two products, noise
excluded, the median of some turns.

`--beside` has the sources of another version (`src` of a checkout). Then nothing else is measured: both play digits
once, and five times over, by turns, each in a process of its own that has warmed up.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from beside.asked import count, sources

import marginbandits as mb


def play(agent: mb.Learner, rounds: list[tuple[np.ndarray, np.ndarray]], first: int, last: int) -> float:
    start = time.perf_counter()
    for t in range(first, last):
        x, losses = rounds[t % len(rounds)]
        decision = agent.act(x)
        agent.learn(x, decision, losses[decision.action])
    return time.perf_counter() - start


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rounds_per_second(n_rounds: int) -> None:
    rounds = [(one.context, one.losses) for one in mb.Classification.bundled("digits", seed=0)]
    tenth = n_rounds // 10
    linucb = mb.LinUCB(10, features="fourier", seed=0)
    play(linucb, rounds, 0, 100)
    other = play(linucb, rounds, 100, 100 + tenth)
    agent = mb.HingeLMC(10, seed=0)
    play(agent, rounds, 0, 100)
    before = resident()
    seconds = [play(agent, rounds, 100 + k * tenth, 100 + (k + 1) * tenth) for k in range(10)]
    print(f"HingeLMC              {n_rounds / sum(seconds):>9,.0f} rounds/s over {n_rounds:,} rounds")
    print(f"LinUCB, same features {tenth / other:>9,.0f} rounds/s over {tenth:,} rounds")
    print("µs a round, tenth by tenth", *(f"{1e6 * one / tenth:.0f}" for one in seconds))
    print(f"resident memory added by the run  {resident() - before:.0f} MB")


def alone(passes: int) -> None:
    """Print rounds per second of the processor's time, and the mean loss, of digits played so often."""
    rounds = passes * [(one.context, one.losses) for one in mb.Classification.bundled("digits", seed=0)]
    play(mb.HingeLMC(10, seed=1), rounds, 0, 400)
    agent, lost, start = mb.HingeLMC(10, seed=0), 0.0, time.process_time()
    for x, losses in rounds:
        decision = agent.act(x)
        agent.learn(x, decision, losses[decision.action])
        lost += losses[decision.action]
    print(len(rounds) / (time.process_time() - start), lost / len(rounds))


def beside(other: Path, turns: int) -> None:
    """Both versions by turns, once over digits and five times."""
    ours = Path(mb.__file__).parents[1]
    for passes in (1, 5):
        rates: dict[Path, list[float]] = {ours: [], other: []}
        for _ in range(turns):
            for source, found in rates.items():
                command = [sys.executable, __file__, "--passes", str(passes)]
                told = subprocess.check_output(command, env={**os.environ, "PYTHONPATH": str(source)}, text=True)
                found.append(float(told.split()[0]))
        ratios = [mine / theirs for mine, theirs in zip(rates[ours], rates[other], strict=True)]
        mine, theirs = (float(np.median(rates[source])) for source in (ours, other))
        ratio = f"{np.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{passes * 1797:>6,} rounds: {mine:>8,.0f} a second, {theirs:>8,.0f} there: {ratio}")


def throughput(turns: int, d: int = 500, n: int = 80, minibatch: int = 256) -> None:
    rng = np.random.default_rng(0)
    several, rows = (rng.standard_normal((count, d)) for count in (2 * n, minibatch))
    losses = rng.integers(0, 2, minibatch).astype(float)
    from marginbandits.samplers.stored_pull import StoredPull, refresh  # which other versions have elsewhere

    pull = StoredPull(1, n, minibatch, d)
    square = rng.standard_normal((2048, 2048))
    rates: tuple[list[float], list[float]] = [], []
    for _ in range(turns):  # in alternation, so that whatever else the machine does meets both
        start = time.perf_counter()
        square @ square
        middle = time.perf_counter()
        for k in range(200):  # two sets of particles by turns, so that slopes do change
            particles = several[k % 2 * n : (k % 2 + 1) * n]
            refresh(pull.slopes[0], pull.total[0], particles, rows, losses, 0, n, 0, minibatch, 0.8, True)
        end = time.perf_counter()
        rates[0].append(2 * 2048**3 / (middle - start))
        rates[1].append(200 * 4 * n * d * minibatch / (end - middle))
    limit, ours = (float(np.median(one)) for one in rates)
    print(f"sampler's gradient {ours / 1e9:.0f} GFLOP/s, matrix product {limit / 1e9:.0f} GFLOP/s: {ours / limit:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=count, default=200_000)
    parser.add_argument("--turns", type=count, default=7)
    parser.add_argument("--beside", type=sources, metavar="FOLDER")
    parser.add_argument("--passes", type=count, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rounds < 10:
        parser.error("--rounds must be at least 10, of which tenths are shown")
    if options.passes:
        alone(options.passes)
        return
    if options.beside:
        beside(options.beside, options.turns)
        return
    throughput(options.turns)
    rounds_per_second(options.rounds)


if __name__ == "__main__":
    main()
