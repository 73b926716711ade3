"""The list of twins, and the shapes that their random inputs share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.types import Array, Mask

Places = npt.NDArray[np.int64]
Inputs = Callable[[np.random.Generator], tuple[Any, ...]]
Slow = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """A kernel, its slow twin, inputs for both, how near they must be, and arguments that are only to work in."""

    kernel: Any
    slow: Slow
    inputs: Inputs
    tolerance: float
    scratch: frozenset[str]


TWINS: dict[str, Twin] = {}


def twin(
    kernel: Any, inputs: Inputs, *, tolerance: float = 1e-9, scratch: Iterable[str] = ()
) -> Callable[[Slow], Slow]:
    """The decorated function is the kernel's twin."""

    def listed(slow: Slow) -> Slow:
        TWINS[f"{kernel.__module__}.{kernel.__name__}"] = Twin(kernel, slow, inputs, tolerance, frozenset(scratch))
        return slow

    return listed


def pick(rng: np.random.Generator, *values: Any) -> Any:
    """One of the values."""
    return values[int(rng.integers(len(values)))]


def mask_of(rng: np.random.Generator, n: int) -> Mask:
    """Some of n actions, one at least; all of them one time in three."""
    mask = rng.random(n) < pick(rng, 0.3, 0.7, 1.0)
    mask[rng.integers(n)] = True
    return np.asarray(mask)


def layout(rng: np.random.Generator, shared: bool) -> tuple[Places, Mask]:
    """Starts and mask of a batch of 0 to 3 contexts; shared ones are ragged."""
    n, K = pick(rng, 0, 1, 3), pick(rng, 1, 2, 4)
    counts = rng.integers(1, 5, n) if shared else np.full(n, K)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    masks = [mask_of(rng, int(count)) for count in counts]
    return starts, np.concatenate([np.empty(0, bool), *masks])


def spans(starts: Places) -> list[slice]:
    """Where each context's actions are."""
    return [slice(start, end) for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]


def some(rng: np.random.Generator, *shape: int) -> Array:
    """Normal numbers, with zeros, with ties, or all of them zero."""
    x = rng.standard_normal(shape)
    kind = pick(rng, "normal", "holes", "ties", "zeros")
    if kind == "holes":
        return np.asarray(x * (rng.random(shape) < 0.5))
    return np.asarray(np.round(x) + 0.0 if kind == "ties" else x * (kind != "zeros"))


def law_of(rng: np.random.Generator, mask: Mask) -> Array:
    """A law on what is available: any, a corner, or uniform."""
    weights = np.where(mask, pick(rng, rng.random(len(mask)), rng.random(len(mask)) ** 40, np.ones(len(mask))), 0.0)
    return np.asarray(weights / weights.sum())


def row_of(rows: Array, shared: bool, context: int, place: int) -> Array:
    """The row that action number `place` of the batch reads."""
    return np.asarray(rows[place if shared else context])


def places(starts: Places, shared: bool) -> list[tuple[int, int, int]]:
    """Of every action: its context, its place in the batch, its block."""
    return [
        (i, place, 0 if shared else place - span.start)
        for i, span in enumerate(spans(starts))
        for place in range(span.start, span.stop)
    ]
