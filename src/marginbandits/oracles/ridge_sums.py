"""Ridge regressions of several groups by sums of products, each fold's from the other folds.

Rows z begin with a 1. Of every fold and group (an action, say) XᵀX and Xᵀy are added up, and nothing else is kept: the
matrices of the other folds are the total minus the fold's own. One regression of all groups together is the *common*
one; each group's own is drawn towards it, by

    θ_g = θ + (G_g + P)⁻¹ (b_g - G_g θ),   P = diag(level, slope, …, slope)

as if the common one counted for so many rounds of the group's; the common one is drawn towards a constant. Of three
strengths of the latter, then of fifteen pairs of the former, those of least squared error out of fold are taken, which
the same matrices tell. What is predicted of a round was so learnt from other folds
(cross-fitting: Chernozhukov et al. 2018), and no model explains the noise of its own round; only the choice of
strengths is all rounds' together.

>>> import numpy as np
>>> x, fold = np.linspace(0.0, 1.0, 40), np.arange(40) % 2
>>> sums = RidgeSums(folds=2, groups=1, width=2)
>>> sums.add(np.column_stack([np.ones(40), x]), 0.25 + 0.5 * x, fold, np.zeros(40, np.int64))
>>> sums.weights().shape, [round(one, 2) for one in sums.weights()[0, 0].tolist()]
((2, 1, 2), [0.26, 0.48])
"""

import itertools

import numpy as np
import numpy.typing as npt

from marginbandits.types import Array
from marginbandits.validation import fits

__all__ = ["LEVELS", "PULLS", "RidgeSums", "regressions"]

Places = npt.NDArray[np.int64]

LEVELS, PULLS = (1.0, 8.0, 64.0), (1.0, 8.0, 64.0, 512.0, 4096.0)
"""How many rounds the common regression counts for in each group's own: for its level, and for its slopes."""
COMMON = (1.0, 32.0, 1024.0)
"""How many rounds without any slope the common regression begins with."""


class RidgeSums:
    """XᵀX and Xᵀy of each fold and group; 8·folds·groups·width² bytes."""

    def __init__(self, folds: int, groups: int, width: int) -> None:
        fits(folds_times_groups=folds * groups, columns=width, columns_again=width)
        self.folds, self.groups = folds, groups
        self.products, self.targets = np.zeros((folds, groups, width, width)), np.zeros((folds, groups, width))

    @property
    def width(self) -> int:
        """Of rows, the 1 included."""
        return int(self.targets.shape[-1])

    def add(self, rows: Array, targets: Array, fold: Places, group: Places) -> None:
        """Some rounds more."""
        which = fold * self.groups + group
        order = np.argsort(which, kind="stable")
        rows, targets = rows[order], targets[order]
        found, starts = np.unique(which[order], return_index=True)
        for one, begin, end in zip(found.tolist(), starts, [*starts[1:], len(rows)], strict=True):
            part = rows[begin:end]
            f, g = divmod(one, self.groups)
            self.products[f, g] += part.T @ part
            self.targets[f, g] += part.T @ targets[begin:end]

    def widen(self, width: int) -> None:
        """Room for more columns, which were 0 in all rounds so far."""
        more = width - self.width
        if more > 0:
            fits(folds_times_groups=self.folds * self.groups, columns=width, columns_again=width)
            self.products = np.pad(self.products, ((0, 0), (0, 0), (0, more), (0, more)))
            self.targets = np.pad(self.targets, ((0, 0), (0, 0), (0, more)))

    def join(self, other: "RidgeSums", columns: Places) -> None:
        """Rounds that were added up elsewhere; its columns are these of ours."""
        self.products[:, :, columns[:, None], columns] += other.products
        self.targets[:, :, columns] += other.targets

    def weights(self) -> Array:
        """Folds x groups x width: what the other folds say of each group."""
        return regressions(self.products, self.targets)


def regressions(products: Array, targets: Array) -> Array:
    """The weights of every fold and group from the sums of the other folds; see the module."""
    M = _standard(products)
    G, b = M.T @ products @ M, targets @ M
    out_G, out_b = G.sum(0) - G, b.sum(0) - b  # of the other folds
    d = b.shape[-1]
    common, least = np.empty(0), np.inf
    for slope in COMMON:
        pull = np.diag([1e-6, *[slope] * (d - 1)])
        theta = np.linalg.solve(out_G.sum(1) + pull, out_b.sum(1)[..., None])[..., 0]
        error = _error(theta, G.sum(1), b.sum(1))
        if error < least:
            common, least = theta, error
    found = np.repeat(common[:, None], G.shape[1], 1)
    if G.shape[1] > 1:
        best = np.inf
        gap = out_b - np.matmul(out_G, common[:, None, :, None])[..., 0]
        for level, slope in itertools.product(LEVELS, PULLS):
            pull = np.diag([level, *[slope] * (d - 1)])
            theta = common[:, None] + np.linalg.solve(out_G + pull, gap[..., None])[..., 0]
            error = _error(theta, G, b)
            if error < best:
                best, found = error, theta
    return np.asarray(found @ M.T)


def _error(theta: Array, G: Array, b: Array) -> float:
    """Σ (y - <θ, z>)², less Σ y²."""
    return float((theta * (np.matmul(G, theta[..., None])[..., 0] - 2.0 * b)).sum())


def _standard(products: Array) -> Array:
    """What makes the columns of all rounds standard."""
    total = products.sum((0, 1))
    mean = total[0, 1:] / total[0, 0]
    spread = np.sqrt(np.maximum(total.diagonal()[1:] / total[0, 0] - mean**2, 0.0))
    scale = np.where(spread > 1e-9, spread, 1.0)
    M = np.diag([1.0, *(1.0 / scale)])
    M[0, 1:] = -mean / scale
    return M
