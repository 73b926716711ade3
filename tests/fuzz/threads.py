"""One learner in eight threads from its very first round, and one path in eight processes: nothing is lost or torn.

Threads play rounds of their own on one learner: every round must be counted. Processes save to one path while others
load it: no error, and every read is a whole learner.

    python -m tests.fuzz.threads --starts 100 --rounds 1000
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import marginbandits as mb
from tests.fuzz.subjects import LEARNERS, K, context

__all__ = ["counted", "saved_and_read", "started"]

THREADS = 8


def _learner(name: str, rounds: int) -> mb.Learner:
    horizon = {"horizon": rounds} if name.startswith("Faithful") else {}
    arguments: dict[str, Any] = {**horizon, "features": mb.Standardise()}
    if name == "Uniform":
        arguments = {}
    elif name == "Mixture":
        arguments = {"experts": [mb.RidgeExpert(), mb.OneRightExpert(), mb.TreesExpert(n_trees=2, memory=50)]}
    return getattr(mb, name)(K, **arguments, seed=0)  # type: ignore[no-any-return]


def counted(agent: mb.Learner) -> int:
    """Rounds that the scaling of features has seen; -1 for one that has no features."""
    found = [array for name, array in agent.state().items() if name.endswith("moments")]
    return int(found[0][-1, 0]) if found else -1


def started(name: str, rounds: int, seed: int) -> str | None:
    """Eight threads play so many rounds each on a fresh learner; returns what went wrong."""
    agent = _learner(name, THREADS * rounds)

    def some(thread: int) -> None:
        rng = np.random.default_rng([seed, thread])
        for _ in range(rounds):
            x = context(rng, "vector")
            decision = agent.act(x)
            agent.learn(x, decision, float((x[0] > 0) != (decision.action > 0)))

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns in the middle of rounds, not between them
    try:
        with ThreadPoolExecutor(THREADS) as pool, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(pool.map(some, range(THREADS)))
    except Exception as error:  # whatever it is, it is a finding
        return f"{name}, seed {seed}: {error!r}"
    finally:
        sys.setswitchinterval(switch)
    agent.loads(agent.dumps())
    found = counted(agent)
    if found not in (-1, THREADS * rounds):
        return f"{name}, seed {seed}: {found} rounds counted of {THREADS * rounds}"
    return None


def _save(path: str, until: float, seed: int, told: Any) -> None:
    agent, rng, n = mb.LinUCB(K, features="fourier", seed=seed), np.random.default_rng(seed), 0
    try:
        while time.time() < until:
            x = rng.standard_normal(3)
            agent.learn(x, agent.act(x), float(rng.integers(2)))
            agent.save(path)
            n += 1
        told.put(("saved", n, None))
    except Exception as error:  # whatever it is, it is a finding
        told.put(("saved", n, repr(error)))


def _read(path: str, until: float, seed: int, told: Any) -> None:
    n = 0
    try:
        while time.time() < until:
            try:
                mb.load(path).act([0.0, 1.0, 2.0])
                n += 1
            except FileNotFoundError:
                continue  # before the first save
        told.put(("read", n, None))
    except Exception as error:  # whatever it is, it is a finding
        told.put(("read", n, repr(error)))


def saved_and_read(seconds: float, savers: int = 8, readers: int = 2) -> tuple[Counter[str], list[str]]:
    """Processes save one path, and read it, for so long; returns how often, and the errors."""
    fork = multiprocessing.get_context("fork")
    agent = mb.LinUCB(K, features="fourier", seed=0)  # compiled before anything is measured
    x = np.zeros(3)
    agent.learn(x, agent.act(x), 1.0)
    mb.loads(agent.dumps())
    with tempfile.TemporaryDirectory() as folder:
        path, told = str(Path(folder) / "agent.npz"), fork.Queue()
        until = time.time() + seconds
        work = [(_save, i) for i in range(savers)] + [(_read, i) for i in range(readers)]
        children = [fork.Process(target=target, args=(path, until, i, told)) for target, i in work]
        for child in children:
            child.start()
        answers = [told.get(timeout=seconds + 120) for _ in children]
        for child in children:
            child.join()
        left = [one.name for one in Path(folder).iterdir()]
    counts: Counter[str] = Counter()
    for what, n, _ in answers:
        counts[what] += n
    errors = [error for _, _, error in answers if error]
    if left != ["agent.npz"]:
        errors.append(f"left behind: {left}")
    return counts, errors


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--learners", default="")
    given = parser.parse_args()
    faults = []
    for learner in LEARNERS:
        if given.learners and learner.__name__ not in given.learners.split(","):
            continue
        begun = time.time()
        found = [started(learner.__name__, given.rounds, seed) for seed in range(given.starts)]
        faults += [one for one in found if one]
        print(
            f"{learner.__name__}: {given.starts} starts of {THREADS} x {given.rounds} rounds in "
            f"{time.time() - begun:.1f} s, {sum(one is not None for one in found)} faults",
            flush=True,
        )
    counts, errors = saved_and_read(given.seconds)
    print(f"one path for {given.seconds:g} s: {dict(counts)}, {len(errors)} errors")
    for one in faults + errors:
        print(one)
    return len(faults + errors) > 0


if __name__ == "__main__":
    sys.exit(main())
