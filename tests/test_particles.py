"""The particle sampler: its pieces against readable twins, its law against quadrature and exact line sampling.

Statistical tests have fixed seeds and bounds of four Monte-Carlo standard errors or more: a correct sampler would fail
one over the choice of seed less than once in a thousand. Each has a negative control that must fail it.
"""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from marginbandits.factors import carlson
from marginbandits.reservoir import Reservoir, stretch
from marginbandits.samplers.particles import absorb, langevin_step
from marginbandits.samplers.stored_pull import StoredPull, forget, refresh
from marginbandits.surrogates import Hinge, centred
from marginbandits.types import Array
from tests import naive


def problem(d: int, n: int, target: float = 1.0, seed: int = 0) -> tuple[Array, Array, Array, Array, Array]:
    """Rounds of a noisy separator, and A, θ and C of their Gaussian part, whose targets are `target` at most."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) / np.sqrt(d)
    losses = (rows @ rng.standard_normal(d) * 2 + 0.1 * rng.standard_normal(n) < 0).astype(float)
    A = np.eye(d) + rows.T @ rows
    return rows, losses, A, target * np.linalg.solve(A, rows.T @ (1 - 2 * losses)), np.linalg.inv(np.linalg.cholesky(A))


def chains(
    margin: float, squared: bool, temperature: float, step: float, d: int, n: int, n_kept: int, n_chains: int = 64
) -> Array:
    rows, losses, _, theta, C = problem(d, n, margin if squared else 1.0)
    rng = np.random.default_rng(1)
    particles = theta + temperature * rng.standard_normal((n_chains, d)) @ C
    kept, slopes, pull = [], np.zeros((n_chains, n)), np.zeros((n_chains, d))
    for k in range(int((10 + n_kept) / step)):
        refresh(slopes, pull, particles, rows, losses, 0, n_chains, 0, n, margin, squared)
        langevin_step(particles, theta, C, pull, 1.0, 1e9, step, temperature, rng.standard_normal(particles.shape))
        if k * step >= 10 and k % int(1 / step) == 0:
            kept.append(particles.copy())
    return np.concatenate(kept)


@pytest.mark.parametrize("squared", [True, False])
def test_the_pull_is_what_the_margin_adds_to_the_gaussian_part(squared: bool) -> None:
    rng = np.random.default_rng(0)
    rows, losses, particles = rng.standard_normal((20, 4)), rng.random(20), rng.standard_normal((3, 4))
    y = (0.7 if squared else 1.0) * (1 - 2 * losses)
    for particle, pull in zip(particles, naive.margin_pull(particles, rows, losses, 0.7, squared), strict=True):
        gradient = rows.T @ (rows @ particle - y) + pull
        for i in range(4):
            h = 1e-6 * np.eye(4)[i]
            rise = naive.two_sided_cost(particle + h, rows, losses, 0.7, squared)
            rise -= naive.two_sided_cost(particle - h, rows, losses, 0.7, squared)
            assert rise / 2e-6 == pytest.approx(gradient[i], abs=1e-6)


@pytest.mark.parametrize("n_actions", [2, 3, 7])
def test_the_reward_s_hinge_is_at_most_what_the_two_sided_estimate_charges(n_actions: int) -> None:
    """(γ - s_a)_+ <= γ Σ_{b ≠ a} ψ(s_b) for scores that sum to zero, and equal for two actions."""
    scores = centred(3 * np.random.default_rng(0).standard_normal((1000, n_actions)))
    own, charged = np.maximum(0.7 - scores[:, 0], 0), 0.7 * Hinge(0.7)(scores[:, 1:]).sum(1)
    assert (own <= charged + 1e-12).all()
    assert np.allclose(own, charged) == (n_actions == 2)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 13])
def test_a_step_is_its_formula(d: int) -> None:
    rng = np.random.default_rng(d)
    particles, mean, pull, normals = (rng.standard_normal(shape) for shape in ((3, d), d, (3, d), (3, d)))
    factor = np.tril(rng.standard_normal((d, d)))
    expected = naive.langevin_step(particles, mean, factor, pull, 0.3, 0.2, normals)
    langevin_step(particles, mean, factor, pull, 1.0, 1e9, 0.3, 0.2, normals)
    assert np.allclose(particles, expected, atol=1e-12)


@pytest.mark.parametrize(("squared", "nudge"), [(True, 0.0), (False, -0.7), (False, 0.0), (False, 0.2)])
@pytest.mark.parametrize("loss", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("start", [-3.0, -0.6, 0.0, 0.6, 3.0])
def test_a_new_round_is_absorbed_exactly(loss: float, start: float, nudge: float, squared: bool) -> None:
    rng = np.random.default_rng(0)
    d, margin = 3, 0.5
    rows = rng.standard_normal((5, d))
    A = np.eye(d) + rows.T @ rows
    factor, row = np.linalg.inv(np.linalg.cholesky(A)), rng.standard_normal(d)
    before = np.linalg.solve(A, row) * start / (row @ np.linalg.solve(A, row))
    gain, particles = np.zeros(d), before[None].copy()
    variance = carlson(factor, row, gain, np.zeros((d, d)))
    assert variance == pytest.approx(row @ np.linalg.solve(A, row))
    assert np.allclose(gain, np.linalg.solve(A + np.outer(row, row), row))
    absorb(particles, margin, squared, row, loss, np.array([nudge]), gain, variance)

    def cost(score: float) -> float:
        own = naive.two_sided_cost(np.array([score]), np.eye(1), np.array([loss]), margin, squared)
        return (score - start) ** 2 / (2 * variance) + own - nudge * score

    best = minimize_scalar(cost, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9}).x
    assert particles[0] @ row == pytest.approx(best, abs=1e-5)
    assert np.allclose(particles[0] - before, np.linalg.solve(A, row) * (best - start) / variance, atol=1e-4)


def test_a_step_goes_no_further_than_it_may() -> None:
    particles = np.zeros((1, 5))
    langevin_step(particles, np.zeros(5), np.eye(5), np.full((1, 5), 1e90), 1.0, 7.0, 0.5, 0.0, np.zeros((1, 5)))
    assert (particles == -3.5).all()


def test_a_row_of_zeros_moves_nothing() -> None:
    particles = np.ones((2, 3))
    absorb(particles, 1.0, True, np.zeros(3), 1.0, np.ones(2), np.zeros(3), 0.0)
    assert (particles == 1.0).all()


@pytest.mark.parametrize("z", [1.0, 3.0, 30.0])
def test_nudges_do_not_act_where_the_squared_hinge_is_flat(z: float) -> None:
    """One rewarded round in one dimension: scores spread no wider than before it, and about as the posterior does."""
    temperature, n = 0.1, 20_000
    rng = np.random.default_rng(0)
    particles = temperature / np.sqrt(0.2) * rng.standard_normal((n, 1))
    factor, gain, row = np.array([[1 / np.sqrt(0.2)]]), np.zeros(1), np.array([z])
    variance = carlson(factor, row, gain, np.zeros((1, 1)))
    before = (particles @ row).std()
    absorb(particles, 1.0, True, row, 0.0, temperature * rng.standard_normal(n), gain, variance)
    grid = np.linspace(-8 * before, 8 * before, 200_001)
    density = np.exp(-(0.1 * (grid / z) ** 2 + np.maximum(1 - grid, 0) ** 2 / 2) / temperature**2)
    density /= density.sum()
    exact = np.sqrt(density @ grid**2 - (density @ grid) ** 2)
    assert 0.3 * exact < (particles @ row).std() < 1.5 * exact < 1.5 * before


@pytest.mark.parametrize("nudged", [True, False])
def test_nudges_turn_draws_of_the_old_gaussian_part_into_draws_of_the_new(nudged: bool) -> None:
    """Ten rounds, 20,000 particles: the covariance is within 4% (four standard errors); without nudges it is not."""
    rng = np.random.default_rng(0)
    d, n, temperature = 3, 20_000, 0.3
    rows, losses = rng.standard_normal((10, d)), rng.random(10)
    factor, particles = np.eye(d), temperature * rng.standard_normal((n, d))
    for row, loss in zip(rows, losses, strict=True):
        gain = np.zeros(d)
        variance = carlson(factor, row, gain, np.zeros((d, d)))
        nudges = temperature * rng.standard_normal(n) if nudged else np.zeros(n)
        absorb(particles, 100.0, False, row, loss, nudges, gain, variance)
    theta, inverse = naive.ridge(rows, 1 - 2 * losses, 1.0)
    spread = temperature * np.linalg.cholesky(inverse)
    standard = np.linalg.solve(spread, (particles - theta).T)
    assert np.abs(standard.mean(1)).max() < 4 / np.sqrt(n)
    assert (np.abs(np.cov(standard) - np.eye(d)).max() < 0.04) == nudged


@pytest.mark.parametrize("squared", [True, False])
def test_chains_follow_the_posterior_in_two_dimensions(squared: bool) -> None:
    margin, temperature = 0.5, 0.3
    rows, losses, _, _, _ = problem(2, 30)
    axis = np.linspace(-4, 4, 401)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    potential = (grid**2).sum(1) / 2
    potential += [naive.two_sided_cost(point, rows, losses, margin, squared) for point in grid]
    density = np.exp(-(potential - potential.min()) / temperature**2)
    density /= density.sum()
    mean = density @ grid
    covariance = (grid - mean).T @ ((grid - mean) * density[:, None])
    below = density[grid[:, 0] <= mean[0] + 0.5 * covariance[0, 0] ** 0.5].sum()

    def errors(draws: Array) -> Array:
        """Mean, covariance and a quantile, in standard errors of 64 chains of which each draw counts for a fifth."""
        n = len(draws) / 5
        spread = np.sqrt(np.diag(covariance))
        off_mean = (draws.mean(0) - mean) / spread * n**0.5
        off_covariance = (np.cov(draws.T) - covariance) / np.outer(spread, spread) * (n / 2) ** 0.5
        share = (draws[:, 0] <= mean[0] + 0.5 * spread[0]).mean()
        off_quantile = (share - below) / np.sqrt(below * (1 - below) / n)
        return np.asarray(np.abs(np.r_[off_mean, off_covariance.ravel(), off_quantile]))

    assert errors(chains(margin, squared, temperature, 0.02, 2, 30, 200)).max() < 4
    assert errors(chains(margin, not squared, temperature, 0.02, 2, 30, 200)).max() > 8


@pytest.mark.soak
def test_chains_follow_exact_line_sampling_in_fifty_dimensions() -> None:
    margin, temperature, d, n = 0.5, 0.3, 50, 300
    rows, losses, A, theta, C = problem(d, n)
    rng = np.random.default_rng(2)
    w, exact = theta, []
    for _ in range(16_000):
        u = C.T @ rng.standard_normal(d)
        w = naive.line_sample(w, u, rows, losses, A, theta, margin, temperature, rng)
        exact.append(w)
    truth = np.array(exact[1000:])
    draws = chains(margin, False, temperature, 0.05, d, n, 100)
    spread = truth.std(0)
    assert np.sqrt((((draws.mean(0) - truth.mean(0)) / spread) ** 2).mean()) < 0.2
    assert abs((draws.std(0) / spread).mean() - 1) < 0.05
    without = theta + temperature * rng.standard_normal((6400, d)) @ C
    assert np.sqrt((((without.mean(0) - truth.mean(0)) / spread) ** 2).mean()) > 1


def test_a_reservoir_keeps_every_round_alike() -> None:
    rng = np.random.default_rng(0)
    times = np.zeros(20)
    for _ in range(2000):
        kept, where = Reservoir(1, 5, 1), np.full(5, -1)
        for t in range(20):
            slot = kept.keep(0, np.zeros(1), 0.0, rng.standard_normal())
            if slot >= 0:
                where[slot] = t
        times[where] += 1
    assert kept.seen[0] == 20
    assert kept.held(0) == 5
    deviation = (times - 500) / np.sqrt(2000 * 0.25 * 0.75)
    assert np.abs(deviation).max() < 4.5
    assert times.sum() == 10_000


def test_stretches_come_by_every_round_in_turn() -> None:
    following = np.zeros(2, np.int64)
    assert stretch(following, 0, 0, 3) == (0, 0)
    assert [stretch(following, 1, 7, 3) for _ in range(4)] == [(0, 3), (3, 6), (6, 7), (0, 3)]


@pytest.mark.parametrize("squared", [True, False])
def test_the_stored_pull_is_the_pull_once_every_round_was_looked_at(squared: bool) -> None:
    rng = np.random.default_rng(0)
    rows, losses, margin = rng.standard_normal((20, 4)), rng.random(20), 0.5
    pull = StoredPull(2, 3, 20, 4)
    for _ in range(3):  # from the slopes of other particles to those of these
        particles = rng.standard_normal((3, 4))
        for start in range(0, 20, 7):
            end = min(start + 7, 20)
            refresh(pull.slopes[1], pull.total[1], particles, rows, losses, 0, 3, start, end, margin, squared)
        assert np.allclose(pull.total[1], naive.margin_pull(particles, rows, losses, margin, squared))
    assert np.abs(pull.total[1]).max() > 1.0
    assert not pull.total[0].any()
    for slot in range(10):
        forget(pull.slopes[1], pull.total[1], slot, rows[slot])
    assert np.allclose(pull.total[1], naive.margin_pull(particles, rows[10:], losses[10:], margin, squared))


def test_the_stored_pull_moves_only_the_particles_it_is_told_to() -> None:
    rng = np.random.default_rng(0)
    rows, losses, particles = rng.standard_normal((5, 4)), np.ones(5), -9 * np.ones((3, 4))
    pull = StoredPull(1, 3, 5, 4)
    refresh(pull.slopes[0], pull.total[0], particles, np.abs(rows), losses, 1, 2, 0, 5, 0.1, True)
    assert pull.total[0].any(1).tolist() == [False, True, False]
