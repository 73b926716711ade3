"""Contextual zooming, hierarchical weights, improper logistic and SOBA with its matrix, beside LinUCB and uniform play.

    python benchmarks/comparators_metric.py [--data FOLDER] [--rounds 1000] [--seeds 2] [--sets 12]

Mean losses over seeds. First the unit cube under the largest-coordinate metric (K = 3), where losses are Lipschitz:
zooming beside binning and Lipschitz follow-the-leader on the same rounds, and what the best action of every context
loses. Then data sets, the first `--sets` of the folder by name with at most 60 columns and 10 classes, or those that
come along. Zooming as published (c = 4) and with c = 0.3. On the cube hierarchical weights are given depth 2 and
μ = 0.05, for at these T their bound wants a root, which sees no contexts; on the sets they have what their bound wants,
and the last line says how often that is a root. A cover of Lipschitz scores is for two actions and two columns,
and plays none.
"""

import argparse
import os
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.experiments.sources import find_data
from marginbandits.types import Environment

Build = Callable[[int, int, int], mb.Learner]
"""Of K, T and the seed."""

COLUMNS, CLASSES = 60, 10

TABLES: dict[str, Build] = {
    "Zooming": lambda K, T, seed: mb.ContextualZooming(K, horizon=T, seed=seed),
    "c = 0.3": lambda K, T, seed: mb.ContextualZooming(K, horizon=T, confidence=0.3, seed=seed),
    "Binning": lambda K, T, seed: mb.Binning(K, seed=seed),
    "LipschitzFTL": lambda K, T, seed: mb.LipschitzFTL(K, seed=seed),
    "HierExp4": lambda K, T, seed: mb.HierExp4(K, horizon=T, seed=seed),
    "ImproperLogistic": lambda K, T, seed: mb.ImproperLogistic(K, seed=seed),
    "FullSOBA": lambda K, T, seed: mb.FullSOBA(K, seed=seed),
    "SOBA": lambda K, T, seed: mb.SOBA(K, seed=seed),
    "LinUCB": lambda K, T, seed: mb.LinUCB(K, seed=seed),
    "Uniform": lambda K, T, seed: mb.Uniform(K, seed=seed),
}


def on_a_cube(p: int) -> dict[str, Build]:
    def space(lipschitz: float) -> mb.Cube:
        return mb.Cube([0.0] * p, [1.0] * p, lipschitz=lipschitz)

    own: dict[str, Build] = {
        "Zooming": lambda K, T, seed: mb.ContextualZooming(K, space=space(1.0), horizon=T, seed=seed),
        "c = 0.3": lambda K, T, seed: mb.ContextualZooming(K, space=space(1.0), horizon=T, confidence=0.3, seed=seed),
        "Binning": lambda K, T, seed: mb.Binning(K, space=space(1.0), radius=float(T) ** (-1.0 / (p + 2)), seed=seed),
        "LipschitzFTL": lambda K, T, seed: mb.LipschitzFTL(K, space=space(6.0), seed=seed),
        "HierExp4": lambda K, T, seed: mb.HierExp4(K, space=space(6.0), horizon=T, depth=2, mu=0.05, seed=seed),
    }
    return {**TABLES, **own}


def losses(build: Build, environments: list[Environment]) -> float:
    each = []
    for seed, env in enumerate(environments):
        agent = build(env.n_actions, len(list(env)), seed)
        each.append(mb.simulate(agent, env, laws=False).losses.mean())
    return float(np.mean(each))


def line(name: str, found: list[float]) -> None:
    print(f"{name:20}" + "".join(f"{one:17.3f}" for one in found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="iris,wine,breast_cancer")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", type=int, default=12)
    options = parser.parse_args()
    print(f"{'':20}" + "".join(f"{name:>17}" for name in TABLES) + f"{'best':>17}")
    for p in (1, 2, 3):
        cubes = [mb.LipschitzCube(3, p, options.rounds, seed=seed) for seed in range(options.seeds)]
        found = [losses(build, list(cubes)) for build in on_a_cube(p).values()]
        line(f"cube, p = {p}", [*found, float(np.mean([one.means.min(1).mean() for one in cubes]))])
    rows: list[list[float]] = []
    roots = 0
    for data in (one for source in options.data.split(",") for one in find_data(source, rounds=options.rounds)):
        if data.width > COLUMNS or data.n_actions > CLASSES or len(rows) == options.sets:
            continue
        environments: list[Environment] = [data.environment(seed, True) for seed in range(options.seeds)]
        tree = mb.HierExp4(data.n_actions, horizon=data.n_rounds, seed=0)
        context = next(iter(environments[0])).context
        tree.learn(context, tree.act(context), loss=0.0)
        roots += tree.bound().parameters["depth"] == 0
        rows.append([losses(build, environments) for build in TABLES.values()])
        line(data.name, rows[-1])
    line(f"mean of {len(rows)} sets", np.mean(rows, 0).tolist())
    print(f"HierExp4 is a root, which sees no contexts, on {roots} of {len(rows)} sets")


if __name__ == "__main__":
    main()
