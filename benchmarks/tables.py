"""What a dictionary costs: from names and values to features, beside a plain loop that hashes them, and in a round.

    python benchmarks/tables.py [--rounds 2000]

Dictionaries of 20 entries, half of them numbers and half strings out of ten each. The plain loop takes
`hash((name, value))` of every entry into a list: it says nothing yet of columns, scales or what is missing.
The least of five turns; one thread.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from sklearn.feature_extraction import FeatureHasher

import marginbandits as mb

T = TypeVar("T")


def contexts(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    numbers, kinds = rng.standard_normal((n, 10)).tolist(), rng.integers(10, size=(n, 10)).tolist()
    return [
        {f"number {i}": x for i, x in enumerate(own)} | {f"kind {i}": f"value {k}" for i, k in enumerate(names)}
        for own, names in zip(numbers, kinds, strict=True)
    ]


def plain(context: dict[str, Any]) -> list[int]:
    found = []
    for name, value in context.items():
        found.append(hash((name, value)))
    return found


def microseconds(work: Callable[[T], object], several: list[T]) -> float:
    """Of one context: the least of five turns over all of them."""
    turns = []
    for _ in range(5):
        start = time.perf_counter()
        for context in several:
            work(context)
        turns.append(time.perf_counter() - start)
    return 1e6 * min(turns) / len(several)


def offers(n: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """A user of five entries, and ten actions of four and a name."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n):
        user = {"age": float(rng.integers(18, 80)), **{f"kind {i}": f"value {rng.integers(10)}" for i in range(4)}}
        names = rng.choice(1000, 10, replace=False).tolist()
        found.append((user, {f"a{k}": {f"part {i}": f"value {rng.integers(10)}" for i in range(4)} for k in names}))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    several = contexts(parser.parse_args().rounds)
    table = mb.Table()._start(sparse=True)
    for context in several:
        table._observe(table._codes([context]))
    loop = microseconds(plain, several)
    features = microseconds(lambda context: table._transform(table._codes([context])), several)
    print(f"a plain loop {loop:.1f} µs; to features {features:.1f} µs, {features / loop:.1f} x")
    hasher = FeatureHasher(2**18)
    hashed = microseconds(lambda context: hasher.transform([context]), several)
    print(f"scikit-learn's FeatureHasher {hashed:.1f} µs, {hashed / features:.1f} x that")
    for build in (mb.SquareCB, mb.HingeLMC):
        agent = build(10, seed=0)

        def play(context: dict[str, Any], agent: mb.Learner = agent) -> None:
            agent.learn(context, agent.act(context), 0.5)

        taken = microseconds(play, several)
        share = 2 * features / taken  # `act` and `learn` read the context once each
        print(f"{build.__name__}: a round of 10 actions {taken:.1f} µs, {share:.0%} of it from names to features")
    shop, given = mb.SquareCB(10, seed=0), offers(len(several) // 10)

    def offer(one: tuple[dict[str, Any], dict[str, Any]]) -> None:
        shop.learn(one[0], shop.act(one[0], actions=one[1]), 0.5, actions=one[1])

    print(f"SquareCB: a round of 10 actions with features of their own {microseconds(offer, given):.0f} µs")


if __name__ == "__main__":
    main()
