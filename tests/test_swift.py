"""Rounds in compiled code: which learners have them, and that nothing tells them from the longer way but time."""

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.contexts import Batch
from marginbandits.learners import swift
from marginbandits.types import Array
from tests.doubles import arrays_of

SWIFT: list[Any] = [
    *(mb.LinUCB, mb.EpsilonGreedy, mb.LinTS, mb.LogisticTS),
    *(mb.SquareCB, mb.RegCB, mb.Bag, mb.Cover, mb.Uniform, mb.HingeLMC),
]
SPARSE: list[Any] = [mb.SquareCB, mb.RegCB, mb.Bag, mb.Cover, mb.LogisticTS, mb.HingeLMC]
K, D, N = 3, 4, 90
SINGLE = 1e-3
"""What rounding does to numbers in single precision, over N rounds."""


@pytest.fixture(autouse=True)
def _few_rounds_are_learnt_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mb.HingeLMC, "EARLY", 32)  # so that its compiled rounds begin within every test


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


@pytest.mark.parametrize("rounds", [31, 32, 33])
def test_a_file_goes_on_where_compiled_rounds_begin(rounds: int) -> None:
    one, two = mb.HingeLMC(K, seed=0), mb.HingeLMC(K, seed=0)
    for agent in (one, two):
        mb.simulate(agent, problem(rounds))
    again = mb.loads(two.dumps())
    assert (again._swift is None) == (one._swift is None) == (rounds < 32)
    assert np.array_equal(mb.simulate(one, problem(seed=1)).laws, mb.simulate(again, problem(seed=1)).laws)
    assert one.dumps() == again.dumps()


@pytest.mark.parametrize("n", [1, 10])
def test_rounds_fail_whole_where_compiled_rounds_begin(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, twin, env = mb.HingeLMC(K, seed=0), mb.HingeLMC(K, seed=0), problem(31)
    for one in (agent, twin):
        mb.simulate(one, env)
    hasten, before = agent._hasten, agent.dumps()

    def fails() -> None:
        hasten()
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(agent, "_hasten", fails)
        with pytest.raises(MemoryError):
            agent.learn_many(env.contexts[:n], [mb.Decision(0, 0.5)] * n, [0.5] * n)
    assert agent._swift is None
    assert agent.dumps() == before
    assert by_rounds(agent, problem(seed=1))[0] == by_rounds(twin, problem(seed=1))[0]
    assert agent.dumps() == twin.dumps()


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
    states, far = (one.state(), two.state()), SINGLE if learner is mb.HingeLMC else 1e-9
    assert all(np.allclose(states[0][name], states[1][name], rtol=far, atol=far / 1000) for name in states[0])


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
    agent = mb.LinUCB(K, seed=0)
    agent.learn(np.ones((K, D)), mb.Decision(0, 0.5), 0.5)
    assert agent._swift is None


@pytest.mark.parametrize(
    ("kind", "hole"),
    [(mb.Cover, "_floor"), (mb.RegCB, "_ranges"), (mb.Bag, "_importance"), (mb.LinUCB, "_begin"), (mb.LinUCB, "act")],
)
def test_whoever_changes_anything_is_asked(kind: Any, hole: str) -> None:
    asked: list[None] = []

    def own(self: Any, *given: Any, **more: Any) -> Any:
        asked.append(None)
        return getattr(kind, hole)(self, *given, **more)

    agent = type("Own", (kind,), {hole: own})(K, seed=0)
    mb.simulate(agent, problem(20))
    assert agent._swift is None
    assert len(asked) >= (1 if hole == "_begin" else 19)
    assert type("Same", (kind,), {"__init__": kind.__init__, "more": 3})(K)._swift is None  # before the first round
    same = type("Same", (kind,), {"more": 3})(K, seed=0)
    mb.simulate(same, problem(20))
    assert same._swift is not None


def test_a_parameter_that_is_set_is_obeyed() -> None:
    agent = mb.EpsilonGreedy(2, epsilon=0.5, seed=0)
    x = np.array([1.0, 2.0])
    for i in range(5):
        agent.learn(x + i, mb.Decision(1, 1.0), 1.0)
    assert agent.law(x).tolist() == [0.75, 0.25]
    agent.epsilon = 0.0
    assert agent.law(x).tolist() == mb.loads(agent.dumps()).law(x).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("begun", [False, True])
def test_what_arrays_were_made_by_is_settled(begun: bool) -> None:
    """Compiled code would go by what is said, and not by what there is."""
    bag, hinge, x = mb.Bag(K, seed=0), mb.HingeLMC(K, features="raw", seed=0), np.ones(D)
    for one in (bag, hinge):
        if begun:
            one.learn(x, one.act(x), loss=0.5)
    before = bag.dumps(), hinge.dumps()
    settled: list[tuple[Any, str, Any]] = [(bag, "n_actions", 50), (bag, "actions", ["a"]), (bag, "n_policies", 5000)]
    settled += [(bag, "learning_rate", 0.1), (hinge, "minibatch", 10**6), (hinge, "margin", 2.0)]
    for agent, name, value in settled:
        kind = type(agent).__name__
        with pytest.raises(ValueError, match=f"^{name} of {kind} is settled: build another {kind}, got"):
            setattr(agent, name, value)
    with pytest.raises(ValueError, match=r"^hope must be"):
        hinge.hope = -5.0
    assert (bag.dumps(), hinge.dumps()) == before


def test_a_number_of_numpys_is_a_number() -> None:
    agent, same = mb.SquareCB(K, seed=0), mb.SquareCB(K, seed=0)
    for one, rate in ((agent, np.float32(2.5)), (same, 2.5)):
        by_rounds(one, problem(5))
        one.scale = rate  # type: ignore[assignment]  # it is made one
        by_rounds(one, problem(5))
    assert agent.dumps() == same.dumps()


@pytest.mark.parametrize("learner", SWIFT)
def test_many_rounds_of_a_fresh_learner_are_its_rounds(learner: Any) -> None:
    env, one, two = problem(), learner(K, seed=0), learner(K, seed=0)
    decisions = [mb.Decision(t % K, 1 / K) for t in range(N)]
    losses = [float(env.losses[t, t % K]) for t in range(N)]
    one.learn_many(list(env.contexts), decisions, losses)
    for x, decision, loss in zip(env.contexts, decisions, losses, strict=True):
        two.learn(x, decision, loss)
    assert one.dumps() == two.dumps()


def test_what_was_loaded_is_copied() -> None:
    agent = mb.LinUCB(K, seed=0)
    mb.simulate(agent, problem(5))
    again = mb.loads(agent.dumps())
    assert copy.deepcopy(again).dumps() == pickle.loads(pickle.dumps(again)).dumps() == agent.dumps()


def test_one_thing_is_not_both_a_mask_and_an_offer() -> None:
    agent, mask = mb.LinUCB(K, seed=0), [False, False, True]
    mb.simulate(agent, problem(5))
    with pytest.raises(ValueError, match="give available or actions"):
        agent.act(np.ones(D), available=mask, actions=mask)
    with pytest.raises(ValueError, match="give available or actions"):
        agent.learn(np.ones(D), mb.Decision(0, 0.5), 0.5, available=mask, actions=mask)


@pytest.mark.parametrize("learner", SWIFT)
def test_a_mask_is_forgotten_with_its_round(learner: Any) -> None:
    agent, mask = learner(K, seed=0), [False, True, True]
    mb.simulate(agent, problem())
    x = np.random.default_rng(1).standard_normal((40, D))
    laws = agent.laws(x)
    assert laws[:, 0].any()  # what the mask would have left out
    for one, law in zip(x, laws, strict=True):
        assert agent.law(one, available=mask)[0] == 0.0
        assert agent.law(one).tolist() == law.tolist()
        agent.act(one, available=mask)
        assert agent.act(one).distribution.tolist() == law.tolist()


@pytest.mark.parametrize("named", [False, True])
def test_an_interrupt_after_a_round_finds_it_learnt_whole(named: bool) -> None:
    """Python looks for signals after a call and before what it returned is kept: the round is then learnt."""
    x: Any = {"age": 31, "country": "DE"} if named else np.ones(D)
    agent = mb.Bag(K, seed=0)
    agent.learn(x, mb.Decision(0, 0.5), 0.5)
    twin = mb.loads(agent.dumps())
    inner: Any = agent._swift
    rounds = inner._rounds

    def interrupted(*given: Any) -> None:
        rounds(*given)
        raise KeyboardInterrupt

    def played_by(made: Any) -> None:
        inner._rounds = made
        if not named:  # those of vectors have what they work on
            inner.choose, inner.learn = inner._one_by_one()

    played_by(interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.learn(x, mb.Decision(1, 0.5), 0.25)
    played_by(rounds)
    twin.learn(x, mb.Decision(1, 0.5), 0.25)
    assert agent.dumps() == twin.dumps()


@pytest.mark.parametrize("learner", [*SPARSE, mb.LinUCB])
def test_names_are_played_in_compiled_code(learner: Any) -> None:
    one, two = learner(K, seed=0), learner(K, seed=0)
    for t in range(60):
        x = {"age": t % 7, "country": "abc"[t % 3], "title": f"red shoe {t % 5}"}
        for agent in (one, two):
            decision = agent.act(x)
            agent.learn(x, decision, float(decision.action != t % 3))
        if t == 30:
            two = mb.loads(two.dumps())
    assert one._swift is not None
    assert one.dumps() == two.dumps()
    before = one.dumps()
    with pytest.raises(ValueError, match="contexts"):
        one.learn_many([{"age": 3, "new": "q"}, {"age": float("inf")}], [mb.Decision(0, 0.5)] * 2, [0.5, 0.5])
    assert one.dumps() == before


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
    arrays_of(agent)["ridge.theta"][:] = np.nan
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


def test_a_law_that_nobody_would_ask_is_told_of() -> None:
    with pytest.raises(TypeError, match="Floor fills `_law`, which nobody asks: SquareCB fills `_laws`"):
        type("Floor", (mb.SquareCB,), {"_law": lambda self, one: None})


def test_a_decision_among_other_actions_is_refused() -> None:
    agent = mb.LinUCB(K, seed=0)
    for _ in range(2):  # before the first round, and after it
        with pytest.raises(ValueError, match="one of 3 actions, got one of 5: another learner's"):
            agent.learn(np.ones(D), mb.Decision(1, 0.2, np.full(5, 0.2)), 0.5)
        agent.learn(np.ones(D), mb.Decision(1, 0.2, np.full(3, 0.2)), 0.5)


def test_a_parameter_that_is_read_in_another_way_is_asked_for() -> None:
    """What was an attribute is a property, which the class that is built on does not have."""
    rounds: list[None] = []

    class Decaying(mb.LinUCB):
        @property
        def alpha(self) -> float:
            return self._first / (1 + len(rounds))

        @alpha.setter
        def alpha(self, value: float) -> None:
            self._first: float = value

    class Slow(Decaying):
        def _laws(self, batch: Batch) -> Array:
            return super()._laws(batch)

    played = []
    for kind in (Decaying, Slow):
        rounds.clear()
        agent = kind(K, seed=0, alpha=5.0)
        for x, losses in zip(problem().contexts, problem().losses, strict=True):
            decision = agent.act(x)
            agent.learn(x, decision, losses[decision.action])
            rounds.append(None)
            played.append(decision.action)
        agent.alpha = 0.5
        assert agent.alpha == 0.5 / (1 + N)
        with pytest.raises(ValueError, match=r"^alpha must be"):
            agent.alpha = -1.0
    assert played[:N] == played[N:]


def test_a_parameter_is_set_between_two_rounds() -> None:
    """Not within one, which another thread plays."""
    agent = mb.LinUCB(K, window=50, seed=0)
    by_rounds(agent, problem(60))
    setting = threading.Thread(target=setattr, args=(agent, "alpha", 3.0))
    with agent._lock:
        setting.start()
        setting.join(0.2)
        assert setting.is_alive()
        assert agent.alpha == 0.2
    setting.join()
    assert [one.alpha for one in (agent, *agent._learners)] == [3.0, 3.0, 3.0]
