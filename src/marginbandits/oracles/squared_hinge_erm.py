"""Least weighted squared hinge over sum-to-zero linear scores with a ridge, with a certificate.

The class and the costs c_ia >= 0 are those of `oracles.hinge_erm`, the loss is the hinge's square, which is smooth:

    min over V of   P(V) = Σ_i Σ_a c_ia max(1 + <w_a, x_i>/γ, 0)² + (λ/2)‖V‖²,   W = QV

The action of largest score has a score of at least 0, so P is at least what that action costs, as the hinge is; and for
one context whose costs are known, without a ridge, 1 + s_a/γ is in proportion to 1/c_a: the best action scores highest.
L-BFGS solves it. P is λ-strongly convex, so that ‖∇P(V)‖²/(2λ) bounds how far V is from the least.

Lee, Lin & Wahba (2004), "Multicategory support vector machines", whose hinge this squares.

>>> import numpy as np
>>> fit = SquaredHingeERM(1.0, ridge=1e-6).minimise(np.array([[1.0]]), np.array([[0.6, 0.3, 0.6]]))
>>> (1.0 + fit.weights[:, 0]).round(3)
array([0.75, 1.5 , 0.75])
>>> fit.gap < 1e-4 * fit.value
True
"""

from typing import Annotated

import numpy as np
import scipy.linalg
import scipy.optimize

from marginbandits.oracles.hinge_erm import CostERM, read_problem
from marginbandits.oracles.leader import LinearLeader
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["SquaredHingeERM"]

ATTEMPTS = 5
"""L-BFGS ends where rounding stops it, and may go on from there."""


class SquaredHingeERM(CostERM):
    """The oracle: `minimise` for any costs; `fit` for rounds of a bandit, as `types.Oracle` has it."""

    @validated
    def __init__(
        self,
        margin: Annotated[float, Real(above=0)],
        *,
        ridge: Annotated[float, Real(above=0)] = 1.0,
        tolerance: Annotated[float, Real(above=0)] = 1e-4,
        max_evaluations: Annotated[int, Integer(1)] = 5000,
    ) -> None:
        self.margin = margin
        self.ridge = ridge
        self.tolerance = tolerance
        self.max_evaluations = max_evaluations

    def minimise(self, rows: Array, costs: Array, start: Array | None = None) -> LinearLeader:
        """The best weights found within `max_evaluations`, from `start` if given; `LinearLeader.gap` says how good."""
        rows, costs = read_problem(rows, costs)
        K, d = costs.shape[1], rows.shape[1]
        basis = scipy.linalg.helmert(K).T if K > 1 else np.ones((1, 1))
        total = float(costs.sum()) or 1.0  # costs that sum to 1: tolerances mean the same everywhere
        shares, ridge = costs / total, self.ridge / total
        evaluations = 0

        def objective(v: Array) -> tuple[float, Array]:
            nonlocal evaluations
            evaluations += 1
            V = v.reshape(-1, d)
            hinge = np.maximum(1.0 + rows @ (basis @ V).T / self.margin, 0.0)
            slopes = shares * hinge
            value = float((slopes * hinge).sum()) + 0.5 * ridge * float(v @ v)
            return value, (basis.T @ (slopes.T @ rows)).ravel() * (2.0 / self.margin) + ridge * v

        v = np.zeros(basis.shape[1] * d) if start is None else (basis.T @ start).ravel()
        value, gradient = objective(v)
        gap = float(gradient @ gradient) / (2.0 * ridge)
        for _ in range(ATTEMPTS):
            left = self.max_evaluations - evaluations
            if gap <= self.tolerance * value or left <= 0:
                break
            accuracy = 0.5 * (2.0 * ridge * self.tolerance * value / v.size) ** 0.5
            options = {"maxiter": left, "maxfun": left, "maxcor": 20, "gtol": accuracy, "ftol": 0.0}
            v = np.asarray(scipy.optimize.minimize(objective, v, jac=True, method="L-BFGS-B", options=options).x)
            value, gradient = objective(v)
            gap = float(gradient @ gradient) / (2.0 * ridge)
        return LinearLeader(basis @ v.reshape(-1, d), total * value, total * gap, evaluations)
