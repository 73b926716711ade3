"""Networks with a bag on hashed text, beside linear scores: where words act together, and where each speaks for itself.

    python benchmarks/networks_text.py [--rounds 5000] [--topics 20000] [--seeds 1]

Two problems, of rows of 2^16 and 2^18 columns of which some dozen and some fifty are filled. "Together": one of twenty
words and one of twenty others decide together which of two actions is right, ten common words say nothing, and no word
alone says anything. "Topics": the documents of `sparse_rows.py`, 20 actions, where lines suffice. Printed is the share
misread, of all rounds and of each quarter. One thread.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
import sparse_rows

import marginbandits as mb

COLUMNS, WORDS = 2**16, 3_000
Given = list[tuple[Any, int]]


def networks(**more: Any) -> Callable[[int, int], mb.Learner]:
    return lambda n_actions, seed: mb.HingeLMC(n_actions, scores=mb.Networks(bag=32, **more), seed=seed)


LEARNERS: dict[str, Callable[[int, int], mb.Learner]] = {
    "HingeLMC": lambda n_actions, seed: mb.HingeLMC(n_actions, seed=seed),
    "Networks(bag=32)": networks(),
    "Networks(bag=32, depth=1)": networks(depth=1),
    "Networks(bag=32, depth=0)": networks(depth=0),
}


def together(n: int, seed: int) -> Iterator[tuple[Any, int]]:
    rng = np.random.default_rng(seed)
    ours, common = rng.choice(COLUMNS, (2, 20), False), rng.choice(COLUMNS, WORDS, False)
    shares = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    for _ in range(n):
        i, j = rng.integers(20, size=2)
        others = common[np.searchsorted(shares, shares[-1] * rng.random(10))]
        columns, counts = np.unique([ours[0, i], ours[1, j], *others], return_counts=True)
        yield sparse_rows.row(columns, counts.astype(float), COLUMNS), int(i + j) % 2


def topics(n: int, seed: int) -> Iterator[tuple[Any, int]]:
    for words, topic in sparse_rows.texts(n, seed):
        columns, counts = np.unique(words, return_counts=True)
        yield sparse_rows.row(columns, counts.astype(float), sparse_rows.COLUMNS), topic


def misread(agent: mb.Learner, given: Given) -> np.ndarray[Any, Any]:
    """The share of all rounds, and of each quarter."""
    lost = np.empty(len(given))
    for t, (x, right) in enumerate(given):
        decision = agent.act(x)
        lost[t] = decision.action != right
        agent.learn(x, decision, float(lost[t]))
    return np.array([lost.mean(), *(quarter.mean() for quarter in np.array_split(lost, 4))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5_000)
    parser.add_argument("--topics", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    problems = (("together", 2, together, options.rounds), ("topics", sparse_rows.K, topics, options.topics))
    for name, n_actions, make, n in problems:
        given = [list(make(n, seed)) for seed in range(options.seeds)]
        print(f"{name:<28}   all   quarter by quarter")
        for learner, build in LEARNERS.items():
            found = np.mean([misread(build(n_actions, seed), one) for seed, one in enumerate(given)], 0)
            print(f"{learner:<28} {found[0]:.3f}   " + " ".join(f"{one:.3f}" for one in found[1:]), flush=True)


if __name__ == "__main__":
    main()
