"""Least two-sided hinge with a quadratic part, exactly: ridge regression, but for what is beyond the margin.

For rows z of one action, losses ℓ, a margin γ and n = ρ·(number of rows) rounds that they stand for:

    U(w) = ρ Σ_i [ℓ_i (γ + s_i)_+ + (1 - ℓ_i)(γ - s_i)_+ + s_i²/2] + λ‖w‖²/2,   s_i = <w, z_i>

Within ±γ this is ridge regression of y = 1 - 2ℓ, with solution w*; beyond, a round pulls back by α ∈ [-ℓ, 1 - ℓ]:

    w = w* - Sα,   S = (λ/ρ I + ZᵀZ)⁻¹Zᵀ,   s = s* - ZSα,   α = clip(α + s - γ, 0, 1 - ℓ) + clip(α + s + γ, -ℓ, 0)

and since no eigenvalue of ZS exceeds 1, iterating the last two is a projected gradient ascent of the dual that needs no
step size; momentum makes it quick. Only rounds beyond the margin pull, and they are few: ZS is made among those that
are, and then among those that have come to be. S is found in the smaller of n and d dimensions.

`deviations` are draws δ from N(0, A⁻¹), A = λI + ρZᵀZ, the quadratic part's posterior around its own least, from
standard normal ξ and ε: in the d dimensions L⁻ᵀξ for LLᵀ = A, in the n dimensions ξ/√λ - S(ε/√ρ + Zξ/√λ). The mean of
<δ, z>² estimates zᵀA⁻¹z, at d in place of d² a draw.

>>> import numpy as np
>>> rows, losses = np.array([[1.0], [1.0], [4.0]]), np.array([0.0, 0.0, 0.0])
>>> two_sided_leader(rows, losses, margin=9.0, regularisation=0.5)[0].round(3)  # ridge regression of 1
array([0.324])
>>> two_sided_leader(rows, losses, margin=1.2, regularisation=0.5)[0].round(3)  # no score beyond 1.2
array([0.3])
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from marginbandits.compiled import kernel
from marginbandits.types import Array

__all__ = ["two_sided_leader"]


def two_sided_leader(
    rows: Array,
    losses: Array,
    *,
    margin: float,
    regularisation: float,
    rounds: float | None = None,
    normals: tuple[Array, Array] | None = None,
    gram: Array | None = None,
    tolerance: float = 1e-2,
    n_iterations: int = 20,
) -> tuple[Array, Array]:
    """The minimiser of U (d), and as many deviations (J x d) as `normals`, (ε: n x J, ξ: d x J), has columns.

    `rounds` is how many rounds the rows are a uniform sample of: each then counts ρ = rounds/n times. The iteration
    ends when no pull changes by more than `tolerance` (a round's whole pull is 1), or after `n_iterations`. `gram` is
    ZᵀZ if n > d, else ZZᵀ, where it is known; nobody asks for ε if n > d.
    """
    n, d = rows.shape
    share = 1.0 if rounds is None else rounds / n
    ridge = regularisation / share
    dual = n <= d
    gram = gram.copy() if gram is not None else rows @ rows.T if dual else rows.T @ rows
    ridge += 1e-10 * float(gram.diagonal().max())  # so that rounding cannot make it singular, whatever the scale
    gram.flat[:: len(gram) + 1] += ridge
    factor, failed = lapack.dpotrf(gram.T, lower=True, overwrite_a=True)  # symmetric, and so in LAPACK's order
    if failed:
        raise np.linalg.LinAlgError("a sum of squares must be positive definite")

    def solve(values: Array) -> Array:
        """S times each column."""
        if dual:
            return np.asarray(rows.T @ lapack.dpotrs(factor, values, lower=True)[0])
        return np.asarray(lapack.dpotrs(factor, rows.T @ values, lower=True)[0])

    def among(some: npt.NDArray[np.int64]) -> Array:
        """ZS among some rounds; in the n dimensions that is I - λ/ρ (ZZᵀ + λ/ρ I)⁻¹."""
        root, _ = lapack.dtrtrs(factor, np.eye(n)[:, some] if dual else rows[some].T, lower=True)
        product = np.ascontiguousarray(root.T @ root)
        return np.eye(len(some)) - ridge * product if dual else product

    if normals is None:
        deviations = np.zeros((d, 0))
    elif dual:
        prior = normals[1] / math.sqrt(regularisation)
        deviations = prior - solve(normals[0] / math.sqrt(share) + rows @ prior)
    else:
        deviations = lapack.dtrtrs(factor, normals[1], lower=True, trans=True)[0] / math.sqrt(share)
    first = leader = solve(1.0 - 2.0 * losses)
    ridge_scores = rows @ leader
    pull, pulls = np.zeros(n), np.zeros(n, bool)
    beyond = np.abs(ridge_scores) > margin
    while (beyond & ~pulls).any():
        pulls |= beyond
        some = np.flatnonzero(pulls)
        own = pull[some]
        _ascend(among(some), ridge_scores[some], losses[some], margin, tolerance, n_iterations, own)
        pull[some] = own
        leader = first - solve(pull)
        beyond = np.abs(rows @ leader) > margin + tolerance
    return leader, deviations.T


@kernel
def _ascend(
    among: Array, scores: Array, losses: Array, margin: float, tolerance: float, n_iterations: int, pull: Array
) -> None:
    """Pulls of some rounds whose scores without them are these, from what they are; `among` is ZS among the rounds."""
    n, momentum = len(pull), 1.0
    ahead, new = pull.copy(), np.empty(n)
    for _ in range(n_iterations):
        change = 0.0
        for i in range(n):
            u = ahead[i] + scores[i]
            for j in range(n):
                u -= among[i, j] * ahead[j]
            above = min(max(u - margin, 0.0), 1.0 - losses[i])
            new[i] = above + min(max(u + margin, -losses[i]), 0.0)
            change = max(change, abs(new[i] - pull[i]))
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        for i in range(n):
            ahead[i] = new[i] + (momentum - 1.0) / following * (new[i] - pull[i])
            pull[i] = new[i]
        momentum = following
        if change < tolerance:
            break
