"""Rounds of HingeLMC and SmoothFTL in one kernel each: taken back whole, drawn for many at once, the same in files."""

from typing import Any
from unittest import mock

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.features import feature_map
from marginbandits.held import chance
from marginbandits.learners.hinge_lmc import practical
from marginbandits.learners.smooth_ftl.grams import STRETCH, Grams
from marginbandits.normals import fill
from marginbandits.state import Journal
from tests.problems import played

BUILT: list[Any] = [
    lambda: mb.HingeLMC(3, memory=5, minibatch=3, features="raw", seed=0),
    lambda: mb.HingeLMC(3, memory=7, moves=5, margin=0.2, surrogate="hinge", features=mb.Bias(), seed=0),
    lambda: mb.SmoothFTL(3, memory=5, features="raw", seed=0),
    lambda: mb.SmoothFTL(3, memory=90, growth=1.01, features="raw", seed=0),
]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("build", BUILT)
def test_a_round_is_taken_back_also_where_others_gave_way_to_it(build: Any, n: int) -> None:
    agent, twin = build(), build()
    played(agent, 250)
    played(twin, 250)
    before, update = agent.dumps(), agent._update

    def fails(*args: Any) -> None:
        update(*args)
        raise MemoryError

    contexts, decisions, losses = np.random.default_rng(1).standard_normal((n, 4)), [mb.Decision(1, 0.5)] * n, [0.3] * n
    agent._update = fails
    for _ in range(10):
        with pytest.raises(MemoryError):
            agent.learn_many(contexts, decisions, losses)
    del agent._update
    assert agent.dumps() == before
    assert np.array_equal(played(agent, 60), played(twin, 60))
    assert agent.dumps() == twin.dumps()


def test_draws_of_many_rounds_can_be_made_at_once() -> None:
    one, two = (mb.HingeLMC(3, memory=20, features=mb.Bias(), seed=0) for _ in range(2))
    played(one, 300)  # the first are learnt anew now and then
    played(two, 300)
    m = two.noisy
    made = np.empty(50 * m)
    fill(chance(two._rng), made)
    drawn = iter(made.reshape(50, m))
    after = two._rng.bit_generator.state
    with mock.patch.object(practical, "fill", lambda _, out: np.copyto(out, next(drawn))):  # what it would have drawn
        again = played(two, 50)
    assert np.array_equal(played(one, 50), again)
    assert all(np.array_equal(array, two.state()[name]) for name, array in one.state().items())
    assert one._rng.bit_generator.state == after


def test_compiled_rounds_draw_what_others_do() -> None:
    agent = mb.HingeLMC(3, memory=20, features="raw", seed=0)
    played(agent, 300)
    assert agent._swift is not None
    rng = np.random.default_rng()
    rng.bit_generator.state = agent._rng.bit_generator.state
    played(agent, 50)
    rng.standard_normal((50, agent.noisy))
    assert rng.bit_generator.state == agent._rng.bit_generator.state


def test_every_round_of_smooth_ftl_takes_one_draw() -> None:
    agent = mb.SmoothFTL(3, memory=20, features="raw", seed=0)
    played(agent, 1)
    rng = np.random.default_rng()
    rng.bit_generator.state = agent._rng.bit_generator.state
    played(agent, 100)
    rng.standard_normal(100)
    assert rng.bit_generator.state == agent._rng.bit_generator.state


def test_a_loaded_smooth_ftl_finds_the_same_leaders_of_many_rounds() -> None:
    agent = mb.SmoothFTL(2, features="raw", seed=0)
    played(agent, 300)
    copy = mb.loads(agent.dumps())
    assert isinstance(copy, mb.SmoothFTL)
    assert agent._grams.known[0].count > 0
    assert copy._grams.known[0].count == 0
    assert np.array_equal(played(agent, 200), played(copy, 200))
    assert agent.dumps() == copy.dumps()


def test_sums_of_squares_are_the_same_bits_known_or_not() -> None:
    rows, d = np.random.default_rng(0).standard_normal((5 * STRETCH, 80)), 80
    known = Grams(2, 400, d, Journal())
    for n in range(1, len(rows), 29):
        found, some = known.of(1, rows[:n], whole=True), rows[:n]
        assert np.array_equal(found, Grams(1, 400, d, Journal()).of(0, some, whole=True))
        assert np.allclose(found, some.T @ some if n > d else some @ some.T)
    rows[2] = 0.0
    assert np.allclose(known.of(1, rows, whole=False), rows.T @ rows)


def test_a_row_of_usual_features_is_that_of_the_chain_they_stand_for() -> None:
    rows = 30 * np.random.default_rng(0).standard_normal((40, 5))
    parts = [mb.Standardise(bias=False), mb.Concatenate([mb.Bias(), mb.Fourier()])]
    usual, chain = (one.start(5, np.random.default_rng(1)) for one in (feature_map("fourier"), mb.Chain(parts)))
    for row in rows:
        assert np.allclose(usual.observe(row[None]), chain.observe(row[None]), rtol=0, atol=1e-12)
    singly = np.concatenate([usual.transform(row[None]) for row in rows])
    assert np.array_equal(usual.transform(rows), singly)
    assert np.allclose(singly, chain.transform(rows), rtol=0, atol=1e-12)
    assert usual.fields().keys() == chain.fields().keys()
    with pytest.raises(ValueError, match="context"):
        usual.transform(np.full((1, 5), np.nan))
