"""Networks as such: gradients against differences, many at once against each alone, any library of arrays, norms."""

import math
from typing import Any

import array_api_strict
import numpy as np
import numpy.typing as npt
import pytest

import marginbandits as mb
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.scores.networks import Perceptrons
from marginbandits.surrogates import TWO_SIDED, two_sided_slope
from marginbandits.types import Array
from tests.naive.networks import cost

SHAPE = Perceptrons(n_networks=2, sizes=(3, 5, 4, 2))


@pytest.mark.parametrize("kind", TWO_SIDED)
def test_gradients_are_those_of_the_cost(kind: str) -> None:
    rng = np.random.default_rng(0)
    parameters = SHAPE.drawn(rng).astype(float) + 0.1 * rng.standard_normal(SHAPE.dimension)
    x, losses = rng.standard_normal((6, 3)), rng.random((6, 2))

    def total(at: Array) -> float:
        return float(cost(kind, SHAPE.forward(at, x)[-1], losses, 0.3).sum())

    values = SHAPE.forward(parameters, x)
    gradient = SHAPE.backward(parameters, values, two_sided_slope(kind, values[-1], losses, 0.3))
    room = SHAPE.room(6, float)
    values = SHAPE.forward(parameters, x, room)
    assert np.array_equal(
        SHAPE.backward(parameters, values, two_sided_slope(kind, values[-1], losses, 0.3), room), gradient
    )
    steps = 1e-6 * np.eye(SHAPE.dimension)
    numeric = [(total(parameters + step) - total(parameters - step)) / 2e-6 for step in steps]
    assert np.allclose(gradient, numeric, rtol=1e-5, atol=1e-6)
    assert not np.allclose(-gradient, numeric, rtol=1e-5, atol=1e-6)  # the comparison can fail


def test_networks_together_are_each_one_alone() -> None:
    rng = np.random.default_rng(1)
    parameters, x = SHAPE.drawn(rng), rng.standard_normal((4, 3)).astype(np.float32)
    together = SHAPE.forward(parameters, x)[-1]
    for e in range(2):
        h = x
        for i, (weights, biases) in enumerate(SHAPE.layers(parameters)):
            h = h @ weights[e] + biases[e]
            h = np.maximum(h, 0) if i < 2 else h
        assert np.allclose(together[e], h, atol=1e-6)


def test_many_learners_at_once_are_each_one_alone() -> None:
    """S learners of E networks, each with its own rows, as one batch of S x E: slopes are within 1e-6 of each alone."""
    rng, S, E = np.random.default_rng(3), 4, SHAPE.n_networks
    every = Perceptrons(S * E, SHAPE.sizes)
    alone, x = [SHAPE.drawn(rng) for _ in range(S)], rng.standard_normal((S, 6, 3)).astype(np.float32)
    slopes = rng.standard_normal((S, E, 6, 2)).astype(np.float32)
    together = np.zeros(every.dimension, np.float32)
    for s, one in enumerate(alone):
        for to, layer in zip(every.layers(together), SHAPE.layers(one), strict=True):
            to.weights[s * E : (s + 1) * E], to.biases[s * E : (s + 1) * E] = layer
    values = every.forward(together, np.repeat(x, E, 0))
    found = every.layers(every.backward(together, values, slopes.reshape(S * E, 6, 2)))
    for s, one in enumerate(alone):
        own = SHAPE.forward(one, x[s])
        assert np.allclose(values[-1][s * E : (s + 1) * E], own[-1], atol=1e-6)
        for many, layer in zip(found, SHAPE.layers(SHAPE.backward(one, own, slopes[s])), strict=True):
            assert np.allclose(many.weights[s * E : (s + 1) * E], layer.weights, atol=1e-6)
            assert np.allclose(many.biases[s * E : (s + 1) * E], layer.biases, atol=1e-6)
            other = (s + 1) % S * E
            assert not np.allclose(many.weights[other : other + E], layer.weights, atol=1e-6)  # the comparison can fail


def test_any_library_of_arrays_will_do() -> None:
    """One that has what the array API standard has, and nothing else, gives the same bits."""
    rng = np.random.default_rng(2)
    given = SHAPE.drawn(rng), rng.standard_normal((6, 3)).astype(np.float32), rng.random((6, 2)).astype(np.float32)

    def play(xp: Any, parameters: Any, x: Any, losses: Any) -> list[npt.NDArray[Any]]:
        values = SHAPE.forward(parameters, x)
        slopes = [two_sided_slope(kind, values[-1], losses, 0.1, xp) for kind in TWO_SIDED]
        found = [SHAPE.backward(parameters, values, one) for one in slopes]
        return [np.asarray(one) for one in (*found, SHAPE.bounded(parameters, 0.5))]

    ours = play(np, *(one.copy() for one in given))
    theirs = play(array_api_strict, *map(array_api_strict.asarray, given))
    assert all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))


def test_a_norm_bounds_what_enters_each_unit_and_so_the_scores() -> None:
    networks = mb.Networks(n_networks=2, width=8, depth=1, minibatch=16, norm=1.5, rate=0.1)
    told = Ensemble(networks, n_features=3, n_outputs=2, seed=0)
    rng = np.random.default_rng(0)

    def largest() -> float:
        layers = told.shape.layers(told.parameters)
        return max(float((np.abs(weights).sum(1) + np.abs(biases[:, 0])).max()) for weights, biases in layers)

    assert largest() == pytest.approx(1.5)  # from the first round on
    for row in rng.uniform(-1, 1, (200, 3)) / math.sqrt(3):
        told.learn(row, int(rng.integers(2)), float(rng.random() < 0.5))
    assert largest() <= 1.5 * (1 + 1e-6)
    assert np.abs(told.scores(rng.uniform(-1, 1, (500, 3)) / math.sqrt(3))).max() <= 1.5**2 * (1 + 1e-6)
