"""The one door to numba: `kernel` compiles a function of plain arrays.

Kernels live in the file of the algorithm they serve; those that no other file calls start with an underscore. They
allow re-association and fused multiply-add (so that sums are vectorised) but keep NaN and inf meaningful, which numba's
plain `fastmath=True` does not.

numba keeps machine code on disk and renews it when the kernel's own file changes, but not when a kernel it calls
changes in another file. So ours is kept in a folder named after a fingerprint of all the package's sources: whatever
changes, code is never shared between versions. Each kernel carries its own way to that folder; numba's configuration,
which belongs to the user, is read and never written. Importing writes and deletes nothing: the folder is made when
the first kernel is compiled, and then those of this installation's earlier states go that nobody added to for a week.
Who still runs such a state compiles again.

Kernels that call kernels take them in whole (`inline`), but for the longest (`pointed`): left to the linker, that would
happen where both are compiled and not where one is read from disk, and a sum would be rounded one way or the other.

No loop both sums floats and writes to an array, unless it goes line by line (`lanes`). Several columns can be taken at
once only where what is written is not read as well; processors are told to find out by how near the arrays lie, and add
up one by one where they lie near each other: then a sum would be rounded by where the memory happened to be.

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
import os
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime.nrt import rtsys
from numba.misc.appdirs import AppDirs

__all__ = ["entry", "forget_old", "kernel", "kernel_folder", "long_kernel", "made_for"]

F = TypeVar("F", bound=Callable[..., object])

_FAST_MATH = {"reassoc", "contract"}
_WEEK = 7 * 24 * 3600.0


def kernel(function: F) -> F:
    """Compile `function` on first use; keep the machine code on disk where some folder is writable.

    Where none is (a read-only container), and for functions typed at a prompt, the kernel is compiled anew in each
    process, which costs seconds, not results.
    """
    return _compiled(function, nogil=False)


def long_kernel(function: F) -> F:
    """A kernel that takes so long that other threads should run meanwhile."""
    return _compiled(function, nogil=True)


def entry(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The kernel's machine code for arguments of these types, which are from then on believed to be of them.

    Looking at the types of many arguments takes longer than a short kernel does.
    """
    if not hasattr(kernel, "compile"):  # with NUMBA_DISABLE_JIT it is what it was
        return cast(Callable[..., Any], kernel)
    return cast(Callable[..., Any], made_for(kernel, arguments).entry_point)


def made_for(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    """What compiling the kernel for arguments of these types has made, or makes now."""
    types = tuple(map(numba.typeof, arguments))
    if types not in kernel.overloads:  # else numba's lock, which is every thread's, would be taken for nothing
        kernel.compile(types)
    return kernel.overloads[types]


def _compiled(function: F, *, nogil: bool) -> F:
    compiled: Any = numba.njit(inline="always", fastmath=_FAST_MATH, error_model="numpy", nogil=nogil)(function)
    if Path(cast(FunctionType, function).__code__.co_filename).is_file():
        compiled._cache = _KernelCache(function)  # as numba's own `cache=True` does, but with our folder
    return cast(F, compiled)


def kernel_folder(package: Path, parent: Path) -> Path:
    """The folder in `parent` for machine code of the package's sources as they are."""
    sources = sorted(package.rglob("*.py"))
    state = [(str(file.relative_to(package)), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in sources]
    return parent / f"kernels-{_digest(str(package))}-{_digest(state)}"


def forget_old(folder: Path) -> None:
    """Delete the folders of the same package beside `folder` that no file was added to for a week."""
    package, _, _ = folder.name.rpartition("-")
    for other in folder.parent.glob(f"{package}-*"):
        if other != folder and time.time() - _last_change(other) > _WEEK:
            shutil.rmtree(other, ignore_errors=True)  # another process may be at it too


def _last_change(folder: Path) -> float:
    return max((one.stat().st_mtime for one in [folder, *folder.iterdir()]), default=0.0)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _parent(package: Path) -> Path:
    """The user's choice for numba, else beside the package's bytecode, else numba's folder for this user."""
    config: Any = numba.config  # it is a module that fills itself at run time
    chosen = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    places = [*chosen, package / "__pycache__", Path(AppDirs("numba", appauthor=False).user_cache_dir)]
    return next((one for one in places if _writable(one)), places[-1])


def _writable(folder: Path) -> bool:
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _stamp(file: str) -> tuple[int, int]:
    stat = os.stat(file)
    return stat.st_size, stat.st_mtime_ns


_PACKAGE = Path(__file__).parent
_FOLDER = kernel_folder(_PACKAGE, _parent(_PACKAGE))


class _Locator(_CacheLocator):
    def __init__(self, function: FunctionType, file: str) -> None:
        self._py_file = file  # numba's warnings read it
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> "_Locator":
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(_FOLDER / self.get_suitable_cache_subpath(self._py_file))

    def get_source_stamp(self) -> tuple[int, int]:
        return _stamp(self._py_file)  # the folder stands for the package's sources; a user's kernel is not among them

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        if not _FOLDER.exists():
            forget_old(_FOLDER)
        os.makedirs(self.get_cache_path(), exist_ok=True)


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012 - numba declares it so


class _KernelCache(FunctionCache):
    _impl_class = _KernelCacheImpl

    def _index_key(self, sig: object, codegen: Any) -> Any:
        """As numba's, but kernels that a kernel is made of are told by their files and names, and not by their pickles.

        Those change from process to process.
        """
        cells = [cell.cell_contents.__code__ for cell in self._py_func.__closure__ or ()]
        named = [(one.co_filename, _stamp(one.co_filename), one.co_firstlineno, one.co_qualname) for one in cells]
        return sig, codegen.magic_tuple(), _digest((self._py_func.__code__.co_code, named))

    # What cannot be read (no permission, a file cut short) is compiled; what cannot be kept (a disk that is full or
    # read-only) is compiled and not kept.

    def load_overload(self, sig: object, target_context: object) -> Any:
        try:
            rtsys.initialize(target_context)  # all that compiled code needs; numba's own also loads what compiling does
            return self._load_overload(sig, target_context)
        except Exception:  # numba itself raises anything at an index that is damaged
            return None

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):  # the index is read again before it is written
            self.disable()
