"""Twins of weights with a diagonal precision, and of the logistic step on them."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from marginbandits.learners.baselines import logistic_ts
from marginbandits.oracles import diagonal
from marginbandits.types import Array
from tests.naive.regression import _compressed, _dense_batch, _width
from tests.naive.twin import Places, pick, places, some, twin


def _share_of_row(rng: np.random.Generator) -> tuple[Array, float]:
    return pick(rng, 1.0, 1e-12) * some(rng, pick(rng, 0, _width(rng))), pick(rng, 0.0, 0.1)


@twin(diagonal.prior_of, _share_of_row, tolerance=1e-30)
def prior_of(values: Array, share: float) -> float:
    return share * max(float(np.mean(values**2)) if len(values) else 0.0, 1e-20)


def _diagonal(rng: np.random.Generator) -> tuple[object, ...]:
    states, rows, shared, starts, out = _dense_batch(rng)
    precision = rng.uniform(0.1, 3.0, states[:, 0].shape)
    return states[:, 0], precision, pick(rng, 0.0, 0.1), *_compressed(rows), shared, starts, out, np.empty_like(out)


@twin(diagonal._scores, _diagonal)
def diagonal_scores(
    mean: Array,
    precision: Array,
    share: float,
    values: Array,
    columns: Places,
    ends: Places,
    shared: bool,
    starts: Places,
    means: Array,
    deviations: Array,
) -> None:
    for i, place, block in places(starts, shared):
        at = slice(*ends[[place, place + 1]] if shared else ends[[i, i + 1]])
        z, own = values[at], columns[at]
        means[place] = mean[block, own] @ z
        deviations[place] = np.sqrt((z**2 / (precision[block, own] + prior_of(z, share))).sum())


def _logistic(rng: np.random.Generator) -> tuple[Array, Array, Array, float, float, bool]:
    d = _width(rng)
    row, reward = pick(rng, 1.0, 30.0) * some(rng, d), pick(rng, 0.0, 0.3, 1.0)
    return some(rng, d), rng.uniform(0.1, 3.0, d), row, reward, pick(rng, 0.0, 0.7), pick(rng, True, False)


@twin(logistic_ts._update, _logistic, tolerance=1e-7)
def logistic(mean: Array, precision: Array, row: Array, reward: float, prior: float, steady: bool) -> None:
    """C = r - σ(<mean, z> + c zᵀP⁻¹z), then one step along P⁻¹z, then the curvature where it ends, or at most."""
    score, spread = mean @ row, (row**2 / (precision + prior)).sum()
    c = brentq(lambda c: reward - expit(score + c * spread) - c, -1.0 - 1e-9, 1.0 + 1e-9, xtol=1e-13)
    sigma = expit(score + c * spread)
    mean += c * row / (precision + prior)
    precision += row**2 * (0.25 if steady else sigma * (1 - sigma))
