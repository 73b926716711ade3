"""Hinge-LMC for wide contexts: its step is the least of posterior and round, it explores, and files continue it."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize

import marginbandits as mb
from marginbandits.checks.common import same_arrays
from marginbandits.checks.rounds import snapshot
from marginbandits.contexts import Sparse, per_action, shared
from marginbandits.learners.hinge_lmc.wide import SPREAD, WidePosterior
from marginbandits.types import Array
from tests import naive


def row(columns: list[int], values: list[float], width: int = 10) -> Sparse:
    return Sparse(np.array(values, float), np.array(columns, np.int64), np.array([0, len(columns)]), width)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("loss", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("start", [-2.0, 0.1, 2.0])
def test_a_step_is_the_least_of_the_posterior_and_the_round(start: float, loss: float, squared: bool) -> None:
    posterior, margin = WidePosterior(2, 10, 0.8), 0.7
    rng = np.random.default_rng(0)
    posterior.precision[1] += rng.random(10)
    z = np.array([0.5, -1.0, 0.3])
    posterior.mean[1, [2, 5, 7]] = start * z / (z @ z)
    before, precision = posterior.mean.copy(), posterior.precision.copy()

    def potential(w: Array) -> float:
        prior = ((w - before[1, [2, 5, 7]]) ** 2 * precision[1, [2, 5, 7]]).sum() / 2
        return float(prior) + naive.two_sided_cost(w, z[None], np.array([loss]), margin, squared)

    posterior.learn(per_action(row([2, 5, 7], z.tolist()), 2), 1, loss, margin, squared)
    found = minimize(potential, before[1, [2, 5, 7]], method="Powell", options={"xtol": 1e-10, "ftol": 1e-14})
    own = posterior.mean[1, [2, 5, 7]]
    assert potential(own) <= found.fun + 1e-9
    assert all(potential(own + step) > potential(own) for step in np.r_[np.eye(3), -np.eye(3)] * 1e-3)
    score = float(posterior.mean[1, [2, 5, 7]] @ z)
    curvature = 1.0 if not squared or abs(score) <= margin else loss if score > 0 else 1.0 - loss
    assert posterior.precision[1, [2, 5, 7]] - precision[1, [2, 5, 7]] == pytest.approx(curvature * z**2)
    others = [0, 1, 3, 4, 6, 8, 9]
    assert np.array_equal(posterior.mean[:, others], before[:, others])
    assert np.array_equal(posterior.mean[0], before[0])


def test_scores_of_both_layouts() -> None:
    posterior, rng = WidePosterior(1, 10, 1.0), np.random.default_rng(0)
    posterior.mean[...], posterior.precision[...] = rng.standard_normal((1, 10)), 1 + rng.random((1, 10))
    rows = [row([0, 3], [1.0, 2.0]), row([], []), row([9], [-1.0])]
    dense = np.concatenate([one.dense() for one in rows])
    expected = dense @ posterior.mean[0], SPREAD * np.sqrt(dense**2 @ (1 / posterior.precision[0]))
    for found, wanted in zip(posterior.spread(shared(rows)), expected, strict=True):
        assert found == pytest.approx(wanted)
    for i, one in enumerate(rows):
        means, deviations = posterior.spread(per_action(one, 1))
        assert (means[0], deviations[0]) == pytest.approx((expected[0][i], expected[1][i]))


def texts(n: int, seed: int = 0) -> list[tuple[scipy.sparse.csr_array, int]]:
    """Five words of 5,000 each, of which two tell the topic, one of four."""
    rng = np.random.default_rng(seed)
    found = []
    for topic in rng.integers(4, size=n).tolist():
        words = np.unique(np.r_[50 * topic + rng.integers(50, size=2), rng.integers(200, 5000, size=3)])
        found.append((scipy.sparse.csr_array((np.ones(len(words)), ([0] * len(words), words)), shape=(1, 5000)), topic))
    return found


def test_it_learns_text_and_continues_from_its_file() -> None:
    agent, wrong = mb.HingeLMC(4, seed=0), []
    for x, topic in texts(1500):
        decision = agent.act(x)
        wrong.append(decision.action != topic)
        agent.learn(x, decision, loss=float(wrong[-1]))
    assert np.mean(wrong[-500:]) < 0.15
    again = mb.loads(agent.dumps())
    for x, topic in texts(20, seed=1):
        assert np.array_equal(agent.law(x), again.law(x))
        for one in (agent, again):
            one.learn(x, mb.Decision(topic, 0.5), 0.0)
    assert agent.dumps() == again.dumps()
    with pytest.raises(ValueError, match="nothing to diagnose of wide contexts"):
        agent.diagnostics()


def test_a_failed_round_leaves_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    class Longer(mb.HingeLMC):  # compiled rounds cannot fail half way
        def _update(self, *given: Any) -> None:
            super()._update(*given)

    agent = Longer(4, seed=0)
    for x, topic in texts(50):
        agent.learn(x, mb.Decision(topic, 0.5), 0.0)
    before = snapshot(agent)

    def failing(*_: object) -> None:
        raise MemoryError

    learn = WidePosterior.learn

    def half(self: WidePosterior, *given: object) -> None:
        learn(self, *given)  # type: ignore[arg-type]  # what it is given
        failing()

    monkeypatch.setattr(WidePosterior, "learn", half)
    with pytest.raises(MemoryError):
        agent.learn(x, mb.Decision(0, 0.5), 1.0)
    assert same_arrays(before, agent.state())


@pytest.mark.parametrize("features", [mb.Fourier(20), mb.Chain([mb.Standardise(), mb.Fourier(20)])])
def test_features_that_are_dense_take_the_narrow_form(features: mb.FeatureMap) -> None:
    agent = mb.HingeLMC(4, features=features, seed=0)
    for x, topic in texts(30):
        agent.learn(x, mb.Decision(topic, 0.5), 0.0)
    assert "particles" in agent.state()
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


@pytest.mark.parametrize("margin", [1e-6, 1e6])
def test_values_of_any_size_leave_numbers(margin: float) -> None:
    agent = mb.HingeLMC(2, features=mb.Identity(), margin=margin, seed=0)
    extremes = [([0, 0, 1e50], 0.0), ([0, 1e50, -1e100], 0.0), ([1e-8, 1e50, 0], 0.5), ([-1e100, 0, 0], 0.5)]
    for x, loss in [*extremes, ([0, 1.0, 0], 1e-17), ([0, -1e100, 1e50], 1.0)]:
        agent.learn(scipy.sparse.csr_array([x]), mb.Decision(0, 0.5), loss)
        assert np.isfinite(agent.law(scipy.sparse.csr_array([[1.0, -1e100, 1e-300]]))).all()
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()
