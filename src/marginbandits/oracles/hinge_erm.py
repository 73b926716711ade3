"""Least weighted hinge over sum-to-zero linear scores in a Frobenius ball, with a certificate.

For rows x_i, costs c_i >= 0 of each action, a margin γ, weights W = QV whose rows sum to zero (`scores.linear`):

    min over ‖V‖ <= R of   P(V) = Σ_i Σ_a c_ia max(1 + <w_a, x_i>/γ, 0) + (λ/2)‖V‖²

With one column of costs, W is one free row: the class of K x d contexts, whose rows are x_a - x̄. The hinge is smoothed
in closed form (`surrogates.SmoothedHinge`, width σ), the ball becomes a penalty (ν/2)‖V‖², and L-BFGS solves that. The
slopes of the smoothed hinge are feasible for the dual of the problem as it stands,

    D(α) = Σ α_ia + min over ‖V‖ <= R of <Σ α_ia ∂f(x_i)_a/∂V, V>/γ + (λ/2)‖V‖²,   0 <= α <= c

so P(V) - D(α) bounds how far V is from the least: σ falls and ν is sought until the gap is within `tolerance` of P. A
product of all rows with all weights and one back are the whole cost of an evaluation.

>>> import numpy as np
>>> fit = HingeERM(margin=1.0).minimise(np.array([[1.0], [-1.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
>>> fit.weights.round(3)
array([[-0.707],
       [ 0.707]])
>>> round(fit.value, 3), fit.gap < 1e-4 * fit.value
(0.879, True)
"""

import math
from abc import abstractmethod
from typing import Annotated

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.optimize

from marginbandits.oracles.leader import LinearLeader
from marginbandits.projections import ball
from marginbandits.saving import Part
from marginbandits.surrogates import Hinge, SmoothedHinge
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["CostERM", "HingeERM", "played_costs", "read_problem"]

FIRST_WIDTH = 0.5
"""σ to begin with, in margins."""

FLOOR = 1e-6
"""Where P is this share of what W = 0 costs or less, the gap counts relative to that."""


class CostERM(Part):
    """An oracle of some surrogate: `minimise` for any costs; `fit` for rounds of a bandit, as `types.Oracle` has it."""

    @abstractmethod
    def minimise(self, rows: Array, costs: Array, start: Array | None = None) -> LinearLeader:
        """Weights of small Σ_i Σ_a c_ia·surrogate(s_a), from `start` if given."""

    def fit(
        self, rows: Array, blocks: npt.NDArray[np.int64], losses: Array, weights: Array, start: Array
    ) -> LinearLeader:
        """Of costs weight·ℓ of the played action alone; `blocks` is that action, 0 for K x d contexts."""
        return self.minimise(rows, played_costs(blocks, weights * losses, len(start)), start)


class HingeERM(CostERM):
    """The oracle of the least weighted hinge."""

    @validated
    def __init__(
        self,
        margin: Annotated[float, Real(above=0)],
        *,
        radius: Annotated[float, Real(above=0)] = 1.0,
        ridge: Annotated[float, Real(0)] = 0.0,
        tolerance: Annotated[float, Real(above=0)] = 1e-4,
        max_evaluations: Annotated[int, Integer(1)] = 5000,
    ) -> None:
        self.margin = margin
        self.radius = radius
        self.ridge = ridge
        self.tolerance = tolerance
        self.max_evaluations = max_evaluations

    def minimise(self, rows: Array, costs: Array, start: Array | None = None) -> LinearLeader:
        """The best weights found within `max_evaluations`, from `start` if given; `LinearLeader.gap` says how good."""
        rows, costs = read_problem(rows, costs)
        used = costs.any(1)
        return _Search(self, rows[used], costs[used]).run(start)


def read_problem(rows: Array, costs: Array) -> tuple[Array, Array]:
    """Rows n x d and costs n x K, checked."""
    rows, costs = np.asarray(rows, float), np.asarray(costs, float)
    if rows.ndim != 2 or costs.ndim != 2 or len(rows) != len(costs) or costs.shape[1] < 1:
        raise ValueError(f"rows must be n x d and costs n x K, got shapes {rows.shape} and {costs.shape}")
    if not (np.isfinite(rows).all() and np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError("rows and costs must be finite, and costs not negative")
    return rows, costs


def played_costs(blocks: npt.NDArray[np.int64], costs: Array, n_blocks: int) -> Array:
    """Rows of `n_blocks` costs, all 0 but that of the action played."""
    dense = np.zeros((len(blocks), n_blocks))
    dense[np.arange(len(blocks)), blocks] = costs
    return dense


class _Search:
    """One minimisation. Costs are scaled to sum to 1, so that penalties and tolerances mean the same everywhere."""

    def __init__(self, oracle: HingeERM, rows: Array, costs: Array) -> None:
        K = costs.shape[1]
        self.oracle, self.rows, self.shape = oracle, rows, costs.shape
        self.at = np.nonzero(costs)
        self.total = float(costs.sum()) or 1.0
        self.costs, self.ridge = costs[self.at] / self.total, oracle.ridge / self.total
        self.basis = scipy.linalg.helmert(K).T if K > 1 else np.ones((1, 1))
        self.evaluations = 0
        self.best = np.zeros((self.basis.shape[1], rows.shape[1]))
        self.value, self.bound = 1.0, 0.0  # of W = 0, and of α = 0

    def run(self, start: Array | None) -> LinearLeader:
        R, V = self.oracle.radius, self.best.ravel()
        if start is not None:
            V = ball((self.basis.T @ start).ravel(), R)
        width, rate, before = FIRST_WIDTH, -1.0, (math.inf, 0.0)
        norm, smoothing = self.certify(V, width)
        while smoothing > 0.4 * self.gap and self.gap > self.allowed:  # a good start is not to be smoothed away
            width *= 0.25
            norm, smoothing = self.certify(V, width)
        log_penalty = math.log(max(norm / R, 1e-12))
        while self.gap > self.allowed and self.evaluations < self.oracle.max_evaluations:
            V = self.descend(V, width, math.exp(log_penalty))
            _, smoothing = self.certify(V, width)
            # ln ‖V‖ falls with ln ν, at a rate between -1 and 0 that the last two solutions tell.
            excess = math.log(max(float(np.linalg.norm(V)), 1e-9 * R) / R)
            moved = log_penalty - before[0]
            if 1e-6 < abs(moved) < math.inf:
                rate = min(max((excess - before[1]) / moved, -1.0), -0.05)
            before = log_penalty, excess
            if smoothing > 0.4 * self.gap:
                width *= 0.25
            log_penalty -= min(max(excess / rate, -5.0), 5.0)
        return LinearLeader(self.basis @ self.best, self.total * self.value, self.total * self.gap, self.evaluations)

    @property
    def gap(self) -> float:
        return max(self.value - self.bound, 0.0)

    @property
    def allowed(self) -> float:
        return self.oracle.tolerance * max(self.value, FLOOR)

    def scores(self, V: Array) -> Array:
        """f(x_i)_a of every positive cost."""
        return np.asarray((self.rows @ (self.basis @ V.reshape(self.best.shape)).T)[self.at])

    def gradient(self, slopes: Array) -> Array:
        """Of Σ slope·f in V."""
        dense = np.zeros(self.shape)
        dense[self.at] = slopes
        return np.asarray((self.basis.T @ (dense.T @ self.rows)).ravel())

    def descend(self, V: Array, width: float, penalty: float) -> Array:
        """L-BFGS on the smoothed, penalised problem from V."""
        hinge = SmoothedHinge(self.oracle.margin, width * self.oracle.margin)

        def objective(V: Array) -> tuple[float, Array]:
            self.evaluations += 1
            scores = self.scores(V)
            value = float(self.costs @ hinge(scores)) + 0.5 * (self.ridge + penalty) * float(V @ V)
            return value, self.gradient(self.costs * hinge.slope(scores)) + (self.ridge + penalty) * V

        accuracy = 0.1 * max(self.allowed, 0.1 * self.gap) / (self.oracle.radius * math.sqrt(V.size))
        options = {"maxiter": 1000, "maxfun": 1000, "maxcor": 20, "gtol": accuracy, "ftol": 1e-15}
        found = scipy.optimize.minimize(objective, V, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x)

    def certify(self, V: Array, width: float) -> tuple[float, float]:
        """Take V, shortened to the ball, and the slopes at V where they are better.

        Returns the norm of the gradient at V, and how much of the gap is there because the hinge was smoothed.
        """
        R = self.oracle.radius
        self.evaluations += 2
        inside = ball(V, R)
        hinge, smooth = Hinge(self.oracle.margin), SmoothedHinge(self.oracle.margin, width * self.oracle.margin)
        value = float(self.costs @ hinge(self.scores(inside)))
        value += 0.5 * self.ridge * float(inside @ inside)
        if value < self.value:
            self.best, self.value = inside.reshape(self.best.shape), value
        scores = self.scores(V)
        slopes = self.costs * smooth.slope(scores)
        norm = float(np.linalg.norm(self.gradient(slopes)))
        length = min(R, norm / self.ridge) if self.ridge > 0.0 else R
        bound = self.oracle.margin * float(slopes.sum()) - norm * length + 0.5 * self.ridge * length**2
        self.bound = max(self.bound, bound)
        return norm, float(self.costs @ hinge(scores) - slopes @ (self.oracle.margin + scores))
