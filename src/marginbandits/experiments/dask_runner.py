"""The one door to Dask: the same tasks, on a cluster.

Dask computes a task again when the worker that had it dies. That is harmless: a task's outcome depends on the task
alone, and the store takes the same outcome twice without a change. Results come back as they end, and only this process
writes them. On a cluster of other machines the data files must lie at the same paths there. So it is with the files of
a log (`over_files`), but that these come back in their order.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from marginbandits.experiments.runner import Spread, Task, run_task
from marginbandits.experiments.store import Record

__all__ = ["on_dask", "over_files"]

T = TypeVar("T")
R = TypeVar("R")


def on_dask(address: str, *, workers: int, timeout: float = 20.0) -> Spread:
    """Spread over the cluster at `address`, or over `workers` local Dask processes if it is "local"."""
    distributed = _distributed()

    def spread(tasks: Iterable[Task]) -> Iterator[Record]:
        with _client(address, workers, timeout) as client:
            futures = client.map(run_task, list(tasks), pure=False, retries=3)
            done = distributed.as_completed(futures, with_results=True)
            for future, result in done:
                yield result
                future.release()

    return spread


@contextmanager
def over_files(
    address: str, *, workers: int, timeout: float = 20.0
) -> Iterator[Callable[[Callable[[T], R], Iterable[T]], Iterator[R]]]:
    """A `map` over the files of a log, on the same cluster as long as it is open: what `mb.evaluate` calls `spread`."""
    with _client(address, workers, timeout) as client:

        def spread(work: Callable[[T], R], files: Iterable[T]) -> Iterator[R]:
            futures = client.map(work, list(files), pure=False, retries=3)
            for future in futures:
                yield future.result()
                future.release()

        yield spread


@contextmanager
def _client(address: str, workers: int, timeout: float) -> Iterator[Any]:
    distributed = _distributed()
    if address != "local":
        with distributed.Client(address, timeout=timeout) as client:
            yield client
        return
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with cluster, distributed.Client(cluster, timeout=timeout) as client:
        yield client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError('--dask needs Dask: pip install "marginbandits[dask]"') from error
    return distributed
