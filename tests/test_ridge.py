from typing import Any

import numpy as np
import pytest

from marginbandits import contexts
from marginbandits.oracles.ridge import Ridge
from tests import naive
from tests.problems import vectors


@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_agrees_with_the_batch_solution(d: int) -> None:
    rng = np.random.default_rng(d)
    Z, targets, blocks = rng.standard_normal((300, d)), rng.random(300), rng.integers(3, size=300)
    ridge = Ridge(3, d, regularisation=0.3)
    for z, target, block in zip(Z, targets, blocks, strict=True):
        ridge.learn(z[None], 0, int(block), float(target))
    for block in range(3):
        theta, inverse = naive.ridge(Z[blocks == block], targets[blocks == block], 0.3)
        assert np.allclose(ridge.theta[block], theta)
        assert np.allclose(ridge.covariance(block), inverse)
        probe = rng.standard_normal((1, d))
        assert np.isclose(ridge.predict(vectors(probe, 3))[block], theta @ probe[0])
        assert np.isclose(ridge.variance(vectors(probe, 3))[block], probe[0] @ inverse @ probe[0])


def test_one_block_pairs_with_each_actions_row() -> None:
    rng = np.random.default_rng(0)
    shared, twin = Ridge(1, 4, regularisation=1.0), Ridge(1, 4, regularisation=1.0)
    for _ in range(50):
        rows, action = rng.standard_normal((3, 4)), int(rng.integers(3))
        shared.learn(rows, action, 0, 0.5)
        twin.learn(rows[[action]], 0, 0, 0.5)
    rows = rng.standard_normal((3, 4))
    together = contexts.shared([rows])
    assert np.array_equal(shared.predict(together), [twin.predict(vectors(row, 1))[0] for row in rows])
    assert np.array_equal(shared.variance(together), [twin.variance(vectors(row, 1))[0] for row in rows])


def test_an_observation_can_be_taken_back() -> None:
    rng = np.random.default_rng(0)
    ridge = Ridge(3, 5, regularisation=0.3)
    for _ in range(20):
        ridge.learn(rng.standard_normal((1, 5)), 0, int(rng.integers(3)), float(rng.random()))
    before = ridge.theta.copy(), ridge.factor.copy()
    ridge.journal.begin()
    ridge.learn(rng.standard_normal((1, 5)), 0, 1, 0.5)
    assert not np.array_equal(before[1], ridge.factor)
    ridge.journal.undo()
    assert np.array_equal(before[0], ridge.theta)
    assert np.array_equal(before[1], ridge.factor)


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_no_memory_for_a_step_leaves_a_ridge_that_still_steps(fails_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for one block is there; that for all three fails at each of its arrays."""
    ridge, calls, zeros = Ridge(3, 5, regularisation=0.3), [0], np.zeros
    ridge.learn(np.ones((1, 5)), 0, 1, 0.5)
    before = ridge.models.copy()

    def failing(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == fails_at:
            raise MemoryError
        return zeros(*given)

    with monkeypatch.context() as failure:
        failure.setattr(np, "zeros", failing)
        with pytest.raises(MemoryError):
            ridge.step(np.ones(5), np.ones(3), np.ones(3))
    assert np.array_equal(ridge.models, before)
    ridge.journal.begin()
    ridge.step(np.ones(5), np.ones(3), np.ones(3))
    assert (ridge.models != before).any((1, 2)).all()
    ridge.journal.undo()
    assert np.array_equal(ridge.models, before)


def test_stays_symmetric_positive_and_accurate_after_a_million_updates() -> None:
    """Badly scaled features: the smallest eigenvalue of A⁻¹ is near 1e-10, the largest near 1e-3."""
    rng = np.random.default_rng(0)
    d, n = 8, 1_000_000
    scale = np.logspace(-1.5, 2, d)
    Z = rng.standard_normal((1000, d)) * scale
    targets = rng.random(1000)
    ridge = Ridge(1, d, regularisation=0.1)
    for i in range(n):
        ridge.journal.begin()
        ridge.learn(Z, i % 1000, 0, targets[i % 1000])
    covariance = ridge.covariance(0)
    assert np.array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0
    A = 0.1 * np.eye(d) + (n / 1000) * Z.T @ Z
    assert np.allclose(covariance @ A, np.eye(d), atol=1e-6)
    assert np.allclose(ridge.theta[0], np.linalg.solve(A, (n / 1000) * Z.T @ targets), rtol=1e-6, atol=1e-9)
