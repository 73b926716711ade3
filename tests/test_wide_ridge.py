"""Ridge regression on wide sparse rows: what is played and learnt is that of a plain twin, and costs what is filled."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.oracles.diagonal import PRIOR
from marginbandits.types import Array

K, D = 3, 600
LEARNERS: list[Any] = [mb.EpsilonGreedy, mb.LinTS, mb.LinUCB]


def texts(n: int, seed: int = 0) -> tuple[Any, Array]:
    """Rows of a few words, one in three of which tells what to play."""
    rng = np.random.default_rng(seed)
    best = rng.integers(K, size=n)
    columns = [np.unique([*rng.integers(100, D, size=6), *(30 * k + rng.integers(30, size=3))]) for k in best]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in columns])])
    values = 1.0 + rng.random(starts[-1])
    return scipy.sparse.csr_array((values, np.concatenate(columns), starts), (n, D)), 1.0 - np.eye(K)[best]


class Twin:
    """The same regression in a few lines: one mean and one precision for every action and column."""

    def __init__(self, regularisation: float) -> None:
        self.mean, self.precision = np.zeros((K, D)), np.full((K, D), PRIOR * regularisation)

    def scores(self, x: Array) -> tuple[Array, Array]:
        return self.mean @ x, np.sqrt((x**2 / self.precision).sum(1))

    def learn(self, x: Array, action: int, loss: float) -> None:
        means, deviations = self.scores(x)
        self.mean[action] += (-loss - means[action]) / (1.0 + deviations[action] ** 2) * x / self.precision[action]
        self.precision[action] += x**2


def law_of(agent: Any, means: Array, deviations: Array) -> Array:
    if isinstance(agent, mb.LinTS):
        u = np.linspace(-9.0, 9.0, 200_001)
        density = np.exp(-0.5 * u**2) / math.sqrt(2.0 * math.pi) * (u[1] - u[0])
        return np.asarray(best(means[:, None] + agent.scale * deviations[:, None] * u) @ density)
    if isinstance(agent, mb.LinUCB):
        means = means + agent.alpha * deviations
    law = best(means)
    return (1.0 - agent.epsilon) * law + agent.epsilon / K if isinstance(agent, mb.EpsilonGreedy) else law


def best(scores: Array) -> Array:
    won: Array = (scores == scores.max(0)) / (scores == scores.max(0)).sum(0)
    return won


@pytest.mark.parametrize("learner", LEARNERS)
def test_rounds_are_those_of_a_plain_twin(learner: Any) -> None:
    agent, twin = learner(K, features=mb.Identity(), seed=0), Twin(0.1)
    contexts, losses = texts(200)
    for t in range(200):
        x, plain = contexts[t : t + 1], contexts[t : t + 1].toarray()[0]
        law, means = agent.law(x), twin.scores(plain)[0]
        if t:
            assert law == pytest.approx(law_of(agent, *twin.scores(plain)), abs=1e-4)
            assert agent.predict(x) == pytest.approx(-means, abs=1e-9)
        action = int(np.argmax(law + 1e-9 * np.arange(K)))
        agent.learn(x, mb.Decision(action, float(law[action])), losses[t, action])
        twin.learn(plain, action, losses[t, action])


@pytest.mark.parametrize("learner", LEARNERS)
def test_whole_runs_are_their_rounds_and_learn(learner: Any) -> None:
    contexts, losses = texts(3000)
    whole, slowly = learner(K, seed=0), learner(K, seed=0)
    trace = mb.simulate(whole, mb.Oblivious.of(contexts, losses))
    for t in range(3000):
        decision = slowly.act(contexts[t : t + 1])
        slowly.learn(contexts[t : t + 1], decision, losses[t, decision.action])
    assert whole.dumps() == slowly.dumps()
    assert trace.losses[1500:].mean() < 0.1  # uniform loses 0.67


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_are_wide_from_as_many_columns_on(learner: Any) -> None:
    for width, wide in ((511, False), (512, True)):
        agent = learner(2, seed=0)
        agent.learn(scipy.sparse.csr_array(([1.0], [3], [0, 1]), (1, width)), mb.Decision(0, 0.5), 0.0)
        again: Any = mb.loads(agent.dumps())
        assert again._shape.sparse is agent._shape.sparse is wide
    for features, wide in (("raw", False), (mb.Table(text=["t"]), True), (mb.Table(hash_bits=9), True)):
        agent = learner(2, features=features, seed=0)
        agent.learn({"t": "a few words", "age": 3.0}, mb.Decision(0, 0.5), 0.0)
        again = mb.loads(agent.dumps())
        assert (again._wide is not None) is wide


def test_an_exact_ellipsoid_is_never_diagonal() -> None:
    agent = mb.OFUL(2, seed=0)
    agent.learn(scipy.sparse.csr_array(([1.0], [3], [0, 1]), (1, 600)), mb.Decision(0, 0.5), 0.0)
    assert agent._wide is None
