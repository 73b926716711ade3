"""Networks whose steps are made in the background: the same steps, later; rounds, copies, files, failures as ever."""

import copy
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.oracles.ensembles import Ensemble

ROWS = np.random.default_rng(0).standard_normal((60, 3))


def _ensemble(**more: Any) -> Ensemble:
    recipe = mb.Networks(**{"n_networks": 3, "width": 8, "minibatch": 16, **more})
    return Ensemble(recipe, n_features=3, n_outputs=2, seed=0)


def _learn(told: Ensemble, first: int, last: int) -> None:
    for t in range(first, last):
        told.journal.begin()
        told.learn(ROWS[t], t % 2, float(ROWS[t, 0] > 0))


def _settled(told: Ensemble) -> None:
    """Until the step that is being made is done."""
    while told._coming is not None and not told._coming.ready:
        time.sleep(0.001)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """No step is made in another thread before it is set."""
    opened, main, move = threading.Event(), threading.current_thread(), Ensemble._move

    def waiting(self: Ensemble, *given: Any) -> None:
        if threading.current_thread() is not main:
            opened.wait(10)
        move(self, *given)

    monkeypatch.setattr(Ensemble, "_move", waiting)
    return opened


@pytest.mark.parametrize("sampler", ["bootstrap", "preconditioned"])
def test_steps_are_those_of_the_foreground_if_each_is_waited_for(sampler: str) -> None:
    near, far = _ensemble(sampler=sampler), _ensemble(sampler=sampler, background=True)
    _learn(near, 0, 40)
    for t in range(40):
        _learn(far, t, t + 1)
        _settled(far)
    far.journal.begin()
    far._take_in(np.random.default_rng(0))
    assert far.steps == near.steps == 25
    assert np.array_equal(far.parameters, near.parameters)


def test_no_round_waits_for_a_step_and_there_is_one_at_a_time(gate: threading.Event) -> None:
    told = _ensemble(background=True)
    before = told.parameters.copy()
    _learn(told, 0, 40)
    assert told.steps == 0
    assert np.array_equal(told.parameters, before)
    gate.set()
    _settled(told)
    _learn(told, 40, 41)
    assert told.steps == 1
    assert not np.array_equal(told.parameters, before)


def test_a_round_that_is_taken_back_takes_its_step_with_it(gate: threading.Event) -> None:
    told = _ensemble(background=True)
    _learn(told, 0, 15)
    _learn(told, 15, 16)
    begun = told._coming
    told.journal.undo()
    assert told._coming is None is not begun
    _learn(told, 15, 16)
    gate.set()
    _settled(told)
    before = told.parameters.copy()
    _learn(told, 16, 17)
    assert told.steps == 1
    told.journal.undo()
    assert told.steps == 0
    assert np.array_equal(told.parameters, before)
    _learn(told, 16, 17)
    assert told.steps == 1


def test_a_step_that_fails_is_made_again_where_its_failure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    failures, move = [MemoryError("no room"), MemoryError("no room")], Ensemble._move

    def failing(self: Ensemble, *given: Any) -> None:
        if failures:
            raise failures.pop()
        move(self, *given)

    monkeypatch.setattr(Ensemble, "_move", failing)
    told = _ensemble(background=True)
    _learn(told, 0, 16)
    _settled(told)
    with pytest.raises(MemoryError, match="no room"):
        _learn(told, 16, 17)
    told.journal.undo()
    assert told.rounds == 16
    _learn(told, 16, 17)
    assert (told.rounds, told.steps) == (17, 1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_copies_and_files_are_without_the_step_that_is_being_made(copied: Any, gate: threading.Event) -> None:
    scores = mb.Networks(n_networks=3, width=8, minibatch=16, background=True)
    agent: Any = mb.HingeLMC(2, scores=scores, seed=0)
    for t, x in enumerate(ROWS[:20]):
        agent.learn(x, mb.Decision(t % 2, 0.5), float(x[0] > 0))
    assert agent._networks.ensemble._coming is not None
    others: list[Any] = [copied(agent), mb.loads(agent.dumps())]
    for other in others:
        assert other._networks.ensemble._coming is None
        assert other.dumps() == agent.dumps()
        other.learn(ROWS[20], mb.Decision(0, 0.5), 0.0)
    gate.set()
    _settled(agent._networks.ensemble)


def test_usual_networks_learn_in_the_background_if_they_may() -> None:
    (networks,) = [one for one in mb.Mixture.usual(3, background=True) if isinstance(one, mb.NetworksExpert)]
    assert networks.networks.background
    agent: Any = mb.HingeLMC(2, scores=mb.Networks(n_networks=4, width=32, background=True), seed=0)
    lost = []
    for x in np.random.default_rng(0).uniform(-1, 1, (400, 2)):
        decision = agent.act(x)
        lost.append(float((x[0] > 0) != (decision.action == 1)))
        agent.learn(x, decision, lost[-1])
        _settled(agent._networks.ensemble)  # a machine that is busy would make fewer steps
    assert np.mean(lost[200:]) < 0.2
