"""What outliers cost learners on standardised contexts.

    python benchmarks/outliers.py [--rounds 8000] [--seeds 3]

Three standard normal columns, three actions, labels of a linear rule. Some rows are replaced by outliers, which keep
the label of the row they replace, so there is nothing to learn from them. Each learner plays each stream with and
without them, with the same seeds; printed is the mean loss of the rounds after round 3,000, which is 2,000 rounds
after the last outlier, except where they never stop.
"""

import argparse
import os
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.types import Array

SETTLED = 3_000
LEARNERS: list[Callable[..., mb.Learner]] = [mb.LinUCB, mb.EpsilonGreedy, mb.HingeLMC]

Where = slice | tuple[slice, int]
KINDS: list[tuple[str, Where, float]] = [
    ("1e4 at round 1,000", slice(999, 1000), 1e4),
    ("1e6 at round 1,000", slice(999, 1000), 1e6),
    ("1e12 at round 1,000", slice(999, 1000), 1e12),
    ("1e90 at round 1,000", slice(999, 1000), 1e90),
    ("1e6 in one column", (slice(999, 1000), 0), 1e6),
    ("1e6 for 20 rounds", slice(999, 1019), 1e6),
    ("1e90 for 20 rounds", slice(999, 1019), 1e90),
    ("1e6 at round 1", slice(0, 1), 1e6),
    ("1e6 at round 2", slice(1, 2), 1e6),
    ("1e6 at round 5", slice(4, 5), 1e6),
    ("1e90 at round 1", slice(0, 1), 1e90),
    ("1e6 every 500 rounds", slice(499, None, 500), 1e6),
]


def stream(rounds: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((rounds, 3))
    return contexts, (contexts @ rng.standard_normal((3, 3))).argmax(1)


def settled_loss(learner: mb.Learner, contexts: Array, labels: Array) -> float:
    losses = mb.simulate(learner, mb.Classification(contexts, labels)).losses
    return float(losses[min(SETTLED, len(losses) // 2) :].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    streams = [stream(options.rounds, seed) for seed in range(options.seeds)]
    print(f"{'':<16}{'outliers':<24}{'without':>8}{'with':>8}{'difference':>12}{'largest':>9}")
    for build in LEARNERS:
        without = [settled_loss(build(3, seed=seed), *one) for seed, one in enumerate(streams)]
        for kind, where, value in KINDS:
            losses = []
            for seed, (contexts, labels) in enumerate(streams):
                spoilt = contexts.copy()
                spoilt[where] = value
                losses.append(settled_loss(build(3, seed=seed), spoilt, labels))
            difference = np.subtract(losses, without)
            name = getattr(build, "__name__", repr(build))
            row = f"{np.mean(without):>8.3f}{np.mean(losses):>8.3f}{difference.mean():>+12.3f}{difference.max():>+9.3f}"
            print(f"{name:<16}{kind:<24}{row}", flush=True)


if __name__ == "__main__":
    main()
