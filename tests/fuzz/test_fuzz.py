"""The fuzzers in a small form; at length they are commands, and `make soak` runs them."""

import subprocess
import sys

import pytest

from tests.fuzz import failures, files, threads
from tests.fuzz.subjects import LEARNERS


def injected(n: int, seed: int) -> str:
    """What the command says, in a process of its own: an alarm may ring inside anybody's code.

    It may so leave a lock of numba's or Python's taken that tests after it would wait for.
    """
    command = [sys.executable, "-m", "tests.fuzz.failures", "--injections", str(n), "--seed", str(seed)]
    found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_damaged_files_are_refused_or_work() -> None:
    _, faults = files.fuzz(files.bases(rounds=(25,), every=4), 80, seed=7)
    assert not faults


def test_the_fuzzer_of_files_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with no limits declared, some of the same mutants load and then fail."""
    monkeypatch.setattr("marginbandits.state.State.check", lambda self: None)
    counts, faults = files.fuzz(files.bases(rounds=(25,), every=6), 120, seed=7)
    assert faults
    assert counts["FAULT"] == len(faults)


def test_failed_rounds_leave_no_trace() -> None:
    assert "39 injections" in injected(39, seed=7)


def test_the_fuzzer_of_failures_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: without the journal, failed rounds leave something. All by the trace: no alarm rings here."""
    monkeypatch.setattr("marginbandits.state.Journal.undo", lambda self: None)
    counts, faults = failures.fuzz(20, seed=7)
    assert faults
    assert counts["alarm"] == 0


@pytest.mark.parametrize("learner", [c.__name__ for c in LEARNERS])
def test_eight_threads_lose_no_round(learner: str) -> None:
    assert threads.started(learner, 10, seed=0) is None


def test_one_path_saved_and_read_by_many_stays_whole() -> None:
    counts, errors = threads.saved_and_read(1.0, savers=4, readers=1)
    assert not errors
    assert counts["saved"] > 0


# Longer, for `make soak`; the commands of `tests.fuzz` go on for as long as one likes.


@pytest.mark.soak
def test_a_thousand_damaged_files() -> None:
    _, faults = files.fuzz(files.bases(rounds=(0, 1, 25), every=2), 1000, seed=2)
    assert not faults


@pytest.mark.soak
def test_two_hundred_failures() -> None:
    told = injected(200, seed=1)
    assert "'alarm': 75" in told, told


@pytest.mark.soak
@pytest.mark.parametrize("learner", [c.__name__ for c in LEARNERS])
def test_starts_of_eight_threads(learner: str) -> None:
    assert not [one for one in (threads.started(learner, 50, seed) for seed in range(2)) if one]


@pytest.mark.soak
def test_eight_processes_save_one_path() -> None:
    _, errors = threads.saved_and_read(5.0)
    assert not errors
