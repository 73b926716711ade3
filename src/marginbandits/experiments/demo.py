"""The first thing to run: every learner on scikit-learn's digits, as a table with intervals and a picture."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

from marginbandits.environments import Classification
from marginbandits.evaluation import interval, progressive_loss
from marginbandits.experiments.report import plot_curves
from marginbandits.experiments.simulate import simulate
from marginbandits.learners import EpsilonGreedy, Learner, LinTS, LinUCB, Uniform
from marginbandits.types import Array

__all__ = ["demo"]

LEARNERS: dict[str, Callable[[int, int], Learner]] = {
    "Uniform": lambda k, seed: Uniform(k, seed=seed),
    "EpsilonGreedy raw": lambda k, seed: EpsilonGreedy(k, seed=seed),
    "EpsilonGreedy fourier": lambda k, seed: EpsilonGreedy(k, features="fourier", seed=seed),
    "LinTS raw": lambda k, seed: LinTS(k, seed=seed),
    "LinTS fourier": lambda k, seed: LinTS(k, features="fourier", seed=seed),
    "LinUCB raw": lambda k, seed: LinUCB(k, seed=seed),
    "LinUCB fourier": lambda k, seed: LinUCB(k, features="fourier", seed=seed),
}


def demo(out: Path, *, n_rounds: int | None, n_seeds: int, progress: bool) -> str:
    """Run the bake-off, write the picture into `out`, and return the table and the result in a sentence."""
    out.mkdir(parents=True, exist_ok=True)
    environments = [Classification.bundled("digits", seed=seed, n_rounds=n_rounds) for seed in range(n_seeds)]
    total = len(LEARNERS) * sum(len(environment) for environment in environments)
    curves = {}
    with tqdm(total=total, unit=" rounds", unit_scale=True, disable=not progress) as bar:
        for name, build in LEARNERS.items():
            bar.set_description(name)
            losses = [
                simulate(build(environment.n_actions, seed), environment, progress=bar.update).losses
                for seed, environment in enumerate(environments)
            ]
            curves[name] = progressive_loss(np.array(losses))
    length = len(environments[0])
    picture = out / "digits.png"
    plot_curves(curves, picture, title=f"digits as a bandit: {length:,} rounds, 10 actions, {n_seeds} seeds")
    return "\n".join([*_table(curves), "", *_sentence(curves, length), f"Picture: {picture}"])


def _table(curves: dict[str, Array]) -> list[str]:
    n_seeds = len(next(iter(curves.values())))
    several = n_seeds > 1
    lines = [f"{'learner':<24}{'mean loss':>10}" + f"    95% interval over {n_seeds} seeds" * several]
    for name, values in sorted(curves.items(), key=_final):
        mean, low, high = interval(values[:, -1])
        lines.append(f"{name:<24}{mean:>10.3f}" + f"    {low:.3f} to {high:.3f}" * several)
    return lines


def _sentence(curves: dict[str, Array], length: int) -> list[str]:
    best, values = min(curves.items(), key=_final)
    return [
        f"{best} lost least: of {length:,} images it named {values[:, -1].mean():.1%} wrongly, learning as it went",
        "from right-or-wrong alone, never from the label. Guessing is wrong 90% of the time.",
    ]


def _final(item: tuple[str, Array]) -> float:
    return float(item[1][:, -1].mean())
