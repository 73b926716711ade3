"""Digest C5: exact constants of the linear sum-to-zero parameterisations, attained; and the count of random cases."""

import math

import numpy as np
import pytest

from marginbandits.scores import Linear, SharedLinear
from tests.properties import test_estimates, test_surrogates
from tests.properties.cases import COUNTED, ROWS, Problem, at_most, holds_for, problems


def unit(v: np.ndarray) -> np.ndarray:
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))


@holds_for(problems())
def test_centred_parameterisation(p: Problem) -> None:
    d, radius = int(p.rng.integers(1, 6)), 10.0 ** p.rng.uniform(-1, 1)
    F = Linear(p.K, d, radius=radius)
    L = math.sqrt(1 - 1 / p.K)
    assert F.dimension == (p.K - 1) * d
    assert F.lipschitz == pytest.approx(L)
    assert F.bound == pytest.approx(radius * L)
    assert np.allclose(F.basis.sum(0), 0)
    assert np.allclose(F.basis.T @ F.basis, np.eye(p.K - 1))
    assert np.allclose((F.basis**2).sum(1), 1 - 1 / p.K)
    X = unit(p.rng.standard_normal((ROWS, d)))
    V = radius * unit(p.rng.standard_normal((ROWS, F.dimension)))
    scores = np.array([F.values(v, x) for v, x in zip(V, X, strict=True)])
    assert np.abs(scores.sum(1)).max() < 1e-9 * radius
    assert at_most(np.abs(scores), F.bound)
    assert np.allclose(np.linalg.norm(F.weights(V), axis=(1, 2)), radius)
    assert np.allclose(F.parameters_of(F.weights(V)), V)
    gradients = np.array([[F.gradient(x, a) for a in range(p.K)] for x in X[:5]])
    assert np.allclose(np.linalg.norm(gradients, axis=-1), L)
    attained = F.values(radius * unit(gradients[0, 0]), X[0])
    assert attained[0] == pytest.approx(F.bound)


@holds_for(problems())
def test_shared_parameterisation(p: Problem) -> None:
    d, radius = int(p.rng.integers(1, 6)), 10.0 ** p.rng.uniform(-1, 1)
    F = SharedLinear(p.K, d, radius=radius)
    assert F.lipschitz == pytest.approx(2 * (1 - 1 / p.K))
    X = unit(p.rng.standard_normal((ROWS, p.K, d)))
    w = radius * unit(p.rng.standard_normal(d))
    scores = F.values(w, X)
    assert np.abs(scores.sum(1)).max() < 1e-9 * radius
    assert at_most(np.abs(scores), F.bound)
    worst = np.tile(-w / radius, (p.K, 1))
    worst[0] *= -1
    assert F.values(w, worst)[0] == pytest.approx(F.bound)


@holds_for(problems())
def test_free_rows_have_larger_constants(p: Problem) -> None:
    """K-1 free rows, the last one minus their sum: B = R√(K-1), attained; each row in the unit ball: B = K-1."""
    d, radius = int(p.rng.integers(1, 6)), 2.0
    X = unit(p.rng.standard_normal((ROWS, d)))
    W = p.rng.standard_normal((ROWS, p.K - 1, d))
    W *= radius / np.linalg.norm(W, axis=(1, 2), keepdims=True)
    free = np.einsum("nad,nd->na", W, X)
    moved = np.abs(free.sum(1)) / np.linalg.norm(W, axis=(1, 2))
    assert at_most(moved, math.sqrt(p.K - 1))  # L of the last row
    assert at_most(np.abs(free.sum(1)), radius * math.sqrt(p.K - 1))
    together = np.repeat(X[:1], p.K - 1, 0)
    assert (radius * together / math.sqrt(p.K - 1) @ X[0]).sum() == pytest.approx(radius * math.sqrt(p.K - 1))
    assert (together @ X[0]).sum() == pytest.approx(p.K - 1)


@holds_for(problems())
def test_centring_free_weights_gives_the_same_constants_and_flat_directions(p: Problem) -> None:
    """K rows, then centred: the same L and B, but d_x directions that move nothing."""
    d = int(p.rng.integers(1, 6))
    X = unit(p.rng.standard_normal((ROWS, d)))
    W = unit(p.rng.standard_normal((ROWS, p.K * d))).reshape(ROWS, p.K, d)
    s = np.einsum("nad,nd->na", W, X)
    s -= s.mean(1, keepdims=True)
    assert at_most(np.abs(s), math.sqrt(1 - 1 / p.K))
    flat = np.repeat(p.rng.standard_normal((1, d)), p.K, 0) @ X[0]
    assert np.allclose(flat - flat.mean(), 0)


@holds_for(problems(), rows=1)
def test_realizability_needs_a_radius(p: Problem) -> None:
    """One unit context can carry realizable scores at margin γ iff γ <= R/√(K(K-1))."""
    F = Linear(p.K, 1, radius=1.0)
    widest = 1 / math.sqrt(p.K * (p.K - 1))
    best = F.values(unit(F.gradient(np.ones(1), 0)), np.ones(1))
    assert best[0] == pytest.approx((p.K - 1) * widest)
    assert np.allclose(best[1:], -widest)


def test_there_are_a_hundred_thousand_random_cases() -> None:
    for module in (test_surrogates, test_estimates):  # imported, so all their properties are declared
        assert module.holds_for is holds_for
    assert sum(COUNTED) >= 100_000, sum(COUNTED)
