"""SOBA with its whole matrix, against the identity that its theorem rests on."""

import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory
from marginbandits.types import Array


def test_full_soba_is_ridge_regression_and_its_identity_holds() -> None:
    """Against a solver; and Σ m - Σ gᵀA⁻¹g <= a‖U‖² + Σ <U, q>² + 2<U, g> for every U, the theorem's core."""
    agent = mb.FullSOBA(2, gamma=0.3, features=mb.Identity(), seed=0)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((2, 3))
    A, theta, balance = np.eye(6), np.zeros(6), 0.0
    steps: list[tuple[Array, Array, float]] = []
    for _ in range(300):
        x = rng.standard_normal(3)
        x /= np.linalg.norm(x)
        y = int((truth @ x).argmax())
        w = np.linalg.solve(A, theta)
        scores = w.reshape(2, 3) @ x
        law = agent.law(x)
        assert not steps or np.allclose(law, 0.7 * (np.arange(2) == scores.argmax()) + 0.15)
        action = int(rng.choice(2, p=law))
        agent.learn(x, mb.Decision(action, float(law[action])), loss=float(action != y))
        if action == y:
            g = np.outer([1.0, -1.0] if y else [-1.0, 1.0], x).ravel() / law[y]
            q = math.sqrt(law[y]) * g
            m = ((w @ q) ** 2 + 2 * w @ g) / (1 + q @ np.linalg.solve(A, q))
            if m + balance >= 0:
                balance += m
                A += np.outer(q, q)
                theta -= g
                steps.append((q, g, float(g @ np.linalg.solve(A, g))))
    assert agent.quadratic == pytest.approx(sum(one for _, _, one in steps))
    assert np.allclose(agent.state()["inverse"], np.linalg.inv(A))

    def right(U: Array) -> float:
        return float(U @ U + sum((U @ q) ** 2 + 2 * U @ g for q, g, _ in steps))

    assert all(balance - agent.quadratic <= right(3 * rng.standard_normal(6)) + 1e-6 for _ in range(200))
    assert balance - agent.quadratic == pytest.approx(right(np.asarray(np.linalg.solve(A, theta), float))), (
        "an identity at the minimiser"
    )


def test_the_soba_bound_knows_which_comparators_it_is_for() -> None:
    assert theory.soba(6, 3, 1000, norm=0.7).holds
    assert not theory.soba(6, 3, 1000, norm=0.8).holds
    assert theory.soba(6, 3, 1000, norm=0.8, eta=0.9).holds
    met = theory.soba(6, 3, 10_000, gamma=0.2, quadratic=10.0)
    assert met.value == pytest.approx(1.0 + 10.0 + 2000.0)
    margins = np.linspace(-3, 1, 50)
    assert np.allclose(theory.eta_hinge(margins, 1.0), (1 - margins) ** 2)
    assert np.allclose(theory.eta_hinge(margins, 0.0), 1 - margins)
