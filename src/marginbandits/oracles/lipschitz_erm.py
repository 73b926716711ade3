"""The best 1-Lipschitz policy on a net, as a linear program.

For costs c of each action at each of n centres, over distributions g_1, …, g_n:

    min Σ_i <c_i, g_i>   with   t_ij >= g_i - g_j,  t_ij >= 0,  Σ_a t_ij(a) <= ρ_ij/2   for each pair i, j

The last three say ‖g_i - g_j‖₁ <= ρ_ij, with half as many rows. HiGHS solves it. It begins with the pairs to each
centre's nearest few, and adds those that the solution violates until there are none: the answer is that of all pairs.

>>> import numpy as np
>>> costs = np.array([[1.0, 0.0], [0.0, 3.0]])
>>> fit = LipschitzERM().minimise(costs, np.array([[0, 1]]), np.array([1.0]))
>>> fit.policy.round(6).tolist(), round(fit.value, 6)
([[0.5, 0.5], [1.0, 0.0]], 0.5)
"""

import time
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.sparse as sp

from marginbandits.projections import simplex
from marginbandits.saving import Part
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["LipschitzERM", "LipschitzFit", "UnsolvedError"]

NEAREST = 8
"""Pairs per centre to begin with: all of them, on a grid in the plane."""

TOLERANCE = 1e-6
"""By how much ‖g_i - g_j‖₁ may exceed ρ_ij."""

Indices = npt.NDArray[np.int64]


class UnsolvedError(RuntimeError):
    """The program was not solved: out of time, or refused by the solver. The message says which."""


@dataclass(frozen=True, slots=True, eq=False)
class LipschitzFit:
    """A distribution per centre, what they cost, how many pairs it took, and by how much at most the least is lower.

    The `gap` is the program's: it is over policies on these centres, and says nothing of what lies between them.
    """

    policy: Array
    value: float
    n_pairs: int
    gap: float = 0.0


class LipschitzERM(Part):
    """The oracle; after `time_limit` seconds, or `max_iterations` of one program, it raises `UnsolvedError`.

    Iterations of the simplex method are counted alike on every machine; seconds are not.
    """

    @validated
    def __init__(
        self,
        *,
        time_limit: Annotated[float, Real(above=0)] = 60.0,
        max_iterations: Annotated[int, Integer(1, 2**31 - 1)] = 10_000_000,
    ) -> None:
        self.time_limit, self.max_iterations = time_limit, max_iterations

    def minimise(self, costs: npt.ArrayLike, pairs: npt.ArrayLike, distances: npt.ArrayLike) -> LipschitzFit:
        """The policy of least cost that keeps each pair of rows of `costs` within its distance."""
        c, rows, rho = np.asarray(costs, float), np.asarray(pairs), np.asarray(distances, float)
        if c.ndim != 2 or not np.isfinite(c).all():
            raise ValueError(f"costs must be n x K finite numbers, got shape {c.shape}")
        rows = rows.reshape(-1, 2).astype(np.int64)
        inside = ((rows >= 0) & (rows < len(c))).all()
        if len(rho) != len(rows) or not (inside and (rho >= 0.0).all()):
            raise ValueError(f"pairs must be rows of costs, with a distance >= 0 each, got {pairs!r} and {distances!r}")
        deadline = time.monotonic() + self.time_limit
        used = _nearest_few(rows, rho, len(c))
        while True:
            left = {"time_limit": max(deadline - time.monotonic(), 1e-6), "maxiter": self.max_iterations}
            g, least = _solve(c, rows[used], rho[used], left)
            broken = np.abs(g[rows[:, 0]] - g[rows[:, 1]]).sum(1) > rho + TOLERANCE
            if not (broken & ~used).any():
                value = float((c * g).sum())
                return LipschitzFit(g, value, int(used.sum()), max(value - least, 0.0))
            used |= broken


def _nearest_few(pairs: Indices, distances: Array, n: int) -> npt.NDArray[np.bool_]:
    """Which pairs are among the nearest of either end."""
    ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
    order = np.lexsort((np.concatenate([distances, distances]), ends))
    first = np.searchsorted(ends[order], np.arange(n))
    chosen = order[np.arange(len(order)) - first[ends[order]] < NEAREST]
    used = np.zeros(len(pairs), bool)
    used[chosen % max(1, len(pairs))] = True
    return used


def _solve(costs: Array, pairs: Indices, distances: Array, options: dict[str, float]) -> tuple[Array, float]:
    """The policy, and what its dual proves that no other costs less than."""
    n, K = costs.shape
    build = _two_actions if K == 2 else _many_actions
    scale = float(np.abs(costs).max()) or 1.0
    program = build(costs / scale, pairs, 0.5 * distances)
    found = scipy.optimize.linprog(**program, method="highs-ds", options=options)
    if found.status != 0:
        raise UnsolvedError(f"the program over {n} centres and {len(pairs)} pairs was not solved: {found.message}")
    proved = float(found.ineqlin.marginals @ program["b_ub"])
    if K == 2:
        proved += float(found.upper.marginals.sum()) + float(costs[:, 1].sum()) / scale
        return simplex(np.stack([found.x, 1.0 - found.x], 1)), scale * proved
    return simplex(found.x[: n * K].reshape(n, K)), scale * (proved + float(found.eqlin.marginals.sum()))


def _two_actions(costs: Array, pairs: Indices, limits: Array) -> dict[str, Any]:
    """One number per centre is enough: |g_i - g_j| <= ρ_ij/2. A far smaller program."""
    jumps = _entries(pairs, len(costs))
    return {
        "c": costs[:, 0] - costs[:, 1],
        "A_ub": sp.vstack([jumps, -jumps]),
        "b_ub": np.tile(limits, 2),
        "bounds": (0.0, 1.0),
    }


def _many_actions(costs: Array, pairs: Indices, limits: Array) -> dict[str, Any]:
    """Variables are g, then t. Entries are placed by their numbers: SciPy's blocks take longer than the program."""
    (n, K), E = costs.shape, len(pairs)
    jumps, every = np.arange(E * K), np.arange(n * K)
    ends = (pairs[:, None] * K + np.arange(K)[:, None]).reshape(-1, 2)
    rows = np.concatenate([jumps, jumps, jumps, E * K + jumps // K])
    columns = np.concatenate([ends[:, 0], ends[:, 1], n * K + jumps, n * K + jumps])
    signs = np.repeat([1.0, -1.0, -1.0, 1.0], E * K)
    width = (n + E) * K
    return {
        "c": np.concatenate([costs.ravel(), np.zeros(E * K)]),
        "A_ub": sp.csc_array((signs, (rows, columns)), shape=(E * K + E, width)),
        "b_ub": np.concatenate([np.zeros(E * K), limits]),
        "A_eq": sp.csc_array((np.ones(n * K), (every // K, every)), shape=(n, width)),
        "b_eq": np.ones(n),
    }


def _entries(pairs: Indices, n: int) -> sp.csr_array:
    """Row by row, the first of a pair minus the second."""
    rows = np.repeat(np.arange(len(pairs)), 2)
    return sp.csr_array((np.tile([1.0, -1.0], len(pairs)), (rows, pairs.ravel())), shape=(len(pairs), n))
