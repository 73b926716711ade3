"""The one door to numba: `kernel` compiles a function of plain arrays.

Kernels live in the file of the algorithm they serve, start with an underscore and take few arguments. They allow
re-association and fused multiply-add (so that sums are vectorised) but keep NaN and inf meaningful, which numba's
plain `fastmath=True` does not.

>>> import numpy as np
>>> @kernel
... def _total(x):
...     total = 0.0
...     for value in x:
...         total += value
...     return total
>>> _total(np.array([1.0, 2.0, 3.5]))
6.5
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

_FAST_MATH = {"reassoc", "contract"}


def kernel(function: F) -> F:
    """Compile `function` on first use; keep the machine code on disk where some folder is writable.

    numba refuses `cache=True` outright when neither the source folder nor the user's cache folder can be written
    (a read-only container): there the kernel is compiled anew in each process, which costs seconds, not results.
    """
    try:
        return cast(F, numba.njit(cache=True, fastmath=_FAST_MATH)(function))
    except RuntimeError:
        return cast(F, numba.njit(cache=False, fastmath=_FAST_MATH)(function))
