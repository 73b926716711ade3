"""The one door to Dask: the same tasks, on a cluster.

Dask computes a task again when the worker that had it dies. That is harmless: a task's outcome depends on the task
alone, and the store takes the same outcome twice without a change. Results come back as they end, and only this process
writes them. On a cluster of other machines the data files must lie at the same paths there.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from marginbandits.experiments.runner import Spread, Task, run_task
from marginbandits.experiments.store import Record

__all__ = ["on_dask"]


def on_dask(address: str, *, workers: int, timeout: float = 20.0) -> Spread:
    """Spread over the cluster at `address`, or over `workers` local Dask processes if it is "local"."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError('--dask needs Dask: pip install "marginbandits[dask]"') from error

    def spread(tasks: Iterable[Task]) -> Iterator[Record]:
        with ExitStack() as stack:
            target: object = address
            if address == "local":
                cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                )
                target = stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(target, timeout=timeout))
            futures = client.map(run_task, list(tasks), pure=False, retries=3)
            done = distributed.as_completed(futures, with_results=True)
            for future, result in done:
                yield result
                future.release()

    return spread
