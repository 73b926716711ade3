"""Rounds per second of LinUCB called from Python one round at a time: marginbandits, plain NumPy, MABWiser.

    python benchmarks/linucb_round.py [--rounds 20000]

One run, one thread, the same contexts and losses for all (d = 20, K = 10). A round is act + learn; for marginbandits
that includes checking the input, online standardisation and the exact probability. The NumPy loop is the shortest
correct one: no checks, no features, Sherman-Morrison. MABWiser (extra `bench`) gets a tenth of the rounds: it is slow.
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.types import Array

D, K, ALPHA, RIDGE = 20, 10, 0.3, 0.1
Run = Callable[[Array, Array], float]


def ours(X: Array, losses: Array) -> float:
    agent = mb.LinUCB(K, alpha=ALPHA, regularisation=RIDGE, seed=0)
    agent.learn(X[0], agent.act(X[0]), 0.5)  # compile
    agent.act(X[0])
    total = 0.0
    for x, row in zip(X, losses, strict=True):
        decision = agent.act(x)
        loss = row[decision.action]
        agent.learn(x, decision, loss)
        total += loss
    return total


def numpy_loop(X: Array, losses: Array) -> float:
    inverse = np.stack([np.eye(D) / RIDGE] * K)
    b, theta, total = np.zeros((K, D)), np.zeros((K, D)), 0.0
    for x, row in zip(X, losses, strict=True):
        u = inverse @ x
        action = int(np.argmax(theta @ x + ALPHA * np.sqrt(u @ x)))
        inverse[action] -= np.outer(u[action], u[action]) / (1.0 + u[action] @ x)
        b[action] += (1.0 - row[action]) * x
        theta[action] = inverse[action] @ b[action]
        total += row[action]
    return total


def mabwiser(X: Array, losses: Array) -> float:
    from mabwiser.mab import MAB, LearningPolicy

    bandit = MAB(arms=list(range(K)), learning_policy=LearningPolicy.LinUCB(alpha=ALPHA, l2_lambda=RIDGE), seed=0)
    bandit.fit([0], [1.0 - losses[0, 0]], X[:1])
    total = 0.0
    for t in range(len(X)):
        x = X[t : t + 1]
        action = bandit.predict(x)
        bandit.partial_fit([action], [1.0 - losses[t, action]], x)
        total += losses[t, action]
    return total


def rates(runs: list[Run], X: Array, losses: Array) -> list[float]:
    """Rounds per second of each, the best of five turns taken in alternation, so that noise meets all alike."""
    best, total = np.full(len(runs), np.inf), np.zeros(len(runs))
    for run in runs:
        run(X[:50], losses[:50])
    for _ in range(5):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            total[i] = run(X, losses)
            best[i] = min(best[i], time.perf_counter() - start)
    for run, seconds, loss in zip(runs, best, total / len(X), strict=True):
        print(f"{run.__name__:<12}{len(X) / seconds:>12,.0f} rounds/s   mean loss {loss:.3f}", flush=True)
    return [len(X) / float(seconds) for seconds in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    rounds = parser.parse_args().rounds
    env = mb.LinearRealizable(K, D, rounds, seed=0)
    speed, plain = rates([ours, numpy_loop], env.contexts, env.losses)
    print(f"marginbandits / NumPy loop   {speed / plain:.2f}")
    short = max(rounds // 10, 200)
    try:
        (peer,) = rates([mabwiser], env.contexts[:short], env.losses[:short])
    except ModuleNotFoundError:
        print('MABWiser is not installed: pip install ".[bench]"')
        return
    print(f"marginbandits / MABWiser     {speed / peer:.1f}")


if __name__ == "__main__":
    main()
