"""The oracle-based baselines beside Vowpal Wabbit's own, on the same rounds, features and learning rates.

    python benchmarks/vowpal_wabbit.py [--data FOLDER_OR_NAMES] [--rounds 2000] [--seeds 8]

First the regression oracle alone: the largest difference of any prediction over a stream of weighted examples. Then,
for every set, explorer and learning rate:

    same log        both learn what Vowpal Wabbit played: total variation of their next distributions, mean and largest
    loss            each plays for itself with the same seeds: Vowpal Wabbit, ours weighted as it weights, the
                    difference with its standard error over seeds, and whether it is noise (at most two standard
                    errors, or 0.005)
    as shipped      ours unweighted, the default; and how many times faster than Vowpal Wabbit

Bag draws its bootstraps at random, so its two distributions differ on the same log. Needs the extra `bench`.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import marginbandits as mb
from marginbandits.contexts import per_action
from marginbandits.environments import Classification
from marginbandits.experiments.sources import find_data
from marginbandits.learners.vowpal_wabbit import VowpalWabbit
from marginbandits.oracles.online_regression import OnlineRegression
from marginbandits.types import Array

PAIRS: dict[str, Callable[..., mb.Learner]] = {
    "regcbopt": mb.RegCB,
    "squarecb": mb.SquareCB,
    "cover": mb.Cover,
    "bag": mb.Bag,
}
TOLERANCE = 0.005


def oracle_difference(n: int = 1000, d: int = 8) -> float:
    from vowpalwabbit import Workspace

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.logspace(-1, 1, d)
    targets = (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0).astype(float)
    weights = rng.choice([0.2, 1.0, 5.0], n)
    theirs = Workspace("--quiet --noconstant -l 0.5 --min_prediction -100 --max_prediction 100")
    ours = OnlineRegression(1, 1, d, 0.5)
    ours.span[:] = -100.0, 100.0
    worst = 0.0
    for x, target, weight in zip(X, targets, weights, strict=True):
        line = "| " + " ".join(f"f{i}:{v:.9g}" for i, v in enumerate(x))
        one = per_action(x[None], 1)
        worst = max(worst, abs(theirs.predict(line) - ours.predict(one)[0]))
        theirs.learn(f"{target} {weight:.9g} {line}")
        ours.learn(one, 0, target, weight)
    return float(worst)


def same_log(theirs: mb.Learner, ours: mb.Learner, env: Classification) -> Array:
    """Total variation between their distributions, round by round, on what the first one plays."""
    apart = []
    for current in env:
        decision, other = theirs.act(current.context), ours.act(current.context)
        assert decision.distribution is not None
        assert other.distribution is not None
        apart.append(np.abs(decision.distribution - other.distribution).sum() / 2)
        for learner in (theirs, ours):
            learner.learn(current.context, decision, current.reveal(decision))
    return np.array(apart)


def timed_loss(learner: mb.Learner, env: Classification) -> tuple[float, float]:
    start = time.perf_counter()
    return float(mb.simulate(learner, env).losses.mean()), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="digits,wine,breast_cancer")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    print(f"regression oracle: largest difference of a prediction {oracle_difference():.1e}")
    print(f"{'':<30}{'same log':^18}{'loss':^42}{'as shipped':^16}")
    print(
        f"{'data':<16}{'explorer':<9}{'rate':>5}{'mean':>9}{'largest':>9}{'theirs':>9}{'ours':>7}"
        f"{'difference':>17}{'':>9}{'loss':>9}{'speed':>7}"
    )
    verdicts = []
    for data in (one for source in options.data.split(",") for one in find_data(source, rounds=options.rounds)):
        for explorer, learner in PAIRS.items():
            for rate in (0.5, 3.0):
                runs = []
                for seed in range(options.seeds):
                    env = data.environment(seed, True)
                    build: dict[str, Any] = {"n_actions": env.n_actions, "learning_rate": rate, "seed": seed}
                    learners = (
                        VowpalWabbit(explore=explorer, **build),
                        learner(weighted=True, **build),
                        learner(**build),
                    )
                    runs.append([timed_loss(one, env) for one in learners])
                env = data.environment(0, True)
                build["seed"] = 0
                apart = same_log(VowpalWabbit(explore=explorer, **build), learner(weighted=True, **build), env)
                (theirs, ours, shipped), (slow, _, fast) = np.mean(runs, 0).T
                gaps = np.array([run[1][0] - run[0][0] for run in runs])
                error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else np.inf
                verdicts.append(abs(gaps.mean()) <= max(2 * error, TOLERANCE))
                print(
                    f"{data.name:<16}{explorer:<9}{rate:>5}{apart.mean():>9.0e}{apart.max():>9.0e}{theirs:>9.3f}"
                    f"{ours:>7.3f}{f'{gaps.mean():+.4f} ± {error:.4f}':>17}{'  noise ' if verdicts[-1] else '  BEYOND'}"
                    f"{shipped:>9.3f}{slow / fast:>6.0f}x",
                    flush=True,
                )
    print(f"within noise: {sum(verdicts)} of {len(verdicts)}")


if __name__ == "__main__":
    main()
