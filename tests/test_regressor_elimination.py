"""Regressor Elimination: its distribution satisfies what defines it, and the right regressor stays."""

import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.theory import elimination_threshold, regressor_elimination_regret
from marginbandits.theory.comparators import SLACK
from marginbandits.types import Array
from tests.doubles import arrays_of

K, CELLS, N = 3, 4, 12


def rewards(seed: int) -> Array:
    """N regressors on cells, of which the first is right."""
    return np.asarray(np.random.default_rng(seed).uniform(0.05, 0.95, (N, K, CELLS)))


def play(agent: mb.RegressorElimination, T: int, seed: int) -> list[tuple[int, float]]:
    """How many regressors are left, and the excess, after each round; rewards are drawn by the first regressor."""
    rng, means = np.random.default_rng([seed, 1]), rewards(seed)[0]
    seen = []
    for cell in rng.integers(CELLS, size=T):
        x = np.eye(CELLS)[cell]
        decision = agent.act(x)
        agent.learn(x, decision, reward=float(rng.random() < means[int(decision.action), cell]))
        seen.append((len(agent.fitting), agent.excess))
    return seen


def agent_of(seed: int, **options: object) -> mb.RegressorElimination:
    given = {"contexts": np.eye(CELLS), "elimination": "sharp", "horizon": 2000, "seed": seed, **options}
    return mb.RegressorElimination(K, regressors=rewards(seed), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_regressors_that_fit_can_be_told_apart(seed: int) -> None:
    """E_x[1/q(π_f(x) | x)] <= E_x |A(x)| after every elimination, up to what is declared; even weights miss it."""
    agent = agent_of(seed)
    seen = play(agent, 1500, seed)
    allowed = (1 + SLACK) / (1 - K * agent.bound().parameters["mu"])
    assert len({left for left, _ in seen}) > 4
    assert max(excess for _, excess in seen) <= allowed * (1 + 1e-9)
    other = agent_of(seed)
    play(other, 1, seed)
    spoilt = arrays_of(other)["weights"]
    spoilt[:] = np.eye(N)[0]
    assert other.excess > 2.0  # the negative control: all weight on one


def test_laws_are_what_the_weights_say() -> None:
    agent = agent_of(0)
    play(agent, 40, 0)
    state, mu = agent.state(), agent.bound().parameters["mu"]
    for cell in range(CELLS):
        best = rewards(0)[:, :, cell].argmax(1)
        played = set(best[agent.fitting].tolist())
        law = agent.law(np.eye(CELLS)[cell])
        for a in range(K):
            share = float(state["weights"][best == a].sum())
            assert law[a] == pytest.approx((1 - len(played) * mu) * share + mu if a in played else 0.0)


def kept(runs: int, T: int, factor: float, monkeypatch: pytest.MonkeyPatch | None = None) -> float:
    """The share of runs in which the right regressor is still there, with thresholds of this factor."""
    if monkeypatch is not None:
        module = "marginbandits.learners.comparators.regressor_elimination.elimination_threshold"
        monkeypatch.setattr(module, lambda *args, **more: factor * elimination_threshold(*args, **more))
    found = []
    for seed in range(runs):
        agent = agent_of(seed, delta=0.1)
        play(agent, T, seed)
        found.append(0 in agent.fitting)
    return float(np.mean(found))


def test_the_right_regressor_stays() -> None:
    """With δ = 0.1 it may go in a tenth of runs: that more than nine of forty lose it has probability below 0.006."""
    assert kept(40, 300, 1.0) >= 31 / 40


def test_it_goes_where_the_threshold_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(10, 300, 0.02, monkeypatch) <= 0.5


def test_the_moments_behind_the_threshold() -> None:
    """E e^{-λY} <= e^{-(λ - λ²/2) g²} for rewards of 0 and 1, exactly; λ = 2 keeps f*, λ = 1 finds the wrong."""
    right, wrong = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    gap = wrong - right
    for rate in (0.5, 1.0, 2.0):
        one, zero = (wrong - 1) ** 2 - (right - 1) ** 2, wrong**2 - right**2
        moment = right * np.exp(-rate * one) + (1 - right) * np.exp(-rate * zero)
        assert (moment <= np.exp(-(rate - rate**2 / 2) * gap**2) + 1e-12).all()
    assert (np.exp(-0.5 * gap**2) <= 1 + np.expm1(-0.5) * gap**2 + 1e-12).all()


def test_bounds() -> None:
    sharp, printed = (regressor_elimination_regret(8, 2, 10**5, elimination=one) for one in ("sharp", "printed"))
    assert sharp.value < printed.value < 10**5
    leading = sharp.terms["errors"] / math.sqrt(2 * 10**5 * math.log(16 / 0.05))
    assert leading == pytest.approx(5.5, abs=0.2)
