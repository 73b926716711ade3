"""Work done in a thread of its own, for who can wait for what comes of it.

>>> sum_of_squares = Later(lambda: sum(i * i for i in range(10)))
>>> while not sum_of_squares.ready:
...     pass
>>> sum_of_squares.found()
285
"""

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Later"]

T = TypeVar("T")


class Later(Generic[T]):
    """What `work` gives, once it is `ready`. A copy, or one in a forked process, is ready with nothing."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._found: list[T] = []
        self._thread: threading.Thread | None = threading.Thread(target=self._do, args=(work,))
        try:
            self._thread.start()
        except RuntimeError:  # there are no more threads to be had: then now
            self._thread = None
            self._do(work)

    def _do(self, work: Callable[[], T]) -> None:
        with contextlib.suppress(Exception):  # who finds nothing does the work again, and meets the failure there
            self._found.append(work())

    @property
    def ready(self) -> bool:
        """Whether the thread has ended."""
        return self._thread is None or not self._thread.is_alive()

    def found(self) -> T | None:
        """What the work gave; None if it failed, or was not this one's to do."""
        return self._found[0] if self._found else None

    def __deepcopy__(self, memo: Any) -> "Later[T]":
        copied: Later[T] = Later.__new__(Later)
        copied._found, copied._thread = [], None
        return copied
