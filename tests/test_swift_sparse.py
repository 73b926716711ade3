"""Sparse rows in compiled code: nothing tells them from the longer way but time, and bad ones are refused."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb

SPARSE: list[Any] = [mb.SquareCB, mb.RegCB, mb.Bag, mb.Cover, mb.LogisticTS, mb.HingeLMC]
K, N = 3, 90


@pytest.mark.parametrize("learner", [*SPARSE, mb.LinUCB])
@pytest.mark.parametrize("place", [np.nan, 3.7, "3", [1, 2]])
def test_columns_that_are_no_whole_numbers_are_refused(learner: Any, place: Any) -> None:
    agent, row = learner(K, seed=0), scipy.sparse.csr_matrix(([1.0], [5], [0, 1]), shape=(1, 3000))
    agent.learn(row, agent.act(row), loss=0.5)
    before, bad = agent.dumps(), row.copy()
    bad.indices = np.array([place]) if not isinstance(place, list) else [0.5]
    for call in (agent.act, lambda x: agent.learn(x, mb.Decision(0, 0.5), 0.5), lambda x: agent.laws(x)):
        with pytest.raises(ValueError, match="context"):
            call(bad)
    assert agent.dumps() == before


@pytest.mark.parametrize("learner", SPARSE)
def test_a_sparse_simulation_is_its_rounds(learner: Any) -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((N, 40), density=0.1, rng=rng, format="csr")
    X = scipy.sparse.csr_array(X.toarray() * (np.arange(N) % 9 > 0)[:, None])  # some rows fill nothing
    env = mb.Oblivious.of(X, rng.random((N, K)))
    one, two, three = (learner(K, seed=0) for _ in range(3))
    trace = mb.simulate(one, env)
    actions = []
    for t in range(N):
        decision = two.act(X[t : t + 1])
        two.learn(X[t : t + 1], decision, env.losses[t, decision.action])
        actions.append(decision.action)
    assert (one._swift is None, trace.actions.tolist()) == (False, actions)
    assert one.dumps() == two.dumps()
    again = mb.loads(one.dumps())
    assert np.array_equal(again.laws(X), one.laws(X))
    played = [mb.Decision(action, 0.5) for action in actions]
    three.learn_many(X, played, env.losses[np.arange(N), actions])
    four = learner(K, seed=0)
    for t in range(N):
        four.learn(X[t : t + 1], played[t], env.losses[t, actions[t]])
    assert three.dumps() == four.dumps()


@pytest.mark.parametrize("learner", [mb.LinUCB, mb.SquareCB])
def test_dense_and_sparse_runs_after_another(learner: Any) -> None:
    """What a learner first saw says how it keeps rows; both kinds are played from then on."""
    rng = np.random.default_rng(0)
    X, losses = rng.random((30, 6)) * (rng.random((30, 6)) < 0.4), rng.random((30, K))
    for first, then in ((X, scipy.sparse.csr_array(X)), (scipy.sparse.csr_array(X), X)):
        one, two = learner(K, seed=0), learner(K, seed=0)
        for agent in (one, two):
            mb.simulate(agent, mb.Oblivious.of(first, losses))
        mb.simulate(one, mb.Oblivious.of(then, losses))
        mb.simulate(two, mb.Oblivious.of(first, losses))
        assert one.dumps() == two.dumps()


@pytest.mark.parametrize("learner", SPARSE)
def test_sparse_rows_the_longer_way_play_the_same_up_to_rounding(learner: Any) -> None:
    longer = type("Longer", (learner,), {"_update": lambda self, *given: learner._update(self, *given)})
    rng, (one, two) = np.random.default_rng(0), (learner(K, seed=0), longer(K, seed=0))
    X = scipy.sparse.random_array((N, 40), density=0.1, rng=rng, format="csr")
    env = mb.Oblivious.of(X, rng.random((N, K)))
    assert mb.simulate(one, env).actions.tolist() == mb.simulate(two, env).actions.tolist()
    assert (one._swift is None, two._swift is None) == (False, True)
    states = one.state(), two.state()
    assert all(np.allclose(states[0][name], states[1][name], rtol=1e-9, atol=1e-12) for name in states[0])


def test_a_bad_sparse_value_is_told_of_by_its_place() -> None:
    bad = scipy.sparse.csr_array(([1.0, np.nan], ([0, 0], [2, 7])), shape=(1, 9))
    with pytest.raises(ValueError, match="nan at row 0, column 7"):
        mb.SquareCB(K, seed=0).act(bad)


def test_sparse_rows_are_made_dense_some_at_a_time() -> None:
    width = 2**22
    rows = scipy.sparse.csr_array((np.ones(300), (np.arange(300), np.arange(300))), shape=(300, width))
    tracemalloc.start()
    mb.simulate(mb.Uniform(K, seed=0), mb.Oblivious.of(rows, np.ones((300, K))))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * 8 * width  # and not 300 of them


def test_sparse_rows_are_taken_one_by_one_where_they_are_played_so() -> None:
    env = mb.Oblivious.of(scipy.sparse.eye_array(20, 6, format="csr"), np.ones((20, K)))
    taken: list[Any] = []

    class Rows(scipy.sparse.csr_array):  # type: ignore[misc]  # SciPy has no types
        def __getitem__(self, key: Any) -> Any:
            taken.append(key)
            return super().__getitem__(key)

    env.contexts = Rows(env.contexts)
    mb.simulate(mb.Banditron(K, seed=0), env)
    assert taken == [slice(t, t + 1) for t in range(20)]


def _with_places(row: Any, columns: Any, starts: Any) -> Any:
    made = row.copy()
    made.indices, made.indptr = columns, starts
    return made


def test_places_of_any_size_are_played_alike_and_none_is_believed() -> None:
    """SciPy's own are of 32 bits, and what they are is looked at in machine code of its own."""
    rng, (one, two, three) = np.random.default_rng(0), (mb.SquareCB(K, seed=0) for _ in range(3))
    X = scipy.sparse.csr_array(scipy.sparse.random_array((40, 30), density=0.2, rng=rng, format="csr"))
    for t in range(40):
        narrow = X[t : t + 1]
        columns, starts = narrow.indices, narrow.indptr
        wide = _with_places(narrow, columns.astype(np.int64), starts.astype(np.int64))
        apart = _with_places(narrow, np.repeat(columns, 2)[::2], np.repeat(starts, 2)[::2])
        assert columns.dtype == np.int32
        for agent, row in ((one, narrow), (two, wide), (three, apart)):
            agent.learn(row, agent.act(row), loss=float(t % 2))
    assert one.dumps() == two.dumps() == three.dumps()
    before, row = one.dumps(), X[:1]
    n, last = row.nnz, row.indices[-1]
    for columns, starts in (
        (row.indices, np.array([0, n + 1], np.int32)),
        (row.indices, np.array([0, -1], np.int32)),
        (row.indices, np.array([1, n], np.int32)),
        (row.indices, np.array([0], np.int32)),
        (row.indices[:-1], row.indptr),
        (row.indices[::-1].copy() - last, row.indptr),
        (row.indices + 30, row.indptr),
        (row.indices, row.indptr.astype(np.int64) + 2**40),
    ):
        bad = _with_places(row, columns, starts)
        for call in (one.act, lambda x: one.learn(x, mb.Decision(0, 0.5), 0.5)):
            with pytest.raises(ValueError, match="context"):
                call(bad)
    assert one.dumps() == before
