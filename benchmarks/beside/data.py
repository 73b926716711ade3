"""What a run is given: contexts and the losses of all actions, and the forms in which peers want contexts.

Preparing is not timed. A peer on ridge regression gets columns as ours makes them for itself while it plays: mean 0,
deviation 1, over √d, with a constant; all times √10, so that its ridge of 1 is our ridge of 0.1. Sparse contexts are
divided by the root of how many columns they fill, and not centred.
"""

import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
STRETCH = 10.0**0.5


@dataclass
class Data:
    """Contexts, a matrix or a SciPy matrix with a row for each round; losses, rounds x actions, each 0 or 1."""

    contexts: Any
    losses: Array
    path: Path

    @property
    def n_actions(self) -> int:
        """K."""
        return int(self.losses.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether contexts are a SciPy matrix."""
        return not isinstance(self.contexts, np.ndarray)

    def first(self, n: int) -> "Data":
        """The first n rounds."""
        return Data(self.contexts[:n], self.losses[:n], self.path)


def load(path: Path) -> Data:
    with np.load(path) as file:
        if "contexts" in file:
            return Data(file["contexts"], file["losses"], path)
        from scipy import sparse

        contexts = sparse.csr_array((file["values"], file["columns"], file["starts"]), tuple(file["shape"]))
        return Data(contexts, file["losses"], path)


def standardised(data: Data) -> Array:
    """Every column with mean 0 and deviation 1; sparse rows over the root of how many they fill."""
    if data.sparse:
        filled = np.maximum(np.diff(data.contexts.indptr), 1)
        return np.asarray(data.contexts.toarray() / np.sqrt(filled)[:, None])
    deviation = data.contexts.std(0)
    return np.asarray((data.contexts - data.contexts.mean(0)) / np.where(deviation > 0, deviation, 1.0))


def ridge_rows(data: Data) -> Array:
    """Rows for a ridge of 1, with a constant at the end."""
    rows = standardised(data)
    if not data.sparse:
        rows /= rows.shape[1] ** 0.5
    return np.hstack([rows, np.ones((len(rows), 1))]) * STRETCH


def named(data: Data) -> list[list[tuple[int, float]]]:
    """Column and value of everything filled, round by round."""
    if data.sparse:
        starts, columns = data.contexts.indptr, data.contexts.indices
        values = data.contexts.data / np.sqrt(np.maximum(np.repeat(np.diff(starts), np.diff(starts)), 1))
        pairs = list(zip(columns.tolist(), values.tolist(), strict=True))
        return [pairs[start:end] for start, end in itertools.pairwise(starts.tolist())]
    return [[(i, value) for i, value in enumerate(row) if value] for row in standardised(data).tolist()]


def peak_megabytes() -> float:
    """The most memory that this process has had, as far as the system says; not what its parent had."""
    try:
        status = Path("/proc/self/status").read_text()
        return float(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0 if os.uname().sysname == "Linux" else 2**20)
