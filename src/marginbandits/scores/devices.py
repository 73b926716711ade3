"""Where networks compute: NumPy's arrays on the CPU, or PyTorch's on the CPU or a GPU. The one door to PyTorch.

    cpu          NumPy; always there
    torch:cpu    PyTorch's arrays over the same memory: nothing is copied
    torch:cuda   PyTorch's arrays on a GPU; which one is for CUDA_VISIBLE_DEVICES to say

`Held` arrays are here, in NumPy's, and there, on the device, and are copied only when the other side has changed: who
means to change what is here says so.
Files, checks and failed rounds look at what is here, so a file written on one device is read on any other.

A device that cannot be had is refused in words, and never replaced by another. On a CPU all that networks compute is on
one thread, whatever the process allows (`one_thread`): it is faster so, and the same run however many there are.

>>> import numpy as np
>>> held = Held(device("cpu"), np.zeros(3))
>>> held.there()[0] is held.here()[0]
True
"""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.one_thread import one_thread
from marginbandits.state import Journal, TooLargeError

__all__ = ["CPU", "NAMES", "Device", "Held", "device"]

Numbers = npt.NDArray[Any]
NAMES = "cpu", "torch:cpu", "torch:cuda"
_HERE, _THERE, _BOTH = range(3)


class Device:
    """NumPy's own; others override all of it. It knows its name alone, so it is copied and pickled like data."""

    name = "cpu"
    shares = True
    """Whether arrays there are the memory of those here."""
    writes = True
    """Whether its library writes products into arrays that are there (`out`), which is more than the standard asks."""

    @property
    def xp(self) -> Any:
        """The library of arrays."""
        return np

    def there(self, array: Numbers) -> Any:
        """A NumPy array as one of the device."""
        return array

    def here(self, array: Any) -> Numbers:
        """One of the device as a NumPy array."""
        return np.asarray(array)

    def refuse(self, size: int) -> None:
        """Raise a ValueError where there is no room for so many bytes, as far as that can be known."""

    @property
    def _full(self) -> tuple[type[BaseException], ...]:
        """What is raised where it has no memory left."""
        return ()

    @contextmanager
    def working(self) -> Iterator[None]:
        """On one thread. Where its memory is used up on the way, that is said, whatever is raised there."""
        try:
            with one_thread():
                yield
        except self._full as error:
            told = " ".join(str(error).split())[:200]
            raise TooLargeError(f"device={self.name!r} has no memory left for the networks: {told}") from error

    def repeated(self, work: Callable[[], object]) -> Callable[[], object]:
        """What does the same work each time: on arrays that stay where they are, and nothing is asked for here."""
        return work


class Torch(Device):
    """PyTorch's arrays."""

    def __init__(self, name: str) -> None:
        self.name, self.shares = name, name == "torch:cpu"
        where = name.removeprefix("torch:")
        if importlib.util.find_spec("torch") is None:
            raise ValueError(f'device={name!r} needs PyTorch: pip install "marginbandits[torch]"')
        if where != "cpu" and not self.xp.cuda.is_available():
            raise ValueError(f"device={name!r} needs a GPU that PyTorch can use: torch.cuda.is_available() is False")
        self._where = where

    @property
    def xp(self) -> Any:
        """PyTorch itself, imported when first asked for."""
        import torch

        return torch

    def there(self, array: Numbers) -> Any:
        """Over the same memory on the CPU, else a copy."""
        with self.xp.inference_mode(False):  # else what a caller in that mode begins could not be learnt later
            return self.xp.from_numpy(array).to(self._where)

    def here(self, array: Any) -> Numbers:
        """Over the same memory on the CPU, else a copy."""
        return np.asarray(array.detach().cpu().numpy())

    @contextmanager
    def working(self) -> Iterator[None]:
        """PyTorch has its own threads, in some of its parts for each thread that calls it."""
        before = self.xp.get_num_threads()
        self.xp.set_num_threads(1)
        try:
            with super().working():
                yield
        finally:
            self.xp.set_num_threads(before)

    @property
    def _full(self) -> tuple[type[BaseException], ...]:
        return (self.xp.cuda.OutOfMemoryError,)

    def refuse(self, size: int) -> None:
        """What a GPU has free is known; what the CPU has is for `state.zeros` to say."""
        if self._where == "cpu":
            return
        cuda = self.xp.cuda  # what PyTorch has reserved and does not use is free to it as well
        free = int(cuda.mem_get_info()[0]) + int(cuda.memory_reserved()) - int(cuda.memory_allocated())
        if size > free:
            needed, left = (f"{one / 2**30:,.2f} GiB" for one in (size, free))
            raise TooLargeError(f"device={self.name!r}: networks take {needed}, and the GPU has {left} free")

    def repeated(self, work: Callable[[], object]) -> Callable[[], object]:
        """On a GPU recorded once (a CUDA graph): to start its hundred small kernels again costs as much as one."""
        if self._where == "cpu":
            return work
        graph = self.xp.cuda.CUDAGraph()
        with self.xp.cuda.graph(graph):
            work()
        return graph.replay  # type: ignore[no-any-return]  # PyTorch says nothing of types


CPU = Device()


def device(name: str) -> Device:
    """The device of this name; a ValueError that says what is missing where there is none."""
    return CPU if name == "cpu" else Torch(name)


class Held:
    """Arrays that are here and on a device; `newer` says where they were changed last."""

    def __init__(self, device: Device, *arrays: Numbers) -> None:
        self.device, self._here, self.newer = device, arrays, _HERE
        self._there: tuple[Any, ...] | None = None

    def here(self) -> tuple[Numbers, ...]:
        """NumPy's, to be read, and changed only as long as `there` was never asked for."""
        if self.newer == _THERE and not self.device.shares:
            assert self._there is not None
            for here, there in zip(self._here, self._there, strict=True):
                here[...] = self.device.here(there)
        if self.newer == _THERE:
            self.newer = _BOTH
        return self._here

    def to_change(self) -> tuple[Numbers, ...]:
        """NumPy's, to be read and changed until `there` is asked for."""
        here = self.here()
        self.newer = _HERE
        return here

    def there(self) -> tuple[Any, ...]:
        """The device's, to be read."""
        if self._there is None or (self.newer == _HERE and not self.device.shares):
            self._there = tuple(map(self.device.there, self._here))
        if self.newer == _HERE:
            self.newer = _BOTH
        return self._there

    def anew(self, journal: Journal) -> tuple[Any, ...]:
        """The device's, to be written over: what they were is not needed, or kept by the journal as it is here."""
        if self._there is None:
            self._there = tuple(map(self.device.there, self._here))
        if self.newer == _BOTH:
            self.newer = _HERE  # as it will be when the journal has put back what is here
        journal.keep_attribute(self, "newer")
        self.newer = _THERE
        return self._there

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self.device, "_here": self.here(), "_there": None, "newer": _HERE}
