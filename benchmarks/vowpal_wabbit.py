"""The oracle-based baselines beside Vowpal Wabbit's own, on the same rounds, features and learning rates.

    python benchmarks/vowpal_wabbit.py [--data FOLDER_OR_NAMES] [--rounds 2000] [--seeds 3]

First the regression oracle alone: the largest difference of any prediction over a stream of weighted examples. Then
mean losses with standard errors over seeds: Vowpal Wabbit's explorer, ours weighted as it weights, ours as shipped
(unweighted), and the ratio of their speeds. Needs the extra `bench`.
"""

import argparse
import time
from typing import Any

import numpy as np

import marginbandits as mb
from marginbandits.experiments.plan import find_data
from marginbandits.learners.vowpal_wabbit import VowpalWabbit
from marginbandits.oracles.online_regression import OnlineRegression

PAIRS = {"regcbopt": mb.RegCB, "squarecb": mb.SquareCB, "cover": mb.Cover, "bag": mb.Bag}
SETTINGS = {"squarecb": {"scale": 10.0}}
"""Where our default differs from Vowpal Wabbit's."""


def oracle_difference(n: int = 1000, d: int = 8) -> float:
    from vowpalwabbit import Workspace

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.logspace(-1, 1, d)
    targets = (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0).astype(float)
    weights = rng.choice([0.2, 1.0, 5.0], n)
    theirs = Workspace("--quiet --noconstant -l 0.5 --min_prediction 0 --max_prediction 1")
    ours = OnlineRegression(1, 1, d, 0.5)
    worst = 0.0
    for x, target, weight in zip(X, targets, weights, strict=True):
        line = "| " + " ".join(f"f{i}:{v:.9g}" for i, v in enumerate(x))
        worst = max(worst, abs(theirs.predict(line) - ours.predict(x[None])[0]))
        theirs.learn(f"{target} {weight:.9g} {line}")
        ours.learn(x[None], 0, target, weight)
    return float(worst)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="digits,wine,breast_cancer")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"regression oracle: largest difference of a prediction {oracle_difference():.1e}")
    print(f"{'data':<16}{'explorer':<10}{'rate':>5}{'Vowpal Wabbit':>18}{'ours, weighted':>18}{'ours':>18}{'speed':>8}")
    for data in (one for source in options.data.split(",") for one in find_data(source, None)):
        for explorer, cls in PAIRS.items():
            for rate in (0.5, 3.0):
                theirs, weighted, plain, seconds = [], [], [], np.zeros(2)
                for seed in range(options.seeds):
                    env = data.environment(options.rounds, seed, True)
                    build: dict[str, Any] = {"n_actions": env.n_actions, "learning_rate": rate, "seed": seed}
                    start = time.perf_counter()
                    theirs.append(mb.simulate(VowpalWabbit(explore=explorer, **build), env).losses.mean())
                    middle = time.perf_counter()
                    same = SETTINGS.get(explorer, {})
                    weighted.append(mb.simulate(cls(weighted=True, **same, **build), env).losses.mean())
                    seconds += middle - start, time.perf_counter() - middle
                    plain.append(mb.simulate(cls(**build), env).losses.mean())
                shown = "".join(
                    f"{f'{np.mean(v):.3f} ± {np.std(v) / len(v) ** 0.5:.3f}':>18}" for v in (theirs, weighted, plain)
                )
                print(f"{data.name:<16}{explorer:<10}{rate:>5}{shown}{seconds[0] / seconds[1]:>7.1f}x", flush=True)


if __name__ == "__main__":
    main()
