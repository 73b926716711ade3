"""Policies learnt from logs of classification sets: by the margin, by regression, by weights, and by Vowpal Wabbit.

    python benchmarks/off_policy_learning.py FOLDER_OR_FILES [--rounds 4000] [--logging greedy] [--seeds 3]

Each `.npz` file has X and y. Half of its rows (at most `--rounds`) become a log: one action a row, its loss 0 where it
is the right class and 1 otherwise, taken uniformly or by a classifier of the first hundred rows that is followed but
for a share 0.3. Each method learns from the same log; printed is its mean loss on the other rows, where every loss is
known.
"full information" is ridge regression that was told the class of every row of the log.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginbandits as mb
from marginbandits.types import Array

Log = tuple[Array, Any, Array, Array]
Policy = Callable[[Array], Any]

EXPLORED = 0.3


def margin(**options: Any) -> Callable[[Log, int], Policy]:
    """`MarginPolicy` with these parameters."""
    return lambda log, K: mb.MarginPolicy(n_actions=K, **options).fit(*log).predict


def constant(log: Log, K: int) -> Policy:
    """The best constant, by self-normalised weights."""
    _, actions, losses, probabilities = log
    means = [np.average(losses[actions == a], weights=1 / probabilities[actions == a]) for a in range(K)]
    return lambda X: np.full(len(X), np.argmin(means))


def regression(log: Log, K: int) -> Policy:
    """Ridge regression of each action's loss, as ε-greedy has it, without exploring: the direct method."""
    agent = mb.EpsilonGreedy(K, epsilon=0.0, seed=0)
    X, actions, losses, probabilities = log
    agent.learn_many(X, list(map(mb.Decision, actions.tolist(), probabilities.tolist())), losses)
    return lambda X: np.asarray(agent.laws(X)).argmax(1)


def weighted_logistic(log: Log, K: int) -> Policy:
    """Logistic regression of the actions taken, each row with the weight reward/probability."""
    X, actions, losses, probabilities = log
    good = losses < 1
    if len(set(actions[good].tolist())) < 2:
        return constant(log, K)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    weights = (1 - losses[good]) / probabilities[good]
    model.fit(X[good], actions[good], logisticregression__sample_weight=weights)
    return lambda X: np.asarray(model.predict(X))


def vowpal_wabbit(cb_type: str) -> Callable[[Log, int], Policy]:
    """`--cb K --cb_type …`, ten passes over standardised columns."""

    def learn(log: Log, K: int) -> Policy:
        from vowpalwabbit import Workspace

        X, actions, losses, probabilities = log
        scale = StandardScaler().fit(X)

        def text(row: Array) -> str:
            return " ".join(f"{j}:{value:.6g}" for j, value in enumerate(row) if value)

        model = Workspace(f"--cb {K} --cb_type {cb_type} --quiet -b 18")
        lines = [
            f"{a + 1}:{loss}:{p} | {text(row)}"
            for row, a, loss, p in zip(scale.transform(X), actions, losses, probabilities, strict=True)
        ]
        for _ in range(10):
            for line in lines:
                model.learn(line)
        return lambda X: np.array([model.predict(f"| {text(row)}") for row in scale.transform(X)]) - 1

    return learn


METHODS: dict[str, Callable[[Log, int], Policy]] = {
    "best constant": constant,
    "MarginPolicy": margin(),
    "  hinge": margin(surrogate="hinge"),
    "  ramp": margin(surrogate="ramp"),
    "  targets=ips": margin(targets="ips"),
    "  features=fourier": margin(features="fourier"),
    "ridge regression": regression,
    "weighted logistic": weighted_logistic,
    "Vowpal Wabbit dr": vowpal_wabbit("dr"),
    "Vowpal Wabbit mtr": vowpal_wabbit("mtr"),
}


def logged(X: Array, y: Any, K: int, how: str, rng: np.random.Generator) -> Log:
    """One action a row, with its loss and the probability it was taken with."""
    law = np.full((len(X), K), 1.0 / K)
    if how == "greedy":
        first = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:100], y[:100])
        law = (1 - EXPLORED) * (first.predict(X)[:, None] == np.arange(K)) + EXPLORED / K
    actions = (law.cumsum(1) < rng.random((len(X), 1))).sum(1).clip(0, K - 1)
    return X, actions, (actions != y).astype(float), law[np.arange(len(X)), actions]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--logging", choices=["uniform", "greedy"], default="uniform")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", default=",".join(name.strip() for name in METHODS))
    options = parser.parse_args()
    wanted = {name: build for name, build in METHODS.items() if name.strip() in options.methods.split(",")}
    found: dict[str, list[float]] = {name: [] for name in [*wanted, "full information"]}
    given = [Path(one) for one in options.files]
    for file in [one for each in given for one in (sorted(each.glob("*.npz")) if each.is_dir() else [each])]:
        with np.load(file, allow_pickle=False) as read:
            X, (classes, y) = read["X"].astype(float), np.unique(read["y"], return_inverse=True)
        K = len(classes)
        for seed in range(options.seeds):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(X))
            n = min(len(X) // 2, options.rounds)
            learn, judge = order[:n], order[n : n + 20_000]
            log = logged(X[learn], y[learn], K, options.logging, rng)
            if len(set(log[1].tolist())) < K:
                print(f"{file.stem}: left out, as some action is never taken", file=sys.stderr)
                continue
            for name, build in wanted.items():
                found[name].append(float((build(log, K)(X[judge]) != y[judge]).mean()))
            full = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-2, 4, 7))).fit(X[learn], y[learn])
            found["full information"].append(float((full.predict(X[judge]) != y[judge]).mean()))
            told = ", ".join(f"{name.strip()} {values[-1]:.3f}" for name, values in found.items())
            print(f"{file.stem} ({n} rounds, {K} actions): {told}", file=sys.stderr, flush=True)
    base = np.array(found[next(iter(wanted))])
    for name, values in found.items():
        worse = (np.array(values) > base + 1e-12).sum()
        print(f"{name:24} mean loss {np.mean(values):.4f}, worse than the {next(iter(wanted))} in {worse}/{len(base)}")


if __name__ == "__main__":
    main()
