"""Run a bake-off's learners of networks in batches, on the device of their networks; all other tasks elsewhere.

A batch is some tasks that have `Task.batch` in common: one data set, networks of one shape, any seeds, margins, rates.
It is played in this process, when all the others are over. A batch that does not fit into memory is played as two, and
a learner that does not even alone is a failure, as one is whose networks' numbers are no longer finite; the others of
its batch are not touched.
"""

import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator

from threadpoolctl import threadpool_limits

from marginbandits.experiments import runner
from marginbandits.experiments.batches import play_together
from marginbandits.experiments.plan import Task
from marginbandits.experiments.runner import Spread
from marginbandits.experiments.store import Failure, Outcome, Record
from marginbandits.state import TooLargeError

__all__ = ["on_device"]

MOST = 32
"""Learners at once: 24 use a GPU nearly as well as 96, and are kept sooner."""


def on_device(rest: Spread) -> Spread:
    """Batches here; what cannot be batched is spread as `rest` says."""

    def spread(tasks: Iterable[runner.Task]) -> Iterator[Record]:
        alone: list[runner.Task] = []
        batches: dict[tuple[object, ...], list[Task]] = defaultdict(list)
        for task in tasks:
            if isinstance(task, Task) and task.batch is not None:
                batches[task.batch].append(task)
            else:
                alone.append(task)
        if alone or not batches:
            yield from rest(alone)
        for batch in batches.values():
            for first in range(0, len(batch), MOST):
                yield from _run(batch[first : first + MOST])

    return spread


def _run(tasks: list[Task]) -> Iterator[Record]:
    """What came of each of a batch."""
    start = time.perf_counter()
    data, shuffle = tasks[0].data, tasks[0].shuffle
    try:
        with threadpool_limits(1):
            found = play_together([one.learner.build for one in tasks], data, [one.seed for one in tasks], shuffle)
    except (TooLargeError, MemoryError) as error:
        if len(tasks) == 1:
            yield Failure(tasks[0].key, f"{error}; without a device it may play, one round at a time")
            return
        half = len(tasks) // 2
        for some in (tasks[:half], tasks[half:]):
            yield from _run(some)
        return
    except Exception:  # a failure is a result: it is stored, told, and other batches go on
        yield from (Failure(one.key, traceback.format_exc()) for one in tasks)
        return
    seconds = (time.perf_counter() - start) / len(tasks)
    for task, one in zip(tasks, found, strict=True):
        if one is None:
            rate = task.learner.parameters["scores"].rate
            yield Failure(task.key, f"the networks' numbers are no longer finite: rate={rate:g} is too large")
        else:
            losses, metrics = one
            yield Outcome(task.key, task.data.n_actions, losses, metrics, seconds)
