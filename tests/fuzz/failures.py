"""Failures and interrupts at random places inside `learn`: a learner is as before or has learnt the round whole.

Two kinds. A trace raises MemoryError, KeyboardInterrupt or RuntimeError at a line of the package's code, drawn from
all that `learn`, or `learn_many`, passes; lines that put a failed round back are left out, for nothing can be promised
if that fails. And the alarm clock interrupts after a random time, wherever the process then is. After each, everything
that is saved (generators included) must be that before the round or that of a twin who learnt it undisturbed, and
the rest of the run must be the twin's.

    python -m tests.fuzz.failures --injections 1000 --seed 0
"""

import argparse
import itertools
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import marginbandits as mb
from tests.fuzz.subjects import SUBJECTS, Subject, context, play

__all__ = ["fuzz"]

PACKAGE = str(Path(mb.__file__).parent)
RESTORING = {"undo", "_put_back", "_undo"}
ERRORS = (MemoryError, KeyboardInterrupt, RuntimeError)
Round = tuple[Any, mb.Decision, float]


class _Trace:
    """Counts the lines of the package that run, and raises at one of them."""

    def __init__(self, at: int = -1, error: type[BaseException] = RuntimeError) -> None:
        self.at, self.error, self.count, self.where = at, error, 0, ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or code.co_name in RESTORING:
            return None
        if event == "line":
            if self.count == self.at:
                self.where = f"{Path(code.co_filename).name}:{frame.f_lineno}"
                self.count += 1
                raise self.error("injected")
            self.count += 1
        return self

    def run(self, call: Callable[[], None]) -> None:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            call()
        finally:
            sys.settrace(before)


def _rounds(agent: mb.Learner, layout: str, n: int, rng: np.random.Generator) -> list[Round]:
    found = []
    for _ in range(n):
        x = context(rng, layout)
        found.append((x, mb.Decision(int(rng.integers(3)), 0.5), float(rng.integers(2))))
    return found


def _learn(agent: mb.Learner, rounds: list[Round]) -> Callable[[], None]:
    if len(rounds) == 1:
        return lambda: agent.learn(*rounds[0])
    contexts, decisions, losses = zip(*rounds, strict=True)
    if not isinstance(contexts[0], np.ndarray):
        return lambda: agent.learn_many(list(contexts), decisions, losses)
    return lambda: agent.learn_many(np.array(contexts), decisions, losses)


class _Rang(BaseException):
    """The alarm clock: an interrupt, which nobody who expects a stranger's errors may take for one."""


def _ring(*args: object) -> None:
    raise _Rang


def _interrupted(call: Callable[[], None], seconds: float) -> bool:
    """Whether the alarm rang inside."""
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except _Rang:
        return True
    finally:
        signal.signal(signal.SIGALRM, before)
    return False


def _injected(subject: Subject, rng: np.random.Generator, kind: str) -> str:
    """One injection; returns where it hit, or raises an AssertionError."""
    learnt, many = int(rng.choice([0, 0, 1, 5, 30])), int(rng.choice([1, 1, 1, 4, 40]))
    one, two = subject.build(), subject.build()
    for agent in (one, two):
        play(agent, subject.layout, learnt)
    rounds = _rounds(one, subject.layout, many, rng)
    before = one.dumps()
    if kind == "trace":
        counted = _Trace()
        counted.run(_learn(two, rounds))
        trace = _Trace(int(rng.integers(counted.count)), ERRORS[rng.integers(3)])
        try:
            trace.run(_learn(one, rounds))
        except ERRORS:
            pass
        except ValueError as error:  # what an error within a stranger's sequence becomes, and nothing else
            if not isinstance(error.__cause__, ERRORS):
                raise
        where = trace.where
    else:
        clock = _timed(_learn(two, rounds))
        where = "alarm" if _interrupted(_learn(one, rounds), max(2e-6, float(rng.uniform(0.0, clock)))) else "too late"
    after, found = two.dumps(), one.dumps()
    assert found in (before, after), f"between, hit at {where}: {_difference(found, before, after)}"
    if found == before != after:
        _learn(one, rounds)()
    for agent in (one, two):
        play(agent, subject.layout, 10, seed=3)
    assert one.dumps() == two.dumps(), f"goes on differently, hit at {where}"
    assert one._lock.acquire(blocking=False), f"the lock is held, hit at {where}"
    one._lock.release()
    return where


def _timed(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _difference(found: bytes, before: bytes, after: bytes) -> str:
    """Which arrays are neither."""
    states = [mb.loads(one).state() for one in (found, before, after)]
    names = [
        name
        for name in states[0]
        if not any(name in one and np.array_equal(states[0][name], one[name]) for one in states[1:])
    ]
    return f"{names}" if names else "the header, or a mixture"


def fuzz(n: int, seed: int, *, tell: bool = False) -> tuple[Counter[str], list[str]]:
    """N injections over all subjects in turn, every other one by the alarm clock."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    assert threading.current_thread() is threading.main_thread()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in SUBJECTS:  # whatever is compiled when it is first used
            agent = subject.build()
            play(agent, subject.layout, 2)
            agent.loads(agent.dumps())
        number = 0
        while counts["trace"] + counts["alarm"] < n:
            subject = SUBJECTS[number % len(SUBJECTS)]
            kind = "trace" if (number // len(SUBJECTS)) % 2 == 0 else "alarm"
            number += 1
            try:
                for attempt in itertools.count():
                    where = _injected(subject, np.random.default_rng([seed, number - 1, attempt]), kind)
                    counts["too late" if where in ("", "too late") else kind] += 1
                    if where != "too late":  # as the alarm may be, however busy the machine is: then it is set again
                        break
            except (AssertionError, ValueError) as error:
                counts[kind] += 1
                faults.append(f"{number - 1}: {subject.name}, {kind}: {error}")
                if tell:
                    print(faults[-1], flush=True)
    return counts, faults


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--injections", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, faults = fuzz(given.injections, given.seed, tell=True)
    print(f"{given.injections} injections: {dict(counts)}; states between: {len(faults)}")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
