"""Sparse rows: they mean what the same dense rows mean, cost what is filled, and are learnt whole or not at all."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.checks.common import same_arrays
from marginbandits.checks.rounds import snapshot
from marginbandits.contexts import as_sparse, filled
from marginbandits.learners.regression import RidgeLearner
from marginbandits.types import Array, Mask
from tests.test_contract import LEARNERS

K, D = 4, 12
SPARSE = [learner for learner in LEARNERS if learner.takes_sparse]
RIDGE = [mb.EpsilonGreedy, mb.LinTS, mb.LinUCB]
WIDE = [mb.HingeLMC, mb.LogisticTS, mb.SmoothFTL, *RIDGE]
"""Who has a form of its own for them."""
Round = tuple[Array, Mask, int, float]


@pytest.fixture(autouse=True)
def narrow_rows_stay_sparse_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RidgeLearner, "sparse_from", 1)


def rounds(n: int, matrix: bool, seed: int = 0) -> Iterator[Round]:
    """Contexts of which half the columns, or none at all, are filled; masks; actions; and losses they tell of."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x = rng.standard_normal((K, D) if matrix else D)
        x *= rng.random(x.shape) < (0.0 if t % 10 == 9 else 0.5)
        mask = rng.random(K) < 0.7
        action = int(rng.integers(K))
        mask[action] = True
        yield x, mask, action, float(x.ravel()[action] > 0.0)


def rows(x: Array) -> Any:
    return scipy.sparse.csr_array(np.atleast_2d(x))


def learnt(agent: mb.Learner, one: Round, *, sparse: bool) -> Array:
    """The law of a round before it is learnt."""
    x, mask, action, loss = one
    context = rows(x) if sparse else x
    law = agent.law(context, available=mask)
    agent.learn(context, mb.Decision(action, 0.5), loss, available=mask)
    return law


def test_who_takes_sparse_rows() -> None:
    names = {"Bag", "Banditron", "Cover", "HingeLMC", "LogisticTS", "Newtron", "RegCB", "SOBA", "SmoothFTL", "SquareCB"}
    assert {learner.__name__ for learner in SPARSE if learner not in RIDGE} == names


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("learner", [one for one in SPARSE if one not in WIDE])
def test_sparse_rows_teach_what_dense_ones_do(learner: Any, matrix: bool) -> None:
    one, two = (learner(K, features=mb.Bias(), seed=0) for _ in range(2))
    for each in rounds(60, matrix):
        assert np.allclose(learnt(one, each, sparse=False), learnt(two, each, sparse=True), atol=1e-9)
    assert two._shape.sparse
    states = one.state(), two.state()
    assert states[0].keys() == states[1].keys()
    assert all(np.allclose(states[0][name], states[1][name], atol=1e-9) for name in states[0])


@pytest.mark.parametrize("features", ["raw", mb.Identity()], ids=repr)
@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("learner", SPARSE)
def test_a_failed_sparse_round_changes_nothing(learner: Any, matrix: bool, features: Any) -> None:
    longer = type("Longer", (learner,), {"_update": learner._update})  # compiled rounds cannot fail half way
    agent, twin = (longer(K, features=features, seed=0) for _ in range(2))
    for each in rounds(30, matrix):
        before, update = snapshot(agent), agent._update

        def fails(*args: Any, update: Any = update) -> None:
            update(*args)
            raise MemoryError

        with mock.patch.object(agent, "_update", fails), pytest.raises(MemoryError):
            learnt(agent, each, sparse=True)
        assert same_arrays(before, agent.state())
        assert np.array_equal(learnt(agent, each, sparse=True), learnt(twin, each, sparse=True))
    assert same_arrays(agent.state(), twin.state())


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("learner", SPARSE)
def test_saved_sparse_runs_continue(learner: Any, matrix: bool) -> None:
    agent = learner(K, seed=0)
    for each in rounds(20, matrix):
        learnt(agent, each, sparse=True)
    again = mb.loads(agent.dumps())
    for each in rounds(20, matrix, seed=1):
        assert np.array_equal(learnt(agent, each, sparse=True), learnt(again, each, sparse=True))
        assert agent.act(rows(each[0])).action == again.act(rows(each[0])).action
    assert agent.dumps() == again.dumps()


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("learner", SPARSE)
def test_many_sparse_contexts_have_the_laws_of_each(learner: Any, matrix: bool) -> None:
    agent = learner(K, seed=0)
    for each in rounds(30, matrix):
        learnt(agent, each, sparse=True)
    contexts = [rows(x) for x, *_ in rounds(10, matrix, seed=1)]
    alone = [agent.law(context) for context in contexts]
    assert np.array_equal(agent.laws(contexts if matrix else scipy.sparse.vstack(contexts)), alone)


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("learner", SPARSE)
def test_a_round_makes_nothing_as_wide_as_the_contexts(learner: Any, matrix: bool) -> None:
    """By the interpreter's count, which has NumPy's arrays in it; an eighth of one row of them would be seen."""
    import tracemalloc

    width, rng, agent = 2**17, np.random.default_rng(0), learner(K, seed=0)
    n = K if matrix else 1
    contexts = [
        scipy.sparse.csr_array((np.ones(5 * n), (np.repeat(range(n), 5), rng.choice(width, 5 * n, False))), (n, width))
        for _ in range(6)
    ]
    for t, x in enumerate(contexts):
        if t == 3:
            tracemalloc.start()
        agent.learn(x, agent.act(x), t % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < width


def test_zeros_that_are_named_are_not_filled() -> None:
    plain = scipy.sparse.csr_array(([3.0, 2.0], [1, 4], [0, 2]), (1, 6))
    named = scipy.sparse.csr_array(([0.0, 3.0, 2.0, 0.0], [0, 1, 4, 5], [0, 4]), (1, 6))
    cancelled = scipy.sparse.csr_array(([3.0, 1.0, 2.0, -1.0], [1, 2, 4, 2], [0, 4]), (1, 6))
    agents = [mb.SquareCB(2, seed=0) for _ in range(3)]
    for agent, x in zip(agents, (plain, named, cancelled), strict=True):
        agent.learn(x, mb.Decision(0, 0.5), 0.5)
        assert agent.dumps() == agents[0].dumps()
    assert named.nnz == cancelled.nnz == 4  # the user's own are as they were


def test_sparse_rows_are_as_long_as_standardised_ones_however_many_columns_they_fill() -> None:
    rng = np.random.default_rng(0)
    features = mb.Standardise(bias=False).start(200, rng, sparse=True)
    for _ in range(300):
        x = 7.0 * rng.standard_normal(200) * (rng.random(200) < rng.choice([0.02, 0.5]))
        features.observe(as_sparse(x[None]))
    few, many = (7.0 * np.where(np.arange(200) < n, 1.0, 0.0)[None] for n in (3, 180))
    for x in (few, many):
        assert np.linalg.norm(features.transform(as_sparse(x)).values) == pytest.approx(1.0, abs=0.2)


def test_filled_columns() -> None:
    x = np.array([[0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 0.0, 9.0], [0.0, 0.0, 0.0, 0.0]])
    for some in (x, x[:1], x[2:]):
        for kind in (some, as_sparse(some)):
            columns, values = filled(kind)
            whole = np.zeros_like(some)
            whole[:, columns] = values
            assert np.array_equal(whole, some)
    assert filled(as_sparse(x))[1].shape == (3, 2)


@pytest.mark.parametrize("learner", [mb.SquareCB, mb.LogisticTS, mb.LinUCB, mb.HingeLMC])
def test_a_row_is_the_same_in_every_form(learner: Any) -> None:
    """As most rows come, with long indices, out of order, with zeros, in single precision: the same run to the bit."""

    def forms(row: Any) -> Iterator[Any]:
        yield row
        yield scipy.sparse.csr_matrix(row)
        yield scipy.sparse.csr_array((row.data, row.indices.astype(np.int64), row.indptr.astype(np.int64)), row.shape)
        yield scipy.sparse.csr_array((row.data[::-1], row.indices[::-1], row.indptr), row.shape)
        apart = scipy.sparse.csr_array((row.data, row.indices.astype(np.int64), row.indptr.astype(np.int64)), row.shape)
        apart.data, apart.indices = np.repeat(row.data, 2)[::2], np.repeat(apart.indices, 3)[::3]
        yield apart
        kept = apart.copy()
        for part in (kept.data, kept.indices, kept.indptr):
            part.flags.writeable = False
        yield kept
        yield scipy.sparse.csr_array(
            (np.append(row.data, 0.0), np.append(row.indices, D - 1), [0, row.nnz + 1]), row.shape
        )
        yield row.astype(np.float32)
        yield row.tocoo()
        yield scipy.sparse.coo_array(row.toarray()[0])

    rng = np.random.default_rng(0)
    rows = scipy.sparse.csr_array(rng.integers(-3, 4, (60, D)) * (rng.random((60, D)) < 0.4) * [*[1.0] * (D - 1), 0.0])
    found = set()
    for i in range(10):
        agent = learner(K, seed=0)
        for t in range(60):
            x = list(forms(rows[t : t + 1]))[i]
            decision = agent.act(x)
            agent.learn(x, decision, float(decision.action != t % K))
        found.add(agent.dumps())
    assert len(found) == 1


@pytest.mark.parametrize("learner", [mb.SquareCB, mb.LinUCB])
def test_a_row_that_is_unlike_those_before_is_refused(learner: Any) -> None:
    agent, row = learner(K, seed=0), scipy.sparse.csr_array(([1.0, 2.0], [1, 3], [0, 2]), (1, D))
    agent.learn(row, mb.Decision(0, 0.5), 1.0)
    before = agent.dumps()
    spoilt = []
    for part, value in {
        "indices": [[1, D], [1, -1], [1], [[1, 3], [4, 5]]],
        "data": [[1.0], [[1.0, 2.0], [3.0, 4.0]]],
        "indptr": [[0, 3], [0, 10**12], [0, -1], [1, 2], [0], [[0, 2], [0, 2]]],
    }.items():
        for one in value:
            for places in (np.int32, np.int64):
                bad_row = row.copy()
                bad_row.indices, bad_row.indptr = bad_row.indices.astype(places), bad_row.indptr.astype(places)
                given = np.array(one, float if part == "data" else np.int64)
                setattr(bad_row, part, given if part == "data" or given.max() > 10**9 else given.astype(places))
                spoilt.append(bad_row)
    bad = {
        "sound sparse matrix": spoilt,
        "must be finite": [row * np.nan, row * 1e101],
        "as before": [scipy.sparse.csr_array(row.toarray()[:, :-1]), scipy.sparse.vstack([row] * K)],
    }
    for message, contexts in bad.items():
        for context in contexts:
            with pytest.raises(ValueError, match=message):
                agent.act(context)
            with pytest.raises(ValueError, match=message):
                agent.learn(context, mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before
