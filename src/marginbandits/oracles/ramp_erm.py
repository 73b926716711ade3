"""Small weighted ramp over sum-to-zero linear scores in a Frobenius ball, by hinge minimisations that drop rows.

The class and the costs are those of `oracles.hinge_erm`, the loss is the ramp φ(s) = min(ψ(s), 1), which is not convex:

    P(V) = Σ_i Σ_a c_ia φ(f(x_i)_a) + (λ/2)‖V‖²,   ‖V‖ <= R

At any V_k the ramp lies below the hinge and below 1, and meets the hinge where s <= 0 and 1 where s >= 0. So

    V_{k+1} = argmin over ‖V‖ <= R of   (λ/2)‖V‖² + Σ over f_k(x_i)_a <= 0 of c_ia ψ(f(x_i)_a)   (others: constant)

cannot cost more than V_k: each step is one `HingeERM` without the pairs that are wrong already. From V = 0 all pairs
are kept, so the first step is the hinge's own minimiser, and the end is never worse than it. The descent is repeated
from the start given, if any, and the better end is taken.

**Guaranteed**: every step costs at most what the one before it did; the end costs at most what the hinge's minimiser
does; and, unless `max_steps` ran out, no V with the same scores above and below 0 costs less by more than the
tolerance: a local minimum wherever no score is exactly 0. **Not guaranteed**: the least, which is hard to
find, as the best halfspace is. There is no certificate: `gap` is infinite.

Collobert, Sinz, Weston & Bottou (2006), "Trading convexity for scalability", whose bound beyond the kink is larger.

>>> import numpy as np
>>> rows = np.r_[np.linspace(0.1, 1.0, 10), 3.0][:, None]  # the last one says the opposite, from far away
>>> costs = np.array([[1.0, 0.0]] * 10 + [[0.0, 1.5]])
>>> HingeERM(0.1).minimise(rows, costs).weights[:, 0].round(1)
array([-0.1,  0.1])
>>> RampERM(0.1).minimise(rows, costs).weights[:, 0].round(2)
array([-0.71,  0.71])
"""

from typing import Annotated

import numpy as np

from marginbandits.oracles.hinge_erm import CostERM, HingeERM
from marginbandits.oracles.leader import LinearLeader
from marginbandits.surrogates import Ramp
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["RampERM"]


class RampERM(CostERM):
    """The oracle: `minimise` for any costs; `fit` for rounds of a bandit, as `types.Oracle` has it."""

    @validated
    def __init__(
        self,
        margin: Annotated[float, Real(above=0)],
        *,
        radius: Annotated[float, Real(above=0)] = 1.0,
        ridge: Annotated[float, Real(0)] = 0.0,
        tolerance: Annotated[float, Real(above=0)] = 1e-4,
        max_steps: Annotated[int, Integer(1)] = 50,
    ) -> None:
        self.margin = margin
        self.radius = radius
        self.ridge = ridge
        self.tolerance = tolerance
        self.max_steps = max_steps

    def minimise(self, rows: Array, costs: Array, start: Array | None = None) -> LinearLeader:
        """The better end of the descents from 0 and from `start`."""
        rows, costs = np.asarray(rows, float), np.asarray(costs, float)
        hinge = HingeERM(self.margin, radius=self.radius, ridge=self.ridge, tolerance=self.tolerance)
        found = self._descend(hinge, rows, costs, hinge.minimise(rows, costs))
        if start is not None and start.any():
            kept = costs * (rows @ start.T <= 0.0)
            other = self._descend(hinge, rows, costs, hinge.minimise(rows, kept, start))
            found = min(found, other, key=lambda one: one.value)
        return found

    def _descend(self, hinge: HingeERM, rows: Array, costs: Array, first: LinearLeader) -> LinearLeader:
        """At most `max_steps`, of which `first` was one, until one gains nothing."""
        best, evaluations, value = first.weights, first.evaluations, self._cost(first, rows, costs)
        for _ in range(1, self.max_steps):
            following = hinge.minimise(rows, costs * (rows @ best.T <= 0.0), best)
            evaluations += following.evaluations
            new = self._cost(following, rows, costs)
            if new >= (1.0 - self.tolerance) * value:
                break
            best, value = following.weights, new
        return LinearLeader(best, value, evaluations=evaluations)

    def _cost(self, leader: LinearLeader, rows: Array, costs: Array) -> float:
        paid = float((costs * Ramp(self.margin)(leader.scores(rows))).sum())
        return paid + 0.5 * self.ridge * float((leader.weights**2).sum())
