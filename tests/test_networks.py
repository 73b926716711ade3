"""Networks: gradients against differences, chains against quadrature, learners against their contract."""

import functools
import itertools
import math
from typing import Any

import array_api_strict
import numpy as np
import numpy.typing as npt
import pytest

import marginbandits as mb
from marginbandits.checks import LEARNER_CHECKS, check_expert, check_oracle
from marginbandits.experts import networks as expert_module
from marginbandits.oracles import ensembles
from marginbandits.oracles.chains import Chains, chains
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.oracles.leader import Followed, LinearLeader
from marginbandits.oracles.network_erm import NetworkERM, NetworkLeader
from marginbandits.scores.networks import Perceptrons
from marginbandits.state import Field
from marginbandits.surrogates import TWO_SIDED, two_sided_slope
from marginbandits.types import Array
from tests.marks import at_length
from tests.problems import exclusive_or

SHAPE = Perceptrons(n_networks=2, sizes=(3, 5, 4, 2))


def _cost(kind: str, s: Any, loss: Any, margin: float) -> Any:
    lost, earned = np.maximum(margin + s, 0.0), np.maximum(margin - s, 0.0)
    if kind == "squared_hinge":
        return loss * lost**2 / 2 + (1 - loss) * earned**2 / 2
    if kind == "hinge":
        return loss * lost + (1 - loss) * earned + s**2 / 2
    return (s - margin * (1 - 2 * loss)) ** 2 / 2


@pytest.mark.parametrize("kind", TWO_SIDED)
def test_gradients_are_those_of_the_cost(kind: str) -> None:
    rng = np.random.default_rng(0)
    parameters = SHAPE.drawn(rng).astype(float) + 0.1 * rng.standard_normal(SHAPE.dimension)
    x, losses = rng.standard_normal((6, 3)), rng.random((6, 2))

    def total(at: Array) -> float:
        return float(_cost(kind, SHAPE.forward(at, x)[-1], losses, 0.3).sum())

    values = SHAPE.forward(parameters, x)
    gradient = SHAPE.backward(parameters, values, two_sided_slope(kind, values[-1], losses, 0.3))
    room = SHAPE.room(6, float)
    values = SHAPE.forward(parameters, x, room)
    assert np.array_equal(
        SHAPE.backward(parameters, values, two_sided_slope(kind, values[-1], losses, 0.3), room), gradient
    )
    steps = 1e-6 * np.eye(SHAPE.dimension)
    numeric = [(total(parameters + step) - total(parameters - step)) / 2e-6 for step in steps]
    assert np.allclose(gradient, numeric, rtol=1e-5, atol=1e-6)
    assert not np.allclose(-gradient, numeric, rtol=1e-5, atol=1e-6)  # the comparison can fail


def test_networks_together_are_each_one_alone() -> None:
    rng = np.random.default_rng(1)
    parameters, x = SHAPE.drawn(rng), rng.standard_normal((4, 3)).astype(np.float32)
    together = SHAPE.forward(parameters, x)[-1]
    for e in range(2):
        h = x
        for i, (weights, biases) in enumerate(SHAPE.layers(parameters)):
            h = h @ weights[e] + biases[e]
            h = np.maximum(h, 0) if i < 2 else h
        assert np.allclose(together[e], h, atol=1e-6)


def test_many_learners_at_once_are_each_one_alone() -> None:
    """S learners of E networks, each with its own rows, as one batch of S x E: slopes are within 1e-6 of each alone."""
    rng, S, E = np.random.default_rng(3), 4, SHAPE.n_networks
    every = Perceptrons(S * E, SHAPE.sizes)
    alone, x = [SHAPE.drawn(rng) for _ in range(S)], rng.standard_normal((S, 6, 3)).astype(np.float32)
    slopes = rng.standard_normal((S, E, 6, 2)).astype(np.float32)
    together = np.zeros(every.dimension, np.float32)
    for s, one in enumerate(alone):
        for to, layer in zip(every.layers(together), SHAPE.layers(one), strict=True):
            to.weights[s * E : (s + 1) * E], to.biases[s * E : (s + 1) * E] = layer
    values = every.forward(together, np.repeat(x, E, 0))
    found = every.layers(every.backward(together, values, slopes.reshape(S * E, 6, 2)))
    for s, one in enumerate(alone):
        own = SHAPE.forward(one, x[s])
        assert np.allclose(values[-1][s * E : (s + 1) * E], own[-1], atol=1e-6)
        for many, layer in zip(found, SHAPE.layers(SHAPE.backward(one, own, slopes[s])), strict=True):
            assert np.allclose(many.weights[s * E : (s + 1) * E], layer.weights, atol=1e-6)
            assert np.allclose(many.biases[s * E : (s + 1) * E], layer.biases, atol=1e-6)
            other = (s + 1) % S * E
            assert not np.allclose(many.weights[other : other + E], layer.weights, atol=1e-6)  # the comparison can fail


def test_any_library_of_arrays_will_do() -> None:
    """One that has what the array API standard has, and nothing else, gives the same bits."""
    rng = np.random.default_rng(2)
    given = SHAPE.drawn(rng), rng.standard_normal((6, 3)).astype(np.float32), rng.random((6, 2)).astype(np.float32)

    def play(xp: Any, parameters: Any, x: Any, losses: Any) -> list[npt.NDArray[Any]]:
        values = SHAPE.forward(parameters, x)
        slopes = [two_sided_slope(kind, values[-1], losses, 0.1, xp) for kind in TWO_SIDED]
        found = [SHAPE.backward(parameters, values, one) for one in slopes]
        return [np.asarray(one) for one in (*found, SHAPE.bounded(parameters, 0.5))]

    ours = play(np, *(one.copy() for one in given))
    theirs = play(array_api_strict, *map(array_api_strict.asarray, given))
    assert all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))


def test_a_norm_bounds_what_enters_each_unit_and_so_the_scores() -> None:
    networks = mb.Networks(n_networks=2, width=8, depth=1, minibatch=16, norm=1.5, rate=0.1)
    told = Ensemble(networks, n_features=3, n_outputs=2, seed=0)
    rng = np.random.default_rng(0)
    for row in rng.uniform(-1, 1, (200, 3)) / math.sqrt(3):
        told.learn(row, int(rng.integers(2)), float(rng.random() < 0.5))
    for weights, biases in told.shape.layers(told.parameters):
        assert (np.abs(weights).sum(1) + np.abs(biases[:, 0])).max() <= 1.5 * (1 + 1e-6)
    assert np.abs(told.scores(rng.uniform(-1, 1, (500, 3)) / math.sqrt(3))).max() <= 1.5**2 * (1 + 1e-6)


# Chains. The tolerance is about four standard errors of 500 independent chains: one seed in 10,000 fails.


XS, LOSSES = np.array([-1.0, -0.5, 0.5, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])
RATES = {"langevin": 0.05, "preconditioned": 0.02}


def _few(sampler: str = "langevin", n_networks: int = 500, noise: float = 1.0, rate: float | None = None) -> Ensemble:
    """Networks of four parameters, which were told four rounds and have not moved."""
    recipe = mb.Networks(
        n_networks=n_networks,
        width=1,
        depth=1,
        minibatch=32,
        sampler=sampler,
        rate=rate or RATES[sampler],
        temperature=noise,
    )
    told = Ensemble(recipe, n_features=1, n_outputs=1, seed=0, begin=10**6)
    for x, loss in zip(XS, LOSSES, strict=True):
        told.learn(np.array([x]), 0, float(loss))
    return told


@functools.cache
def _exact() -> Array:
    """Mean and second moment of a score under the posterior, by quadrature over the four parameters."""
    grid = np.linspace(-4.5, 4.5, 46)
    w, b, v, c = np.meshgrid(grid, grid, grid, grid, indexing="ij", sparse=True)
    potential = (w**2 + b**2 + v**2 + c**2) / 2
    for x, loss in zip(XS, LOSSES, strict=True):
        potential = potential + _cost("squared_hinge", v * np.maximum(w * x + b, 0) + c, loss, 1.0)
    weight = np.exp(-potential)
    score = v * np.maximum(0.75 * w + b, 0) + c
    return np.array([(weight * score**k).sum() / weight.sum() for k in (1, 2)])


def _drawn(sampler: str, noise: float) -> Array:
    """The same of 500 chains."""
    told, chance = _few(sampler, noise=noise), np.random.default_rng(0)
    for _ in range(1500):
        told.journal.begin()
        told._step(chance)
    drawn = told.scores(np.array([[0.75]])).ravel().astype(float)
    return np.array([drawn.mean(), (drawn**2).mean()])


def _agree(drawn: Array) -> bool:
    return np.allclose(drawn, _exact(), rtol=0.1, atol=0.1)


@pytest.mark.parametrize("sampler", RATES)
def test_langevin_chains_of_a_network_are_draws_of_its_posterior(sampler: str) -> None:
    assert _agree(_drawn(sampler, 1.0))


@pytest.mark.parametrize("sampler", RATES)
@pytest.mark.parametrize("noise", [0.5, 1.5])
def test_chains_of_another_temperature_are_not(noise: float, sampler: str) -> None:
    assert not _agree(_drawn(sampler, noise))


def test_nor_are_those_whose_slopes_alone_are_preconditioned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise must be scaled by the root of what slopes are scaled by: with noise as it was the law is another."""

    def uncorrected(parameters: Any, squares: Any, gradient: Any, noise: Any, *given: Any) -> None:
        rate, temperature, rounds, _, out, _ = given
        langevin(parameters, squares, gradient, 0 * noise, *given)
        out += temperature * math.sqrt(2.0 * rate / rounds) * noise

    langevin = ensembles.langevin
    monkeypatch.setattr(ensembles, "langevin", uncorrected)
    assert not _agree(_drawn("preconditioned", 1.0))


def _mixing(rate: float) -> Chains:
    """Of eight chains that have moved 1,000 steps, and then 2,000 more."""
    told = next(itertools.islice(_few(n_networks=8, rate=rate).moved_on(), 999, None))
    return chains(told, draws=200, every=10)


def test_chains_that_mix_say_so_and_others_do_not() -> None:
    mixed, stuck = _mixing(0.05), _mixing(1e-5)
    assert mixed.r_hat < 1.1 < 2.0 < stuck.r_hat
    assert mixed.ess > 10 * stuck.ess
    assert 0.5 < mixed.spread < 2.0 < 5.0 < stuck.spread
    assert math.isnan(mixed.agreement)  # there is one score


def test_a_learner_says_how_its_networks_mix_and_stays_as_it_is() -> None:
    agent = mb.HingeLMC(2, scores=_small(sampler="preconditioned"), seed=0)
    with pytest.raises(ValueError, match="after the first learn"):
        agent.chains()
    exclusive_or(agent, 100)
    before = agent.dumps()
    found = agent.chains()
    assert found.steps == 1000
    assert 0.0 <= found.agreement <= 1.0 <= found.r_hat <= found.largest_r_hat
    assert found == agent.chains()
    assert agent.dumps() == before
    linear = mb.HingeLMC(2, seed=0)
    exclusive_or(linear, 5)
    with pytest.raises(ValueError, match=r"chains are those of scores=Networks\(\)"):
        linear.chains()


# The learner.


def _small(**more: Any) -> mb.Networks:
    return mb.Networks(**{"n_networks": 3, "width": 16, "minibatch": 32, **more})


PLAYED = {"bootstrap": 0.003, "langevin": 0.1, "preconditioned": 0.003}
"""Samplers, and rates at which they learn within some hundred rounds."""


@pytest.mark.parametrize("sampler", ["bootstrap", *at_length(["langevin"]), "preconditioned"])
@pytest.mark.parametrize("check", LEARNER_CHECKS)
def test_the_learner_keeps_the_contract(check: str, sampler: str) -> None:
    scores = _small(sampler=sampler, rate=PLAYED[sampler])
    LEARNER_CHECKS[check](lambda **more: mb.HingeLMC(**{"n_actions": 3, "seed": 0, "scores": scores, **more}))


def test_it_learns_what_no_line_can() -> None:
    agent = mb.HingeLMC(2, scores=mb.Networks(n_networks=4, width=32, minibatch=64), seed=0)
    exclusive_or(agent, 600)
    assert exclusive_or(agent, 200, seed=1) < 0.15
    found = agent.diagnostics()
    assert found.agreement > 0.8
    assert 0.1 < found.beyond <= 1.0


@pytest.mark.parametrize("surrogate", TWO_SIDED)
@pytest.mark.parametrize("sampler", PLAYED)
def test_whole_runs_learn_and_go_on_bit_for_bit_from_a_file(sampler: str, surrogate: str) -> None:
    """A fair coin loses less than 0.35 of 150 rounds once in 8,000 runs."""
    agent = mb.HingeLMC(2, scores=_small(sampler=sampler, rate=PLAYED[sampler]), surrogate=surrogate, seed=0)
    _played(agent, 150, seed=0)
    again = mb.loads(agent.dumps())
    (lost, laws), (same, as_before) = _played(agent, 150, seed=1), _played(again, 150, seed=1)
    assert lost == same < 0.35
    assert np.array_equal(laws, as_before)
    assert agent.dumps() == again.dumps()


def _played(agent: mb.Learner, n: int, seed: int) -> tuple[float, Array]:
    """Mean loss, and all laws, where a line tells which of two actions is right."""
    lost, laws = 0.0, []
    for x in np.random.default_rng(seed).uniform(-1, 1, (n, 2)):
        decision = agent.act(x)
        loss = float((x[0] > 0.2 * x[1]) != (decision.action == 1))
        agent.learn(x, decision, loss)
        lost += loss / n
        laws.append(decision.distribution)
    return lost, np.array(laws)


def test_a_shift_of_all_scores_changes_nothing_that_is_played() -> None:
    """So they may be taken to sum to zero, as long as none is beyond the margin; beyond it scores are cut."""
    agent: Any = mb.HingeLMC(3, scores=_small(), margin=20.0, hope=0.1, seed=0)
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1, 1, (100, 2)):
        decision = agent.act(x)
        agent.learn(x, decision, float(decision.action != np.searchsorted([-0.3, 0.3], x[0])))
    probes = rng.uniform(-1, 1, (50, 2))
    before, told = agent.laws(probes), agent._networks.ensemble
    scores = told.scores(agent._map.transform(probes))
    biases = told.shape.layers(told.parameters)[-1].biases
    for shift, same in ((1.0, True), (-1.0, True), (100.0, False)):
        assert np.abs(scores + shift).max() < 20.0 or not same
        biases += shift
        assert np.array_equal(agent.laws(probes), before) == same
        biases -= shift


def test_weights_that_are_no_numbers_are_refused_and_nothing_has_happened() -> None:
    agent = mb.HingeLMC(2, scores=_small(sampler="langevin", rate=1e6, temperature=1e6), seed=0)
    with pytest.raises(FloatingPointError, match=r"rate=1e\+06 is too large"):
        exclusive_or(agent, 400)
    before = agent.dumps()
    with pytest.raises(FloatingPointError, match="too large"):
        agent.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before


def test_squared_error_is_for_networks() -> None:
    with pytest.raises(ValueError, match="surrogate='squared_error' needs scores"):
        mb.HingeLMC(2, surrogate="squared_error")
    assert exclusive_or(mb.HingeLMC(2, surrogate="squared_error", scores=_small(), seed=0), 100) < 0.6


def test_actions_come_and_go_and_the_others_stay() -> None:
    agent = mb.HingeLMC(actions=["a", "b", "c"], scores=_small(memory=50), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(80):
        x = rng.standard_normal(2)
        decision = agent.act(x)
        agent.learn(x, decision, float(rng.random() < 0.5))
    before = agent.predict([0.3, 0.4])
    agent.add_action("d")
    assert np.allclose(agent.predict([0.3, 0.4])[:3], before, atol=1e-6)
    agent.retire_action("a")
    assert np.allclose(agent.predict([0.3, 0.4])[:2], before[1:], atol=1e-6)
    agent.learn([0.3, 0.4], agent.act([0.3, 0.4]), 0.0)


def test_embeddings_of_many_columns_are_learnt() -> None:
    """768 columns, of which one direction decides: a third of what chance loses, after 400 rounds."""
    rng = np.random.default_rng(0)
    direction, agent = rng.standard_normal(768) / math.sqrt(768), mb.HingeLMC(2, scores=_small(), seed=0)
    lost = []
    for _ in range(400):
        y = rng.integers(2)
        x = rng.standard_normal(768) + (2 * y - 1) * 5 * direction
        decision = agent.act(x)
        lost.append(float(decision.action != y))
        agent.learn(x, decision, lost[-1])
    assert np.mean(lost[200:]) < 0.5 / 3


def test_images_are_taken_as_arrays_where_their_shape_is_said() -> None:
    """One as a context, one for each action, several at once: the same as of their numbers, one after the other."""
    scores, rng = _small(image=(4, 3, 2)), np.random.default_rng(0)
    images, flat = mb.HingeLMC(3, scores=scores, seed=0), mb.HingeLMC(3, scores=_small(), seed=0)
    each, own = mb.HingeLMC(3, scores=scores, seed=0), mb.HingeLMC(3, scores=_small(), seed=0)
    for t in range(40):
        x = rng.random((3, 4, 3, 2)).astype(np.float32)
        for agent, context in ((images, x[0]), (flat, x[0].ravel()), (each, x), (own, x.reshape(3, -1))):
            agent.learn(context, agent.act(context), float(t % 2))
    some = rng.random((5, 4, 3, 2))
    assert np.array_equal(images.laws(some), flat.laws(some.reshape(5, -1)))
    assert np.array_equal(images.laws(list(some)), images.laws(some.reshape(5, -1)))
    assert np.array_equal(each.law(some[:3]), own.law(some[:3].reshape(3, -1)))
    assert np.array_equal(each.laws(some[None, :3]), own.laws(some[None, :3].reshape(1, 3, -1)))
    again = mb.loads(images.dumps())
    assert np.array_equal(again.law(some[0]), images.law(some[0].ravel()))
    assert again.dumps() == images.dumps()
    with pytest.raises(ValueError, match=r"must be of shape \(4, 3, 2\), or have 24 numbers each, got shape \(4, 3\)"):
        images.act(some[0, :, :, 0])


def test_an_image_is_its_pixels_and_that_is_said() -> None:
    agent = mb.HingeLMC(3, scores=_small(), seed=0)
    image = np.random.default_rng(0).random((8, 8, 3))
    with pytest.raises(ValueError, match=r"got shape \(8, 8, 3\): give an image as a vector, image\.ravel\(\)"):
        agent.act(image)
    agent.learn(image.ravel(), agent.act(image.ravel()), 0.0)


# The expert.


def test_the_expert_keeps_its_contract_asleep_and_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    check_expert(mb.NetworksExpert(networks=_small()))
    monkeypatch.setattr(expert_module, "WARM", 5)
    expert = mb.NetworksExpert(networks=_small(), after=5)
    check_expert(expert)
    own = expert._start(2, 2)
    assert own._asleep()


def test_until_networks_join_the_mixture_plays_as_if_there_were_none() -> None:
    env = mb.Classification.bundled("wine", seed=0)
    one, other = (
        mb.simulate(mb.Mixture(3, experts=mb.Mixture.usual(3, networks=with_them), seed=0), env)
        for with_them in (True, False)
    )
    assert np.array_equal(one.actions, other.actions)


def test_networks_join_and_are_believed_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_module, "WARM", 100)
    line = mb.RidgeExpert()
    joining = mb.NetworksExpert(networks=mb.Networks(n_networks=4, width=32, minibatch=64), after=300)
    agent = mb.Mixture(2, experts=[line, joining], seed=0)
    exclusive_or(agent, 400 - 1)
    assert agent.weights().tolist() == [1.0, 0.0]
    exclusive_or(agent, 300, seed=1)
    believed = agent.beliefs()[0]
    assert isinstance(believed.expert, mb.NetworksExpert)
    assert believed.weight > 0.99
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


# The oracle.


def test_the_oracle_keeps_its_contract() -> None:
    networks = mb.Networks(n_networks=2, width=8, minibatch=16)
    skipped = check_oracle(NetworkERM, margin=0.5, networks=networks, passes=3)
    assert all("surrogate" in reason for reason in skipped.values())


def test_smooth_ftl_follows_networks_where_no_line_leads() -> None:
    """Right in the middle, or on both sides: it loses 0.7 of what a line does at most."""

    def play(oracle: NetworkERM | None) -> float:
        agent = mb.FaithfulSmoothFTL(2, horizon=1100, margin=0.3, oracle=oracle, features=mb.Standardise(), seed=0)
        rng, lost = np.random.default_rng(0), 0.0
        for t in range(1100):
            x = rng.uniform(-1, 1, 1)
            decision = agent.act(x)
            loss = float((abs(x[0]) < 0.5) != (decision.action == 1))
            lost += loss * (t >= 600) / 500
            agent.learn(x, decision, loss)
        return lost

    networks = mb.Networks(n_networks=1, width=32, minibatch=32, rate=0.01)
    assert play(NetworkERM(0.3, networks=networks, passes=60)) < 0.7 * play(None)


def test_leaders_of_networks_are_followed_by_scores_that_sum_to_zero() -> None:
    """So a shift of all of a leader's scores is no other leader; one of a single action is."""
    followed = Followed(NetworkERM(0.3, networks=mb.Networks(n_networks=2, width=8, minibatch=8), passes=3), 3, 2)
    rng = np.random.default_rng(0)
    rows, blocks = rng.standard_normal((40, 2)), rng.integers(3, size=40)
    followed.refit(rows, blocks, (rows[:, 0] > 0).astype(float), np.ones(40))
    before, leader = followed.scores(rows[:1], False), followed.leader
    assert abs(before.sum()) < 1e-12
    assert isinstance(leader, NetworkLeader)
    biases = leader.shape.layers(leader.weights)[-1].biases
    biases += 1.0
    assert np.allclose(followed.scores(rows[:1], False), before, atol=1e-6)
    biases[..., 0] += 1.0
    assert not np.allclose(followed.scores(rows[:1], False), before, atol=1e-2)


@pytest.mark.parametrize("rounds", [0, 1, 5, 40])
def test_a_leader_of_networks_is_saved_and_followed_on(rounds: int) -> None:
    """Saved before any leader, within an epoch, or at its end: what follows is the same run, bit for bit."""
    oracle = NetworkERM(0.3, networks=mb.Networks(n_networks=2, width=8, minibatch=8), passes=5)
    agent: mb.Learner = mb.FaithfulSmoothFTL(
        2, horizon=200, margin=0.3, oracle=oracle, features=mb.Standardise(), seed=0
    )
    exclusive_or(agent, rounds)
    again = mb.loads(agent.dumps())
    assert again.dumps() == agent.dumps()
    assert exclusive_or(agent, 60, seed=1) == exclusive_or(again, 60, seed=1)
    assert again.dumps() == agent.dumps()
    assert np.array_equal(agent.law([0.3, 0.4]), again.law([0.3, 0.4]))


class _Renamed(NetworkERM):
    """An oracle whose leaders are of another class than the one it begins with."""

    def fit(self, *given: Any) -> Any:
        return LinearLeader(np.zeros((2, 3)))


def test_a_leader_of_another_class_than_at_first_cannot_be_saved() -> None:
    agent = mb.FaithfulSmoothFTL(2, margin=0.3, oracle=_Renamed(0.3), features=mb.Standardise(), seed=0)
    exclusive_or(agent, 10)
    with pytest.raises(ValueError, match="only a NetworkLeader of shape"):
        agent.dumps()


def test_contexts_of_any_size_that_others_take_are_taken() -> None:
    """Features without scales of their own: widths are kept in double precision, as particles are."""
    agent = mb.HingeLMC(2, features=mb.Identity(), scores=mb.Networks(n_networks=2, width=8), seed=0)
    for t in range(20):
        agent.learn([0.1, 0.2, 0.3], mb.Decision(t % 2, 0.5), 0.3)
    agent.learn([1e19, 0.0, 1e60], mb.Decision(0, 0.5), 0.3)
    agent.act([0.1, 0.2, 0.3])
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


@pytest.mark.parametrize("memory", [50, 64, 1000])
def test_replay_keeps_each_round_s_action_when_actions_come(memory: int) -> None:
    """Rows are put into today's scales at round 128; the row of a round is its own still."""
    agent: Any = mb.HingeLMC(actions=["a", "b"], scores=mb.Networks(n_networks=2, width=4, memory=memory), seed=0)
    contexts = np.random.default_rng(0).normal(size=(128, 2)) * [1.0, 30.0]
    for t, x in enumerate(contexts):
        if t == 80:
            agent.add_action("c")
        agent.learn(x, mb.Decision("ab"[t % 2], 0.5), float(t % 2))
    told = agent._networks.ensemble
    rows = told._seen(agent._map.transform(contexts))
    kept = {row.tobytes(): (t % 2, float(t % 2)) for t, row in enumerate(rows)}
    found = [(told.rows[i].tobytes(), int(told.actions[i]), float(told.losses[i])) for i in range(told.held)]
    assert len(found) == min(memory, 128)
    assert sum(kept.get(row) == (action, loss) for row, action, loss in found) == len(found)


def test_what_could_not_be_loaded_or_learnt_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.HingeLMC(2, scores=mb.Networks(minibatch=10_000, width=512), seed=0)
    agent.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()  # what a step works in is no part of it
    monkeypatch.setattr("marginbandits.state.LIMIT", 100 * 2**20)
    large = mb.Networks(n_networks=1, width=4000, minibatch=8)
    oracle = NetworkERM(0.3, networks=large)
    for learner in (
        mb.HingeLMC(2, scores=large, seed=0),
        mb.FaithfulSmoothFTL(2, horizon=9, margin=0.3, oracle=oracle),
    ):
        with pytest.raises(ValueError, match="more than the limit"):
            learner.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)


@pytest.mark.parametrize(("depth", "rate"), [(8, 1e3), (20, 30.0), (2, 1e6)])
def test_a_step_after_which_nothing_could_be_played_is_refused(depth: int, rate: float) -> None:
    agent = mb.HingeLMC(2, scores=mb.Networks(n_networks=2, depth=depth, rate=rate), seed=0)
    refused = 0
    for t in range(40):
        x, before = [0.1 * t % 1, 0.3], agent.dumps()
        try:
            agent.learn(x, mb.Decision(0, 0.5), 1.0)
        except FloatingPointError:
            refused += 1
            assert agent.dumps() == before
        agent.act(x)
    assert refused
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


def test_an_oracle_says_that_its_rate_is_too_large() -> None:
    oracle = NetworkERM(0.3, networks=mb.Networks(n_networks=1, depth=2, rate=1e6), passes=20)
    rng = np.random.default_rng(0)
    rows, blocks = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="rate=1e\\+06 is too large"):
        oracle.fit(rows, blocks, rng.random(40), np.ones(40), np.zeros((2, 2)))
