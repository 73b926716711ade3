"""Hinge-LMC as the paper has it: its parts against their definitions, and what it does at its limits."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import marginbandits as mb
from marginbandits.checks import LEARNER_CHECKS
from marginbandits.experiments.specs import known_learners, nameable_learners
from marginbandits.learners.hinge_lmc import FaithfulHingeLMC, faithful, from_theory
from marginbandits.theory import Setting, exponential_weights_rate, hinge_lmc_corrected, hinge_lmc_tuning
from marginbandits.types import Array
from tests.marks import at_length

PRINTED: dict[str, Any] = {"weighting": "geometric", "n_particles": 1, "tuning": "printed"}
VARIANTS: dict[str, dict[str, Any]] = {
    "printed": PRINTED,
    "rao_blackwell": {"weighting": "rao_blackwell", "n_particles": 2, "cap": "printed"},
    "smoothed_langevin": {"sampler": "smoothed_langevin"},
    "langevin": {"sampler": "langevin"},
}
SLOW = {"memory_does_not_grow", "better_than_uniform"}
"""Run on the default only: 900 rounds at 100 draws each teach nothing new, and the printed η learns little in 600."""


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("check", [name for name in LEARNER_CHECKS if name not in SLOW])
def test_every_variant_keeps_the_contract(variant: str, check: str) -> None:
    def build(**more: Any) -> FaithfulHingeLMC:
        return FaithfulHingeLMC(**{"n_actions": 3, "seed": 0, **VARIANTS[variant], **more})

    LEARNER_CHECKS[check](build)


def trained(rounds: int = 60, **parameters: Any) -> FaithfulHingeLMC:
    agent = from_theory(**{"n_features": 3, "n_actions": 3, "horizon": 1000, "margin": 0.1, "seed": 0, **parameters})
    for current in mb.HingeRealizable(3, 3, rounds, margin=0.1, seed=1):
        decision = agent.act(current.context)
        agent.learn(current.context, decision, current.reveal(decision))
    return agent


def law(agent: mb.Learner, context: Array) -> Array:
    distribution = agent.act(context).distribution
    assert distribution is not None
    return distribution


def test_parameters_are_the_theorems() -> None:
    setting = Setting.of(mb.Linear(3, 3), 1000, 0.1)
    printed, ideal = trained(1), trained(1, tuning="ideal")
    within_1 = dataclasses.replace(setting, bound=1.0)  # scores are smaller, and the printed theorem needs B >= 1
    assert (printed.eta, printed.mu) == (hinge_lmc_tuning(within_1).eta, 1 / (3 * math.sqrt(1000)))
    assert (ideal.eta, ideal.mu) == (exponential_weights_rate(setting), 0.0)
    assert printed._most_draws == 95
    assert trained(1, cap="printed")._most_draws == 32


def test_only_rounds_that_cost_something_enter_the_potential() -> None:
    agent = trained()
    env = mb.HingeRealizable(3, 3, 60, margin=0.1, seed=1)
    costly, rounds = agent.state()["rounds"]
    assert rounds == 60
    assert 0 < costly < 60
    before = {name: array.copy() for name, array in agent.state().items()}
    agent.learn(env.contexts[0], agent.act(env.contexts[0]), 0.0)
    assert np.array_equal(before["particles"], agent.state()["particles"])
    assert np.array_equal(before["weights"], agent.state()["weights"])
    agent.learn(env.contexts[0], mb.Decision(1, 0.25), 0.5)
    phi = mb.Linear(3, 3).gradient(env.contexts[0], 1)
    assert np.array_equal(agent.state()["costly"][costly], phi)
    assert agent.state()["weights"][costly] == pytest.approx(agent.eta * 0.5 / 0.25)
    assert not np.array_equal(before["particles"], agent.state()["particles"])


def test_the_play_is_the_mixture_of_the_particles() -> None:
    agent = trained(n_particles=7)
    scores, x = mb.Linear(3, 3), np.array([0.5, 0.5, -0.5])
    laws = []
    for theta in agent.state()["particles"]:
        values = mb.Hinge(0.1)(scores.values(theta, x))
        laws.append((1 - 3 * agent.mu) * values / values.sum() + agent.mu)
    assert len(laws) == 7
    assert np.allclose(law(agent, x), np.mean(laws, 0))


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["geometric", "rao_blackwell"])
def test_resampled_weights_estimate_the_marginal_and_not_the_particles_own(kind: str) -> None:
    """Mean (1 - (1 - q)^M)/q of the marginal q, within 5 standard errors; 1/p of the particle at hand is far off."""
    agent = trained(120, weighting=kind, steps=15)
    x = mb.HingeRealizable(3, 3, 1, margin=0.1, seed=9).contexts[0]
    laws = agent._play(agent._fresh(20_000), x, np.ones(3, bool))
    q = laws.mean(0)
    for action in range(3):
        weights = np.array([agent._weight(x, action, 0.5) for _ in range(600)])
        mean = (1 - (1 - q[action]) ** agent._most_draws) / q[action]
        error = weights.std(ddof=1) / math.sqrt(600) + laws[:, action].std() / math.sqrt(20_000) / q[action] ** 2
        assert abs(weights.mean() - mean) < 5 * error
        own = np.mean(1 / laws[:, action])
        assert abs(weights.mean() - own) > 5 * error


def test_printed_particles_are_fresh_every_round() -> None:
    agent = trained(**PRINTED)
    x = np.array([0.5, 0.5, -0.5])
    before = agent.state()["particles"].copy()
    agent.learn(x, agent.act(x), 0.0)
    assert not np.array_equal(before, agent.state()["particles"])


def test_particles_follow_the_exact_posterior() -> None:
    """One action feature, so θ is a number: 4,000 particles against quadrature, by Kolmogorov-Smirnov (rate 1e-6)."""
    agent = FaithfulHingeLMC(2, horizon=100, margin=0.3, n_particles=4000, steps=5, tuning="ideal", seed=0)
    for weight, x, action in [(0.4, 0.9, 0), (0.2, 0.5, 1), (0.9, -0.7, 0)]:
        agent.learn([[x], [-x]], mb.Decision(action, 0.05), weight)
    grid = np.linspace(-1, 1, 20_001)
    height = np.zeros_like(grid)
    for weight, x, action in [(0.4, 0.9, 0), (0.2, 0.5, 1), (0.9, -0.7, 0)]:
        score = (x if action == 0 else -x) * grid
        height += agent.eta * weight / 0.05 * np.maximum(1 + score / 0.3, 0)
    distribution = np.cumsum(np.exp(-height))
    distribution /= distribution[-1]
    theta = agent.state()["particles"][:, 0]
    assert stats.kstest(theta, lambda t: np.interp(t, grid, distribution)).pvalue > 1e-6
    assert stats.kstest(theta, lambda t: (t + 1) / 2).pvalue < 1e-6


@pytest.mark.parametrize("sampler", ["langevin", "smoothed_langevin"])
def test_a_chain_that_nobody_can_wait_for_is_refused_with_its_length(sampler: str) -> None:
    usual: dict[str, Any] = {"n_features": 5, "n_actions": 3, "horizon": 1000, "margin": 0.5, "sampler": sampler}
    with pytest.raises(ValueError, match=r"the theorem asks for 10\^29 Langevin steps for every draw, each .* 10\^12"):
        from_theory(**usual, cap="printed")
    with pytest.raises(ValueError, match=r"needs N = 10\^28\.9 Langevin steps for every draw, got steps=7"):
        from_theory(**usual, cap="printed", steps=7)
    with pytest.raises(ValueError, match=r"needs Algorithm 2's chain, got chain='practical'"):
        from_theory(**usual, chain="practical")
    assert from_theory(**usual, steps=7, outside_theory=True).steps == 7
    assert from_theory(**usual, chain="practical", outside_theory=True).steps == 100


class CalledError(Exception):
    """Stands for a draw, with all that the sampler was called with."""


@pytest.mark.parametrize("sampler", ["langevin", "smoothed_langevin"])
def test_algorithm_2_takes_everything_from_the_tuning(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start, u, λ, α, N and m; the practical chain, the control, has others throughout."""

    def spy(gradient: Any, start: Array, project: Any, rng: Any, **given: Any) -> Array:
        raise CalledError({"start": start, **given})

    monkeypatch.setattr(faithful, "projected_langevin", spy)
    found = {}
    for chain in ("theorem", "practical"):
        agent = from_theory(
            n_features=1, n_actions=2, horizon=8, margin=0.5, sampler=sampler, cap="printed", chain=chain, seed=0,
            outside_theory=chain == "practical",
        )  # fmt: skip
        with pytest.raises(CalledError) as call:
            agent.learn([1.0], mb.Decision(0, 0.5), 1.0)
        found[chain] = call.value.args[0]
    setting = dataclasses.replace(Setting.of(mb.Linear(2, 1), 8, 0.5), bound=1.0)
    tuned, ours = hinge_lmc_tuning(setting, version="printed"), found["theorem"]
    assert not ours["start"].any()
    assert ours["n_steps"] == round(10**tuned.log10_steps) == 4096
    assert ours["step"] == pytest.approx(1.0 / 4096)
    assert ours["ridge"] == tuned.ridge > 0.0
    if sampler == "langevin":  # the closed form has u in its gradient, and no m
        assert ours["smoothing"] == tuned.smoothing
        assert ours["n_draws"] == math.ceil(10**tuned.log10_draws)
    other = found["practical"]
    assert other["start"].any()
    assert other["ridge"] == 0.0
    assert (other["n_steps"], other["step"]) != (ours["n_steps"], ours["step"])


def test_algorithm_2_plays_and_learns_where_it_can_be_run() -> None:
    """At d = 1 and T = 6 the printed N is 729: after two losses of the first action, the second is preferred."""
    agent = from_theory(
        n_features=1, n_actions=2, horizon=6, margin=0.5, sampler="smoothed_langevin", cap="printed", n_particles=50,
        seed=0,
    )  # fmt: skip
    assert agent.outside_theory is False
    for _ in range(4):
        agent.learn([1.0], mb.Decision(0, 0.2), 1.0)
    assert law(agent, np.array([1.0]))[1] > 0.55


def test_the_horizon_ends_the_learning() -> None:
    agent = FaithfulHingeLMC(2, horizon=3, seed=0)
    x = np.array([1.0, 0.0])
    agent.learn_many([x, x], [mb.Decision(0, 0.5)] * 2, [1.0, 0.0])
    before = {name: array.copy() for name, array in agent.state().items()}
    with pytest.raises(ValueError, match="horizon must cover every round; it is 3, 2 are learnt, 2 more came"):
        agent.learn_many([x, x], [mb.Decision(0, 0.5)] * 2, [1.0, 1.0])
    assert all(np.array_equal(before[name], array) for name, array in agent.state().items())
    agent.learn(x, mb.Decision(0, 0.5), 1.0)
    with pytest.raises(ValueError, match="horizon"):
        agent.learn(x, mb.Decision(0, 0.5), 1.0)
    assert agent.act(x).probability > 0


def test_contexts_outside_the_theory_are_refused_or_shortened() -> None:
    strict = from_theory(n_features=2, n_actions=3, horizon=10, margin=0.1, seed=0)
    for call in (strict.act, lambda x: strict.learn(x, mb.Decision(0, 0.5), 1.0)):
        with pytest.raises(ValueError, match="context must have norm at most 1, got a row of norm 5"):
            call([3.0, 4.0])
        with pytest.raises(ValueError, match="context must have n_features=2 features, got 3"):
            call([0.1, 0.2, 0.3])
    assert strict.state() == {}
    loose = FaithfulHingeLMC(3, seed=0)
    loose.learn([0.6, 0.8], mb.Decision(0, 0.5), 1.0)
    assert np.allclose(law(loose, np.array([3.0, 4.0])), law(loose, np.array([0.6, 0.8])))


def test_it_is_found_by_name_and_loads_as_any_learner(tmp_path: Path) -> None:
    assert "FaithfulHingeLMC" in nameable_learners()
    assert "FaithfulHingeLMC" not in known_learners()  # a bake-off of all learners goes past any default horizon
    agent = trained(20)
    agent.save(tmp_path / "agent.npz")
    assert isinstance(mb.load(tmp_path / "agent.npz"), FaithfulHingeLMC)


@pytest.mark.parametrize("tuning", ["printed", *at_length(["ideal"])])
def test_the_theorem_on_realizable_data(tuning: str) -> None:
    """Regret below the bound, that below uniform play, and a slope of at most 0.65; the benchmark does it at length."""
    regret = {}
    for T in (1000, 9000):
        env = mb.HingeRealizable(2, 2, T, margin=0.8 / math.sqrt(2), seed=0)
        agent = from_theory(
            n_features=2, n_actions=2, horizon=T, margin=env.margin, tuning=tuning, n_particles=10, steps=4, seed=0
        )
        regret[T] = (mb.simulate(agent, env).laws * env.losses).sum()
        setting = Setting.of(mb.Linear(2, 2), T, env.margin)
        bound = hinge_lmc_corrected(setting, eta=agent.eta, mu=agent.mu, cap=None).value
        assert regret[T] < bound
    assert bound < T / 2
    assert math.log(regret[9000] / regret[1000]) / math.log(9) < 0.65
