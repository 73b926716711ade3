"""Run a plan's tasks, anywhere, and put each outcome into the store as it ends.

A task is anything with a key, an outcome and words for its failure: a bake-off's, or an experiment of `claims`. Where
it runs cannot change its outcome: its randomness comes from its seed alone, and linear algebra runs on one thread.
`workers` says where: 1 in this process, n in n processes; `dask_runner` puts the same function on a cluster.
"""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from threadpoolctl import threadpool_limits

from marginbandits.experiments.plan import Plan
from marginbandits.experiments.simulate import simulate
from marginbandits.experiments.store import Failure, Outcome, Store

__all__ = ["Spread", "Sweep", "Task", "estimated_seconds", "locally", "run_plan", "run_task"]

_SPAWN = multiprocessing.get_context("spawn")


class Task(Protocol):
    """One piece of work; it travels between processes."""

    @property
    def key(self) -> str:
        """A hash of everything that decides the outcome."""

    def outcome(self) -> Outcome:
        """Do the work."""

    def failure(self, reason: str) -> Failure:
        """What the store keeps if it cannot be done."""


class Sweep(Protocol):
    """All the tasks of a run."""

    def tasks(self) -> Iterable[Task]:
        """Every task, in the order to run them."""


Spread = Callable[[Iterable[Task]], Iterator[Outcome | Failure]]
"""Runs tasks somewhere and yields what comes of each, in any order."""


def run_task(task: Task) -> Outcome | Failure:
    """One task; whatever it raises becomes a Failure with its traceback."""
    try:
        with threadpool_limits(1):
            return task.outcome()
    except Exception:  # a task's failure is a result: it is stored, reported, and the others go on
        return task.failure(traceback.format_exc())


def run_plan(plan: Sweep, store: Store, spread: Spread, *, progress: Callable[[], object] | None = None) -> int:
    """Run what the store does not have yet; returns how many tasks failed."""
    done = store.finished()
    left = [task for task in plan.tasks() if task.key not in done]
    failed = 0
    for result in spread(left):
        if isinstance(result, Outcome):
            store.put(result)
        else:
            store.put_failure(result)
            failed += 1
        if progress is not None:
            progress()
    return failed


def estimated_seconds(plan: Plan) -> float:
    """A guess at one process's time for the whole plan, from a few rounds of every learner on a few data sets."""
    n_sets = len(plan.data)
    by_width = sorted(plan.data, key=lambda data: data.width(plan.rounds))
    sample = [by_width[i] for i in sorted({n_sets * part // 10 for part in (1, 3, 5, 7, 9)})]
    total = 0.0
    for data in sample:
        environment = data.environment(min(plan.rounds, 60), 0, plan.shuffle)
        for spec in plan.learners:
            learner = spec.build(environment.n_actions, 0)
            simulate(learner, environment)  # compiles, and fills whatever grows at first
            start = time.perf_counter()
            simulate(learner, environment)
            total += (time.perf_counter() - start) / len(environment) * data.n_rounds(plan.rounds)
    return total * n_sets / len(sample) * plan.seeds


def locally(workers: int) -> Spread:
    """Spread over processes of this machine; with 1, no process is started."""
    if workers == 1:
        return lambda tasks: map(run_task, tasks)
    return lambda tasks: _in_processes(tasks, workers)


def _in_processes(tasks: Iterable[Task], workers: int) -> Iterator[Outcome | Failure]:
    """A worker that dies takes only its pool with it: the tasks under way are tried again, one at a time.

    Alone, a task that kills its process shows itself; it becomes a failure, and the others go on.
    """
    waiting, suspects = iter(tasks), deque[Task]()
    while True:
        pool = ProcessPoolExecutor(workers, _SPAWN, initializer=_follow_the_parent)
        under_way: dict[Future[Outcome | Failure], Task] = {}
        alone = bool(suspects)
        try:
            while True:
                # Few at a time: an interrupt then gives up only these, and memory does not grow with the plan.
                while len(under_way) < (1 if suspects else 2 * workers):
                    task = suspects.popleft() if suspects else next(waiting, None)
                    if task is None:
                        break
                    under_way[pool.submit(run_task, task)] = task
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    del under_way[future]
                    yield result
                alone = bool(suspects)
        except BrokenProcessPool:
            if alone and len(under_way) == 1:
                yield next(iter(under_way.values())).failure("its process died: out of memory, or killed")
            else:
                suspects.extend(under_way.values())
        finally:
            # Before Python 3.14 there is no public way to end tasks under way.
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()


def _follow_the_parent() -> None:
    """In a worker: interrupts are the parent's to handle, and when it is gone, however it went, so is the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def leave() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
