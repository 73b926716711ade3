"""What every sampler promises: points of its set whose law is the potential's, the same for the same seed.

The judge is quadrature: means, covariances and a quantile of many independent chains against those of exp(-F) on a
grid, F a hinge potential in two and three dimensions, once steep enough for the border not to matter and once not.
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from marginbandits.checks.common import expect
from marginbandits.samplers.potential import HingePotential
from marginbandits.types import Array, Sampler
from marginbandits.validation import Function, Integer, Real, validated

__all__ = ["check_sampler", "deviation", "grid"]

LIMIT = 4.5
"""Standard errors; beyond it a right statistic is once in 150,000, so a right sampler fails for one seed in 4,000."""


@validated
def check_sampler(
    sampler: Annotated[Sampler[HingePotential], Function()],
    *,
    radius: Annotated[float, Real(1e-6, 1e6)] = 1.0,
    bias: Annotated[float, Real(0, 10)] = 0.0,
    n_chains: Annotated[int, Integer(100, 10**6)] = 4000,
) -> None:
    """Check a sampler of the ball of this radius, a function of a potential, starting points (rows) and a generator.

    `bias` is what the sampler may be off beyond chance, in deviations of the statistic at hand: 0 for an exact one.

    >>> from marginbandits.samplers import hit_and_run
    >>> check_sampler(lambda F, start, rng: hit_and_run(F, start, rng, radius=1.0, n_steps=40))
    """
    for d, cells in ((2, 401), (3, 101)):
        for potential in _potentials(d, radius):
            draws = _drawn(sampler, potential, _starts(d, radius, n_chains), radius)
            points = radius * grid(d, cells)
            points = points[(points**2).sum(1) <= radius**2]
            height = potential(points)
            off = deviation(draws, points, np.exp(height.min() - height), bias)
            expect(off < LIMIT, f"the draws' moments in {d} dimensions are {off:.1f} standard errors off")


def _potentials(d: int, radius: float) -> Iterator[HingePotential]:
    """In units of the radius: hinges in all directions; two along each axis, after which the border does not matter."""
    rng = np.random.default_rng(d)
    yield HingePotential(rng.standard_normal((8, d)) / radius, 2.0 * rng.exponential(size=8), 0.5)
    weights = np.concatenate([np.linspace(1.0, 2.0, d), np.linspace(0.8, 1.2, d)])
    yield HingePotential(np.concatenate([np.eye(d), -np.eye(d)]) / radius, weights, 0.1)


def _starts(d: int, radius: float, n: int) -> Array:
    """Half in the middle and half near the border on one side: what has not mixed shows."""
    start = np.zeros((n, d))
    start[n // 2 :, 0] = 0.9 * radius
    return start


def _drawn(sampler: Sampler[HingePotential], potential: HingePotential, start: Array, radius: float) -> Array:
    few, features = start[:: len(start) // 8], potential.features.copy()
    one, two, other = (np.asarray(sampler(potential, few.copy(), np.random.default_rng(seed))) for seed in (1, 1, 2))
    expect(np.array_equal(features, potential.features), "the potential must not be changed")
    expect(np.array_equal(one, two), "the same seed must give the same draws")
    expect(not np.array_equal(one, other), "another seed must give other draws")
    given = start.copy()
    draws = np.asarray(sampler(potential, given, np.random.default_rng(0)))
    expect(np.array_equal(given, start), "the starting points must not be changed")
    expect(draws.shape == start.shape, f"there must be a draw for each chain, {start.shape}, got {draws.shape}")
    expect(np.isfinite(draws).all(), "draws must be finite")
    farthest = float(np.linalg.norm(draws, axis=1).max())
    expect(farthest <= radius * (1 + 1e-9), f"draws must lie in the ball of radius {radius}, one has norm {farthest}")
    return draws


def grid(d: int, cells: int) -> Array:
    """The middles of equal cells of [-1, 1]^d."""
    axis = (np.arange(cells) + 0.5) / cells * 2.0 - 1.0
    return np.stack([one.ravel() for one in np.meshgrid(*[axis] * d)], 1)


def deviation(draws: Array, points: Array, mass: Array, bias: float = 0.0) -> float:
    """How far means, covariances and the 0.8-quantile of coordinate 0 are off, in standard errors beyond the bias."""
    mass = mass / mass.sum()
    mean = mass @ points
    away = points - mean
    covariance = (away * mass[:, None]).T @ away
    order = np.argsort(points[:, 0])
    cut = points[order[np.searchsorted(np.cumsum(mass[order]), 0.8)], 0]
    level = float(mass[points[:, 0] <= cut].sum())
    products = np.einsum("ni,nj->nij", draws - mean, draws - mean)
    off = [np.abs(draws.mean(0) - mean) / np.sqrt(np.diag(covariance))]
    off.append((np.abs(products.mean(0) - covariance) / products.std(0)).ravel())
    off.append(np.array([abs((draws[:, 0] <= cut).mean() - level) / math.sqrt(level * (1.0 - level))]))
    return float((np.concatenate(off).max() - bias) * math.sqrt(len(draws)))
