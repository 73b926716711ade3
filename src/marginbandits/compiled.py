"""The one door to numba: `kernel` compiles a function of plain arrays.

Kernels live in the file of the algorithm they serve, start with an underscore and take few arguments. They allow
re-association and fused multiply-add (so that sums are vectorised) but keep NaN and inf meaningful, which numba's
plain `fastmath=True` does not.

numba keeps machine code on disk and renews it when the kernel's own file changes, but not when a kernel it calls
changes in another file. So it is kept in a folder named after a fingerprint of all the package's sources: whatever
changes, code is never shared between versions, and processes that start together have nothing to delete under each
other's hands. Kernels that call kernels take them in whole (`inline`): left to the linker, that would happen where both
are compiled and not where one is read from disk, and a sum would be rounded one way or the other.

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

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

__all__ = ["kernel", "kernel_folder"]

F = TypeVar("F", bound=Callable[..., object])

_FAST_MATH = {"reassoc", "contract"}


def kernel(function: F) -> F:
    """Compile `function` on first use; keep the machine code on disk where some folder is writable.

    numba refuses `cache=True` outright when neither the source folder nor the user's cache folder can be written
    (a read-only container): there the kernel is compiled anew in each process, which costs seconds, not results.
    """
    config: Any = numba.config  # it is a module that fills itself at run time
    before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER)
    try:
        return cast(F, numba.njit(cache=True, inline="always", fastmath=_FAST_MATH, error_model="numpy")(function))
    except RuntimeError:
        return cast(F, numba.njit(cache=False, inline="always", fastmath=_FAST_MATH, error_model="numpy")(function))
    finally:
        config.CACHE_DIR = before


def kernel_folder(package: Path, parent: Path) -> Path:
    """The folder in `parent` for machine code of the package's sources as they are; those of other states go."""
    sources = sorted(package.rglob("*.py"))
    state = [(str(file.relative_to(package)), file.stat().st_size, file.stat().st_mtime_ns) for file in sources]
    folder = parent / f"kernels-{hashlib.sha256(repr((package, state)).encode()).hexdigest()[:16]}"
    for other in parent.glob("kernels-*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)  # another process may be at it too
    return folder


_PACKAGE = Path(__file__).parent
_FOLDER = kernel_folder(_PACKAGE, _PACKAGE / "__pycache__")
