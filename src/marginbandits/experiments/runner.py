"""Run a sweep's tasks, anywhere, and put each record into the store as it ends.

A task is anything with a key and a way to run: a bake-off's, or an experiment of `claims`. Where it runs cannot change
its outcome: its randomness comes from its seed alone, and linear algebra runs on one thread. `workers` says where: 1 in
this process, n in n processes; `dask_runner` puts the same function on a cluster.
"""

import dataclasses
import itertools
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Protocol

from threadpoolctl import threadpool_limits

from marginbandits.experiments.forecast import Forecast
from marginbandits.experiments.store import Experiment, Failure, Outcome, Record, Store
from marginbandits.state import TooLargeError

__all__ = ["Spread", "Sweep", "Task", "locally", "run_plan", "run_task"]

_SPAWN = multiprocessing.get_context("spawn")


class Task(Protocol):
    """One piece of work; it travels between processes."""

    @property
    def key(self) -> str:
        """A fingerprint of everything that decides the outcome."""

    @property
    def kind(self) -> str:
        """Tasks of one kind and size take about as long."""

    @property
    def size(self) -> float:
        """How much there is to do, but for a power."""

    def run(self) -> Outcome | Experiment:
        """Do the work."""


class Sweep(Protocol):
    """All the tasks of a run."""

    def tasks(self) -> Iterable[Task]:
        """Every task, in the order to run them; those with one key are run once."""

    def facts(self) -> Mapping[str, object]:
        """What the store is to remember: above all, which names stand for which keys."""


Spread = Callable[[Iterable[Task]], Iterator[Record]]
"""Runs tasks somewhere and yields what comes of each, in any order."""


def run_task(task: Task) -> Record:
    """One task; whatever it raises becomes a Failure with its traceback, want of memory with a sentence."""
    start = time.perf_counter()
    try:
        with threadpool_limits(1):
            record = dataclasses.replace(task.run(), seconds=time.perf_counter() - start)
        pickle.dumps(record)  # what cannot travel, or be kept, is this task's failure and nobody else's
    except TooLargeError as error:
        return Failure(task.key, str(error))
    except MemoryError as error:
        return Failure(task.key, f"it needs more memory than there is: {error}")
    except (Exception, SystemExit, GeneratorExit):  # a failure is a result: it is stored, told, and the others go on
        return Failure(task.key, traceback.format_exc())
    return record


def _run_in_worker(task: Task) -> Record:
    """There an interrupt is not the user's: those are the parent's to see."""
    try:
        return run_task(task)
    except KeyboardInterrupt:
        return Failure(task.key, traceback.format_exc())


def run_plan(plan: Sweep, store: Store, spread: Spread, *, progress: Callable[[Forecast], object] | None = None) -> int:
    """Run what the store does not have yet; returns how many tasks failed. `progress` is told after each."""
    store.set_facts(plan.facts())
    took = store.finished()
    tasks = {task.key: task for task in plan.tasks()}
    left = [task for key, task in tasks.items() if key not in took]
    before = [(task.kind, task.size, took[key]) for key, task in tasks.items() if key in took]
    forecast = Forecast([(task.kind, task.size) for task in left], before)
    failed = 0
    for record in spread(left):
        store.put(record)
        failed += isinstance(record, Failure)
        task = tasks[record.key]
        forecast.ended(task.kind, task.size, None if isinstance(record, Failure) else record.seconds)
        if progress is not None:
            progress(forecast)
    return failed


def locally(workers: int) -> Spread:
    """Spread over processes of this machine; with 1, no process is started."""
    if workers == 1:
        return lambda tasks: map(run_task, tasks)
    return lambda tasks: _in_processes(tasks, workers)


def _in_processes(tasks: Iterable[Task], workers: int) -> Iterator[Record]:
    """A worker that dies takes only its pool with it: the tasks under way are tried again, one at a time.

    Alone, a task that kills its process shows itself; it becomes a failure, and the others go on.
    """
    with _interrupts_noted() as raise_if_interrupted:
        yield from _in_pools(tasks, workers, raise_if_interrupted)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Interrupts wait; a process begun meanwhile never sees one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _interrupts_noted() -> Iterator[Callable[[], None]]:
    """While this lasts an interrupt is noted, and raised by the function it gives: where no lock is held.

    Raised anywhere, it could leave one of the pool's own locks locked, and the pool would never end.
    """
    came: list[int] = []

    def raise_if_interrupted() -> None:
        if came:
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield raise_if_interrupted  # a handler of someone else's, or none at all: theirs to keep
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield raise_if_interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_pools(tasks: Iterable[Task], workers: int, raise_if_interrupted: Callable[[], None]) -> Iterator[Record]:
    waiting = iter(tasks)
    while True:
        lost: list[Task] = []
        yield from _in_a_pool(waiting, workers, lost, raise_if_interrupted)
        if not lost:
            return
        for task in lost:  # each in a process of its own: what one leaves behind is not blamed on the next
            again: list[Task] = []
            yield from _in_a_pool(iter([task]), 1, again, raise_if_interrupted)
            if again:
                yield Failure(task.key, "its process died: out of memory, killed, or unable to import it")


def _in_a_pool(
    waiting: Iterator[Task], workers: int, lost: list[Task], raise_if_interrupted: Callable[[], None]
) -> Iterator[Record]:
    """Run what is waiting, until it is done or a worker dies: then `lost` gets what was under way."""
    pool = ProcessPoolExecutor(workers, _SPAWN, initializer=_follow_the_parent)
    under_way: dict[Future[Record], Task] = {}
    try:
        while True:
            # Few at a time: an interrupt then gives up only these, and memory does not grow with the plan.
            for task in itertools.islice(waiting, 2 * workers - len(under_way)):
                lost.append(task)  # until it has begun
                with _interrupts_held():  # a worker that begins now is deaf to them, from its first line on
                    under_way[pool.submit(_run_in_worker, task)] = task
                lost.pop()
            if not under_way:
                return
            raise_if_interrupted()
            for future in wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED).done:
                result = future.result()
                del under_way[future]
                yield result
    except BrokenProcessPool:
        lost.extend(under_way.values())
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
