"""Chains of networks: draws of a posterior that is known, and what is said of those that do not mix.

The tolerance is about four standard errors of 500 independent chains: one seed in 10,000 fails.
"""

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.oracles import ensembles, steps
from marginbandits.oracles.chains import Chains, chains
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.types import Array
from tests.naive.networks import cost
from tests.problems import exclusive_or

XS, LOSSES = np.array([-1.0, -0.5, 0.5, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])
RATES = {"langevin": 0.05, "preconditioned": 0.02}


def _few(sampler: str = "langevin", n_networks: int = 500, noise: float = 1.0, rate: float | None = None) -> Ensemble:
    """Networks of four parameters, which were told four rounds and have not moved."""
    recipe = mb.Networks(
        n_networks=n_networks,
        width=1,
        depth=1,
        minibatch=32,
        sampler=sampler,
        rate=rate or RATES[sampler],
        temperature=noise,
    )
    told = Ensemble(recipe, n_features=1, n_outputs=1, seed=0, begin=10**6)
    for x, loss in zip(XS, LOSSES, strict=True):
        told.learn(np.array([x]), 0, float(loss))
    return told


@functools.cache
def _exact() -> Array:
    """Mean and second moment of a score under the posterior, by quadrature over the four parameters."""
    grid = np.linspace(-4.5, 4.5, 46)
    w, b, v, c = np.meshgrid(grid, grid, grid, grid, indexing="ij", sparse=True)
    potential = (w**2 + b**2 + v**2 + c**2) / 2
    for x, loss in zip(XS, LOSSES, strict=True):
        potential = potential + cost("squared_hinge", v * np.maximum(w * x + b, 0) + c, loss, 1.0)
    weight = np.exp(-potential)
    score = v * np.maximum(0.75 * w + b, 0) + c
    return np.array([(weight * score**k).sum() / weight.sum() for k in (1, 2)])


def _drawn(sampler: str, noise: float) -> Array:
    """The same of 500 chains."""
    told, chance = _few(sampler, noise=noise), np.random.default_rng(0)
    for _ in range(1500):
        told.journal.begin()
        told._step(chance)
    drawn = told.scores(np.array([[0.75]])).ravel().astype(float)
    return np.array([drawn.mean(), (drawn**2).mean()])


def _agree(drawn: Array) -> bool:
    return np.allclose(drawn, _exact(), rtol=0.1, atol=0.1)


@pytest.mark.parametrize("sampler", RATES)
def test_langevin_chains_of_a_network_are_draws_of_its_posterior(sampler: str) -> None:
    assert _agree(_drawn(sampler, 1.0))


@pytest.mark.parametrize("sampler", RATES)
@pytest.mark.parametrize("noise", [0.5, 1.5])
def test_chains_of_another_temperature_are_not(noise: float, sampler: str) -> None:
    assert not _agree(_drawn(sampler, noise))


def test_nor_are_those_whose_slopes_alone_are_preconditioned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise must be scaled by the root of what slopes are scaled by: with noise as it was the law is another."""

    def uncorrected(parameters: Any, squares: Any, gradient: Any, noise: Any, *given: Any) -> None:
        rate, temperature, rounds, _, out, _ = given
        langevin(parameters, squares, gradient, 0 * noise, *given)
        out += temperature * math.sqrt(2.0 * rate / rounds) * noise

    langevin = steps.langevin
    monkeypatch.setattr(ensembles, "langevin", uncorrected)
    assert not _agree(_drawn("preconditioned", 1.0))


def _mixing(rate: float) -> Chains:
    """Of eight chains that have moved 1,000 steps, and then 2,000 more."""
    told = next(itertools.islice(_few(n_networks=8, rate=rate).moved_on(), 999, None))
    return chains(told, draws=200, every=10)


def test_chains_that_mix_say_so_and_others_do_not() -> None:
    mixed, stuck = _mixing(0.05), _mixing(1e-5)
    assert mixed.r_hat < 1.1 < 2.0 < stuck.r_hat
    assert mixed.ess > 10 * stuck.ess
    assert 0.5 < mixed.spread < 2.0 < 5.0 < stuck.spread
    assert math.isnan(mixed.agreement)  # there is one score


def test_a_learner_says_how_its_networks_mix_and_stays_as_it_is() -> None:
    agent = mb.HingeLMC(2, scores=mb.Networks(n_networks=3, width=16, minibatch=32, sampler="preconditioned"), seed=0)
    with pytest.raises(ValueError, match="no chains before the first learn"):
        agent.chains()
    exclusive_or(agent, 100)
    before = agent.dumps()
    found = agent.chains()
    assert found.steps == 1000
    assert 0.0 <= found.agreement <= 1.0 <= found.r_hat <= found.largest_r_hat
    assert found == agent.chains()
    assert agent.dumps() == before
    alone = mb.HingeLMC(2, scores=mb.Networks(n_networks=1, width=4), seed=0)
    exclusive_or(alone, 5)
    with pytest.raises(ValueError, match="n_networks must be at least 2 for chains to be compared, got 1"):
        alone.chains()
    linear = mb.HingeLMC(2, seed=0)
    exclusive_or(linear, 5)
    with pytest.raises(ValueError, match=r"this learner has no scores=Networks\(\)"):
        linear.chains()
