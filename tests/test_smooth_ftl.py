"""SmoothFTL: epochs, floors and leaders against their definitions; what the practical form adds."""

import math
from pathlib import Path

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import check_learner
from marginbandits.experiments.specs import known_learners, nameable_learners
from marginbandits.learners.smooth_ftl import FaithfulSmoothFTL, from_theory
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.oracles.ramp_erm import RampERM
from marginbandits.oracles.two_sided import two_sided_leader
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.theory import epoch_end, smooth_ftl_floor
from marginbandits.types import Array
from tests.problems import played


def rounds(n: int, d: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def law(agent: mb.Learner, x: Array) -> Array:
    found = agent.act(x).distribution
    assert found is not None
    return found


def test_the_floor_is_the_proofs() -> None:
    K, T, g = 3, 10_000, 0.2
    assert smooth_ftl_floor(K, T, g, p=3) == pytest.approx(g ** (-3 / 4) * T ** (-1 / 4) / K)
    assert smooth_ftl_floor(K, T, g, p=1) == pytest.approx((g * g * T) ** (-1 / 3) / K)
    assert smooth_ftl_floor(K, T, g, p=1) == smooth_ftl_floor(K, T, g, p=2)
    assert smooth_ftl_floor(K, T, g, p=3, version="printed") == pytest.approx(T ** (-1 / 4) / K)
    for p in (2.0, 3.0):  # the clip binds exactly below T = γ^-p
        assert smooth_ftl_floor(K, math.floor(g**-p), g, p=p) == 1 / K
        assert smooth_ftl_floor(K, math.ceil(g**-p) + 1, g, p=p) < 1 / K


@pytest.mark.parametrize("growth", [1.01, 1.2, 1.5, 2.0])
def test_epochs_grow_and_never_stand_still(growth: float) -> None:
    start = 1
    for _ in range(30):
        end = epoch_end(start, growth)
        assert end - start >= 1
        assert growth * start - 1e-6 <= end <= max(start + 1, growth * start + 1)
        start = end


def test_the_leader_is_fitted_to_the_last_epoch_only() -> None:
    """Rounds 4 to 7 decide what is played in rounds 8 to 15; nothing before, nothing since."""
    agent = from_theory(n_features=2, n_actions=3, horizon=64, margin=0.3, seed=0)
    contexts, rng = rounds(15, 2), np.random.default_rng(1)
    log = [(x, int(rng.integers(3)), float(rng.random()), float(rng.uniform(0.2, 1))) for x in contexts]
    for t, (x, action, loss, probability) in enumerate(log, start=1):
        if t > 8:
            costs = np.zeros((4, 3))
            for i, (_, a, cost, p) in enumerate(log[3:7]):
                costs[i, a] = cost / p
            leader = HingeERM(0.3).minimise(contexts[3:7], costs)
            played = Hinge(0.3)(leader.weights @ x)
            expected = agent.mu + (1 - 3 * agent.mu) * played / played.sum()
            assert np.allclose(law(agent, x), expected, atol=0.02)
            costs_of_all = np.zeros((t - 1, 3))
            for i, (_, a, cost, p) in enumerate(log[: t - 1]):
                costs_of_all[i, a] = cost / p
            other = Hinge(0.3)(HingeERM(0.3).minimise(contexts[: t - 1], costs_of_all).weights @ x)
            if not np.allclose(other / other.sum(), played / played.sum(), atol=0.1):
                assert not np.allclose(law(agent, x), agent.mu + (1 - 3 * agent.mu) * other / other.sum(), atol=0.02)
        agent.learn(x, mb.Decision(action, probability), loss)


def test_memory_is_for_the_longest_epoch_that_is_learnt_from() -> None:
    for horizon, kept in [(1, 1), (7, 2), (8, 4), (1000, 256), (1024, 512)]:
        agent = FaithfulSmoothFTL(2, horizon=horizon, seed=0)
        for x in rounds(horizon, 2):
            agent.learn(x, mb.Decision(0, 0.5), 1.0)
        assert agent.state()["seen"].shape == (kept, 2)
        with pytest.raises(ValueError, match="horizon must cover every round"):
            agent.learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)


@pytest.mark.soak
def test_the_theorems_learner_learns_what_is_realizable() -> None:
    """Regret grows slower than T; the exploration alone costs T^{2/3}."""
    mean = {}
    for T in (1024, 16_384):
        env = mb.HingeRealizable(2, 2, T, margin=0.5, seed=0)
        agent = from_theory(n_features=2, n_actions=2, horizon=T, margin=0.5, seed=0)
        mean[T] = float((mb.simulate(agent, env).laws * env.losses).sum(1).mean())
        assert mean[T] > agent.mu  # half of the uniform play is wrong
    assert mean[16_384] < 0.6 * mean[1024] < 0.3


def test_every_epochs_leader_is_on_record_with_its_certificate() -> None:
    """Also where the oracle's evaluations ran out: then the gap is large, and true."""
    contexts, rng = rounds(64, 3), np.random.default_rng(1)
    log = [(x, int(rng.integers(3)), float(rng.random())) for x in contexts]
    found = {}
    for limit in (1, 5000):
        oracle = HingeERM(0.1, max_evaluations=limit)
        agent = FaithfulSmoothFTL(3, horizon=128, margin=0.1, oracle=oracle, seed=0)
        assert agent.epochs() == []
        for x, action, loss in log:
            agent.learn(x, mb.Decision(action, 0.5), loss)
        found[limit] = agent.epochs()
        assert [(epoch.first, epoch.rounds) for epoch in found[limit]] == [(2**m, 2**m) for m in range(6)]
    for m, (short, whole) in enumerate(zip(found[1], found[5000], strict=True)):
        costs = np.zeros((2**m, 3))
        for i, (_, action, loss) in enumerate(log[2**m - 1 : 2 ** (m + 1) - 1]):
            costs[i, action] = loss / 0.5
        least = HingeERM(0.1, tolerance=1e-7).minimise(contexts[2**m - 1 : 2 ** (m + 1) - 1], costs)
        for epoch in (short, whole):
            assert epoch.gap is not None
            assert epoch.value - epoch.gap - 1e-9 <= least.value <= epoch.value + 1e-6
        assert whole.gap is not None
        assert whole.gap <= 1.01e-4 * max(whole.value, 1e-6 * costs.sum())
    assert any(epoch.gap is not None and epoch.gap > 0.01 * epoch.value for epoch in found[1])


def test_the_ramp_variant_plays_the_ramp_of_the_ramps_leader() -> None:
    agent = from_theory(
        n_features=2, n_actions=3, horizon=64, margin=0.3, surrogate="ramp", outside_theory=True, seed=0
    )
    contexts, rng = rounds(15, 2), np.random.default_rng(1)
    costs = np.zeros((15, 3))
    for t, x in enumerate(contexts):
        action, loss = int(rng.integers(3)), float(rng.random())
        costs[t, action] = loss / 0.25
        agent.learn(x, mb.Decision(action, 0.25), loss)
    leader = agent.state()["followed.leader"]
    scores = contexts[7:] @ leader.T
    value = float((costs[7:] * Ramp(0.3)(scores)).sum())
    assert agent.epochs()[-1].value == pytest.approx(value)
    assert agent.epochs()[-1].gap is None
    assert value <= RampERM(0.3).minimise(contexts[7:], costs[7:]).value * (1 + 1e-9)
    for x in rounds(20, 2, seed=2):
        played = Ramp(0.3)(leader @ x)
        assert np.allclose(law(agent, x), agent.mu + (1 - 3 * agent.mu) * played / played.sum())
    hinge = Hinge(0.3)(leader @ contexts[0])
    assert not np.allclose(law(agent, contexts[0]), agent.mu + (1 - 3 * agent.mu) * hinge / hinge.sum())


@pytest.mark.parametrize("shape", [(300, 2), (300, 3, 2)], ids=["vectors", "matrices"])
def test_a_ramp_learner_saved_in_mid_epoch_continues_bit_for_bit(shape: tuple[int, ...], tmp_path: Path) -> None:
    agent = FaithfulSmoothFTL(3, horizon=300, margin=0.5, surrogate="ramp", seed=0)
    contexts, rng = np.random.default_rng(0).uniform(-0.5, 0.5, shape), np.random.default_rng(1)
    losses = rng.random((300, 3))
    copy: mb.Learner | None = None
    for t, x in enumerate(contexts):
        decision = agent.act(x)
        agent.learn(x, decision, losses[t, decision.action])
        if copy is not None:
            again = copy.act(x)
            assert again.action == decision.action
            assert np.array_equal(again.distribution, decision.distribution)  # type: ignore[arg-type]  # both have one
            copy.learn(x, again, losses[t, again.action])
        if t == 100:
            agent.save(tmp_path / "agent.npz")
            copy = mb.load(tmp_path / "agent.npz")
    assert isinstance(copy, FaithfulSmoothFTL)
    assert copy.surrogate == "ramp"
    assert copy.epochs() == agent.epochs()
    assert len(agent.epochs()) == 8
    assert all(np.array_equal(array, agent.state()[name]) for name, array in copy.state().items())


def test_contexts_outside_the_theory_are_refused() -> None:
    agent = from_theory(n_features=2, n_actions=3, horizon=10, margin=0.1, seed=0)
    with pytest.raises(ValueError, match="context must have norm at most 1, got a row of norm 5"):
        agent.act([3.0, 4.0])
    with pytest.raises(ValueError, match="n_features=2"):
        agent.act([0.1, 0.2, 0.3])


def test_a_bakeoff_of_all_learners_has_the_practical_form_only() -> None:
    assert {"SmoothFTL", "FaithfulSmoothFTL"} <= nameable_learners().keys()
    assert "SmoothFTL" in known_learners()
    assert "FaithfulSmoothFTL" not in known_learners()
    assert isinstance(mb.SmoothFTL.from_theory(n_features=2, n_actions=3, horizon=9, margin=1.0), FaithfulSmoothFTL)


# The practical form.


def test_leaders_are_of_the_data_at_the_last_refit() -> None:
    agent = mb.SmoothFTL(3, growth=1.2, regularisation=0.2, features="raw", seed=0)
    played(agent, 200)
    state = agent.state()
    for block in range(3):
        seen = int(state["reservoir.seen"][block])
        starts = [1]
        while epoch_end(starts[-1], 1.2) <= seen:
            starts.append(epoch_end(starts[-1], 1.2))
        n = starts[-1]
        rows, losses = state["reservoir.rows"][block, :n], state["reservoir.losses"][block, :n]
        leader, _ = two_sided_leader(rows, losses, margin=1.2, regularisation=0.2)
        assert np.allclose(state["fits"][block, 0], leader)
        assert state["refit_at"][block] == epoch_end(n, 1.2)


def test_play_is_the_most_hopeful_action_over_a_floor() -> None:
    agent = mb.SmoothFTL(3, smoothing=0.5, features="raw", seed=0)
    played(agent, 100)
    z = np.random.default_rng(1).standard_normal(4)
    assert agent._map is not None
    scores = agent.state()["fits"] @ agent._map.transform(z[None])[0]
    hopeful = scores[:, 0] + agent.alpha * np.sqrt((scores[:, 1:] ** 2).mean(1))
    floor = 0.5 / (3 * np.sqrt(100))
    assert np.allclose(law(agent, z), floor + (1 - 3 * floor) * (np.arange(3) == hopeful.argmax()))


def test_it_learns_a_noisy_separator_that_uniform_play_does_not() -> None:
    assert played(mb.SmoothFTL(4, seed=0), 800)[400:].mean() < 0.25


def test_a_full_memory_still_learns_and_stands_for_all_rounds() -> None:
    agent = mb.SmoothFTL(3, memory=30, features="raw", seed=0)
    losses = played(agent, 1500)
    state = agent.state()
    assert state["reservoir.rows"].shape == (3, 30, 5)
    assert state["reservoir.seen"].sum() == 1500
    assert losses[750:].mean() < 0.45


def test_refits_are_as_rare_as_growth_says(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, refits = mb.SmoothFTL(2, growth=1.2, features="raw", seed=0), []
    refit = agent._refit

    def counted(block: int, normal: float) -> None:
        refits.append(block)
        refit(block, normal)

    monkeypatch.setattr(agent, "_refit", counted)
    played(agent, 3000)
    assert 20 < len(refits) < 2 * (6 + math.log(3000) / math.log(1.2))


@pytest.mark.soak
def test_other_settings_keep_the_contract() -> None:
    check_learner(FaithfulSmoothFTL, surrogate="ramp")
    check_learner(mb.SmoothFTL, memory=30, n_draws=1, growth=2.0, features="raw")
