"""Practical Hinge-LMC: its limits are known learners, its potential falls, its margin acts, its memory stays."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import marginbandits as mb
from marginbandits.checks import check_learner
from marginbandits.learners.hinge_lmc.diagnostics import BINS, Monitor, count
from marginbandits.learners.hinge_lmc.rounds import stands_for
from marginbandits.types import Array
from tests import naive
from tests.problems import played


def test_without_margin_and_noise_every_particle_is_ridge_regression() -> None:
    agent = mb.HingeLMC(3, surrogate="hinge", margin=1e6, temperature=0.0, features="raw", seed=0)
    played(agent, 300)
    state = agent.state()
    assert np.abs(state["ridge.theta"]).max() > 0.1
    assert np.allclose(state["particles"], state["ridge.theta"][:, None], atol=1e-9)


@pytest.mark.parametrize("surrogate", ["squared_hinge", "hinge"])
def test_without_noise_particles_find_the_least_of_the_potential(surrogate: str) -> None:
    margin, squared = 0.3, surrogate == "squared_hinge"
    weight = 0.01 if squared else 1.0
    agent = mb.HingeLMC(
        2,
        surrogate=surrogate,
        margin=margin,
        temperature=0.0,
        regularisation=weight,
        minibatch=1000,
        features=mb.Bias(),
        seed=0,
    )
    played(agent, 400, noise=0.0 if squared else 0.1)
    state = agent.state()
    for block in range(2):
        n = int(state["reservoir.seen"][block])
        rows, losses = state["reservoir.rows"][block, :n], state["reservoir.losses"][block, :n]

        def potential(w: Array, rows: Array = rows, losses: Array = losses) -> float:
            return naive.two_sided_cost(w, rows, losses, margin, squared) + weight * float(w @ w) / 2

        least = minimize(potential, np.zeros(5), method="Powell", options={"xtol": 1e-8, "ftol": 1e-10}).fun
        ridge = potential(state["ridge.theta"][block])
        assert ridge > 1.1 * least, "the margin must matter for this to test anything"
        # Steps of fixed size swing about the kinks, within a quarter of what the margin changes; where the squared
        # hinge is flat, beyond the margin, they are slow: all 16 particles moved every round would be within 0.5.
        assert potential(state["particles"][block, 0]) - least < (0.75 if squared else 0.25) * (ridge - least)


def test_play_is_the_most_hopeful_action_over_a_floor() -> None:
    agent = mb.HingeLMC(3, features="raw", seed=0)
    played(agent, 100)
    z = np.random.default_rng(1).standard_normal(4)
    features = agent._map.transform(z[None]) if agent._map else None
    assert features is not None
    scores = agent.state()["particles"] @ features[0]
    hopeful = scores.mean(1) + agent.hope * scores.std(1)
    law = agent.act(z).distribution
    assert law is not None
    floor = 0.02 / (3 * np.sqrt(100))
    assert np.allclose(law, floor + (1 - 3 * floor) * (np.arange(3) == hopeful.argmax()))


def test_the_floor_never_exceeds_uniform_play() -> None:
    agent = mb.HingeLMC(3, smoothing=1e9, features="raw", seed=0)
    played(agent, 5)
    assert np.allclose(agent.act(np.ones(4)).distribution, 1 / 3)  # type: ignore[arg-type]  # act fills it
    mask = np.array([True, False, True])
    assert np.allclose(agent.act(np.ones(4), available=mask).distribution, mask / 2)  # type: ignore[arg-type]


def test_it_learns_a_noisy_separator_that_uniform_play_does_not() -> None:
    assert played(mb.HingeLMC(4, seed=0), 800)[400:].mean() < 0.25


@pytest.mark.parametrize("features", ["raw", "fourier"])
def test_particles_stay_where_they_belong_when_rounds_are_no_longer_kept(features: str) -> None:
    """Were each that is kept to stand for its whole share, a flat hinge would leave particles no minimum."""
    agent = mb.HingeLMC(3, memory=60, features=features, seed=0)
    lost = played(agent, 1500)
    assert np.abs(agent.state()["particles"]).max() < 20
    assert lost[-500:].mean() < 0.25


@pytest.mark.parametrize(("moves", "turns"), [(1, 16), (5, 4), (15, 2), (16, 1), (17, 1)])
def test_every_particle_has_its_turn(moves: int, turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of zeros tell nothing: only a step moves particles then, towards 0 and by chance."""
    monkeypatch.setattr(mb.HingeLMC, "EARLY", 0)
    agent, moved = mb.HingeLMC(2, moves=moves, features=mb.Identity(), seed=0), []
    agent.learn(np.zeros(4), mb.Decision(0, 0.5), 0.5)
    for _ in range(turns + 2):
        before = agent._particles.copy()
        agent.learn(np.zeros(4), mb.Decision(0, 0.5), 0.5)
        moved.append((agent._particles != before).any(2))
        assert not moved[-1][1].any()
    assert (np.sum(moved[-turns:], axis=0)[0] == 1).all()
    assert max(one.sum() for one in moved) == min(moves, 16)


def test_diagnostics_wait_for_the_round_that_is_being_learnt() -> None:
    agent = mb.HingeLMC(2, features="raw", seed=0)
    played(agent, 20)
    with ThreadPoolExecutor(1) as other:
        with agent._lock:
            asked = other.submit(agent.diagnostics)
            time.sleep(0.05)
            assert not asked.done()
        assert asked.result(timeout=10).rounds == 20


def test_memory_is_what_it_says() -> None:
    agent = mb.HingeLMC(3, memory=30, features="raw", seed=0)
    played(agent, 500)
    state = agent.state()
    assert state["reservoir.rows"].shape == (3, 30, 5)
    assert state["reservoir.seen"].sum() == 500


@pytest.mark.soak
def test_the_plain_hinge_keeps_the_contract() -> None:
    check_learner(mb.HingeLMC, surrogate="hinge", n_particles=2)


def test_a_margin_separates_where_regression_cannot() -> None:
    """Setting A: rows ±(z, 1); least squares gets z = -0.2, a tenth of all, wrong for ever."""
    rng = np.random.default_rng(0)
    lost = {}
    for name, agent in {
        "margin": mb.HingeLMC(2, features="raw", seed=0),
        "none": mb.HingeLMC(2, surrogate="hinge", margin=100.0, features="raw", seed=0),
    }.items():
        losses = []
        for z in rng.choice([-0.2, 0.2, 1.0], 1500, p=[0.1, 0.3, 0.6]):
            context = np.array([[z, 1.0], [-z, -1.0]])
            decision = agent.act(context)
            losses.append(float(decision.action != (z < 0)))
            agent.learn(context, decision, loss=losses[-1])
        lost[name] = np.mean(losses[500:])
    assert lost["margin"] < 0.01
    assert lost["none"] > 0.05


def test_the_margin_does_not_fade_when_rounds_are_no_longer_kept() -> None:
    """Two actions, 5,000 rounds, 1,000 kept of each: those that gave way are still told to be beyond the margin."""
    env = mb.SeparableMisspecified(5000, seed=0)
    margin = mb.HingeLMC(2, features=mb.Identity(), seed=0)
    none = mb.HingeLMC(2, surrogate="hinge", margin=100.0, features=mb.Identity(), seed=0)
    assert mb.simulate(margin, env).losses[4000:].mean() <= 0.01
    assert mb.simulate(none, env).losses[4000:].mean() > 0.05


def test_rounds_that_are_kept_stand_for_no_more_than_leaves_the_potential_convex() -> None:
    rng = np.random.default_rng(0)
    N, size, d = 4000, 200, 40
    rows = rng.standard_normal((N, d))
    A, kept = np.eye(d) + rows.T @ rows, rows[:size].T @ rows[:size]
    assert np.linalg.eigvalsh(A - stands_for(N, size, d) * kept).min() > 0.0
    assert np.linalg.eigvalsh(A - N / size * kept).min() < 0.0  # each for its share of all rounds would be too much
    assert stands_for(size, size, d) == 1.0


def test_diagnostics_say_how_a_run_goes() -> None:
    agent = mb.HingeLMC(3, features="raw", seed=0)
    with pytest.raises(ValueError, match="before the first learn"):
        agent.diagnostics()
    played(agent, 600, noise=0.0)
    found = agent.diagnostics()
    assert found.rounds == 600 == found.until[-1]
    assert 1.0 >= found.agreement > found.agreement_curve[:10].mean() > 1 / 3
    assert found.potential < found.potential_curve[:20].mean()
    assert found.spread > 0.2
    assert 0.0 < found.effective_sample_share <= 1.0
    assert found.largest_weight >= 1.0
    assert 0.0 < found.beyond < 1.0


def test_a_run_can_be_looked_at(tmp_path: Path) -> None:
    agent = mb.HingeLMC(3, features="raw", seed=0)
    played(agent, 50)
    agent.diagnostics().plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_monitor_keeps_sums_in_bounded_memory() -> None:
    monitor = Monitor()
    rng = np.random.default_rng(0)
    values = rng.random((1000, 2))
    for agreement, potential in values:
        count(monitor.bins, monitor.state, monitor.weights, agreement, potential, 2.5, monitor.before, 1)
    until, agreement_curve, potential_curve = monitor.curves()
    counts = np.diff(until, prepend=0)
    assert until[-1] == 1000
    assert len(until) <= BINS
    assert (counts * agreement_curve).sum() == pytest.approx(values[:, 0].sum())
    assert (counts * potential_curve).sum() == pytest.approx(values[:, 1].sum())
    assert monitor.weights.tolist() == [1000, 2500, 6250, 2.5, 1000]
    assert monitor.recent()[0] == pytest.approx(values[-125:, 0].mean(), abs=0.05)
