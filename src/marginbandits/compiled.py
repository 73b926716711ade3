"""The one door to numba: `kernel` compiles a function of plain arrays.

Kernels live in the file of the algorithm they serve, start with an underscore and take few arguments. They allow
re-association and fused multiply-add (so that sums are vectorised) but keep NaN and inf meaningful, which numba's
plain `fastmath=True` does not.

numba keeps machine code on disk and renews it when the kernel's own file changes, but not when a kernel it calls
changes in another file. So the package's sources are fingerprinted at import, and any change clears the kept code.

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
from pathlib import Path
from typing import TypeVar, cast

import numba

__all__ = ["forget_stale_kernels", "kernel"]

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


def forget_stale_kernels(package: Path) -> bool:
    """Remove kept machine code if any source of the package changed since it was made; says whether it did."""
    sources = sorted(package.rglob("*.py"))
    state = [(str(file.relative_to(package)), file.stat().st_size, file.stat().st_mtime_ns) for file in sources]
    stamp, now = package / "__pycache__" / "kernels.stamp", repr(state)
    try:
        if stamp.exists() and stamp.read_text() == now:
            return False
        for kept in package.rglob("__pycache__/*.nb[ic]"):
            kept.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(now)
    except OSError:
        return False  # a read-only installation changes only as a whole, and then every file is new to numba
    return True


forget_stale_kernels(Path(__file__).parent)
