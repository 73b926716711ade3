"""An embedding bag: what networks see of a sparse row is a mean of rows of a table, one for each column it fills.

    h_0 = Σ_j z_j B_j,   over the columns j that the row fills;   ∂/∂B_j = Σ z_j ∂/∂h_0 over the rows that fill j

The table B, shared by all networks of an ensemble, begins as 0: a column that was never seen says nothing, takes no
memory, and none of a file. Its rows move by AdaGrad, each with one sum of squares, and only in steps that look at them:

    G_j <- G_j + |g_j|²/b,   B_j <- B_j - h g_j/√G_j,   g_j the gradient of the row, of b numbers

so that a word that is rare moves as far when it comes as one that is common did at first.

Duchi, Hazan & Singer (2011), "Adaptive subgradient methods for online learning and stochastic optimization";
Weinberger et al. (2009), "Feature hashing for large scale multitask learning", for what columns may be.

>>> table = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]], np.float32)
>>> pooled(np.array([0.5, 0.5, 1.0], np.float32), np.array([0, 1, 1]), np.array([0, 2, 3]), table)
array([[0.5, 1. ],
       [0. , 2. ]], dtype=float32)
"""

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel

__all__: list[str] = []

Small = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


@kernel
def pooled(values: Small, columns: Places, starts: Places, table: Small) -> Small:
    """Of each row, Σ z_j B_j."""
    out = np.zeros((starts.shape[0] - 1, table.shape[1]), np.float32)
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            row, z = table[columns[k]], values[k]
            for j in range(out.shape[1]):
                out[i, j] += z * row[j]
    return out


@kernel
def scattered(values: Small, places: Places, starts: Places, slopes: Small, n: int) -> Small:
    """The gradient in n rows of the table, where entry k of the rows is of row `places[k]`."""
    out = np.zeros((n, slopes.shape[1]), np.float32)
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            row, z = out[places[k]], values[k]
            for j in range(out.shape[1]):
                row[j] += z * slopes[i, j]
    return out


@kernel
def adagrad(table: Small, squares: Small, columns: Places, gradient: Small, rate: float) -> bool:
    """Move these rows of the table; False if what comes out is not finite."""
    finite = True
    for k in range(columns.shape[0]):
        j, square = columns[k], np.float32(0.0)
        for i in range(table.shape[1]):
            square += gradient[k, i] * gradient[k, i]
        squares[j] += square / np.float32(table.shape[1])
        if square > 0.0:
            step = np.float32(rate) / np.sqrt(squares[j])
            for i in range(table.shape[1]):
                table[j, i] -= step * gradient[k, i]
                finite &= np.isfinite(table[j, i])
        finite &= np.isfinite(squares[j])
    return finite
