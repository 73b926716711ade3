"""ExponentialWeights: rounds per second with 10^4 regressors, and a million rounds of one small class.

    python benchmarks/exponential_weights.py            speed, on one thread
    python benchmarks/exponential_weights.py --long     a million rounds too: finite weights, regret, bound

Each round is `act` then `learn`. Speed is the best of three stretches, as the machine may be busy with something else.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

import marginbandits as mb


def speed(surrogate: str, n_features: int, n_rounds: int, n_margins: int = 1) -> float:
    n_regressors, n_actions = 10_000, 10
    env = mb.LinearRealizable(n_actions, n_features, n_rounds, seed=0)
    agent = mb.ExponentialWeights(
        n_actions,
        regressors=n_regressors,
        surrogate=surrogate,
        margins=None if n_margins == 1 else list(np.geomspace(0.01, 1.0, n_margins)),
        features=mb.Identity(),
        seed=0,
    )
    mb.simulate(agent, mb.Oblivious.of(env.contexts[:10], env.losses[:10]))  # compile
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        mb.simulate(agent, env)
        best = min(best, time.perf_counter() - start)
    return n_rounds / best


def long_run(n_rounds: int = 1_000_000) -> str:
    env = mb.LinearRealizable(3, 2, n_rounds, seed=0)
    weights = np.random.default_rng(0).standard_normal((8, 3, 2))
    weights /= np.linalg.norm(weights, axis=(1, 2), keepdims=True)
    agent = mb.ExponentialWeights(3, regressors=weights, surrogate="relative", margin=0.1, seed=0)
    start = time.perf_counter()
    total = float(np.sum(mb.simulate(agent, env).losses))
    seconds = time.perf_counter() - start
    scores = np.einsum("nad,td->tna", weights - weights.mean(1, keepdims=True), env.contexts)
    benchmark = float(np.einsum("ta,tna->n", env.losses, mb.RelativeMargin(0.1)(scores)).min())
    finite = all(np.isfinite(array).all() for array in agent.state().values())
    regret, bound = total - benchmark, agent.bound(n_rounds).value
    return f"{n_rounds:,} rounds in {seconds:.0f} s, finite: {finite}, regret {regret:,.0f}, bound {bound:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="play a million rounds too")
    parser.add_argument("--rounds", type=int, default=2000, help="rounds of each stretch")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for n_features in (4, 10, 20):
            for surrogate in ("relative", "ramp", "hinge", "policy"):
                rate = speed(surrogate, n_features, arguments.rounds)
                print(f"N = 10,000  K = 10  d = {n_features:2d}  {surrogate:8s}  {rate:7,.0f} rounds/s", flush=True)
        rate = speed("ramp", 10, arguments.rounds, n_margins=5)
        print(f"N = 10,000  K = 10  d = 10  ramp, 5 margins  {rate:7,.0f} rounds/s", flush=True)
        if arguments.long:
            print(long_run())


if __name__ == "__main__":
    main()
