"""SciPy's sparse matrices may point anywhere: they are refused before any compiled code follows them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.sound import sound

FAR = 10**9


def _made(kind: str, n: int) -> Any:
    return scipy.sparse.random_array((n, 8), density=0.6, rng=np.random.default_rng(0), format=kind)


def _spoilt(kind: str, what: str, place: int, value: int, n: int = 4) -> Any:
    made = _made(kind, n)
    places = made.coords[int(what)] if kind == "coo" else getattr(made, what)
    places[place] = value
    return made


WRONG = [
    *(
        (kind, what, place, value)
        for kind in ("csr", "csc", "bsr")
        for what in ("indices", "indptr")
        for place, value in ((0, FAR), (0, -FAR), (-1, FAR), (-1, -1))
    ),
    *(("coo", axis, place, value) for axis in "01" for place, value in ((0, FAR), (-1, -FAR))),
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_places_beyond_the_matrix_are_refused_everywhere(given: tuple[str, str, int, int]) -> None:
    agent, losses = mb.SquareCB(3, seed=0), np.zeros((4, 3))
    one, four = _spoilt(*given, n=1), _spoilt(*given)
    before = agent.dumps()
    for call in (agent.act, lambda x: agent.learn(x, mb.Decision(0, 0.5), 0.5)):
        with pytest.raises(ValueError, match=r"context must be a sound sparse matrix: (indices|indptr|coords)"):
            call(one)
    for several in (
        agent.act_many,
        agent.laws,
        lambda x: mb.Oblivious.of(x, losses),
        lambda x: mb.Classification(x, [0, 1, 2, 0]),
        lambda x: mb.Logged(x, [0, 1, 2, 0], [0.0] * 4, [0.5] * 4, n_actions=3),
        lambda x: mb.Linear(3, 8).values(np.zeros(mb.Linear(3, 8).dimension), x),
    ):
        with pytest.raises(ValueError, match="sound sparse matrix"):
            several(four)
    assert agent.dumps() == before


def test_matrices_of_one_axis_and_of_other_formats_are_looked_at() -> None:
    agent = mb.SquareCB(3, seed=0)
    row = scipy.sparse.csr_array(_made("coo", 1).reshape(8))
    row.indptr[-1] = FAR
    with pytest.raises(ValueError, match="indptr must end with"):
        agent.act(row)
    lists = _made("lil", 1)
    lists.rows[0][0] = FAR
    with pytest.raises(ValueError, match="context must be a sound sparse matrix"):
        agent.act(lists)
    empty = _made("csr", 1)
    empty.data = None
    with pytest.raises(ValueError, match="context"):
        agent.act(empty)
    for kind in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        assert np.array_equal(sound(_made(kind, 4)).toarray(), _made("csr", 4).toarray())
        assert agent.law(_made(kind, 1)).shape == (3,)


def test_an_environment_keeps_the_places_that_it_has_looked_at() -> None:
    env = mb.Oblivious.of(_made("csr", 4), np.zeros((4, 3)))
    for places in (env.contexts.indices, env.contexts.indptr, env.contexts.data):
        with pytest.raises(ValueError, match="read-only"):
            places[0] = FAR
