"""A real randomised trial: who is to get which e-mail.

    python benchmarks/hillstrom.py hillstrom.npz [--splits 10]

Hillstrom's trial (64,000 customers; one of two e-mails or none, at random) as an `.npz` file of X, action and
reward_visit. A learner is taught one half, round by round, and then asked for the law of every customer of the other
half: Σ law(action) · visit · 3 is an unbiased estimate of the visit rate it would have had. The best constant is the
best of three on the half that is evaluated, which no learner can know.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import marginbandits as mb
from marginbandits.types import Array

LEARNERS: dict[str, Callable[[int], mb.Learner]] = {
    "Mixture": lambda seed: mb.Mixture(3, seed=seed),
    "HingeLMC": lambda seed: mb.HingeLMC(3, seed=seed),
    "LinUCB": lambda seed: mb.LinUCB(3, seed=seed),
    "LinUCB(features=fourier)": lambda seed: mb.LinUCB(3, features="fourier", seed=seed),
    "SquareCB": lambda seed: mb.SquareCB(3, seed=seed),
}


def trial(description: str | None) -> tuple[Array, npt.NDArray[np.int64], Array, int]:
    """Customers, what each was sent, whether they came, and how many splits are asked for, from the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    with np.load(options.file) as file:
        X, action, visit = file["X"].astype(float), file["action"].astype(int), file["reward_visit"].astype(float)
    return X, action, visit, options.splits


def main() -> None:
    X, action, visit, splits = trial(__doc__)
    found: dict[str, list[float]] = {name: [] for name in ("best constant", *LEARNERS)}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(X))
        learn, judge = np.split(order, 2)
        value = 3.0 * visit[judge, None] * (action[judge, None] == np.arange(3))
        found["best constant"].append(float(value.mean(0).max()))
        for name, build in LEARNERS.items():
            agent = build(seed)
            for i in learn:
                agent.learn(X[i], mb.Decision(int(action[i]), 1 / 3), reward=visit[i])
            found[name].append(float((np.asarray(agent.laws(X[judge])) * value).sum(1).mean()))
        told = ", ".join(f"{name} {values[-1]:.4f}" for name, values in found.items())
        print(f"split {seed}: {told}", file=sys.stderr, flush=True)
    constant = np.array(found["best constant"])
    for name, values in found.items():
        above = np.array(values) - constant
        error = above.std(ddof=1) / np.sqrt(len(above)) if len(above) > 1 else np.nan
        print(f"{name:26} visit rate {np.mean(values):.4f}, above the best constant {above.mean():+.4f} ± {error:.4f}")


if __name__ == "__main__":
    main()
