"""Rounds learnt together are learnt whole: what the checks of the contract cannot see, because it fails later on."""

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.state import COUNT


@pytest.mark.parametrize("n", [2, 6, 40])
def test_a_late_failure_takes_back_every_round_before_it(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.LinUCB(3, seed=0)
    rows = np.random.default_rng(0).standard_normal((n + 5, 2))
    for x in rows[n:]:
        agent.learn(x, agent.act(x), 1.0)
    before, update, left = agent.dumps(), mb.LinUCB._update, [n]

    def fails(*given: object) -> None:
        update(*given)  # type: ignore[arg-type]  # as it was called
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError

    monkeypatch.setattr(mb.LinUCB, "_update", fails)
    with pytest.raises(MemoryError):
        agent.learn_many(rows[:n], [mb.Decision(0, 0.5)] * n, [1.0] * n)
    assert agent.dumps() == before


def test_counting_ends_where_floats_cannot_count_on() -> None:
    agent = mb.NearestNeighbours(2, memory=4, seed=0)
    x = np.ones(2)
    agent.learn(x, agent.act(x), 1.0)
    agent.state()["reservoir.seen"][:] = COUNT
    agent.state()["features.moments"][-1] = COUNT
    for _ in range(5):
        agent.learn(x, agent.act(x), 0.0)
    assert (agent.state()["reservoir.seen"] == COUNT).all()
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()
