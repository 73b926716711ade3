"""`HingeLMC` on networks: its contract, what it learns, what it refuses, and files that continue it."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.checks import LEARNER_CHECKS
from marginbandits.oracles.network_erm import NetworkERM
from marginbandits.scores.networks import Perceptrons
from marginbandits.surrogates import TWO_SIDED
from marginbandits.types import Array
from tests.files import put_together, taken_apart
from tests.marks import at_length
from tests.problems import exclusive_or


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


def test_a_round_asks_the_networks_once_before_it_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.HingeLMC(2, scores=_small(), seed=0)
    exclusive_or(agent, 30)
    forward, asked = Perceptrons.forward, []

    def counted(self: Perceptrons, parameters: Any, x: Any, room: Any = None) -> Any:
        asked.append(len(x))
        return forward(self, parameters, x, room)

    monkeypatch.setattr(Perceptrons, "forward", counted)
    agent.learn([0.3, 0.4], mb.Decision(0, 0.5), 0.0)
    assert asked == [1, 32, 1]  # as they are, the step's minibatch, and the newest round after it


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
    with pytest.raises(ValueError, match=r"an image of shape \(4, 3, 2\), or its 24 numbers, got shape \(4, 3\)"):
        images.act(some[0, :, :, 0])


def test_an_image_is_its_pixels_and_that_is_said() -> None:
    agent = mb.HingeLMC(3, scores=_small(), seed=0)
    image = np.random.default_rng(0).random((8, 8, 3))
    with pytest.raises(ValueError, match=r"got shape \(8, 8, 3\): give an image as a vector, image\.ravel\(\)"):
        agent.act(image)
    agent.learn(image.ravel(), agent.act(image.ravel()), 0.0)


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


def test_what_could_not_be_learnt_from_is_refused_when_it_is_first_acted_on() -> None:
    """Too wide for networks without a bag; and to have tried changes nothing."""
    agent = mb.HingeLMC(2, scores=_small(), seed=0)
    before = agent.dumps()
    with pytest.raises(ValueError, match=r"a smaller width need less; sparse rows are for Networks\(bag=32\)"):
        agent.act(scipy.sparse.csr_array(([1.0], ([0], [7])), shape=(1, 2**18)))
    assert agent.dumps() == before
    agent.act([0.1, 0.2])
    twin = mb.HingeLMC(2, scores=_small(), seed=0)
    for one in (agent, twin):
        one.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)
    assert np.array_equal(_weights(agent), _weights(twin))


def _weights(agent: mb.HingeLMC) -> Array:
    assert agent._networks is not None
    return agent._networks.ensemble.parameters.astype(float)


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("n_particles", 8, r"Networks\(n_networks=…\) is for that"),
        ("temperature", 0.2, r"Networks\(temperature=…\) is for that"),
        ("moves", 1, "every network moves in every step"),
        ("step", 0.1, r"Networks\(rate=…\) is for that"),
        ("regularisation", 1.0, r"Networks\(decay=…\) is for that"),
        ("minibatch", 32, r"Networks\(minibatch=…\) is for that"),
        ("memory", 500, r"Networks\(memory=…\) is for that"),
    ],
)
def test_parameters_of_particles_are_refused_beside_networks(name: str, value: float, instead: str) -> None:
    with pytest.raises(ValueError, match=f"{name} has no effect with scores=Networks\\(\\), got {value}: {instead}"):
        mb.HingeLMC(2, scores=_small(), **{name: value})  # type: ignore[arg-type]  # of either type
    mb.HingeLMC(2, **{name: value})  # type: ignore[arg-type]  # the control


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


def test_where_contexts_are_images_nothing_else_is_taken() -> None:
    agent = mb.HingeLMC(2, scores=mb.Networks(n_networks=2, width=4, image=(2, 3)), seed=0)
    assert agent.act(np.zeros((2, 3))).action in (0, 1)
    for other in ({"a": 1.0, "b": 2.0}, np.zeros((3, 2)), scipy.sparse.csr_array(np.ones((1, 6)))):
        with pytest.raises(ValueError, match=r"context must be an image of shape \(2, 3\)"):
            agent.act(other)
    with pytest.raises(ValueError, match=r"contexts must be images of shape \(2, 3\), or its 6 numbers, got shape"):
        agent.act_many(np.zeros((5, 3, 2)))


def test_a_recipe_is_settled() -> None:
    """Learners may share it, and have made their own of it."""
    recipe = mb.Networks(n_networks=2, width=4, rate=0.01)
    with pytest.raises(ValueError, match="width of Networks is settled: build another Networks, got 5"):
        recipe.width = 5
    with pytest.raises(ValueError, match=r"rate of Networks is settled: build another Networks, got 0\.1"):
        recipe.rate = 0.1
    for name, meant in (("raet", "; did you mean 'rate'"), ("colour", "")):
        with pytest.raises(ValueError, match=f"Networks has no parameter '{name}'{meant}"):
            setattr(recipe, name, 0.1)
    assert (recipe.width, recipe.rate) == (4, 0.01)


def test_weights_that_no_round_could_have_left_are_refused() -> None:
    """Each is a number that weights may be, but no score comes of them."""
    agent = mb.HingeLMC(3, scores=mb.Networks(n_networks=2, width=8), seed=0)
    mb.simulate(agent, mb.Classification.bundled("iris", n_rounds=30, seed=0))
    header, arrays = taken_apart(agent.dumps())
    assert mb.loads(put_together(header, arrays)).dumps() == agent.dumps()
    name = next(one for one in arrays if one.endswith("ensemble.parameters"))
    with pytest.raises(ValueError, match="parameters must give finite scores"):
        mb.loads(put_together(header, {**arrays, name: np.full_like(arrays[name], 1e30)}))
