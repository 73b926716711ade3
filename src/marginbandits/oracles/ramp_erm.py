"""Small weighted ramp over sum-to-zero linear scores in a Frobenius ball, by hinge minimisations that drop rows.

The class and the costs are those of `oracles.hinge_erm`, the loss is the ramp φ(s) = min(ψ(s), 1), which is not convex:

    P(V) = Σ_i Σ_a c_ia φ(f(x_i)_a) + (λ/2)‖V‖²,   ‖V‖ <= R

At any V_k the ramp lies below the hinge and below 1, and meets the hinge where s <= 0 and 1 where s >= 0. So

    V_{k+1} = argmin over ‖V‖ <= R of   (λ/2)‖V‖² + Σ over f_k(x_i)_a <= 0 of c_ia ψ(f(x_i)_a)   (others: constant)

cannot cost more than V_k: each step is one `HingeERM` without the pairs that are wrong already. From V = 0 all pairs
are kept, so the first step is the hinge's own minimiser, and the end is never worse than it.

Where the hinge is bent by rows far out, that valley is the wrong one. So the descent is repeated from the start given,
if any, and from `starts` more: the cheapest of 512 guesses, half of them directions drawn at random and half what a
handful of rows says, all of norm R. Then from beside the best end so far, a random step of length R away, twice as
often as there are parameters, but at most 8 `starts` times: with many parameters few valleys are met from afar, and
good ones lie beside each other. All is drawn from the same seed in every search, so the same problem has the same
answer. The best end is taken; `LinearLeader.starts` says of how many, and `agreed` how many of these came within 1% of
it.

**Guaranteed**: every step costs at most what the one before it did; the end costs at most what the hinge's minimiser
does; and, unless `max_steps` ran out, no V with the same scores above and below 0 costs less by more than the
tolerance: a local minimum wherever no score is exactly 0. **Not guaranteed**: the least, which is hard to
find, as the best halfspace is. There is no certificate: `gap` is infinite, and starts that agree are no proof.

Collobert, Sinz, Weston & Bottou (2006), "Trading convexity for scalability", whose bound beyond the kink is larger.

>>> import numpy as np
>>> rows = np.r_[np.linspace(0.1, 1.0, 10), 3.0][:, None]  # the last one says the opposite, from far away
>>> costs = np.array([[1.0, 0.0]] * 10 + [[0.0, 1.5]])
>>> HingeERM(0.1).minimise(rows, costs).weights[:, 0].round(1)
array([-0.1,  0.1])
>>> RampERM(0.1).minimise(rows, costs).weights[:, 0].round(2)
array([-0.71,  0.71])
"""

from dataclasses import replace
from typing import Annotated

import numpy as np

from marginbandits.oracles.hinge_erm import CostERM, HingeERM, read_problem
from marginbandits.oracles.leader import LinearLeader
from marginbandits.surrogates import Ramp
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["RampERM"]

_GUESSES = 512


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
        starts: Annotated[int, Integer(0, 512)] = 4,
    ) -> None:
        self.margin = margin
        self.radius = radius
        self.ridge = ridge
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.starts = starts

    def minimise(self, rows: Array, costs: Array, start: Array | None = None) -> LinearLeader:
        """The best end of the descents from 0, from `start`, from the cheapest guesses, and from beside the best."""
        rows, costs = read_problem(rows, costs)
        hinge = HingeERM(self.margin, radius=self.radius, ridge=self.ridge, tolerance=self.tolerance)

        def end_from(one: Array) -> LinearLeader:
            kept = costs * (rows @ one.T <= 0.0)
            return self._descend(hinge, rows, costs, hinge.minimise(rows, kept, one))

        given = [start] if start is not None and start.any() else []
        guesses = self._guesses(rows, costs)
        ends = [self._descend(hinge, rows, costs, hinge.minimise(rows, costs)), *map(end_from, given + guesses)]
        best = min(ends, key=lambda one: one.value)
        steps = min(8 * len(guesses), 2 * max(costs.shape[1] - 1, 1) * rows.shape[1])
        for step in self._scaled(np.random.default_rng(1).standard_normal((steps, *best.weights.shape))):
            ends.append(end_from(best.weights + step))
            best = min(best, ends[-1], key=lambda one: one.value)
        agreed = sum(one.value <= 1.01 * best.value for one in ends)
        evaluations = sum(one.evaluations for one in ends)
        return replace(best, evaluations=evaluations, starts=len(ends), agreed=agreed)

    def _guesses(self, rows: Array, costs: Array) -> list[Array]:
        """The cheapest of many, judged on 2,000 rows at most."""
        used = np.flatnonzero(costs.any(1))
        some = used[:: max(1, len(used) // 2000)]
        if not len(some) or not self.starts:
            return []
        rows, costs, rng = rows[some], costs[some], np.random.default_rng(0)
        few = rng.integers(len(some), size=(_GUESSES // 2, rows.shape[1] + 1))
        random = rng.standard_normal((_GUESSES // 2, costs.shape[1], rows.shape[1]))
        guesses = self._scaled(np.concatenate([random, -np.einsum("gia,gid->gad", costs[few], rows[few])]))
        paid = [self._cost(LinearLeader(one), rows, costs) for one in guesses]
        return list(guesses[np.argsort(paid, kind="stable")[: self.starts]])

    def _scaled(self, weights: Array) -> Array:
        """Centred, of norm R each."""
        if weights.shape[1] > 1:
            weights = weights - weights.mean(1, keepdims=True)
        return np.asarray(
            weights * (self.radius / np.maximum(np.linalg.norm(weights, axis=(1, 2)), 1e-300))[:, None, None]
        )

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
