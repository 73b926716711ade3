"""Numbers that are accepted, however small, leave a learner that plays on, and whose file is believed."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits import laws


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-155, 1e-150, 1e-101, 1e-99, 1e-20])
@pytest.mark.parametrize("learner", [mb.SquareCB, mb.RegCB, mb.Bag, mb.Cover])
def test_faint_contexts_harm_nobody(learner: Any, size: float, sparse: bool) -> None:
    agent = learner(2, features=mb.Identity(), seed=0)
    for t in range(40):
        x = np.array([size, 1.0, -size * (t % 3)])
        row = scipy.sparse.csr_array(x[None]) if sparse else x
        agent.learn(row, agent.act(row), loss=float(t % 2))
    again = mb.loads(agent.dumps())
    assert again.dumps() == agent.dumps()
    x = np.array([1.0, 1.0, 1.0])
    assert agent.law(scipy.sparse.csr_array(x[None]) if sparse else x).sum() == pytest.approx(1.0)


def test_a_law_that_is_no_number_is_told_of() -> None:
    for learner in (mb.SquareCB, mb.EpsilonGreedy, mb.RegCB, mb.Bag, mb.Cover):
        agent: Any = learner(4, features=mb.Identity(), seed=0)
        agent.learn([1.0, 2.0], mb.Decision(0, 0.25), loss=1.0)
        for array in agent._state.arrays().values():
            if array.dtype.kind == "f":
                array[...] = np.nan
        with pytest.raises(FloatingPointError, match="finite"):
            agent.act([1.0, 2.0])


def test_no_probability_of_nearly_concurrent_draws_is_negative() -> None:
    rng, least = np.random.default_rng(0), 0.0
    for _ in range(20_000):
        K = int(rng.integers(3, 8))
        slopes = rng.choice([0.1, 0.2, 0.3, 0.4, 0.7, 1.1, 1.3, 1e-9, 1e9], size=K)
        means = (0.3 - rng.normal() * slopes).round(int(rng.choice([2, 15])))
        law = np.empty(K)
        assert laws.move_together(means, slopes, np.array([0, K]), np.ones(K, bool), law)
        least = min(least, law.min())
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert least == 0.0


def test_numbers_are_read_once() -> None:
    """What says something else the next time it is asked is taken at its first word."""

    class Turning(int):
        asked = 0

        def __int__(self) -> int:
            Turning.asked += 1
            return 0 if Turning.asked == 1 else 10**6

    class Sure(float):
        def __float__(self) -> float:
            return 7.0

    agent = mb.HingeLMC(3, seed=0)
    agent.learn([1.0], mb.Decision(Turning(1), 0.5), 0.5)
    before = agent.dumps()
    with pytest.raises(ValueError, match="probability must be a number above 0 and at most 1"):
        agent.learn([1.0], mb.Decision(0, Sure(0.5)), 0.5)
    with pytest.raises(ValueError, match="decision must be one of 3 actions"):
        agent.learn([1.0], mb.Decision(0, 0.5, distribution=5), 0.5)  # type: ignore[arg-type]  # on purpose
    assert agent.dumps() == before
