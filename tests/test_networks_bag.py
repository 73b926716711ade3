"""Networks with a bag: what the table learns, what replay keeps, and that nothing is lost on sparse rows."""

import io
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.contexts import Sparse, as_sparse
from marginbandits.learners.hinge_lmc.together import alike
from marginbandits.oracles.bagged import BaggedEnsemble
from marginbandits.oracles.network_erm import NetworkERM
from marginbandits.scores.bags import pooled, scattered
from marginbandits.scores.networks import Perceptrons
from marginbandits.surrogates import TWO_SIDED, two_sided_slope
from marginbandits.types import Array
from tests.doubles import arrays_of
from tests.naive.networks import cost

WIDTH = 2000


def _small(**more: Any) -> mb.Networks:
    return mb.Networks(**{"n_networks": 3, "width": 16, "depth": 1, "minibatch": 32, "bag": 8, **more})


def _texts(n: int, seed: int = 0) -> Iterator[tuple[scipy.sparse.csr_array, int]]:
    """Ten words, of which two together say which action is right: neither says anything alone."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        i, j = rng.integers(6, size=2)
        words = np.unique([100 + i, 200 + j, *rng.integers(1000, 1300, 8)])
        yield scipy.sparse.csr_array((np.ones(len(words)), words, [0, len(words)]), (1, WIDTH)), int((i + j) % 2)


def _read(agent: mb.Learner, n: int, seed: int = 0) -> Array:
    lost = []
    for x, right in _texts(n, seed):
        decision = agent.act(x)
        lost.append(float(decision.action != right))
        agent.learn(x, decision, lost[-1])
    return np.array(lost)


def _told(agent: Any) -> BaggedEnsemble:
    ensemble = agent._networks.ensemble
    assert isinstance(ensemble, BaggedEnsemble)
    return ensemble


@pytest.mark.parametrize("kind", TWO_SIDED)
@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
def test_the_gradient_in_the_table_is_that_of_the_cost(hidden: tuple[int, ...], kind: str) -> None:
    rng, shape = np.random.default_rng(0), Perceptrons(n_networks=2, sizes=(3, *hidden, 2))
    parameters = shape.drawn(rng).astype(float) + 0.3 * rng.standard_normal(shape.dimension)
    table, losses = rng.standard_normal((7, 3)), rng.random((6, 2))
    rows = as_sparse(rng.standard_normal((6, 7)) * (rng.random((6, 7)) < 0.5))

    def total(at: Array) -> float:
        return float(cost(kind, shape.forward(parameters, rows.dense() @ at)[-1], losses, 0.3).sum())

    room, values = shape.room(6, float), rows.values.astype(np.float32)
    seen = pooled(values, rows.columns, rows.starts, table.astype(np.float32))
    given = shape.forward(parameters, seen.astype(float), room)
    room.slopes[-1][...] = two_sided_slope(kind, given[-1], losses, 0.3)
    shape.backward(parameters, given, room.slopes[-1], room)
    inward = shape.inward(parameters, room)
    gradient = scattered(values, rows.columns, rows.starts, inward.astype(np.float32), 7)
    steps = 1e-6 * np.eye(table.size).reshape(-1, *table.shape)
    numeric = np.array([(total(table + step) - total(table - step)) / 2e-6 for step in steps]).reshape(table.shape)
    assert np.allclose(gradient, numeric, rtol=1e-4, atol=1e-4)
    assert not np.allclose(gradient, 0.9 * numeric, rtol=1e-4, atol=1e-4)  # the comparison can fail


def test_it_learns_what_two_words_say_together() -> None:
    """The last 300 of 1,500 rounds: a guess loses half of them, more than 0.6 or less than 0.4 once in 1,000 runs."""
    assert _read(mb.HingeLMC(2, scores=_small(), seed=0), 1500)[-300:].mean() < 0.2
    assert 0.4 < _read(mb.HingeLMC(2, seed=0), 1500)[-300:].mean() < 0.6


def test_a_table_that_stays_as_it_is_learns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginbandits.oracles.bagged.PACE", 0.0)
    assert _read(mb.HingeLMC(2, scores=_small(), seed=0), 1500)[-300:].mean() > 0.4


def test_names_and_values_rows_for_each_action_and_windows_are_read() -> None:
    named = mb.HingeLMC(2, scores=_small(), features=mb.Table(text=["body"]), seed=0)
    for t in range(60):
        mail = {"body": ["win a prize now", "lunch on tuesday"][t % 2]}
        named.learn(mail, named.act(mail), 0.5)
    assert named.predict({"body": "your prize"}).shape == (2,)
    each = mb.HingeLMC(3, scores=_small(), seed=0)
    for t in range(60):
        rows = scipy.sparse.csr_array(np.roll(np.eye(3, 40), t % 7, axis=1))
        decision = each.act(rows)
        each.learn(rows, decision, float(decision.action > 0))
    assert mb.loads(each.dumps()).dumps() == each.dumps()
    assert 0.0 < _read(mb.HingeLMC(2, scores=_small(), window=50, seed=0), 120).mean() < 1.0


def test_runs_go_on_bit_for_bit_from_a_file_and_a_file_holds_what_was_seen() -> None:
    agent = mb.HingeLMC(2, scores=_small(memory=40), seed=0)
    _read(agent, 150)
    saved = agent.dumps()
    again = mb.loads(saved)
    assert np.array_equal(_read(agent, 80, 1), _read(again, 80, 1))
    assert agent.dumps() == again.dumps() != saved
    assert len(saved) < 4 * 8 * WIDTH * 2  # the whole table alone would take that for one number of two
    told = _told(agent)
    assert 0 < np.count_nonzero(told.squares) < 400  # words that came, and the constant


def test_rounds_that_fail_leave_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.HingeLMC(2, scores=_small(memory=40), seed=0)
    _read(agent, 60)
    rows = [x for x, _ in _texts(5, 3)]
    step, steps = BaggedEnsemble._step, iter(range(100))

    def failing(self: Any, chance: Any) -> None:
        step(self, chance)
        if next(steps) in (0, 4):
            raise MemoryError("as when there is none left")

    before = agent.dumps()
    monkeypatch.setattr(BaggedEnsemble, "_step", failing)
    with pytest.raises(MemoryError):
        agent.learn(rows[0], mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before
    with pytest.raises(MemoryError):
        agent.learn_many(rows, [mb.Decision(0, 0.5)] * 5, [1.0] * 5)
    assert agent.dumps() == before


def test_replay_keeps_the_latest_rows_in_a_room_that_does_not_grow() -> None:
    """Rounds of 1 to 90 columns, room for 64 on average: what is kept are the latest rounds, as they came."""
    recipe, rng = _small(memory=10), np.random.default_rng(0)
    told = BaggedEnsemble(recipe, n_features=200, n_outputs=2, seed=0, begin=10**6)
    rows, room, least = [], told.values.nbytes, 10
    for t in range(300):
        columns = np.sort(rng.permutation(200)[: rng.integers(1, 91 if t % 100 < 50 else 200)])
        rows.append(Sparse(rng.standard_normal(len(columns)), columns, np.array([0, len(columns)]), 200))
        told.learn(rows[-1], t % 2, float(t % 3 == 0))
        told.check()
        latest = told._latest(np.arange(told.held))
        values, columns, starts = told._entries(latest)
        for i, at in enumerate(latest):
            own, where = rows[t - i], slice(starts[i], starts[i + 1])
            assert np.array_equal(columns[where], own.columns)
            assert np.array_equal(values[where], own.values.astype(np.float32))
            assert (told.actions[at], told.losses[at]) == ((t - i) % 2, float((t - i) % 3 == 0))
        least = min(least, told.held) if t > 20 else least
    assert told.values.nbytes == room
    assert 2 <= least < 10 == max(told.held, 10)


def test_actions_come_and_go_and_the_others_stay() -> None:
    agent = mb.HingeLMC(actions=["a", "b", "c"], scores=_small(memory=50), seed=0)
    rows = [x for x, _ in _texts(81)]
    for t, x in enumerate(rows[:80]):
        agent.learn(x, mb.Decision("abc"[t % 3], 0.3), float(t % 2))
    before = agent.predict(rows[80])
    agent.add_action("d")
    assert np.allclose(agent.predict(rows[80])[:3], before, atol=1e-6)
    agent.retire_action("a")
    assert np.allclose(agent.predict(rows[80])[:2], before[1:], atol=1e-6)
    told = _told(agent)
    assert 30 <= told.held < 50
    assert set(told.actions[told._latest(np.arange(told.held))]) == {0, 1}
    for t, x in enumerate(rows):
        agent.learn(x, mb.Decision("bcd"[t % 3], 0.3), float(t % 2))
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


# What is refused.


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"bag": 0}, "bag must be"),
        ({"bag": 2.5}, "bag must be"),
        ({"sampler": "langevin"}, "sampler='langevin' is not for networks with a bag: a table that all share"),
        ({"norm": 2.0}, "norm=2.0 is not for networks with a bag"),
        ({"background": True}, "background=True is not for networks with a bag"),
        ({"image": (4, 4)}, r"image=\[4, 4\] is not for networks with a bag"),
        ({"device": "torch:cpu"}, "device='torch:cpu' is not for networks with a bag"),
    ],
)
def test_what_does_not_go_with_a_bag_is_refused_by_name(more: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        _small(**more)


def test_dense_rows_experts_and_oracles_are_refused_by_name() -> None:
    agent = mb.HingeLMC(2, scores=_small(), seed=0)
    before = agent.dumps()
    for x in ([0.1, 0.2], np.eye(2)):
        with pytest.raises(ValueError, match="bag=8 is for sparse rows, or names and values"):
            agent.learn(x, mb.Decision(0, 0.5), 1.0)
        with pytest.raises(ValueError, match="bag=8 is for sparse rows, or names and values"):
            agent.act(x)
        assert agent.dumps() == before
    _read(agent, 5)
    agent.learn(np.eye(1, WIDTH)[0], mb.Decision(0, 0.5), 1.0)  # which is made sparse, now that others were
    with pytest.raises(ValueError, match="networks must have no bag here, got bag=8"):
        mb.NetworksExpert(networks=_small())
    with pytest.raises(ValueError, match="networks must have no bag here, got bag=8"):
        NetworkERM(0.3, networks=_small())
    assert alike(mb.HingeLMC(2, scores=_small())) is None


@pytest.mark.parametrize("rate", [1e6, 1e3])
def test_a_rate_that_is_too_large_is_refused_and_nothing_has_happened(rate: float) -> None:
    agent, refused = mb.HingeLMC(2, scores=_small(rate=rate), seed=0), 0
    for x, _ in _texts(60):
        before = agent.dumps()
        try:
            agent.learn(x, mb.Decision(0, 0.5), 1.0)
        except FloatingPointError:
            refused += 1
            assert agent.dumps() == before
        assert math.isclose(agent.law(x).sum(), 1.0)
    assert refused or rate < 1e6
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


def test_a_table_that_cannot_fit_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginbandits.state.LIMIT", 2**20)
    agent = mb.HingeLMC(2, scores=_small(bag=64), seed=0)
    before = agent.dumps()
    with pytest.raises(ValueError, match="more than the limit"):
        agent.learn(scipy.sparse.csr_array(np.eye(1, 10**5)), mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("table", 5, 1.0),
        ("squares", 100, -1.0),
        ("columns", 0, WIDTH + 1),
        ("values", 0, 2000.0),
        ("places", 0, 10**6),
        ("ring", 0, 39),
        ("ring", 1, 41),
        ("ring", 2, 0),
        ("counts", 3, 3),
        ("table", 100, math.nan),
    ],
)
def test_files_that_were_tampered_with_are_refused(name: str, at: int, value: float) -> None:
    agent = mb.HingeLMC(2, scores=_small(memory=40), features=mb.Identity(), seed=0)
    _read(agent, 60)
    arrays_of(agent)[f"networks.ensemble.{name}"].reshape(-1)[at * (8 if name == "table" else 1)] = value
    with pytest.raises(ValueError, match="cannot be loaded"):
        mb.loads(agent.dumps())


def test_rounds_that_would_take_more_than_there_is_are_refused() -> None:
    """Else a small file could ask for a minibatch of any size."""
    agent = mb.HingeLMC(2, scores=_small(memory=40), seed=0)
    _read(agent, 60)
    arrays_of(agent)["networks.ensemble.places"][:] = 0, 2000
    with pytest.raises(ValueError, match="places must leave each round kept its own"):
        mb.loads(agent.dumps())


@pytest.mark.parametrize("what", ["shape", "dtype", "missing"])
def test_files_with_another_table_are_refused(what: str) -> None:
    agent = mb.HingeLMC(2, scores=_small(memory=40), seed=0)
    _read(agent, 60)
    arrays = dict(np.load(io.BytesIO(agent.dumps())))
    name = next(one for one in arrays if one.endswith("ensemble.table"))
    if what == "missing":
        del arrays[name]
    else:
        wider = np.repeat(arrays[name], 2, -1)
        arrays[name] = wider if what == "shape" else arrays[name].astype(float)
    file = io.BytesIO()
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="cannot be loaded"):
        mb.loads(file.getvalue())


def test_two_learners_of_one_recipe_share_nothing() -> None:
    scores = _small()
    one, alone = mb.HingeLMC(2, scores=scores, seed=0), mb.HingeLMC(2, scores=_small(), seed=0)
    other = mb.HingeLMC(2, scores=scores, seed=1)
    for x, _ in _texts(60):
        for agent in (one, other, alone):
            agent.learn(x, mb.Decision(0, 0.5), 1.0)
    assert np.array_equal(_told(one).table, _told(alone).table)
    assert not np.array_equal(_told(one).table, _told(other).table)
    assert one.dumps() == alone.dumps()
