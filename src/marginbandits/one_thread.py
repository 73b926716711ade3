"""NumPy's products on one thread, whatever the process allows.

Products as small as those of a round take several times as long on two threads as on one, and add in another order. The
setting is mostly the whole process's: who comes first makes it one, and who leaves last puts it back as it was found.

>>> import numpy as np
>>> with one_thread():
...     with one_thread():  # costs next to nothing
...         (np.ones((2, 3)) @ np.ones(3)).tolist()
[3.0, 3.0]
"""

import functools
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


class _Inside:
    """How many are inside, and how many threads there were before any was."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0
        self.before: Sequence[int] = ()

    def forked(self) -> None:
        """In a child process there is one thread, and none of those that were inside."""
        self.lock = threading.Lock()
        if self.n:
            _put(self.before)
        self.n = 0


_inside = _Inside()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inside.forked)


@contextmanager
def one_thread() -> Iterator[None]:
    """As long as this lasts; nested, and in several threads at once, as often as need be."""
    libraries = _libraries()
    with _inside.lock:
        found = [one.get_num_threads() for one in libraries]
        if not _inside.n:
            _inside.before = found
        _inside.n += 1
        _put([1] * len(found))
    try:
        yield
    finally:
        with _inside.lock:
            _inside.n = max(_inside.n - 1, 0)  # in a child process none is inside
            shared = [1] * len(found) if _inside.n else _inside.before
            apart = [getattr(one, "threading_layer", "") == "openmp" for one in libraries]  # each thread has its own
            _put([mine if own else others for mine, others, own in zip(found, shared, apart, strict=True)])


def _put(numbers: Sequence[int]) -> None:
    """So many threads for each library, whichever thread has set them last."""
    for one, n in zip(_libraries(), numbers, strict=True):
        if one.get_num_threads() != n:
            freed = getattr(one, "clear_controlling_thread", lambda **_: None)  # OpenBLAS's are one thread's to set
            freed(force=True)
            one.set_num_threads(n)
            freed(force=True)


@functools.cache
def _libraries() -> Sequence[Any]:
    """The libraries of linear algebra that are loaded: to look for them takes milliseconds."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
