"""Networks compute on one thread: the same run whatever the process allows, and others have their setting back."""

import importlib.util
import os
import threading
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import marginbandits as mb
from marginbandits.one_thread import one_thread
from marginbandits.oracles.network_erm import NetworkERM
from marginbandits.scores.networks import Perceptrons
from marginbandits.types import Array

BLAS = ThreadpoolController().select(user_api="blas")
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra `torch` is not installed")


def allowed() -> set[int]:
    return {one["num_threads"] for one in BLAS.info()}


def played(learner: mb.Learner) -> bytes:
    """What is learnt in rounds whose products are large enough for a library to share them out."""
    rng = np.random.default_rng(0)
    for x in rng.standard_normal((30, 300)):
        learner.learn(x, learner.act(x), float(rng.random() < 0.5))
    return learner.dumps()


def networks(device: str) -> bytes:
    return played(mb.HingeLMC(3, scores=mb.Networks(device=device), seed=0))


def test_a_run_is_the_same_on_one_thread_and_on_two() -> None:
    runs = []
    for n in (1, 2):
        with BLAS.limit(limits=n):
            runs.append(networks("cpu"))
            assert allowed() == {n}
    assert runs[0] == runs[1]


def test_a_fit_is_the_same_on_one_thread_and_on_two() -> None:
    rows, losses = np.random.default_rng(0).standard_normal((256, 300)), np.random.default_rng(1).random(256)
    found: list[Array] = []
    for n in (1, 2):
        with BLAS.limit(limits=n):
            oracle = NetworkERM(0.5, networks=mb.Networks(n_networks=2), passes=2)
            leader = oracle.fit(rows, np.arange(256) % 2, losses, np.ones(256), np.zeros((2, 300)))
            found.append(leader.scores(rows))
    assert np.array_equal(found[0], found[1])


@needs_torch
def test_pytorch_computes_on_one_thread_and_has_its_own_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    before, seen, runs, forward = torch.get_num_threads(), set(), [], Perceptrons.forward

    def watched(*given: Any) -> Any:
        seen.add(torch.get_num_threads())
        return forward(*given)

    monkeypatch.setattr(Perceptrons, "forward", watched)
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            runs.append(networks("torch:cpu"))
            assert torch.get_num_threads() == n
    finally:
        torch.set_num_threads(before)
    assert seen == {1}
    assert runs[0] == runs[1]


def test_whoever_leaves_last_puts_the_setting_back() -> None:
    with BLAS.limit(limits=2):
        inside, leave = threading.Event(), threading.Event()

        def other() -> None:
            with one_thread():
                inside.set()
                leave.wait(10)

        thread = threading.Thread(target=other)
        with one_thread():
            thread.start()
            assert inside.wait(10)
            with one_thread():
                assert allowed() == {1}
        assert allowed() == {1}  # one is still at work
        leave.set()
        thread.join()
        assert allowed() == {2}


def test_it_is_put_back_when_a_round_fails() -> None:
    with BLAS.limit(limits=2):
        agent = mb.HingeLMC(2, scores=mb.Networks(n_networks=2, width=8, rate=1e6), seed=0)
        with pytest.raises(FloatingPointError):
            played(agent)
        assert allowed() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_one_that_is_inside_has_the_setting_back() -> None:
    with BLAS.limit(limits=2), one_thread():
        pid = os.fork()
        if not pid:
            found: Any = allowed()
            with one_thread():
                found = found, allowed()
            os._exit(0 if found == ({2}, {1}) and allowed() == {2} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
