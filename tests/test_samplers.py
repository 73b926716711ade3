"""Every sampler against quadrature, each with the same judge, which must also catch a wrong potential.

Chains are independent and only their last points are judged, so standard errors are exact. A judge takes at most 27
statistics beyond 4.5 standard errors (6.8e-6 each) as failure: a right sampler fails one test in 5,000 at most.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbandits.checks.sampler import LIMIT, deviation, grid
from marginbandits.projections import ball
from marginbandits.samplers import (
    HingePotential,
    RampPotential,
    diagnose,
    effective_sample_size,
    hit_and_run,
    projected_langevin,
    split_r_hat,
    uniform_ball,
)
from marginbandits.samplers.hit_and_run import _place, _sort
from marginbandits.surrogates import SmoothedHinge
from marginbandits.types import Array
from tests import naive


def some_potential(d: int, n: int = 8, seed: int = 0) -> HingePotential:
    rng = np.random.default_rng(seed)
    return HingePotential(rng.standard_normal((n, d)), 2 * rng.exponential(size=n), 0.5)


def confining(d: int) -> HingePotential:
    """Steep in every direction, so that the ball's border does not matter and the coordinates are independent."""
    weights = np.concatenate([np.linspace(1, 2, d), np.linspace(0.8, 1.2, d)])
    return HingePotential(np.concatenate([np.eye(d), -np.eye(d)]), weights, 0.1)


def density(F: HingePotential, points: Array, smoothing: float = 0.0) -> Array:
    if smoothing == 0.0:
        height = F(points)
    else:
        height = np.zeros(len(points))
        for phi, weight in zip(F.features, F.weights, strict=True):
            height += weight * SmoothedHinge(F.margin, smoothing * float(np.linalg.norm(phi)))(points @ phi)
    return np.asarray(np.exp(height.min() - height))


def chains(F: HingePotential, n: int, steps: int, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    return hit_and_run(F, uniform_ball(n, F.features.shape[1], 1.0, rng), rng, radius=1.0, n_steps=steps)


@pytest.mark.parametrize(("d", "cells"), [(2, 801), (3, 121)])
def test_hit_and_run_matches_quadrature_where_the_border_matters(d: int, cells: int) -> None:
    F = some_potential(d)
    points = grid(d, cells)
    points = points[(points**2).sum(1) <= 1]
    draws = chains(F, 20_000, 40)
    assert deviation(draws, points, density(F, points)) < LIMIT
    wrong = HingePotential(F.features, F.weights, 0.6)
    assert deviation(draws, points, density(wrong, points)) > 2 * LIMIT


def test_hit_and_run_matches_quadrature_in_five_dimensions() -> None:
    """A potential of two coordinates: the rest is uniform in a ball and integrates to a power of its radius."""
    flat = some_potential(2, seed=3)
    axes = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 5)))[0]
    F = HingePotential(flat.features @ axes[:2], flat.weights, flat.margin)
    draws = chains(F, 20_000, 60)
    points = grid(2, 801)
    points = points[(points**2).sum(1) < 1]
    free = 1 - (points**2).sum(1)
    assert deviation(draws @ axes[:2].T, points, density(flat, points) * free**1.5) < LIMIT
    assert deviation(draws @ axes[:2].T, points, density(flat, points)) > 2 * LIMIT  # the border forgotten


def langevin(F: HingePotential, n: int, steps: int, smoothing: float, n_draws: int | None) -> Array:
    """Closed-form smoothing where `n_draws` is None, else the average over that many draws in every step."""
    start, rng = np.zeros((n, F.features.shape[1])), np.random.default_rng(4)
    if n_draws is None:
        return projected_langevin(F.smoothed_gradient(smoothing), start, inside, rng, step=2e-4, n_steps=steps)
    return projected_langevin(
        F.gradient, start, inside, rng, step=2e-4, n_steps=steps, smoothing=smoothing, n_draws=n_draws
    )


def inside(rows: Array) -> Array:
    return ball(rows, 1.0)


@pytest.mark.parametrize("n_draws", [None, 4], ids=["closed form", "Monte Carlo"])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_langevin_matches_quadrature(d: int, n_draws: int | None) -> None:
    F = confining(d)
    draws = langevin(F, 1500, 800, 0.03, n_draws)
    line = grid(1, 2001)
    worst = []
    for i in range(d):
        own = HingePotential(F.features[i::d, i : i + 1], F.weights[i::d], F.margin)
        assert deviation(draws[:, i : i + 1], line, density(own, line, 0.03)) < LIMIT
        wrong = HingePotential(own.features, 1.5 * own.weights, own.margin)
        worst.append(deviation(draws[:, i : i + 1], line, density(wrong, line, 0.03)))
    assert min(worst) > LIMIT


@pytest.mark.parametrize("kind", [HingePotential, RampPotential])
def test_gradients_at_many_points_are_those_at_each(kind: type[HingePotential]) -> None:
    """Fractions of two, so that sums are exact: points on kinks have the slope of the flat side in either precision."""
    rng = np.random.default_rng(0)
    F = kind(rng.integers(-2, 3, (150, 7)).astype(float), rng.integers(0, 5, 150) / 4, 0.5)
    for n in (6, 31, 33, 70):
        points = rng.integers(-4, 5, (n, 7)) / 4
        one_by_one = np.concatenate([F.gradient(point[None]) for point in points])
        assert np.array_equal(F.gradient(points), one_by_one)
        assert np.array_equal(F.single_gradient()(points.astype(np.float32)), one_by_one)
        assert np.array_equal(F.gradient(points.T.copy().T), one_by_one)


@pytest.mark.parametrize("d", [2, 5])
def test_hit_and_run_matches_quadrature_of_a_steep_potential(d: int) -> None:
    F = confining(d)
    draws = chains(F, 5000, 60)
    line = grid(1, 2001)
    for i in range(d):
        own = HingePotential(F.features[i::d, i : i + 1], F.weights[i::d], F.margin)
        assert deviation(draws[:, i : i + 1], line, density(own, line)) < LIMIT
        wrong = HingePotential(own.features, 1.2 * own.weights, own.margin)
        assert deviation(draws[:, i : i + 1], line, density(wrong, line)) > LIMIT


def test_ridge_and_smoothing_act_as_stated() -> None:
    """A constant potential with λ = 25 is a normal of variance 1/25; the average over draws keeps a linear slope."""
    rng = np.random.default_rng(0)
    zero: Callable[[Array], Array] = np.zeros_like
    draws = projected_langevin(zero, np.zeros((4000, 2)), inside, rng, step=1e-3, n_steps=300, ridge=25.0)
    assert abs(draws.var() * 25 - 1) < 5 * math.sqrt(2 / 8000) + 0.01
    moved = projected_langevin(
        lambda rows: 4 * rows, np.full((4000, 1), 0.5), inside, rng, step=1e-3, n_steps=1, smoothing=0.1, n_draws=3
    )
    assert abs(moved.mean() - (0.5 - 0.5e-3 * 2.0)) < 5 * math.sqrt(1e-3 / 4000)


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(-3, 3), st.floats(0, 0.999), st.floats(0, 0.999))
def test_the_line_kernel_agrees_with_its_naive_twin(seed: int, n: int, scale: float, u: float, v: float) -> None:
    rng = np.random.default_rng(seed)
    a, k = rng.standard_normal(n), rng.standard_normal(n) * (rng.random(n) < 0.9)
    weights = 10.0**scale * rng.exponential(size=n)
    low, high = -rng.random() - 0.01, rng.random() + 0.01
    if seed % 3 == 0:  # the same context again and again
        a[n // 2 :], k[n // 2 :] = a[0], k[0]
    fast = _place(a, k, weights, low, high, np.array([u, v]), np.empty((6, n + 2)), np.empty(n + 2, np.int64))
    assert low <= fast <= high
    assert fast == pytest.approx(naive.place(a, k, weights, low, high, np.array([u, v])), abs=1e-6)


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(0, 300), st.sampled_from(["spread", "crowded", "equal", "falling"]))
def test_kinks_are_sorted(seed: int, n: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.uniform(-1, 2, n)
    if kind == "crowded":
        keys[: n // 2] = 0.5 + 1e-9 * keys[: n // 2]
    elif kind == "equal":
        keys = np.round(2 * keys) / 2
    elif kind == "falling":
        keys = np.sort(keys)[::-1].copy()
    values, out = np.arange(n, dtype=float), np.empty((2, n))
    _sort(keys, values, -1.0 - 1e-9, 2.0 + 1e-9, out[0], out[1], np.empty(n + 2, np.int64))
    assert np.array_equal(out[0], np.sort(keys))
    assert np.array_equal(keys[out[1].astype(int)], out[0])
    assert np.array_equal(np.sort(out[1]), values)


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e9])
@pytest.mark.parametrize("radius", [1e-6, 1.0, 1e6])
def test_hit_and_run_survives_extreme_potentials(scale: float, radius: float) -> None:
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.standard_normal((20, 3)), np.zeros((2, 3)), np.ones((5, 3))])
    F = HingePotential(features, np.full(27, scale), 0.3)
    draws = hit_and_run(F, ball(rng.standard_normal((5, 3)), radius), rng, radius=radius, n_steps=50)
    assert np.isfinite(draws).all()
    assert (np.linalg.norm(draws, axis=1) <= radius * (1 + 1e-12)).all()


def test_a_chord_of_no_length_stays_where_it_is() -> None:
    a, k, w, room, ends = np.ones(2), np.ones(2), np.ones(2), np.empty((6, 4)), np.empty(4, np.int64)
    for width in (0.0, 1e-300):
        assert _place(a, k, w, 0.0, width, np.array([0.5, 0.5]), room, ends) == 0.0


def test_an_empty_potential_leaves_the_uniform_law() -> None:
    empty = HingePotential(np.empty((0, 3)), np.empty(0), 0.3)
    draws = chains(empty, 20_000, 30)
    points = grid(3, 121)
    points = points[(points**2).sum(1) <= 1]
    assert deviation(draws, points, np.ones(len(points))) < LIMIT
    assert empty.smoothing(0.1) == (math.inf, math.inf)


def test_bad_starts_are_refused() -> None:
    F, rng = some_potential(2), np.random.default_rng(0)
    with pytest.raises(ValueError, match="start must lie in the ball"):
        hit_and_run(F, np.full((1, 2), 2.0), rng, radius=1.0, n_steps=1)
    with pytest.raises(ValueError, match="start must be chains x 2"):
        hit_and_run(F, np.zeros((1, 3)), rng, radius=1.0, n_steps=1)
    with pytest.raises(ValueError, match=r"start must be .*2 dimensions"):
        projected_langevin(F.gradient, np.zeros(2), lambda rows: rows, rng, step=0.1, n_steps=1)
    with pytest.raises(ValueError, match="n_steps must be"):
        hit_and_run(F, np.zeros((1, 2)), rng, radius=1.0, n_steps=0)


def test_smoothed_gradient_is_that_of_the_smoothed_hinge() -> None:
    F, rng = some_potential(4), np.random.default_rng(0)
    points, h = rng.standard_normal((10, 4)), 1e-5
    both = [
        [-np.log(density(F, np.stack([p + h * e, p - h * e]), 0.2)) @ [1, -1] / (2 * h) for e in np.eye(4)]
        for p in points
    ]
    assert np.allclose(F.smoothed_gradient(0.2)(points), both, atol=1e-5)
    averaged = np.mean([F.gradient(points + 0.2 * rng.standard_normal(points.shape)) for _ in range(20_000)], 0)
    assert np.abs(averaged - F.smoothed_gradient(0.2)(points)).max() < 5 * F.lipschitz / math.sqrt(20_000)


def test_the_ramps_gradients_are_those_of_the_ramp() -> None:
    """Along lines: the gradient of F, and of F averaged over N(0, 0.2² I), within the error of 20,000 draws."""
    hinge, rng = some_potential(4), np.random.default_rng(0)
    F, points, h = RampPotential(hinge.features, hinge.weights, hinge.margin), rng.standard_normal((10, 4)), 1e-6
    moved = (points[:, None] + h * np.eye(4)).reshape(-1, 4), (points[:, None] - h * np.eye(4)).reshape(-1, 4)
    numeric = ((F(moved[0]) - F(moved[1])) / (2 * h)).reshape(-1, 4)
    assert np.allclose(F.gradient(points), numeric, atol=1e-6)
    assert np.abs(hinge.gradient(points) - numeric).max() > 1.0, "the ramp's flat side must matter here"
    averaged = np.mean([F.gradient(points + 0.2 * rng.standard_normal(points.shape)) for _ in range(20_000)], 0)
    assert np.abs(averaged - F.smoothed_gradient(0.2)(points)).max() < 5 * F.lipschitz / math.sqrt(20_000)


def test_at_a_kink_the_gradient_is_that_of_the_flat_side() -> None:
    """Row 1, margin 1, weight 1: the ramp rises from -1 to 0, the hinge from -1 on."""
    ends, one = np.array([[-1.0], [0.0]]), np.ones((1, 1))
    assert RampPotential(one, np.ones(1), 1.0).gradient(ends).tolist() == [[0.0], [0.0]]
    assert HingePotential(one, np.ones(1), 1.0).gradient(ends).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.5, 0.9])
def test_effective_sample_size_of_autoregressions(rho: float) -> None:
    """(1 - ρ)/(1 + ρ) of the draws; within 15% for 4 x 20,000, whose error is a few per cent."""
    rng = np.random.default_rng(0)
    x = np.zeros((4, 20_000, 2))
    x[:, 0] = rng.standard_normal((4, 2)) / math.sqrt(1 - rho**2)
    noise = rng.standard_normal(x.shape)
    for t in range(1, x.shape[1]):
        x[:, t] = rho * x[:, t - 1] + noise[:, t]
    assert effective_sample_size(x) == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.15)
    assert (np.abs(split_r_hat(x) - 1) < 0.01).all()
    drifting = x + np.linspace(0, 5 * x.std(), x.shape[1])[:, None]
    assert (split_r_hat(drifting) > 1.2).all()
    record = diagnose(x, steps=20_000, gradient_evaluations=7)
    assert (record.steps, record.gradient_evaluations, record.acceptance) == (20_000, 7, None)
    assert record.ess == effective_sample_size(x).min()
    assert record.r_hat == split_r_hat(x).max()


def test_diagnostics_refuse_too_little() -> None:
    with pytest.raises(ValueError, match="draws must be"):
        split_r_hat(np.zeros((2, 3)))
    assert math.isnan(effective_sample_size(np.ones((2, 8))))


def test_single_precision_gives_the_same_gradients() -> None:
    rng = np.random.default_rng(0)
    for kind in (HingePotential, RampPotential):
        F = kind(rng.standard_normal((200, 7)), rng.random(200), 0.5)
        points = rng.standard_normal((20, 7)).astype(np.float32)
        found = F.single_gradient()(points)
        assert found.dtype == np.float32
        assert np.allclose(found, F.gradient(points.astype(float)), rtol=1e-4, atol=1e-3)
