"""Rounds in compiled code: which learners have them, and that nothing tells them from the longer way but time."""

from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.contexts import Batch
from marginbandits.learners import swift
from marginbandits.types import Array

SWIFT: list[Any] = [
    *(mb.LinUCB, mb.EpsilonGreedy, mb.LinTS, mb.LogisticTS),
    *(mb.SquareCB, mb.RegCB, mb.Bag, mb.Cover),
]
K, D, N = 3, 4, 90


def problem(n: int = N, seed: int = 0) -> mb.Oblivious:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    return mb.Oblivious.of(X, rng.random((n, K)) * (X[:, :K] > 0))


def by_rounds(agent: mb.Learner, env: mb.Oblivious) -> tuple[list[int], Array]:
    actions, laws = [], []
    for x, losses in zip(env.contexts, env.losses, strict=True):
        decision: Any = agent.act(x)
        agent.learn(x, decision, losses[decision.action])
        actions.append(decision.action)
        laws.append(decision.distribution)
    return actions, np.array(laws)


@pytest.mark.parametrize("learner", SWIFT)
def test_a_simulation_is_its_rounds(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swift, "CHUNK", 32)  # which does not divide N - 1
    env, one, two, three = problem(), learner(K, seed=0), learner(K, seed=0), learner(K, seed=0)
    told: list[None] = []
    trace = mb.simulate(two, env, progress=lambda: told.append(None))
    actions, laws = by_rounds(one, env)
    assert two._swift is not None
    assert len(told) == N
    assert trace.actions.tolist() == actions
    assert np.array_equal(trace.laws, laws)
    assert np.array_equal(trace.probabilities, laws[np.arange(N), actions])
    assert np.array_equal(trace.losses, env.losses[np.arange(N), actions])
    assert np.array_equal(np.array(trace.all_losses), env.losses)
    short = mb.simulate(three, env, laws=False)
    assert short.laws.shape == (0, K)
    assert short.actions.tolist() == actions
    assert one.dumps() == two.dumps() == three.dumps()


def test_fourier_features() -> None:
    env = problem(300)
    for learner in (mb.SquareCB, mb.LinUCB):
        one, two = (learner(K, features="fourier", seed=0) for _ in range(2))
        trace, (actions, laws) = mb.simulate(one, env), by_rounds(two, env)
        assert one._swift is not None
        assert trace.actions.tolist() == actions
        assert np.array_equal(trace.laws, laws)
        assert one.dumps() == two.dumps()
        again = mb.loads(one.dumps())
        assert again._swift is not None
        assert np.array_equal(mb.simulate(again, problem(20, seed=1)).laws, mb.simulate(two, problem(20, seed=1)).laws)


@pytest.mark.parametrize("learner", SWIFT)
def test_the_longer_way_plays_the_same_up_to_rounding(learner: Any) -> None:
    class Longer(learner):  # type: ignore[misc]  # any of them
        def _update(self, *given: Any) -> None:
            super()._update(*given)

    one, two = learner(K, seed=0), Longer(K, seed=0)
    assert by_rounds(one, problem())[0] == by_rounds(two, problem())[0]
    assert (one._swift is None, two._swift is None) == (False, True)
    states = one.state(), two.state()
    assert all(np.allclose(states[0][name], states[1][name], rtol=1e-9, atol=1e-12) for name in states[0])


def test_who_goes_the_longer_way() -> None:
    class Timid(mb.LinUCB):
        def _laws(self, batch: Batch) -> Array:
            return super()._laws(batch)

    agent: mb.Learner
    for agent in [
        Timid(K, seed=0),
        mb.LinUCB(K, window=50, seed=0),
        mb.LinUCB(K, features=mb.Fourier(20), seed=0),
        mb.LinUCB(K, features=mb.Identity(), seed=0),
    ]:
        mb.simulate(agent, problem(20))
        assert agent._swift is None
    x: Any
    for agent, x in [(mb.LinUCB(K, seed=0), np.ones((K, D))), (mb.SquareCB(K, seed=0), {"country": "DE"})]:
        agent.learn(x, mb.Decision(0, 0.5), 0.5)
        assert agent._swift is None


@pytest.mark.parametrize("learner", SWIFT)
def test_contexts_of_any_kind_have_one_law(learner: Any) -> None:
    agent, env = learner(K, seed=0), problem()
    mb.simulate(agent, env)
    x = np.random.default_rng(1).standard_normal(D)
    frozen, strided = x.copy(), np.repeat(x, 2)[::2]
    frozen.flags.writeable = False
    wanted = agent.law(x)
    for same in (frozen, strided, x.tolist(), x.astype(np.longdouble), x[::-1].copy()[::-1]):
        assert np.array_equal(agent.law(same), wanted)
        assert np.array_equal(np.array(agent.act(same).distribution), wanted)
    assert np.array_equal(agent.laws(np.array([x, x])), [wanted, wanted])
    twin = mb.loads(agent.dumps())
    for one, kind in ((agent, frozen), (twin, x)):
        one.learn(kind, mb.Decision(1, 0.5), 0.25)
    assert agent.dumps() == twin.dumps()


@pytest.mark.parametrize("learner", SWIFT)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e101])
def test_bad_values_are_refused_and_change_nothing(learner: Any, bad: float) -> None:
    agent = learner(K, seed=0)
    mb.simulate(agent, problem())
    before, x = agent.dumps(), np.ones(D)
    x[2] = bad
    for call in (agent.act, agent.law, lambda x: agent.learn(x, mb.Decision(0, 0.5), 0.5)):
        with pytest.raises(ValueError, match=r"context has .* at position 2"):
            call(x)
    with pytest.raises(ValueError, match=r"position 2|column 2"):
        agent.learn_many([np.ones(D), x], [mb.Decision(0, 0.5)] * 2, [0.5, 0.5])
    assert agent.dumps() == before


def test_numbers_that_are_none_are_told_of() -> None:
    agent = mb.LinUCB(K, seed=0)
    mb.simulate(agent, problem())
    agent.state()["ridge.theta"][:] = np.nan
    for call in (agent.act, lambda x: mb.simulate(agent, problem(5))):
        with pytest.raises(FloatingPointError, match="no longer finite"):
            call(np.ones(D))


def test_actions_that_come_and_go_are_played() -> None:
    agent = mb.LinUCB(actions=["a", "b", "c"], seed=0)
    for x in np.eye(D):
        agent.learn(x, mb.Decision("c", 0.5), 0.0)
    agent.retire_action("b")
    agent.add_action("d")
    assert agent.act(np.eye(D)[0]).actions == ("a", "c", "d")
    assert agent.law(np.eye(D)[0]).shape == (3,)
    agent.learn(np.eye(D)[0], mb.Decision("d", 0.5), 1.0)
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()
