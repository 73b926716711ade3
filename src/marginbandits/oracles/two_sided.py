"""Least two-sided hinge with a quadratic part, exactly: ridge regression, but for what is beyond the margin.

For rows z of one action, losses ℓ, a margin γ and n = ρ·(number of rows) rounds that they stand for:

    U(w) = ρ Σ_i [ℓ_i (γ + s_i)_+ + (1 - ℓ_i)(γ - s_i)_+ + s_i²/2] + λ‖w‖²/2,   s_i = <w, z_i>

Within ±γ this is ridge regression of y = 1 - 2ℓ, with solution w*; beyond, a round pulls back by α ∈ [-ℓ, 1 - ℓ]:

    w = w* - Sα,   S = (λ/ρ I + ZᵀZ)⁻¹Zᵀ,   s = s* - ZSα,   α = clip(α + s - γ, 0, 1 - ℓ) + clip(α + s + γ, -ℓ, 0)

and since no eigenvalue of ZS exceeds 1, iterating the last two is a projected gradient ascent of the dual that needs no
step size; momentum makes it quick. S is found in the smaller of n and d dimensions.

`deviations` are draws δ from N(0, A⁻¹), A = λI + ρZᵀZ, the quadratic part's posterior around its own least: from
ξ/√λ - S(ε/√ρ + Zξ/√λ) with standard normal ξ and ε. The mean of <δ, z>² estimates zᵀA⁻¹z, at d in place of d² a draw.

>>> import numpy as np
>>> rows, losses = np.array([[1.0], [1.0], [4.0]]), np.array([0.0, 0.0, 0.0])
>>> two_sided_leader(rows, losses, margin=9.0, regularisation=0.5)[0].round(3)  # ridge regression of 1
array([0.324])
>>> two_sided_leader(rows, losses, margin=1.2, regularisation=0.5)[0].round(3)  # no score beyond 1.2
array([0.3])
"""

import math

import numpy as np
import scipy.linalg

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
    tolerance: float = 1e-2,
    n_iterations: int = 20,
) -> tuple[Array, Array]:
    """The minimiser of U (d), and as many deviations (J x d) as `normals`, (ε: n x J, ξ: d x J), has columns.

    `rounds` is how many rounds the rows are a uniform sample of: each then counts ρ = rounds/n times. The iteration
    ends when no pull changes by more than `tolerance` (a round's whole pull is 1), or after `n_iterations`.
    """
    n, d = rows.shape
    share = 1.0 if rounds is None else rounds / n
    ridge = regularisation / share
    dual = n <= d
    gram = rows @ rows.T if dual else rows.T @ rows
    ridge += 1e-10 * float(gram.diagonal().max())  # so that rounding cannot make it singular, whatever the scale
    gram.flat[:: len(gram) + 1] += ridge
    factor = scipy.linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def inverse(values: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve((factor, True), values, check_finite=False))

    def solve(values: Array) -> Array:
        """S times each column."""
        return np.asarray(rows.T @ inverse(values)) if dual else inverse(rows.T @ values)

    def fitted(values: Array) -> Array:
        """ZS times each column; in the n dimensions that is I - λ/ρ (ZZᵀ + λ/ρ I)⁻¹."""
        return values - ridge * inverse(values) if dual else np.asarray(rows @ inverse(rows.T @ values))

    if normals is None:
        deviations = np.zeros((d, 0))
    else:
        prior = normals[1] / math.sqrt(regularisation)
        deviations = prior - solve(normals[0] / math.sqrt(share) + rows @ prior)
    leader = solve(1.0 - 2.0 * losses)
    scores = rows @ leader
    if (np.abs(scores) > margin).any():
        pull = ahead = np.zeros(n)
        momentum = 1.0
        for _ in range(n_iterations):
            u = ahead + scores - fitted(ahead)
            new = np.clip(u - margin, 0.0, 1.0 - losses) + np.clip(u + margin, -losses, 0.0)
            change = float(np.abs(new - pull).max())
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead = new + (momentum - 1.0) / following * (new - pull)
            pull, momentum = new, following
            if change < tolerance:
                break
        leader = leader - solve(pull)
    return leader, deviations.T
