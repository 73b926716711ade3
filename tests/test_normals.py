"""Normal draws of compiled code: NumPy's own, tails and all, and the law they are of."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

import marginbandits as mb
from marginbandits import normals
from marginbandits.held import chance

N = 200_000


def drawn(seed: int, n: int = N) -> np.ndarray:
    rng, out = np.random.default_rng(seed), np.empty(n)
    normals.fill(chance(rng), out)
    return out


def test_they_are_those_of_numpy() -> None:
    wanted = np.random.default_rng(0).standard_normal(N)
    assert (np.abs(wanted) > normals.R).sum() > 20  # beyond the last edge, too
    assert np.abs(drawn(0) - wanted).max() < 1e-12


def test_they_are_normal() -> None:
    """By Kolmogorov and Smirnov, wrong once in ten thousand seeds; a law that is 2% too wide is found."""
    assert stats.kstest(drawn(1), "norm").pvalue > 1e-4
    assert stats.kstest(1.02 * drawn(1), "norm").pvalue < 1e-4


def test_a_copy_draws_for_itself() -> None:
    rng, agent = np.random.default_rng(0), mb.HingeLMC(2, features="raw", seed=0)
    for x in rng.standard_normal((20, 3)):
        agent.learn(x, agent.act(x), loss=0.3)
    twins = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent)), mb.loads(agent.dumps())]
    states = [one._rng.bit_generator.state for one in (agent, *twins)]
    assert all(state == states[0] for state in states)
    x = np.ones(3)
    for one in twins:
        one.learn(x, mb.Decision(0, 0.5), loss=0.3)
        assert one._rng.bit_generator.state != states[0]
        assert agent._rng.bit_generator.state == states[0]
    agent.learn(x, mb.Decision(0, 0.5), loss=0.3)
    assert len({one.dumps() for one in (agent, *twins)}) == 1


@pytest.mark.parametrize("n", [0, 1])
def test_few(n: int) -> None:
    assert drawn(0, n).shape == (n,)
