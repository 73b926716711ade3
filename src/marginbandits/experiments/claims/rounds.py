"""Rounds and learners that several claims play, so that none of them reads another.

right_means      the mean losses of realizable rounds whose labels are noisy
regret_of        what laws lose on average, over the best action of every round
of_uniform       regret in units of what uniform play loses a round
smoothed         SmoothFTL as its theorem has it, on realizable rounds
two_sided        the unit cube under 1-Lipschitz policies, and `on_the_cube` the learners of it
product_weights  Exp4 over all policies on cells
"""

import math
from typing import Any

import numpy as np

from marginbandits.environments import HingeRealizable, Oblivious
from marginbandits.experiments.claims.measuring import played
from marginbandits.learners import Binning, Learner, LipschitzFTL, SmoothFTL
from marginbandits.oracles.lipschitz_erm import LipschitzERM
from marginbandits.scores import Cube
from marginbandits.theory import binning_radius, finite_rate
from marginbandits.types import Array

__all__ = [
    "of_uniform",
    "on_the_cube",
    "product_weights",
    "regret_of",
    "right_means",
    "smoothed",
    "two_sided",
    "uniform_regret",
]


def right_means(env: HingeRealizable, noise: float) -> Array:
    """The right action loses with probability `noise`, the others where it does not, one of them excepted.

    At the widest margin scores are Kγ 1{best} - γ exactly, so that losses may be noisy and still realizable.
    """
    K = env.n_actions
    best = np.eye(K)[env.best_scores.argmax(1)]
    return np.asarray(best * noise + (1.0 - best) * (1.0 - noise / (K - 1)))


def regret_of(laws: Array, means: Array) -> float:
    """In expectation, over the best action of every round."""
    return float((laws * means).sum() - means.min(1).sum())


def uniform_regret(means: Array) -> float:
    """That of uniform play."""
    return float((means.mean(1) - means.min(1)).sum())


def of_uniform(regret: float, uniform: float, T: int) -> float:
    """Regret in units of what uniform play loses a round: 1 - 1/K, where a mistake costs 1.

    That much of its growth with K is everybody's: at K = 2 uniform play is right half of the time, later hardly ever.
    """
    return T * regret / uniform


def smoothed(
    T: int, seed: int, *, K: int, d: int, margin: float, noise: float, version: str = "proof", broken: str = ""
) -> tuple[float, float]:
    """Regret of SmoothFTL over linear scores, p = 2, and that of uniform play."""
    env = HingeRealizable(K, d, T, margin=margin, noise=noise, seed=seed)
    agent = SmoothFTL.from_theory(
        n_features=d, n_actions=K, horizon=T, margin=margin, p=2.0, version=version, seed=seed
    )
    means = right_means(env, noise)
    return regret_of(played(agent, env, broken).laws, means), uniform_regret(means)


def two_sided(p: int, T: int, seed: int, gap: float, slope: float = math.inf) -> tuple[Oblivious, Array]:
    """The unit cube: left of x_1 = 1/4 the first action is better by the gap, right of 3/4 the second, else neither.

    With the expected loss of each action in each round. Beyond 1/4 and 3/4 it jumps, or changes by `slope` at most.
    """
    rng = np.random.default_rng([seed, p, T])
    contexts = rng.random((T, p))
    beyond = np.abs(contexts[:, 0] - 0.5) - 0.25
    share = np.clip(beyond * (2.0 * slope / gap), 0.0, 1.0) if math.isfinite(slope) else (beyond > 0.0).astype(float)
    side = np.sign(contexts[:, 0] - 0.5) * share
    means = 0.5 + 0.5 * gap * np.stack([side, -side], 1)
    return Oblivious.of(contexts, (rng.random(means.shape) < means).astype(float)), means


def on_the_cube(name: str, p: int, T: int, seed: int) -> Learner:
    """A learner of Lipschitz policies by its name, tuned for T rounds."""
    low, high = [0.0] * p, [1.0] * p
    if name == "binning":
        return Binning(2, space=Cube(low, high), radius=binning_radius(T, p=float(p)), alpha=1.0, seed=seed)
    space = Cube(low, high, lipschitz=4.0)
    if name == "practical":
        return LipschitzFTL(2, space=space, seed=seed)
    oracle = LipschitzERM(time_limit=600.0)
    return LipschitzFTL.from_theory(space=space, n_actions=2, horizon=T, oracle=oracle, seed=seed)


def product_weights(cells: Any, losses: Any, m: int, draws: Any) -> Array:
    """Exp4 over all 2^m policies on m cells: the probability of the second action in every round.

    `losses` are T x 2, of which the action played is seen: the second where the draw, uniform on [0, 1), is below its
    probability.
    """
    eta = finite_rate(m * math.log(2.0), 2.0, len(cells), anytime=False)
    ahead, law = [0.0] * m, []  # by how much the first action's estimated loss is larger, in each cell
    for cell, (first, second), draw in zip(cells.tolist(), losses.tolist(), draws.tolist(), strict=True):
        share = 1.0 / (1.0 + math.exp(-min(max(eta * ahead[cell], -700.0), 700.0)))
        law.append(share)
        if draw < share:
            ahead[cell] -= second / share
        else:
            ahead[cell] += first / (1.0 - share)
    return np.array(law)
