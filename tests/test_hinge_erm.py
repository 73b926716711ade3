"""The hinge oracles against exact solvers: a linear program with cuts on the ball, and a slow minimiser."""

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import linprog, minimize

from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.oracles.two_sided import two_sided_leader
from marginbandits.types import Array, Oracle
from tests import naive

Problem = tuple[Array, Array, float, float]


def problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(3, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    costs = rng.exponential(size=(n, K)) * (rng.random((n, K)) < rng.choice([0.3, 1.0]))
    costs[0, 0] = 1.0
    return rows, costs, float(rng.choice([0.1, 0.3, 1.0])), float(rng.choice([0.5, 1.0, 3.0]))


def cost(weights: Array, rows: Array, costs: Array, margin: float) -> float:
    return float((costs * np.maximum(1.0 + rows @ weights.T / margin, 0.0)).sum())


def exact(rows: Array, costs: Array, margin: float, radius: float) -> tuple[float, float]:
    """Lower and upper limits of the least cost: linear programs, the ball by cutting off what is outside."""
    basis = scipy.linalg.helmert(costs.shape[1]).T if costs.shape[1] > 1 else np.ones((1, 1))
    at = np.argwhere(costs > 0)
    phi = np.array([np.outer(basis[a], rows[i]).ravel() for i, a in at]) / margin
    c = costs[at[:, 0], at[:, 1]]
    m, D = phi.shape
    hinge, cuts = np.hstack([phi, -np.eye(m)]), np.zeros((0, D + m))
    for _ in range(400):
        limits = np.r_[-np.ones(m), np.full(len(cuts), radius)]
        bounds = [(-radius, radius)] * D + [(0, None)] * m
        found = linprog(np.r_[np.zeros(D), c], A_ub=np.vstack([hinge, cuts]), b_ub=limits, bounds=bounds)
        theta = found.x[:D]
        norm = max(float(np.linalg.norm(theta)), 1e-12)
        feasible = float(c @ np.maximum(1.0 + phi @ theta * min(1.0, radius / norm), 0.0))
        if feasible - found.fun <= 1e-6 * max(feasible, 1e-9):
            return found.fun, feasible
        cuts = np.vstack([cuts, np.r_[theta / norm, np.zeros(m)]])
    raise AssertionError("the cuts did not converge")


@pytest.mark.parametrize("seed", range(50))
def test_within_a_ten_thousandth_of_an_exact_solver(seed: int) -> None:
    rows, costs, margin, radius = problem(seed)
    low, high = exact(rows, costs, margin, radius)
    fit = HingeERM(margin, radius=radius).minimise(rows, costs)
    scale = max(high, 1e-6 * costs.sum())
    assert (1 - 1e-6) * low <= fit.value <= low + 1.01e-4 * scale
    assert fit.value - fit.gap <= high * (1 + 1e-6), "the certificate must not claim more than is true"
    assert fit.gap <= 1.01e-4 * scale
    assert fit.value == pytest.approx(cost(fit.weights, rows, costs, margin), abs=1e-9 * costs.sum())
    assert np.linalg.norm(fit.weights) <= radius * (1 + 1e-9)
    if costs.shape[1] > 1:
        assert np.allclose(fit.weights.sum(0), 0.0)


def test_the_comparison_can_fail() -> None:
    rows, costs, margin, radius = problem(0)
    low, _ = exact(rows, costs, margin, radius)
    loose = HingeERM(margin, radius=radius, tolerance=0.05).minimise(rows, costs)
    assert loose.value > low * (1 + 1e-4)
    assert loose.value - loose.gap <= low * (1 + 1e-6)


def test_a_ridge_is_minimised_too_and_certified() -> None:
    rows, costs, margin, _ = problem(3)
    fit = HingeERM(margin, radius=100.0, ridge=50.0).minimise(rows, costs)
    assert fit.gap <= 1e-4 * fit.value
    shape = fit.weights.shape

    def objective(w: Array) -> float:
        W = w.reshape(shape) - w.reshape(shape).mean(0) * (shape[0] > 1)
        return cost(W, rows, costs, margin) + 25.0 * float((W * W).sum())

    least = minimize(objective, np.zeros(fit.weights.size), method="Powell", options={"xtol": 1e-9, "ftol": 1e-12}).fun
    assert fit.value == pytest.approx(least, rel=2e-4)


def test_a_warm_start_saves_work() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 10)) / 3
    costs = rng.exponential(size=(300, 4)) * (rows @ rng.standard_normal((10, 4)) > 0)
    cold = HingeERM(0.1).minimise(rows, costs)
    warm = HingeERM(0.1).minimise(rows, costs, cold.weights)
    assert warm.value == pytest.approx(cold.value, rel=2e-4)
    assert warm.evaluations < cold.evaluations


def test_when_evaluations_run_out_the_gap_says_so() -> None:
    rows, costs, margin, radius = problem(0)
    low, _ = exact(rows, costs, margin, radius)
    fit = HingeERM(margin, radius=radius, max_evaluations=1).minimise(rows, costs)
    assert fit.gap > 1e-4 * fit.value
    assert fit.value - fit.gap <= low * (1 + 1e-6)


def test_nothing_to_pay_is_no_work() -> None:
    fit = HingeERM(1.0).minimise(np.ones((3, 2)), np.zeros((3, 4)))
    assert fit.value == 0.0
    assert (fit.weights == 0.0).all()


@pytest.mark.parametrize(
    ("rows", "costs", "message"),
    [
        (np.ones((2, 3)), np.ones((3, 2)), "rows must be n x d and costs n x K"),
        (np.full((2, 3), np.nan), np.ones((2, 2)), "finite"),
        (np.ones((2, 3)), -np.ones((2, 2)), "not negative"),
    ],
)
def test_bad_problems_are_refused(rows: Array, costs: Array, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HingeERM(1.0).minimise(rows, costs)


def test_bandit_rounds_are_costs_of_the_played_action() -> None:
    rng = np.random.default_rng(0)
    rows, blocks = rng.standard_normal((30, 2)) / 2, rng.integers(3, size=30)
    losses, weights = rng.random(30), 1.0 + rng.random(30)
    costs = np.zeros((30, 3))
    costs[np.arange(30), blocks] = losses * weights
    oracle = HingeERM(0.3)
    assert isinstance(oracle, Oracle)
    assert np.array_equal(
        oracle.fit(rows, blocks, losses, weights, np.zeros((3, 2))).weights,
        oracle.minimise(rows, costs, np.zeros((3, 2))).weights,
    )


def test_a_start_that_is_the_least_to_rounding_ends_the_search() -> None:
    """The gap is a few roundings and never 0: smoothing is not to be narrowed until it is."""
    rng = np.random.default_rng(160)
    n = int(rng.integers(5, 40))
    rows = rng.standard_normal((n, 1))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    costs = np.zeros((n, 3))
    costs[np.arange(n), rng.integers(3, size=n)] = rng.exponential(size=n)
    first = HingeERM(0.3).minimise(rows, costs)
    again = HingeERM(0.3).minimise(rows, costs, first.weights)
    assert again.value == pytest.approx(first.value, rel=1e-4)
    assert again.gap <= 1e-4 * again.value


@pytest.mark.parametrize(("n", "d"), [(40, 3), (5, 8)])  # in features, and in rows
@pytest.mark.parametrize("rounds", [None, 300.0])
def test_two_sided_leader_is_the_least_of_its_potential(n: int, d: int, rounds: float | None) -> None:
    rng = np.random.default_rng(0)
    rows, margin = rng.standard_normal((n, d)), 0.3
    losses = np.where(rows[:, 0] > 0, 0.9, 0.1)
    share = 1.0 if rounds is None else rounds / n
    found = two_sided_leader(
        rows, losses, margin=margin, regularisation=0.7, rounds=rounds, tolerance=1e-9, n_iterations=3000
    )[0]

    def potential(w: Array) -> float:
        return share * naive.two_sided_cost(w, rows, losses, margin, squared=False) + 0.35 * float(w @ w)

    slow = minimize(potential, found + 0.1, method="Powell", options={"xtol": 1e-9, "ftol": 1e-12})
    ridge = two_sided_leader(rows, losses, margin=1e9, regularisation=0.7, rounds=rounds)[0]
    assert potential(found) <= slow.fun + 1e-6
    assert potential(ridge) > 1.001 * potential(found), "the margin must matter for this to test anything"
    default = two_sided_leader(rows, losses, margin=margin, regularisation=0.7, rounds=rounds)[0]
    assert potential(default) - potential(found) < 0.05 * (potential(ridge) - potential(found))


@pytest.mark.parametrize("n", [20, 2])  # in features, and in rows
def test_deviations_are_draws_from_the_posterior(n: int) -> None:
    rng = np.random.default_rng(0)
    rows, J = rng.standard_normal((n, 3)), 20_000
    normals = rng.standard_normal((n, J)), rng.standard_normal((3, J))
    _, draws = two_sided_leader(rows, rng.random(n), margin=0.1, regularisation=2.0, rounds=2.0 * n, normals=normals)
    covariance = np.linalg.inv(2.0 * np.eye(3) + 2.0 * rows.T @ rows)
    assert draws.shape == (J, 3)
    assert np.allclose(draws.mean(0), 0.0, atol=5 * np.sqrt(covariance.diagonal().max() / J))
    assert np.allclose(np.cov(draws.T), covariance, atol=0.05 * covariance.max())
    assert not np.allclose(np.cov(draws.T), 1.2 * covariance, atol=0.05 * covariance.max())
