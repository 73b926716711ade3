"""What sharing costs: the lock's part of a round, and rounds per second by 1, 2 and 8 threads.

    python benchmarks/threads.py [--rounds 20000]

LinUCB, 20 columns, 10 actions: its round is the shortest, so the lock weighs most there. Python runs one thread at a
time, so threads are for waiting on the network, not for speed; what is shown is that sharing loses no round.
"""

import argparse
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import marginbandits as mb

D, K = 20, 10


def locked(n: int) -> float:
    """Seconds of taking and giving back a lock nobody else wants, less the loop's own."""
    lock = threading.RLock()
    start = time.perf_counter()
    for _ in range(n):
        with lock:
            pass
    middle = time.perf_counter()
    for _ in range(n):
        pass
    return max(2 * middle - start - time.perf_counter(), 0.0) / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    n = parser.parse_args().rounds
    env = mb.LinearRealizable(K, D, n, seed=0)

    def some(agent: mb.Learner, part: int, of: int) -> None:
        for x, losses in zip(env.contexts[part::of], env.losses[part::of], strict=True):
            decision = agent.act(x)
            agent.learn(x, decision, losses[decision.action])

    some(mb.LinUCB(K, seed=0), 0, max(n // 50, 1))  # compile
    for threads in (1, 2, 8):
        agent = mb.LinUCB(K, seed=0)
        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(some, agent, part, threads) for part in range(threads)]:
                done.result()
        seconds = time.perf_counter() - start
        counted = int(agent.state()["features.moments"][-1, 0])
        print(f"{threads} threads  {n / seconds:>10,.0f} rounds/s   {counted:,} of {n:,} rounds counted")
        if threads == 1:
            part = 2 * min(locked(n) for _ in range(5)) * n / seconds
            print(f"the lock's part of a round  {part:.1%}")


if __name__ == "__main__":
    main()
