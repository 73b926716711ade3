"""Forests fitted in the background: the same trees, later; nothing is lost by failures, copies, files or undoing."""

import copy
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.contexts import per_action
from marginbandits.experts import TreesExpert, trees
from marginbandits.oracles.extra_trees import grow
from tests.problems import played

ROWS = np.random.default_rng(0).standard_normal((8, 3))
PROBE = per_action(np.random.default_rng(1).standard_normal((50, 3)), 1)


def taught(background: bool, rounds: int = 8) -> TreesExpert:
    """The eighth round calls for a fit."""
    expert = TreesExpert(n_trees=3, background=background)._start(1, 3)
    for row in ROWS[:rounds]:
        expert._learn(per_action(row[None], 1), 0, float(row[0] > 0))
    return expert


def settled(expert: TreesExpert) -> None:
    """Until what is being fitted is done, and taken in."""
    while not all(later.ready for later in expert._coming.values()):
        time.sleep(0.001)
    expert._take_in()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """No forest is grown in another thread before it is set."""
    opened, main = threading.Event(), threading.current_thread()

    def waiting(*given: Any, **named: Any) -> Any:
        if threading.current_thread() is not main:
            opened.wait(10)
        return grow(*given, **named)

    monkeypatch.setattr(trees, "grow", waiting)
    return opened


def test_no_round_waits_and_then_the_trees_are_the_same(gate: threading.Event) -> None:
    expert = taught(background=True)
    assert (expert._predict(PROBE) == 0.5).all()
    gate.set()
    settled(expert)
    assert np.array_equal(expert._predict(PROBE), taught(background=False)._predict(PROBE))
    assert not (expert._predict(PROBE) == 0.5).all()


def test_the_forest_before_goes_on_predicting(gate: threading.Event) -> None:
    gate.set()
    expert = taught(background=True)
    settled(expert)
    before = expert._predict(PROBE)
    gate.clear()
    while not expert._coming:
        expert._learn(per_action(ROWS[:1], 1), 0, 1.0)
    assert np.array_equal(expert._predict(PROBE), before)
    gate.set()
    settled(expert)
    assert not np.array_equal(expert._predict(PROBE), before)


def test_a_fit_that_fails_is_made_again_where_its_failure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [MemoryError("no room"), MemoryError("no room"), None]

    def failing(*given: Any, **named: Any) -> Any:
        failure = failures.pop(0)
        if failure is not None:
            raise failure
        return grow(*given, **named)

    monkeypatch.setattr(trees, "grow", failing)
    expert = taught(background=True)
    settled(expert)
    with pytest.raises(MemoryError, match="no room"):
        expert._predict(PROBE)
    monkeypatch.undo()
    assert np.array_equal(expert._predict(PROBE), taught(background=False)._predict(PROBE))


def test_a_round_that_is_taken_back_takes_its_fit_with_it(gate: threading.Event) -> None:
    expert = taught(background=True, rounds=7)
    expert.journal.begin()
    expert._learn(per_action(ROWS[7:], 1), 0, 1.0)
    assert list(expert._coming) == [0]
    expert.journal.undo()
    assert not expert._coming
    assert expert._held[0] == 7
    gate.set()
    assert (expert._predict(PROBE) == 0.5).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_fits_for_itself(copied: Any, gate: threading.Event) -> None:
    agent = mb.Mixture(2, experts=[TreesExpert(n_trees=3, background=True)], seed=0)
    played(agent, 20)
    assert agent._started[0]._coming  # type: ignore[attr-defined]  # it is the expert given
    other = copied(agent)
    x, decision = np.ones(4), mb.Decision(1, 1.0)
    other.learn(x, decision, 0.0)
    assert not other._started[0]._coming
    assert not (other._started[0]._predict(per_action(x[None], 2)) == 0.5).all()
    gate.set()
    played(agent, 1)
    settled(agent._started[0])  # type: ignore[arg-type]  # it is the expert given
    again = mb.loads(agent.dumps())
    probes = np.random.default_rng(2).standard_normal((50, 4))
    assert np.array_equal([agent.law(x) for x in probes], [again.law(x) for x in probes])


def test_usual_experts_learn_in_the_background_if_they_may() -> None:
    agent = mb.Mixture(3, experts=mb.Mixture.usual(3, background=True), seed=0)
    assert played(agent, 600)[-200:].mean() < 0.3


def test_where_no_thread_is_to_be_had_the_fit_is_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    expert = taught(background=True)
    expert._take_in()
    assert np.array_equal(expert._predict(PROBE), taught(background=False)._predict(PROBE))
