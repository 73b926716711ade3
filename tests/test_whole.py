"""Rounds learnt together are learnt whole: what the checks of the contract cannot see, because it fails later on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.state import COUNT
from tests.doubles import arrays_of


class Slow(mb.LinUCB):
    """Not in compiled code, where nothing can fail."""

    def _update(self, *given: Any) -> None:
        super()._update(*given)


@pytest.mark.parametrize("n", [2, 6, 40])
def test_a_late_failure_takes_back_every_round_before_it(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Slow(3, seed=0)
    rows = np.random.default_rng(0).standard_normal((n + 5, 2))
    for x in rows[n:]:
        agent.learn(x, agent.act(x), 1.0)
    before, update, left = agent.dumps(), Slow._update, [n]

    def fails(*given: object) -> None:
        update(*given)  # type: ignore[arg-type]  # as it was called
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError

    monkeypatch.setattr(Slow, "_update", fails)
    with pytest.raises(MemoryError):
        agent.learn_many(rows[:n], [mb.Decision(0, 0.5)] * n, [1.0] * n)
    assert agent.dumps() == before


def test_what_was_learnt_is_shown_and_cannot_be_written_to() -> None:
    """Compiled code goes where these arrays say."""
    agent, x = mb.HingeLMC(2, window=50, seed=0), np.ones(2)
    for _ in range(3):
        agent.learn(x, agent.act(x), 0.5)
    shown = agent.state()
    before = shown["copy0.monitor.state"].copy()
    for array in shown.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 10**6
    agent.learn(x, agent.act(x), 0.5)
    assert not np.array_equal(shown["copy0.monitor.state"], before)  # it is what there is, and no copy


def test_counting_ends_where_floats_cannot_count_on() -> None:
    agent = mb.NearestNeighbours(2, memory=4, seed=0)
    x = np.ones(2)
    agent.learn(x, agent.act(x), 1.0)
    arrays_of(agent)["reservoir.seen"][:] = COUNT
    arrays_of(agent)["features.moments"][-1] = COUNT
    for _ in range(5):
        agent.learn(x, agent.act(x), 0.0)
    assert (agent.state()["reservoir.seen"] == COUNT).all()
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


def test_first_rounds_that_fail_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Slow(3, seed=0)

    def fails(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(agent, "_update", fails)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            agent.learn([1.0, 2.0], mb.Decision(0, 0.5), 0.5)
    assert not agent._journal.records


@pytest.mark.parametrize(
    "learn",
    [
        lambda agent: agent.learn([1.0, 0.0], mb.Decision(0, 0.5), 0.5),
        lambda agent: agent.learn_many(np.eye(2), [mb.Decision(0, 0.5)] * 2, [0.5, 0.5]),
    ],
    ids=["one", "many"],
)
def test_an_interrupt_before_a_failed_round_is_put_back(
    learn: Callable[[mb.Learner], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Slow(3, seed=0)
    agent.learn([1.0, 2.0], mb.Decision(0, 0.5), 0.5)
    before, undo, update = agent.dumps(), agent._journal.undo, agent._update
    calls: list[int] = []

    def interrupted() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        undo()

    def fails(*args: Any) -> None:
        update(*args)
        raise RuntimeError

    monkeypatch.setattr(agent, "_update", fails)
    monkeypatch.setattr(agent._journal, "undo", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(agent)
    monkeypatch.undo()
    assert agent.dumps() == before
