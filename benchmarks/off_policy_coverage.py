"""How often intervals of off-policy estimates cover the truth, on logs whose truth is known.

    python benchmarks/off_policy_coverage.py [--runs 1000] [--shapes "small overlap,rare rewards"] [--scale 1.0]

Five shapes of problem, and three that are too hard (many on losses, few rewards, no floor), each drawn anew in every
run; the policy's true value is the mean over all contexts drawn. Coverage is of nominal 95% intervals, in percent, with
the mean width below. A confidence sequence covers only if the truth is inside at all times. `error` is the root mean
squared error of an estimator, in thousandths.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from marginbandits.evaluation.off_policy import Evidence, sequence, value
from marginbandits.experiments.reward_models import Ridge
from marginbandits.policies import explore, greedy
from marginbandits.rounds import Rounds
from marginbandits.types import Array


class Problem(NamedTuple):
    """Contexts, the mean outcome of every action, and the laws of the log and of the policy that is judged."""

    contexts: Array
    means: Array
    logged: Array
    target: Array


def softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


def linear(rng: np.random.Generator, n: int, K: int, spread: tuple[float, float], slope: float) -> tuple[Array, Array]:
    """Outcomes that are linear in five normal columns, the same for all runs, cut at 0.02 and 0.98."""
    fixed, X = np.random.default_rng(7), rng.standard_normal((n, 5))
    means = fixed.uniform(*spread, K) + X @ (slope * fixed.standard_normal((5, K)))
    return X, np.clip(means, 0.02, 0.98)


def small_overlap(rng: np.random.Generator, n: int) -> Problem:
    """The log takes the worst action in 91% of rounds, the policy the best in 94%."""
    X, means = linear(rng, n, 4, (0.3, 0.7), 0.08)
    return Problem(X, means, explore(greedy(means), 0.03), explore(greedy(-means), 0.02))


def rare_rewards(rng: np.random.Generator, n: int) -> Problem:
    """One to two rewards in a hundred rounds; the outcome is the reward."""
    fixed, X = np.random.default_rng(7), rng.standard_normal((n, 5))
    means = np.clip(0.01 + 0.01 * np.linspace(0, 1, 4) * (1.0 + X[:, :1]), 0.002, 1.0)
    logged = softmax(0.5 * X @ fixed.standard_normal((5, 4)))
    return Problem(X, means, explore(logged, 0.05), softmax(X @ fixed.standard_normal((5, 4))))


def many_actions(rng: np.random.Generator, n: int) -> Problem:
    """Fifty actions, tried at random; the policy prefers the good ones; the outcome is the reward."""
    X, means = linear(rng, n, 50, (0.2, 0.9), 0.05)
    return Problem(X, means, np.full((n, 50), 0.02), softmax(8.0 * means))


def misspecified(rng: np.random.Generator, n: int) -> Problem:
    """A product of two columns decides: no linear model sees anything of it."""
    fixed, X = np.random.default_rng(7), rng.standard_normal((n, 5))
    means = 0.5 + 0.4 * np.sign(X[:, :1] * X[:, 1:2]) * np.array([-1.0, 1.0, -1.0, 1.0])
    logged = softmax(0.7 * X @ fixed.standard_normal((5, 4)))
    return Problem(X, means, explore(logged, 0.05), softmax(0.7 * X @ fixed.standard_normal((5, 4))))


def sure_target(rng: np.random.Generator, n: int) -> Problem:
    """The policy takes the best action and no other."""
    X, means = linear(rng, n, 4, (0.3, 0.7), 0.08)
    fixed = np.random.default_rng(8)
    return Problem(X, means, explore(softmax(0.5 * X @ fixed.standard_normal((5, 4))), 0.05), greedy(-means))


def many_on_losses(rng: np.random.Generator, n: int) -> Problem:
    """Fifty actions with forty rounds each, a policy whose losses are near 0, and losses as the outcome."""
    X, means = linear(rng, n, 50, (0.3, 0.7), 0.08)
    return Problem(X, means, np.full((n, 50), 0.02), softmax(-20.0 * means))


def few_rewards(rng: np.random.Generator, n: int) -> Problem:
    """Rare rewards in a sixth of the rounds, and propensities that may be as small as they like."""
    fixed, problem = np.random.default_rng(7), rare_rewards(rng, n)
    return problem._replace(logged=softmax(0.5 * problem.contexts @ fixed.standard_normal((5, 4))))


def no_floor(rng: np.random.Generator, n: int) -> Problem:
    """The misspecified shape in half of the rounds, and propensities that may be as small as they like."""
    fixed, problem = np.random.default_rng(7), misspecified(rng, n)
    return problem._replace(logged=softmax(0.7 * problem.contexts @ fixed.standard_normal((5, 4))))


SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], Problem], int]] = {
    "small overlap": (small_overlap, 2000),
    "rare rewards": (rare_rewards, 6000),
    "many actions": (many_actions, 4000),
    "misspecified": (misspecified, 2000),
    "sure target": (sure_target, 2000),
    "many on losses": (many_on_losses, 2000),
    "few rewards": (few_rewards, 1000),
    "no floor": (no_floor, 1000),
}
HARD = ["many on losses", "few rewards", "no floor"]
EXACT = ["normal", "hall", "bootstrap", "likelihood"]
TABLE = {
    "ips": [*EXACT, "bernstein"],
    "snips": EXACT,
    "likelihood": ["hall", "likelihood"],
    "dr": [*EXACT, "bernstein"],
    "clipped": ["hall", "bernstein"],
    "switch": ["hall"],
    "shrinkage": ["hall"],
}


def drawn(rng: np.random.Generator, problem: Problem) -> Evidence:
    """A log of the problem, and what a cross-fitted ridge regression makes of it."""
    n, K = problem.means.shape
    actions = (problem.logged.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, K - 1)
    at = np.arange(n), actions
    y = (rng.random(n) < problem.means[at]).astype(float)
    chunk, model = Rounds(problem.contexts, actions, y, labels=tuple(range(K))), Ridge(K, 5)
    model.see(chunk, y)
    q = model.done().predict(chunk)
    ratio = problem.target / problem.logged
    direct = np.minimum((problem.target * q).sum(1), 1.0)  # laws sum to 1 but for rounding
    return Evidence(ratio[at], y, q[at], direct, float(ratio.max()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--shapes", default=",".join(name for name in SHAPES if name not in HARD))
    parser.add_argument("--scale", type=float, default=1.0, help="rounds of every log, relative to the usual number")
    options = parser.parse_args()
    head = "".join(f"{name:>12}" for name in [*EXACT, "bernstein", "sequence"])
    for name in options.shapes.split(","):
        make, rounds = SHAPES[name]
        n, rng = int(rounds * options.scale), np.random.default_rng(1)
        bigger = [make(rng, int(20_000 * min(options.scale, 1.0))) for _ in range(20)]
        truth = float(np.mean([(one.means * one.target).sum(1).mean() for one in bigger]))
        covered, widths = defaultdict(list), defaultdict(list)
        errors, sizes = defaultdict(list), []
        for run in range(options.runs):
            evidence = drawn(rng, make(rng, n))
            sizes.append(evidence.w.sum() ** 2 / (evidence.w**2).sum())
            for method, kinds in TABLE.items():
                for kind in kinds:
                    one = value(evidence, method, interval=kind, seed=run)
                    covered[method, kind].append(one.low <= truth <= one.high)
                    widths[method, kind].append(one.high - one.low)
                errors[method].append(one.value - truth)
            path = sequence(evidence, 0.95)
            covered["ips", "sequence"].append(bool(((path.low <= truth) & (truth <= path.high)).all()))
            widths["ips", "sequence"].append(path.high[-1] - path.low[-1])
            errors["dm"].append(value(evidence, "dm").value - truth)
            if run % 100 == 99:
                print(f"{name}: {run + 1} runs", file=sys.stderr, flush=True)
        print(f"{name}: {n} rounds, effective sample size {np.mean(sizes):.0f}, value {truth:.4f}")
        print(f"  {'':11}{'error':>7}{head}")
        for method, found in errors.items():
            kinds = [*EXACT, "bernstein", "sequence"]
            cells = [f"{100 * np.mean(covered[method, kind]):.1f}" if covered[method, kind] else "-" for kind in kinds]
            spans = [f"({np.mean(widths[method, kind]):.4f})" if widths[method, kind] else "-" for kind in kinds]
            error = 1000 * float(np.sqrt(np.mean(np.square(found))))
            print(f"  {method:11}{error:7.2f}" + "".join(f"{cell:>12}" for cell in cells))
            if any(covered[method, kind] for kind in kinds):
                print(f"  {'':11}{'':7}" + "".join(f"{span:>12}" for span in spans))


if __name__ == "__main__":
    main()
