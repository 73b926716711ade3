"""Networks in `Mixture`: when they join, what is played before, and how one that slept is judged."""

import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import check_expert
from marginbandits.experts import networks as expert_module
from marginbandits.state import Field
from marginbandits.types import Array
from tests.problems import exclusive_or


def _small(**more: Any) -> mb.Networks:
    return mb.Networks(**{"n_networks": 3, "width": 16, "minibatch": 32, **more})


def test_the_expert_keeps_its_contract_asleep_and_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    check_expert(mb.NetworksExpert(networks=_small()))
    monkeypatch.setattr(expert_module, "WARM", 5)
    expert = mb.NetworksExpert(networks=_small(), after=5)
    check_expert(expert)
    own = expert._start(2, 2)
    assert own._asleep()


def test_until_networks_join_the_mixture_plays_as_if_there_were_none() -> None:
    """The first 3,000 rounds, action for action, though there are steps by then; from then on networks have a say."""
    agents = [mb.Mixture(2, experts=mb.Mixture.usual(2, networks=with_them), seed=0) for with_them in (True, False)]
    contexts = np.random.default_rng(0).uniform(-1, 1, (3001, 2))
    for t, x in enumerate(contexts):
        one, other = (agent.act(x) for agent in agents)
        if t >= 2999:
            with_them, without = (agent.predict(x) for agent in agents)
            assert np.array_equal(with_them, without) == (t < 3000)
        if t < 3000:
            assert one.action == other.action
            assert one.distribution is not None
            assert one.distribution.tolist() == agents[1].law(x).tolist()
        for agent in agents:
            agent.learn(x, one, float((x[0] * x[1] > 0) != (one.action == 1)))


def test_networks_join_and_are_believed_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_module, "WARM", 100)
    line = mb.RidgeExpert()
    joining = mb.NetworksExpert(networks=mb.Networks(n_networks=4, width=32, minibatch=64), after=300)
    agent = mb.Mixture(2, experts=[line, joining], seed=0)
    exclusive_or(agent, 400 - 1)
    assert agent.weights().tolist() == [1.0, 0.0]
    awake, asleep = agent.beliefs()
    assert 0.0 < awake.error < 1.0
    assert math.isnan(asleep.error)  # it has not earned any
    exclusive_or(agent, 300, seed=1)
    believed = agent.beliefs()[0]
    assert isinstance(believed.expert, mb.NetworksExpert)
    assert believed.weight > 0.99
    assert 0.0 < believed.error < 1.0
    again = mb.loads(agent.dumps())
    assert exclusive_or(agent, 50, seed=2) == exclusive_or(again, 50, seed=2)
    assert agent.dumps() == again.dumps()


def _joins(columns: int, actions: int) -> tuple[int, int]:
    """Every how many rounds the usual networks take a step, and the round after which they are asked."""
    every = mb.NetworksExpert()._start(actions, columns + 1)._ensemble.every
    return every, every * math.ceil(2500 / every) + expert_module.WARM * every


def test_networks_join_after_the_round_that_is_stated() -> None:
    """By the rule, which docs/networks.md states for these; and in play."""
    assert _joins(14, 2) == _joins(19, 2) == (1, 3000)
    assert _joins(64, 10) == (2, 3500)
    assert _joins(784, 10) == (7, 6006)
    assert _joins(1500, 2) == (11, 8008)
    for every, last in ((1, 3000), (7, 6006)):
        small = mb.Networks(n_networks=1, width=2, depth=1, minibatch=4, every=every)
        agent = mb.Mixture(2, experts=[mb.RidgeExpert(), mb.NetworksExpert(networks=small)], seed=0)
        for t, x in enumerate(np.random.default_rng(0).uniform(-1, 1, (last, 1))):
            if t == last - 1:
                assert agent.weights().tolist() == [1.0, 0.0]
            agent.learn(x, mb.Decision(t % 2, 0.5), float(t % 2))
        assert agent.weights()[1] > 0.0


class _Sleeper(mb.Expert):
    """Predicts `value` after `until` rounds."""

    features, scaled = "raw", False

    def __init__(self, *, value: float = 0.0, until: int = 0) -> None:
        self.value, self.until = value, until

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._seen = np.zeros(1)

    def _asleep(self) -> bool:
        return bool(self._seen[0] < self.until)

    def _predict(self, batch: Any) -> Array:
        return np.full(len(batch.mask), self.value)

    def _width(self, batch: Any) -> None: ...

    def _learn(self, one: Any, action: int, loss: float) -> float:
        self.journal.keep(self._seen)
        self._seen += 1.0
        return self.value

    def _forget(self) -> None: ...

    def fields(self) -> dict[str, Any]:
        return {"seen": Field(self._seen)}


def test_one_that_slept_is_judged_by_what_it_said_awake() -> None:
    """From when it wakes, the mixture loses at most 2 ln N more than it; losing while asleep would have ruined it."""
    agent = mb.Mixture(2, experts=[_Sleeper(value=0.5), _Sleeper(value=1.0, until=400)], seed=0)
    mixed = 0.0
    for t in range(800):
        x, reward = [0.0], float(t >= 400)  # its prediction would have been wrong for 400 rounds
        decision = agent.act(x)
        if t >= 400:
            mixed += (float(1.0 - agent.predict(x)[decision.action]) - reward) ** 2
        agent.learn(x, decision, reward=reward)
    assert mixed <= 2 * math.log(2)
    assert mixed > 0.25  # at first half of it still said a half
    assert agent.weights()[1] > 0.999
