"""Files that somebody damaged: each is refused with a ValueError, or gives a learner that then works.

Files of every learner are mutated: bits, members, every field of the header, every number, type and shape, with correct
check sums, so that what is wrong reaches the package's own checks. A mutant that loads must act, learn 20 rounds, give
laws that are finite and sum to 1, and be saved and loaded again; and none may take more than 200 MB and 4 times the
file's size. Mutants are tried in child processes, which may die, hang or swell without ending the run.

    python -m tests.fuzz.files --files 20000 --seed 0
    python -m tests.fuzz.files --seed 0 --only 1234        one mutant, with its traceback
"""

import argparse
import multiprocessing
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import marginbandits as mb
from marginbandits import state
from tests.fuzz.mutants import Files, mutant
from tests.fuzz.subjects import SUBJECTS, K, context, play

__all__ = ["bases", "examine", "fuzz"]

SPARE = 200 * 2**20
PATIENCE = 120
"""Seconds after which a mutant counts as hanging."""


def bases(rounds: Sequence[int] = (0, 1, 60), every: int = 1) -> Files:
    """Files of every subject, or every so many: fresh, after one round and after 60."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in SUBJECTS[::every]:
            for n in rounds:
                agent = subject.build()
                play(agent, subject.layout, n)
                found.append((subject.name, n, subject.layout, agent.dumps()))
    return found


def examine(content: bytes, layout: str, peaks: list[int] | None = None) -> str:
    """Load a mutant: "refused", or "works"; anything else is raised. `peaks` is told what loading a new one took."""
    try:
        agent = mb.loads(content)
    except ValueError as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from None  # too late: sizes are to be refused before they are asked for
        return "refused"
    if agent._map is None and peaks is not None:
        peaks.append(_peak())  # what a new learner takes when it begins is between it and its parameters
    try:
        _use(agent, layout)
    except ValueError as error:
        if _rightly(agent, layout, error):
            return "refused later, as a new one would be"
        raise
    return "works"


def _use(agent: mb.Learner, layout: str) -> None:
    """Twenty rounds, each of them checked, and the whole way through a file."""
    for x in _contexts(agent, layout):
        law = agent.law(x)
        if not (np.isfinite(law).all() and (law >= 0.0).all() and abs(law.sum() - 1.0) < 1e-9):
            raise AssertionError(f"the law is {law[:5]}, of sum {law.sum()}")
        decision = agent.act(x)
        if not np.array_equal(decision.distribution, law):  # type: ignore[arg-type]  # ours always has one
            raise AssertionError("act and law disagree")
        agent.learn(x, decision, float(decision.action == 0))
    wide = getattr(agent, "_wide", None) is not None  # of which there is nothing to diagnose
    for name in ("epochs", "leader") if wide else ("diagnostics", "epochs", "leader"):
        getattr(agent, name, lambda: None)()
    saved = agent.dumps()
    if mb.loads(saved).dumps() != saved:
        raise AssertionError("saving, loading and saving again gives another file")


def _contexts(agent: mb.Learner, layout: str) -> list[Any]:
    """Contexts of the kind it has learnt from, or of the kind its file's name says."""
    shape, rng = agent._shape, np.random.default_rng(5)
    if shape is not None:
        layout = "matrix" if shape.shared else "sparse" if shape.sparse else "vector"
    n_rows = agent.n_actions if agent.needs_every_row else K
    width = 3 if shape is None else shape.width
    space = getattr(agent, "space", None)
    if shape is None and isinstance(space, mb.Cube):
        width = len(space.low)
    horizon = getattr(agent, "horizon", None)
    left = (
        20 if horizon is None or not hasattr(agent, "_learnt") else horizon - (0 if shape is None else agent._learnt())
    )
    if width * n_rows > 10**6:
        return []  # such contexts take more memory than the learner
    found = [context(rng, layout, width, n_rows) for _ in range(min(20, left))]
    return [x / max(1.0, float(np.abs(x).sum())) for x in found]


def _rightly(agent: mb.Learner, layout: str, error: ValueError) -> bool:
    """Whether a learner newly made with these parameters, which are allowed, says the same."""
    if agent._map is not None and not str(error).startswith("context must be in the cube"):
        return False
    new = type(agent)(**{**agent.parameters(), "seed": 0})
    try:
        for x in _contexts(new, layout):
            new.law(x)
            new.learn(x, new.act(x), 1.0)
    except ValueError as same:
        return str(same) == str(error)
    return False


# Many of them, in child processes.


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class _LateError(BaseException):
    """Not to be taken for what a damaged file raises."""


def _late(*args: object) -> None:
    raise _LateError(f"more than {PATIENCE} s")


def _child(files: Files, seed: int, numbers: list[int], to: Connection) -> None:
    """Examine these mutants, one answer for each; stop where memory's high-water mark has become useless."""
    signal.signal(signal.SIGALRM, _late)
    virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (virtual + 2**32, virtual + 2**32))  # the machine is not ours alone
    warnings.simplefilter("ignore")
    state.LIMIT = SPARE  # a file may ask for a large learner that has yet to begin; it need not be tried here
    mb.loads(files[-1][3])
    for number in numbers:
        to.send((number, None, ""))
        what, layout, content = mutant(files, seed, number)
        before = _resident()
        peaks: list[int] = []
        signal.alarm(PATIENCE)
        try:
            answer = examine(content, layout, peaks)
        except BaseException as error:  # whatever it is, it is a finding
            last = traceback.extract_tb(error.__traceback__)[-1]
            answer = f"FAULT {type(error).__name__}: {str(error)[:150]} ({last.filename.split('/')[-1]}:{last.lineno})"
        signal.alarm(0)
        grown = min([_peak(), *peaks]) - before
        if grown > SPARE + 4 * len(content):
            answer = f"FAULT {grown >> 20} MB for a file of {len(content)} bytes ({answer})"
        to.send((number, answer, what))
        if _peak() - _resident() > SPARE // 2:
            break
    to.close()


def fuzz(files: Files, n: int, seed: int, *, workers: int = 2, tell: bool = False) -> tuple[Counter[str], list[str]]:
    """Examine n mutants; returns how often each answer came, and the faults."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    waiting = [list(range(first, n, workers)) for first in range(workers)]
    running: dict[int, tuple[Any, Connection, list[int]]] = {}
    fork = multiprocessing.get_context("fork")
    while any(waiting) or running:
        for lane in range(workers):
            if lane not in running and waiting[lane]:
                here, there = fork.Pipe(duplex=False)
                child = fork.Process(target=_child, args=(files, seed, waiting[lane], there))
                child.start()
                there.close()
                running[lane] = (child, here, [])
        ready = multiprocessing.connection.wait([here for _, here, _ in running.values()])
        for lane, (child, here, begun) in list(running.items()):
            if here not in ready:
                continue
            try:
                number, answer, what = here.recv()
            except EOFError:
                child.join()
                del running[lane]
                if begun:
                    faults.append(f"{begun[0]}: the process died with {child.exitcode}")
                    counts["FAULT"] += 1
                    waiting[lane] = [one for one in waiting[lane] if one > begun[0]]
                continue
            if answer is None:
                begun[:] = [number]
                continue
            begun.clear()
            waiting[lane] = waiting[lane][1:]
            counts[answer if not answer.startswith("FAULT") else "FAULT"] += 1
            if answer.startswith("FAULT"):
                faults.append(f"{number}: {what}: {answer}")
                if tell:
                    print(faults[-1], flush=True)
            if tell and sum(counts.values()) % 1000 == 0:
                print(dict(counts), flush=True)
    return counts, faults


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    files = bases()
    if given.only is not None:
        what, layout, content = mutant(files, given.seed, given.only)
        print(what, len(content))
        print(examine(content, layout))
        return 0
    counts, faults = fuzz(files, given.files, given.seed, workers=given.workers, tell=True)
    print(f"{given.files} files from {len(files)} bases: {dict(counts)}")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
