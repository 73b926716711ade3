"""LogisticTS for wide contexts: its step is a posterior's mode, its law one normal's, and no topic is given up."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from scipy.special import expit

import marginbandits as mb
from marginbandits import laws
from marginbandits.contexts import per_action
from marginbandits.types import Array

REGULARISATION = 0.3


def row(columns: list[int], values: list[float], width: int = 8) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((values, columns, [0, len(columns)]), (1, width))


def built(**options: float) -> mb.LogisticTS:
    return mb.LogisticTS(2, regularisation=REGULARISATION, features=mb.Identity(), seed=0, **options)  # type: ignore[arg-type]


def test_a_step_is_the_mode_under_a_prior_of_some_sights() -> None:
    agent, rng = built(), np.random.default_rng(0)
    mean, seen = np.zeros(8), np.zeros(8)
    for _ in range(20):
        columns = np.sort(rng.choice(8, 3, False))
        z, reward = rng.standard_normal(3), float(rng.random())
        precision, before = seen[columns] + REGULARISATION * (z @ z) / 3, mean[columns]

        def cost(w: Array, z: Array = z, r: float = reward, a: Array = precision, m: Array = before) -> float:
            p = expit(w @ z)
            return float((a * (w - m) ** 2).sum() / 2 - r * np.log(p) - (1 - r) * np.log1p(-p))

        agent.learn(row(columns.tolist(), z.tolist()), mb.Decision(1, 0.5), reward=reward)
        mean[columns] = minimize(cost, before, tol=1e-12).x
        seen[columns] += z**2 / 4
        assert np.allclose(agent._mean[1], mean, atol=1e-4)
        assert np.allclose(agent._precision[1], seen)
        mean = agent._mean[1].copy()


def test_the_law_is_that_of_one_normal_for_all() -> None:
    rng, one = np.random.default_rng(0), per_action(np.zeros((1, 1)), 5, np.array([True, True, False, True, True]))
    for _ in range(5):
        means, deviations = rng.standard_normal(5), rng.random(5)
        scores = np.where(one.mask, means + rng.standard_normal((200_000, 1)) * deviations, -np.inf)
        share = np.bincount(scores.argmax(1), minlength=5) / len(scores)
        assert laws.moved_together(means, deviations, one) == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize("deviation", [0.0, 1e-300, 1e140])
def test_what_all_are_equally_unsure_of_moves_no_choice(deviation: float) -> None:
    one = per_action(np.zeros((1, 1)), 3)
    law = laws.moved_together(np.array([0.1, 0.2, 0.2]), np.full(3, deviation), one)
    assert law.tolist() == [0.0, 0.5, 0.5]
    with pytest.raises(FloatingPointError):
        laws.moved_together(np.array([np.nan, 0.2, 0.2]), np.ones(3), one)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_laws_do_not_depend_on_the_unit_of_rows(unit: float) -> None:
    agents, rng = (built(), built()), np.random.default_rng(0)
    for _ in range(40):
        columns, z = np.sort(rng.choice(8, 3, False)).tolist(), rng.standard_normal(3)
        contexts = row(columns, z.tolist()), row(columns, (unit * z).tolist())
        one, other = (agent.law(context) for agent, context in zip(agents, contexts, strict=True))
        assert one == pytest.approx(other, abs=1e-6)
        for agent, context in zip(agents, contexts, strict=True):
            agent.learn(context, mb.Decision(int(z[0] > 0), 0.5), loss=float(z[1] > 0))


def test_no_topic_is_given_up() -> None:
    """Ten topics of 60 words each, two of which are in a text beside ten of 3,000 others."""
    agent, rng, wrong = mb.LogisticTS(10, seed=0), np.random.default_rng(0), []
    for topic in rng.integers(10, size=4000).tolist():
        words = np.unique(np.r_[60 * topic + rng.integers(60, size=3), rng.integers(600, 3600, size=10)])
        x = row(words.tolist(), [1.0] * len(words), 3600)
        decision = agent.act(x)
        wrong.append((topic, decision.action != topic))
        agent.learn(x, decision, loss=float(wrong[-1][1]))
    late = wrong[-1000:]
    assert max(np.mean([bad for topic, bad in late if topic == one]) for one in range(10)) < 0.5


def test_values_of_any_size_leave_numbers() -> None:
    agent = built()
    for x in ([1e100, 1e-300, 0.0], [1e-300, 1e-300, 1e-300], [0.0, 0.0, 0.0], [-1e100, 1e100, 1e-8]):
        for loss in (0.0, 1.0):
            agent.learn(scipy.sparse.csr_array([x]), mb.Decision(0, 0.5), loss)
            assert agent.law(scipy.sparse.csr_array([[1.0, -1e100, 1e-300]])).sum() == pytest.approx(1.0)
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()
