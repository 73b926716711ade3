"""Mixture: what is promised of its predictions, that it finds the class that fits, that it takes others' experts."""

import math
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.contexts import Batch
from marginbandits.experts import Expert
from marginbandits.state import Field
from marginbandits.types import Array
from marginbandits.validation import validated
from tests.problems import played


class Constant(Expert):
    """Predicts the same for all, for ever."""

    scaled = False
    features = "raw"

    @validated
    def __init__(self, *, value: float = 0.5, fails_at: int = -1) -> None:
        self.value, self.fails_at = value, fails_at

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._rounds = np.zeros(1)

    def _predict(self, batch: Batch) -> Array:
        return np.full(len(batch.mask), self.value)

    def _width(self, batch: Batch) -> None:
        return None

    def _learn(self, one: Batch, action: int, loss: float) -> float:
        self.journal.keep(self._rounds)
        self._rounds += 1
        if self._rounds[0] == self.fails_at:
            raise ArithmeticError("no more")
        return self.value

    def _forget(self) -> None: ...

    def fields(self) -> Mapping[str, Field]:
        return {"rounds": Field(self._rounds, 0.0)}


@pytest.mark.parametrize("eta", [0.5, 50.0])
def test_its_squared_error_is_within_ln_n_over_eta_of_the_best_expert_s(eta: float) -> None:
    """Against an adversary who always pays the other side, over 400 rounds; not so where η is beyond exp-concavity."""
    experts: list[Expert] = [Constant(value=value) for value in (0.0, 0.3, 1.0)]
    agent = mb.Mixture(2, experts=experts, eta=eta, seed=0)
    predictions, own, each = np.array([0.0, 0.3, 1.0]), 0.0, np.zeros(3)
    agent.learn([1.0], agent.act([1.0]), reward=0.5)  # all alike, nearly
    for _ in range(400):
        predicted = float(agent.weights() @ predictions)
        reward = float(predicted < 0.5)
        own += (predicted - reward) ** 2
        each += (predictions - reward) ** 2
        agent.learn([1.0], agent.act([1.0]), reward=reward)
    assert (own <= each.min() + math.log(3) / 0.5) == (eta == 0.5)


def streams(kind: str, n: int) -> list[tuple[Array, Array]]:
    """Contexts and the rewards of three actions."""
    rng = np.random.default_rng(0)
    weights, found = rng.standard_normal((3, 4)), []
    for x in rng.standard_normal((n, 4)):
        if kind == "one right":  # drawn by a softmax
            rewards = np.eye(3)[int((weights @ x + rng.gumbel(size=3)).argmax())]
        elif kind == "independent":  # linear means, any number of actions right
            rewards = (rng.random(3) < 0.5 + 0.4 * np.tanh(weights @ x)).astype(float)
        else:  # steps
            rewards = np.eye(3)[int(np.floor(4 * x[0])) % 3]
        found.append((x, rewards))
    return found


@pytest.mark.parametrize(
    ("kind", "right"), [("one right", "OneRightExpert"), ("independent", "RidgeExpert"), ("steps", "TreesExpert")]
)
def test_it_comes_to_believe_the_class_that_fits(kind: str, right: str) -> None:
    """A softmax of lines is told from lines by 3,000 rounds; the others by far fewer."""
    agent = mb.Mixture(3, seed=0)
    for x, rewards in streams(kind, 3000 if kind == "one right" else 1200):
        decision = agent.act(x)
        agent.learn(x, decision, reward=float(rewards[decision.action]))
    believed: dict[str, float] = {}
    for expert, weight in zip(agent.usual(), agent.weights(), strict=True):
        name = type(expert).__name__
        believed[name] = believed.get(name, 0.0) + float(weight)
    if kind == "independent":
        assert believed["OneRightExpert"] < 0.01
        assert believed["RidgeExpert"] > 0.9
    else:
        assert max(believed, key=believed.__getitem__) == right


def test_it_plays_what_experts_predict_and_how_wide_they_are() -> None:
    experts: list[Expert] = [mb.RidgeExpert(alpha=0.5), Constant(value=0.2)]
    agent = mb.Mixture(3, experts=experts, seed=0)
    played(agent, 40)
    context = np.random.default_rng(1).standard_normal((1, 4))
    ridge, batch = agent._started[0], agent._usual
    batch.rows = agent._maps[0].transform(context)
    width, weights = ridge._width(batch), agent.weights()
    assert width is not None
    hope = weights[0] * (ridge._predict(batch) + width) + weights[1] * (0.2 + width)  # which borrows the other's
    assert agent.law(context[0]).tolist() == (np.arange(3) == hope.argmax()).astype(float).tolist()


def test_experts_of_one_kind_of_features_share_them() -> None:
    agent = mb.Mixture(2, seed=0)
    played(agent, 3)
    assert len(agent._maps) == 3
    assert len(agent._started) == len(agent.usual()) == 6


def test_an_expert_of_one_s_own_is_saved_with_its_mixture() -> None:
    agent = mb.Mixture(2, experts=[Constant(value=0.7), mb.RidgeExpert()], seed=0)
    played(agent, 20)
    again = mb.loads(agent.dumps())
    assert isinstance(again, mb.Mixture)
    assert again.dumps() == agent.dumps()
    assert again.weights().tolist() == agent.weights().tolist()


@pytest.mark.parametrize("fails_at", [5, 16])
def test_an_expert_that_fails_leaves_all_as_it_was(fails_at: int) -> None:
    """Round 16 is one at which the others learn everything anew."""
    agent = mb.Mixture(2, experts=[*mb.Mixture.usual(), Constant(fails_at=fails_at)], seed=0)
    played(agent, fails_at - 1)
    before = agent.dumps()
    with pytest.raises(ArithmeticError, match="no more"):
        agent.learn(np.ones(4), mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before


def test_an_expert_that_predicts_no_reward_is_refused_by_name() -> None:
    agent = mb.Mixture(2, experts=[mb.RidgeExpert(), Constant(value=math.nan)], seed=0)
    with pytest.raises(ValueError, match=r"experts\[1\], a Constant, must predict rewards within 0 and 1, got nan"):
        agent.learn([1.0], mb.Decision(0, 0.5), 1.0)
    assert agent.state() == {}


def test_features_that_differ_in_any_number_are_not_shared() -> None:
    class Weighted(mb.FeatureMap):
        def __init__(self, weights: Array) -> None:
            self.weights = weights

        def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
            self.n_outputs = n_inputs

        def fields(self) -> Mapping[str, Field]:
            return {}

        def _transform(self, rows: Any) -> Any:
            return rows * self.weights[:3]

    one, other = np.zeros(2000), np.zeros(2000)
    other[1000] = 1.0
    agent = mb.Mixture(2, experts=[mb.RidgeExpert(features=Weighted(w)) for w in (one, other, one)], seed=0)
    agent.learn(np.ones(3), mb.Decision(0, 0.5), 1.0)
    assert len(agent._maps) == 2


@pytest.mark.parametrize("size", [1e18, 1e25, 1e99])
def test_contexts_of_any_size_leave_numbers(size: float) -> None:
    experts: list[Expert] = [
        kind(features=mb.Identity()) for kind in (mb.RidgeExpert, mb.OneRightExpert, mb.TreesExpert)
    ]
    agent = mb.Mixture(2, experts=experts, seed=0)
    for k in range(20):
        x = np.array([size if k % 7 == 0 else 1.0, float(k)])
        agent.learn(x, agent.act(x), loss=float(k % 2))
    assert agent.law([size, 1.0]).sum() == 1.0
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


def test_many_experts_are_asked_all_the_same() -> None:
    agent = mb.Mixture(2, experts=[mb.RidgeExpert() for _ in range(1500)], seed=0)
    for x in (-1.0, 1.0, 2.0):
        agent.learn([x], mb.Decision(1, 0.5), reward=1.0)
    assert agent.law([1.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("experts", [[], [mb.LinUCB], "raw", [None]])
def test_other_experts_are_refused(experts: Any) -> None:
    with pytest.raises(ValueError, match="experts must be"):
        mb.Mixture(2, experts=experts)


def test_belief_begins_with_the_first_round() -> None:
    agent = mb.Mixture(2, seed=0)
    with pytest.raises(ValueError, match="before the first learn"):
        agent.weights()
    agent.learn([1.0], agent.act([1.0]), 0.5)
    assert agent.weights()[:-1] == pytest.approx(np.full(5, 1 / 5), rel=0.2)
    assert agent.weights()[-1] == 0.0  # networks, which sleep


def test_in_wide_contexts_no_expert_moves_every_action() -> None:
    agent = mb.Mixture(2, seed=0)
    agent.learn(np.ones(1500), mb.Decision(0, 0.5), 0.5)
    assert [type(expert) for expert in agent._started] == [type(expert) for expert in mb.Mixture.usual(wide=True)]
    assert mb.OneRightExpert not in {type(expert) for expert in agent._started}


def test_beliefs_wait_for_the_round_that_is_being_learnt() -> None:
    agent = mb.Mixture(2, experts=[mb.RidgeExpert()], seed=0)
    played(agent, 20)
    with ThreadPoolExecutor(1) as other:
        with agent._lock:
            asked: list[Future[Any]] = [other.submit(agent.weights), other.submit(agent.beliefs)]
            time.sleep(0.05)
            assert not any(one.done() for one in asked)
        assert all(len(one.result(timeout=10)) == 1 for one in asked)
