"""The oracle-based comparators on classification sets, with policies learnt elsewhere as their class.

    python benchmarks/comparators_oracle.py [--data FOLDER_OR_NAMES] [--every 6] [--rounds 1000] [--seeds 3]

Their classes are finite and given at construction. So the first 100 rows of a set are put aside with their labels: 32
linear policies are least squares fits to 5 to 100 of them, drawn with repetition, 16 are random, and 16 play the same
action throughout. The rows that follow are played, scaled by the moments of those put aside. BISTRO, BISTRO+ and the
perturbed leader know beforehand which contexts will come, Regressor Elimination has the rows put aside as their sample;
its regressors are the policies' scores, and none is right, so it is outside of its theorem. Exp4 has the same class.
OFUL and LinUCB learn from nothing, of the same rows; Uniform as well. "best of class" is the policy of least loss in
hindsight. Of a folder every sixth set is taken (`--every`).
"""

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.experiments.sources import Data, find_data
from marginbandits.types import Array

ASIDE = 100


def policies(X: Array, losses: Array, rng: np.random.Generator) -> Array:
    """N x K x d weights."""
    K, d, n = losses.shape[1], X.shape[1], len(X)
    found = []
    for size in np.geomspace(5, n, 32).astype(int):
        drawn = rng.integers(n, size=size)
        gram = X[drawn] @ X[drawn].T + 0.1 * np.eye(size)
        found.append((X[drawn].T @ np.linalg.solve(gram, 1.0 - losses[drawn])).T)
    found += list(0.1 * rng.standard_normal((16, K, d)))
    found += [np.eye(K)[i % K][:, None] * (np.arange(d) == d - 1) for i in range(16)]  # by the bias alone
    return np.array(found)


def rows(X: Array) -> Array:
    """Scaled by the rows put aside, with a bias, shortened to norm 1."""
    mean, spread = X[:ASIDE].mean(0), X[:ASIDE].std(0)
    scaled = np.clip((X - mean) / np.where(spread > 0.0, spread, 1.0), -5.0, 5.0)
    return mb.projections.ball(np.column_stack([scaled, np.ones(len(X))]) / np.sqrt(X.shape[1] + 1.0), 1.0)


def losses_of(data: Data, rounds: int, seed: int) -> dict[str, float]:
    """The mean loss of each learner in one run."""
    env = data.environment(seed, True)
    raw = env.contexts if isinstance(env.contexts, np.ndarray) else np.array([one.context for one in env])
    aside = min(ASIDE, len(raw) // 2)
    X, losses = rows(np.asarray(raw, float)), env.losses
    W = policies(X[:aside], losses[:aside], np.random.default_rng([seed, 1]))
    X, losses, known = X[aside : aside + rounds], losses[aside : aside + rounds], X[:aside]
    T, K = losses.shape
    here: dict[str, Any] = {"regressors": W, "seed": seed}
    ahead = {**here, "contexts": X, "transductive": True, "horizon": T}
    plain: dict[str, Any] = {"features": mb.Identity(), "seed": seed}
    builds: dict[str, Callable[[], mb.Learner]] = {
        "BISTRO": lambda: mb.BISTRO(K, **ahead),
        "BISTRO+": lambda: mb.BISTROPlus(K, **ahead),
        "FTPL": lambda: mb.ContextualFTPL(K, **ahead),
        "RegElim": lambda: mb.RegressorElimination(K, contexts=known, elimination="sharp", horizon=T, **here),
        "ILTCB": lambda: mb.ILOVETOCONBANDITS(K, **here),
        "ILTCB ψ=1": lambda: mb.ILOVETOCONBANDITS(K, psi=1.0, **here),
        "Exp4": lambda: mb.ExponentialWeights(K, surrogate="policy", horizon=T, **here),
        "OFUL": lambda: mb.OFUL(K, **plain),
        "LinUCB": lambda: mb.LinUCB(K, **plain),
        "Uniform": lambda: mb.Uniform(K, seed=seed),
    }
    world = mb.Oblivious.of(X, losses)
    found = {name: float(mb.simulate(build(), world, laws=False).losses.mean()) for name, build in builds.items()}
    played = np.einsum("nad,td->nta", W, X).argmax(2)
    return {**found, "best of class": float(losses[np.arange(T), played].mean(1).min())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="iris,wine,breast_cancer,digits")
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sources = options.data.split(",")
    every = options.every if len(sources) == 1 else 1
    sets = [one for source in sources for one in find_data(source, rounds=options.rounds + ASIDE)][::every]
    tables: list[list[float]] = []
    for data in sets:
        runs = [losses_of(data, options.rounds, seed) for seed in range(options.seeds)]
        mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        if not tables:
            print(f"{'data':<18}" + "".join(f"{name:>{max(len(name), 7) + 2}}" for name in mean))
        print(f"{data.name:<18}" + "".join(f"{v:>{max(len(n), 7) + 2}.3f}" for n, v in mean.items()), flush=True)
        tables.append(list(mean.values()))
    whole = dict(zip(mean, np.mean(tables, axis=0), strict=True))
    print(f"{'mean':<18}" + "".join(f"{v:>{max(len(n), 7) + 2}.3f}" for n, v in whole.items()))


if __name__ == "__main__":
    main()
