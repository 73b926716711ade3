"""Learners that are held to their theorem: each condition refused by name, or played outside of, and said so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb

LINE = mb.Cube([0.0], [1.0])
CLASS = np.random.default_rng(0).standard_normal((4, 3, 2)) / 4.0


def hinge_lmc(**more: Any) -> Any:
    return mb.HingeLMC.from_theory(**{"n_features": 2, "n_actions": 3, "horizon": 50, "margin": 0.1, "seed": 0, **more})


def smooth_ftl(**more: Any) -> Any:
    return mb.SmoothFTL.from_theory(
        **{"n_features": 2, "n_actions": 3, "horizon": 50, "margin": 0.1, "seed": 0, **more}
    )


def lipschitz_ftl(**more: Any) -> Any:
    return mb.LipschitzFTL.from_theory(**{"space": LINE, "n_actions": 3, "horizon": 50, "seed": 0, **more})


def exponential_weights(**more: Any) -> Any:
    return mb.ExponentialWeights.from_theory(3, **{"regressors": CLASS, "horizon": 50, "seed": 0, **more})


BUILDERS = (hinge_lmc, smooth_ftl, lipschitz_ftl, exponential_weights)
OUTSIDE: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (hinge_lmc, {"margin": 1.5}, r"needs γ <= B, got margin=1\.5 and B = 1"),
    (hinge_lmc, {"horizon": 1}, r"needs T >= 2, got horizon=1"),
    (hinge_lmc, {"tuning": "ideal", "margin": 500.0}, r"needs γ < 2RLTK, got margin=500 and 2RLTK = 244\.949"),
    (
        hinge_lmc,
        {"tuning": "ideal", "sampler": "langevin", "chain": "practical"},
        r"needs draws within τ, and so μ > 0, got tuning='ideal'",
    ),
    (hinge_lmc, {"sampler": "langevin", "chain": "practical"}, r"needs Algorithm 2's chain, got chain='practical'"),
    (hinge_lmc, {"sampler": "langevin", "steps": 9}, r"needs N = 10\^\d+\.\d Langevin steps .*, got steps=9"),
    (smooth_ftl, {"radius": 2.0}, r"needs B <= 1, got B = 1\.63299 of radius=2"),
    (smooth_ftl, {"surrogate": "ramp"}, r"needs leaders that are the least, got surrogate='ramp'"),
    (smooth_ftl, {"version": "printed", "p": 1.0}, r"needs p >= 2 for the printed μ, got p=1"),
    (lipschitz_ftl, {"version": "printed"}, r"needs p >= 2 for the printed μ, got p=1"),
    (lipschitz_ftl, {"prediction": "extension"}, r"needs 1-Lipschitz play, got prediction='extension' of 3 actions"),
]


@pytest.mark.parametrize(("build", "more", "message"), OUTSIDE)
def test_every_condition_is_refused_by_name_or_played_outside_of(
    build: Callable[..., Any], more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    if (build, more) != (hinge_lmc, {"tuning": "ideal", "margin": 500.0}):  # there is no η outside that one
        agent = build(**more, outside_theory=True)
        assert "outside_theory=True" in repr(agent)
        agent.save(tmp_path / "agent.npz")
        assert b'"outside_theory":true' in np.load(tmp_path / "agent.npz")["header"].tobytes().replace(b" ", b"")
        assert "outside_theory=True" in repr(mb.load(tmp_path / "agent.npz"))
    with pytest.raises(ValueError, match=message + ".*; outside_theory=True plays all the same"):
        build(**more)


@pytest.mark.parametrize("build", BUILDERS)
def test_inside_the_theory_nothing_is_refused(build: Callable[..., Any]) -> None:
    agent = build()
    assert agent.outside_theory is False
    x = [0.5] if build is lipschitz_ftl else [0.5, 0.5]
    for _ in range(5):
        agent.learn(x, agent.act(x), 0.5)


def test_a_class_by_itself_is_held_to_nothing() -> None:
    assert "outside_theory" not in repr(mb.FaithfulSmoothFTL(3, radius=2.0))
    mb.FaithfulHingeLMC(3, margin=1.5, tuning="printed").learn([1.0], mb.Decision(0, 0.5), 1.0)


def test_scores_of_a_row_for_each_action_have_another_bound() -> None:
    rows = np.eye(3)[:, :2]
    agent = smooth_ftl()
    with pytest.raises(ValueError, match=r"needs B <= 1, got B = 1\.33333 of radius=1"):
        agent.learn(rows, mb.Decision(0, 0.5), 1.0)
    assert agent.state() == {}
    smooth_ftl(radius=0.75).learn(rows, mb.Decision(0, 0.5), 1.0)
    smooth_ftl(outside_theory=True).learn(rows, mb.Decision(0, 0.5), 1.0)


def test_what_the_bound_of_exponential_weights_does_not_cover() -> None:
    x, far, played = [0.6, 0.8], [3.0, 4.0], mb.Decision(0, 0.5)
    agent, loose = exponential_weights(horizon=2), exponential_weights(horizon=2, outside_theory=True)
    agent.learn(x, played, 1.0)
    before = {name: array.copy() for name, array in agent.state().items()}
    for call in (agent.act, lambda one: agent.learn(one, played, 0.0), lambda one: agent.learn(one, played, 1.0)):
        with pytest.raises(ValueError, match=r"needs ‖x‖ <= 1, got a context of norm 5"):
            call(far)
    assert all(np.array_equal(before[name], array) for name, array in agent.state().items())
    agent.learn(x, played, 1.0)
    with pytest.raises(ValueError, match="needs T rounds at most, got round 3 of 2"):
        agent.learn(x, played, 1.0)
    for _ in range(3):
        loose.learn(far, played, 1.0)
    assert "outside_theory=True" in repr(loose)


def test_advice_must_be_a_law() -> None:
    scores = np.repeat(np.array([[0.5, -0.5, 0.0], [0.1, -0.1, 0.0]])[:, :, None], 2, 2)
    with pytest.raises(ValueError, match=r"needs advice that is a law, got a probability of -0\.166667"):
        exponential_weights(regressors=scores, surrogate="advice").learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)
    exponential_weights(regressors=0.3 * scores, surrogate="advice").learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)


@pytest.mark.parametrize(
    ("context", "probability", "loss", "message"),
    [
        ([3.0, 0.0], 0.5, 1.0, r"needs ‖x‖ <= 1, got a context of norm 3"),
        ([0.6, 0.0], 0.5, 0.5, r"needs one right action, losses of 0 and 1, got a loss of 0\.5"),
        ([0.6, 0.0], 1e-6, 1.0, r"needs p >= μ, got a probability of 1e-06"),
    ],
)
def test_improper_logistic_is_held_to_its_bound(
    context: list[float], probability: float, loss: float, message: str
) -> None:
    def build(**more: Any) -> Any:
        return mb.ImproperLogistic.from_theory(n_features=2, n_actions=2, horizon=3, epsilon=0.5, seed=0, **more)

    agent, outside = build(), build(outside_theory=True)
    assert agent.bound().holds
    assert not outside.bound().holds
    with pytest.raises(ValueError, match=message):
        agent.learn(context, mb.Decision(0, probability), loss=loss)
    for _ in range(3):
        agent.learn([0.6, 0.0], mb.Decision(0, 0.5), loss=1.0)
    with pytest.raises(ValueError, match=r"needs T rounds at most, got round 4 of 3"):
        agent.learn([0.6, 0.0], mb.Decision(0, 0.5), loss=1.0)
    for _ in range(4):
        outside.learn(context, mb.Decision(0, probability), loss=loss)
    assert "outside_theory=True" in repr(outside)
    with pytest.raises(ValueError, match="from_theory"):
        mb.ImproperLogistic(2, seed=0).bound()


def test_a_cover_of_one_predictor_is_no_class() -> None:
    with pytest.raises(ValueError, match="epsilon must be small enough"):
        mb.ImproperLogistic.from_theory(n_features=2, n_actions=2, horizon=10, radius=0.1, epsilon=5.0)
    with pytest.raises(ValueError, match="size"):
        mb.theory.improper_logistic_finite(1, 2, 100)


# Bounds that learners state themselves say what they need, and whether it is so.


def held(agent: Any, rounds: int = 1, loss: float = 0.0, context: tuple[float, ...] = (1.0, 0.0)) -> Any:
    for _ in range(rounds):
        agent.learn(list(context), mb.Decision(0, 0.5), loss=loss)
    return agent.bound().conditions


POLICIES = np.eye(2)[np.array([[0, 0], [0, 1], [1, 0], [1, 1]])].transpose(0, 2, 1)


def test_x_must_be_a_separator() -> None:
    whole, half = (
        mb.ContextualFTPL(2, regressors=POLICIES, contexts=X, horizon=9, seed=0) for X in (np.eye(2), np.eye(2)[:1])
    )
    assert all(held(whole).values())
    name = "X tells all policies apart, or holds all contexts"
    assert not held(half)[name]
    coming = mb.ContextualFTPL(2, regressors=POLICIES, contexts=np.eye(2)[[0]], transductive=True, horizon=1, seed=0)
    assert held(coming)[name]


@pytest.mark.parametrize("cls", [mb.BISTRO, mb.BISTROPlus, mb.ContextualFTPL, mb.RegressorElimination])
def test_contexts_must_be_given(cls: Any) -> None:
    assert held(cls(2, regressors=POLICIES, contexts=np.eye(2), horizon=9, seed=0))["contexts are given"]
    assert not held(cls(2, regressors=POLICIES, horizon=9, seed=0))["contexts are given"]


def test_one_regressor_must_be_right() -> None:
    def agent(**more: Any) -> Any:
        return mb.RegressorElimination(2, regressors=POLICIES, contexts=np.eye(2), horizon=99, seed=0)

    good, bad = agent(), agent()
    assert held(good, 40)["one regressor is right"]  # the first action always pays, as two of them say
    for t in range(40):  # nobody says that it pays half the time, for sure
        bad.learn([1.0, 0.0], mb.Decision(t % 2, 0.5), loss=0.5)
    assert bad.bound().conditions["one regressor is right"]  # squares of 1/4 a round: just what chance allows
    for t in range(58):
        bad.learn([1.0, 0.0], mb.Decision(t % 2, 0.5), loss=1.0)
    assert not bad.bound().conditions["one regressor is right"]


def test_hierarchical_weights_promise_nothing_past_their_horizon() -> None:
    agent = mb.HierExp4(2, space=LINE, horizon=5, seed=0)
    assert held(agent, 5, context=(0.5,))["T rounds at most"]
    assert not held(agent, context=(0.5,))["T rounds at most"]


@pytest.mark.parametrize("more", [{"context": 100.0}, {"mean": 2.0}])
def test_oful_names_what_contexts_and_means_must_be(more: dict[str, float]) -> None:
    assert mb.OFUL(2, seed=0).bound(1000, 4).holds
    assert not mb.OFUL(2, seed=0).bound(1000, 4, **more).holds


def test_a_small_ridge_makes_ofuls_bound_larger_not_smaller() -> None:
    values = [mb.theory.oful_regret(4, 100, regularisation=one, norm=0.0).value for one in (1.0, 0.1, 1e-3, 1e-9)]
    assert values == sorted(values)
    assert mb.theory.oful_regret(1000, 10, regularisation=1e-6).value > 0.0  # D above T


def test_zooming_needs_a_metric_room_and_no_more_than_its_rounds() -> None:
    def conditions(**more: Any) -> Any:
        agent = mb.ContextualZooming(2, **{"space": LINE, "horizon": 5, "seed": 0, **more})
        return agent, lambda: agent.bound([1.0]).conditions

    agent, met = conditions()
    assert all(met().values())
    for _ in range(5):
        agent.learn([0.5], mb.Decision(0, 1.0), 0.0)
    assert all(met().values())
    agent.learn([0.5], mb.Decision(0, 1.0), 0.0)
    assert [name for name, one in met().items() if not one] == ["T rounds at most"]
    assert not conditions(space=None)[1]()["a metric is given"]
    assert not conditions(confidence=1.0)[1]()["c² >= 3, so that no ball misleads"]
    agent, met = conditions(most=1)
    assert met()["room for all balls"]
    agent.learn([0.5], mb.Decision(0, 1.0), 0.0)
    assert not met()["room for all balls"]


@pytest.mark.parametrize(("probability", "loss", "covered"), [(0.5, 0.0, True), (0.5, 0.5, False), (0.04, 0.0, False)])
def test_sobas_bound_is_of_what_was_met(probability: float, loss: float, covered: bool) -> None:
    agent = mb.FullSOBA(2, gamma=0.1, features=mb.Identity(), seed=0)
    with pytest.raises(ValueError, match="bound must wait for the first round"):
        agent.bound()
    agent.learn([0.0, 0.5], mb.Decision(0, 0.5), 0.0)
    agent.learn([0.3, 0.4], mb.Decision(0, probability), loss)
    bound = agent.bound(norm=1.4)  # 1 + √2 · 1.4 · 0.5 is below 2
    assert bound.horizon == 2
    assert bound.terms["exploration"] == pytest.approx(0.2)
    assert bound.terms["second order"] == pytest.approx(agent.quadratic)
    assert bound.conditions["one right action, drawn by its own law"] is covered
    assert bound.conditions["η (1 + √2 ‖U‖ X) <= 2"]
    again = mb.loads(agent.dumps())
    assert isinstance(again, mb.FullSOBA)
    assert again.bound(norm=1.4) == bound
    agent.learn([0.0, 2.0], mb.Decision(0, 0.5), 1.0)  # a mistake: it changes no weight, and is a longer row
    assert not agent.bound(norm=1.4).conditions["η (1 + √2 ‖U‖ X) <= 2"]


def test_iltcb_needs_its_psi_and_room_for_the_kinds_of_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.ILOVETOCONBANDITS(2, regressors=POLICIES, seed=0)
    assert agent.bound(2**30).holds
    assert not agent.bound(2**30).vacuous
    assert not mb.ILOVETOCONBANDITS(2, regressors=POLICIES, psi=1.0, seed=0).bound(2**30).holds
    monkeypatch.setattr(mb.ILOVETOCONBANDITS, "SAMPLE", 2)
    agent.learn([1.0, 0.0], mb.Decision(0, 0.5), 0.0)
    assert agent.bound(2**30).holds
    agent.learn([0.0, 1.0], mb.Decision(0, 0.5), 0.0)
    assert not agent.bound(2**30).conditions["all kinds of contexts are kept"]
