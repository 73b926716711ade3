"""Sparse rows: what a round costs when contexts grow wider but no fuller, and what is lost on text by default.

    python benchmarks/sparse_rows.py [--rounds 20000] [--log rcv1.vw.gz]

First the microseconds of `act` and `learn` on rows of 50 filled columns, 20 actions, one thread: the median of 200
rounds, each the least of five turns, in alternation. Then the share of documents misread: 20 topics, about 50 words
each of 60,000 hashed into 2^18 columns, a quarter of them the topic's own. At last, where a log in Vowpal Wabbit's
format is given (`action:cost:probability | words`), the cost of the policy learnt so far, by inverse probabilities.
"""

import argparse
import functools
import gzip
import os
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
import scipy.sparse

import marginbandits as mb

K, FILLED, COLUMNS, WORDS, OWN = 20, 50, 2**18, 60_000, 2_000
WIDTHS = 2**14, 2**18
LEARNERS: list[Callable[..., mb.Learner]] = [
    *(mb.HingeLMC, mb.SmoothFTL, mb.SquareCB, mb.RegCB, mb.Bag, mb.Cover),
    *(mb.LogisticTS, mb.LinUCB, mb.LinTS, mb.EpsilonGreedy, mb.Banditron, mb.Newtron, mb.SOBA),
]
READERS: dict[str, Callable[..., mb.Learner]] = {
    "HingeLMC": mb.HingeLMC,
    "  less bold": functools.partial(mb.HingeLMC, temperature=0.02, regularisation=0.8),
    "SmoothFTL": mb.SmoothFTL,
    "SquareCB": mb.SquareCB,
    "RegCB": mb.RegCB,
    "LogisticTS": mb.LogisticTS,
    "LinUCB": mb.LinUCB,
    "LinTS": mb.LinTS,
    "EpsilonGreedy": mb.EpsilonGreedy,
}


def row(columns: Any, values: Any, width: int) -> Any:
    return scipy.sparse.csr_array((values, columns, [0, len(columns)]), (1, width))


def microseconds(build: Callable[..., mb.Learner], n: int) -> tuple[float, ...]:
    rng = np.random.default_rng(0)
    agents = [build(K, seed=0) for _ in WIDTHS]
    contexts = [[row(np.sort(rng.choice(d, FILLED, False)), np.ones(FILLED), d) for _ in range(n)] for d in WIDTHS]
    spent = np.full((len(WIDTHS), n), np.inf)
    for turn in range(6):
        for i in range(n):
            for w, agent in enumerate(agents):
                start = time.perf_counter()
                decision = agent.act(contexts[w][i])
                agent.learn(contexts[w][i], decision, float(decision.action > 0))
                spent[w, i] = min(spent[w, i], time.perf_counter() - start) if turn else np.inf
    return tuple((1e6 * np.median(spent, 1)).tolist())


def texts(n: int, seed: int = 0) -> Iterator[tuple[list[int], int]]:
    """Words and topic of each: those common to all topics follow Zipf's law, those of a topic a flatter one."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(COLUMNS)[:WORDS]
    topics = rng.integers(WORDS, size=(K, OWN))
    common, own = (np.cumsum(1.0 / np.arange(1, size + 1) ** power) for size, power in ((WORDS, 1.0), (OWN, 0.7)))
    for topic in rng.integers(K, size=n).tolist():
        length = 1 + rng.poisson(FILLED - 1)
        some = rng.binomial(length, 0.25)
        any_topic = np.searchsorted(common, common[-1] * rng.random(length - some))
        of_topic = topics[topic, np.searchsorted(own, own[-1] * rng.random(some))]
        yield names[np.concatenate([any_topic, of_topic])].tolist(), topic


def documents(n: int) -> Iterator[tuple[Any, int]]:
    for words, topic in texts(n):
        columns, counts = np.unique(words, return_counts=True)
        yield row(columns, counts.astype(float), COLUMNS), topic


def misread(agent: mb.Learner, given: list[tuple[Any, int]]) -> float:
    total = 0.0
    for x, topic in given:
        decision = agent.act(x)
        loss = float(decision.action != topic)
        agent.learn(x, decision, loss)
        total += loss
    return total / len(given)


def logged(path: Path) -> Iterator[tuple[Any, mb.Decision, float]]:
    with gzip.open(path, "rt") as lines:
        for line in lines:
            label, text = line.split("|", 1)
            action, cost, probability = label.strip().split(":")
            words = [word.partition(":") for word in text.split()]
            columns = [zlib.crc32(word.encode()) % COLUMNS for word, *_ in words]
            values = [float(value or 1.0) for *_, value in words]
            yield row(columns, values, COLUMNS), mb.Decision(int(action) - 1, float(probability)), float(cost)


def off_policy(agent: mb.Learner, rounds: list[tuple[Any, mb.Decision, float]]) -> float:
    total = 0.0
    for x, decision, cost in rounds:
        total += float(agent.law(x)[decision.action]) / decision.probability * cost
        agent.learn(x, decision, cost)
    return total / len(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    print(f"{'microseconds':<16}{'2^14':>8}{'2^18':>8}{'ratio':>8}")
    for build in LEARNERS:
        narrow, wide = microseconds(build, min(options.rounds, 200))
        print(f"{build.__name__:<16}{narrow:>8.0f}{wide:>8.0f}{wide / narrow:>8.2f}", flush=True)
    kinds: dict[str, Any] = {"default": "raw", "Identity": mb.Identity()}
    read = list(documents(options.rounds))
    print(f"\n{'misread':<16}" + "".join(f"{kind:>10}" for kind in kinds))
    for name, build in READERS.items():
        lost = [misread(build(K, features=features, seed=0), read) for features in kinds.values()]
        print(f"{name:<16}" + "".join(f"{one:>10.3f}" for one in lost), flush=True)
    if options.log is not None:
        rounds = list(logged(options.log))
        n_actions = 1 + max(decision.action for _, decision, _ in rounds)
        print(f"\n{'logged cost':<16}" + "".join(f"{kind:>10}" for kind in kinds))
        for name, build in READERS.items():
            lost = [off_policy(build(n_actions, features=features, seed=0), rounds) for features in kinds.values()]
            print(f"{name:<16}" + "".join(f"{one:>10.3f}" for one in lost), flush=True)


if __name__ == "__main__":
    main()
