"""Contexts in one call against one at a time: `act_many` of 10,000 contexts over 10,000 times `act`.

    python benchmarks/batches.py [--contexts 10000]

20 columns, 10 actions, one thread; the least of seven turns, in alternation. The decisions are the same, bit for bit.
"""

import argparse
import copy
import os
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import marginbandits as mb

D, K = 20, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, default=10_000)
    n = parser.parse_args().contexts
    env = mb.LinearRealizable(K, D, n, seed=0)
    print(f"{'learner':<16}{'one at a time':>16}{'in one call':>14}{'ratio':>8}")
    for learner in (mb.LinUCB, mb.SquareCB, mb.EpsilonGreedy):
        agent = learner(K, seed=0)
        for x, losses in zip(env.contexts[:500], env.losses, strict=False):
            decision = agent.act(x)
            agent.learn(x, decision, losses[decision.action])
        twin = copy.deepcopy(agent)
        assert [d.action for d in twin.act_many(env.contexts)] == [agent.act(x).action for x in env.contexts]
        best = [float("inf"), float("inf")]
        for _ in range(7):
            start = time.perf_counter()
            for x in env.contexts:
                agent.act(x)
            middle = time.perf_counter()
            agent.act_many(env.contexts)
            best = [min(best[0], middle - start), min(best[1], time.perf_counter() - middle)]
        one, many = (n / seconds for seconds in best)
        print(f"{learner.__name__:<16}{one:>14,.0f}/s{many:>12,.0f}/s{many / one:>8.1f}")


if __name__ == "__main__":
    main()
