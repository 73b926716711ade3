"""Improper logistic bandit multiclass: all linear logistic predictors at once, weighted by how well they predict.

With predictors W_1, …, W_N, σ the softmax over available actions, and exactly one action right:

    P(a) = Σ_n q_n σ(W_n x)_a      Vovk's aggregation, q_n ∝ exp(-Σ c_n); P is no σ(Wx): it is improper
    play   (1 - Kμ) P + μ

    estimate        c_n, of a round in which action a was played
    "importance"    -μ (1 - ℓ)/p ln σ_a                right answers alone, weighted: the paper's bandit form
    "likelihood"    -(1 - ℓ) ln σ_a - ℓ ln(1 - σ_a)    what the observation says

`from_theory` takes an ε-cover of the ball of radius B (`scores.cover`), η = μ = 1/L from the horizon, the exact
aggregation over it, and has mistakes <= min_n Σ -ln σ(W_n x)_y + 2 √(2KT ln N) (`theory.improper_logistic_finite`; the
published constants, for the whole ball, are `theory.improper_logistic`). The paper draws from the continuous law by
Langevin dynamics; the cover stands for it here, in few dimensions.

In its practical form N particles are drawn from the ball; when fewer than half of them count (1/Σq² < N/2) they are
drawn again by weight and moved, θ̄ + √(1 - h²)(θ_i - θ̄) + h (θ_j - θ_k)/√2, which keeps their mean and covariance.
That has no proof. Contexts are shortened to norm 1; `from_theory` refuses longer ones, losses other than 0 and 1,
rounds beyond the horizon and decisions less likely than μ, unless told `outside_theory=True`.

Foster, Kale, Luo, Mohri & Sridharan (2018), "Logistic regression: the importance of being improper".

>>> agent = ImproperLogistic(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.8)
True
>>> exact = ImproperLogistic.from_theory(n_features=2, n_actions=2, horizon=1000, radius=2.0, epsilon=0.5)
>>> len(exact.predictors), round(exact.mu, 3)
(21, 0.028)
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features, Identity
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.conditions import Condition, OutsideTheory, refuse_outside
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.projections import ball
from marginbandits.scores import Linear, SharedLinear
from marginbandits.scores.cover import linear_cover
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory.logistic import improper_logistic_finite, logistic_floor
from marginbandits.theory.record import Bound
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Integer, OneOf, Real, Seed, validated

__all__ = ["ImproperLogistic"]

LEAST = 1e-12
"""No probability is taken for less where its logarithm is charged."""

FARTHEST = 1e200
_BOUND = "The bound of improper logistic regression"


class ImproperLogistic(Learner):
    """Predictions of all predictors, mixed by their weights. O(NKd) a round.

    `predictors` is a number N of particles in the ball of `radius`, or the N x K x d weights themselves, which then do
    not move; `step` is h.
    """

    competes = False
    takes_names = False
    needs_every_row = True
    journals = True

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        predictors: Annotated[Any, OneOf(Integer(2, 10**7), Instance(np.ndarray))] = 400,
        radius: Annotated[float, Real(1e-9, 1e9)] = 15.0,
        estimate: Annotated[str, Choice("likelihood", "importance")] = "likelihood",
        mu: Annotated[float, Real(0, 0.5)] = 0.01,
        step: Annotated[float, Real(0, 1)] = 0.2,
        horizon: Annotated[int | None, OneOf(Integer(1, COUNT), Instance(type(None)))] = None,
        outside_theory: OutsideTheory = None,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.horizon, self.outside_theory = horizon, outside_theory
        self.predictors, self.radius, self.estimate, self.mu, self.step = predictors, radius, estimate, mu, step
        if mu * self.n_actions > 1.0:
            raise ValueError(f"mu must be at most 1/n_actions = {1 / self.n_actions:g}, got {mu}")
        if estimate == "importance" and mu == 0.0:
            raise ValueError("mu must be above 0 with estimate='importance': it is the rate as well, got 0.0")
        if isinstance(predictors, np.ndarray):
            shaped = predictors.ndim == 3 and predictors.shape[1] == self.n_actions and predictors.dtype.kind in "iuf"
            if not shaped or not predictors.size or not (np.abs(predictors) <= 1e9).all():
                raise ValueError(f"predictors must be N x {self.n_actions} x d finite numbers, got {predictors.shape}")

    @classmethod
    @validated
    def from_theory(
        cls,
        *,
        n_features: Annotated[int, Integer(1)],
        n_actions: Annotated[int, Integer(2)],
        horizon: Annotated[int, Integer(1)],
        radius: Annotated[float, Real(1e-9, 1e9)] = 1.0,
        epsilon: Annotated[float, Real(1e-9, 1e9)] = 0.25,
        most: Annotated[int, Integer(1, 10**7)] = 100_000,
        outside_theory: Annotated[bool, Instance(bool)] = False,
        seed: Seed = None,
    ) -> "ImproperLogistic":
        """The aggregation over an ε-cover, with the paper's estimate; contexts are taken as they are."""
        cover = linear_cover(n_actions, n_features, epsilon=epsilon, radius=radius, most=most)
        if len(cover) < 2:
            raise ValueError(f"epsilon must be small enough for a cover of two predictors at least, got {epsilon:g}")
        mu = logistic_floor(n_actions, horizon, float(np.log(len(cover))))
        return cls(
            n_actions,
            predictors=cover,
            radius=radius,
            estimate="importance",
            mu=mu,
            horizon=horizon,
            outside_theory=outside_theory,
            features=Identity(),
            seed=seed,
        )

    def bound(self) -> Bound:
        """What the theory promises `from_theory`: mistakes over the least log loss of a predictor, in T rounds."""
        if self.outside_theory is None or self.horizon is None or not isinstance(self.predictors, np.ndarray):
            raise ValueError("bound must be asked of ImproperLogistic.from_theory: no theorem covers other forms")
        found = improper_logistic_finite(len(self.predictors), self.n_actions, self.horizon, mu=self.mu)
        return replace(found, conditions={**found.conditions, "held to the theorem": not self.outside_theory})

    @property
    def weights(self) -> Array:
        """Q, one for each predictor."""
        q = np.exp(-self._cost)
        return np.asarray(q / q.sum())

    def _ready(self, n: int) -> None:
        if self.outside_theory is False and self.horizon is not None:
            done = 0 if self._map is None else int(self._rounds[0])
            rounds = Condition("T rounds at most", done + n <= self.horizon, f"round {done + n} of {self.horizon}")
            refuse_outside(_BOUND, [rounds])

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        if isinstance(self.predictors, np.ndarray):
            if shape.shared or self.predictors.shape[2] != n_features:
                shaped = f"predictors of shape {self.predictors.shape}"
                raise ValueError(f"context must be a vector that fits {shaped}, got {n_features} features")
            self._table = self.predictors.astype(float)
        else:
            kind = SharedLinear if shape.shared else Linear
            scores = kind(self.n_actions, n_features, radius=self.radius)
            theta = zeros((int(self.predictors), scores.dimension))
            theta[...] = self._rng.standard_normal(theta.shape)
            share = self._rng.random((len(theta), 1)) ** (1.0 / scores.dimension)  # uniform in the ball
            theta *= self.radius * share / np.linalg.norm(theta, axis=1, keepdims=True)
            w = scores.weights(theta) if isinstance(scores, Linear) else theta
            self._table = w.reshape(len(theta), -1, n_features)
        self._cost = zeros((len(self._table),))  # η Σ y (-ln σ), less the smallest
        self._rounds = zeros((1,), np.int64)
        largest = 1e9 if isinstance(self.predictors, np.ndarray) else 4.0 * self.radius
        return {
            "table": Field(self._table, -largest, largest),
            "cost": Field(self._cost, 0.0, FARTHEST),
            "rounds": Field(self._rounds, 0, COUNT),
        }

    def _check(self) -> None:
        if self._cost.min() > 0.0:
            raise ValueError("the smallest cost must be 0")

    def _law(self, one: Batch) -> Array:
        mixed = self.weights @ self._predictions(one)
        return laws.floored(laws.proportional(mixed, one), one, self.mu)

    def _predictions(self, one: Batch) -> Array:
        """σ(W_n x), over available actions: N x K."""
        rows = ball(dense(one.rows), 1.0)
        scores = self._table[:, 0] @ rows.T if one.shared else self._table @ rows[0]
        scores = np.where(one.mask, scores - scores[:, one.mask].max(1, keepdims=True), -np.inf)
        grown = np.exp(scores)
        return np.asarray(grown / grown.sum(1, keepdims=True))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        if self.outside_theory is False:
            refuse_outside(_BOUND, self._needs(dense(one.rows), loss, probability))
        said = np.maximum(self._predictions(one)[:, action], LEAST)
        if self.estimate == "importance":
            charge = -self.mu * (1.0 - loss) / probability * np.log(said)
        else:
            charge = -(1.0 - loss) * np.log(said) - loss * np.log(np.maximum(1.0 - said, LEAST))
        self._journal.keep(self._cost)
        self._journal.keep(self._rounds)
        self._rounds[0] = min(int(self._rounds[0]) + 1, COUNT)
        self._cost += charge
        self._cost -= self._cost.min()
        np.minimum(self._cost, FARTHEST, out=self._cost)
        if not isinstance(self.predictors, np.ndarray):
            q = self.weights
            if (q**2).sum() * len(q) > 2.0:
                self._redraw(q)

    def _needs(self, rows: Array, loss: float, probability: float) -> Iterable[Condition]:
        """What the bound needs of a round."""
        longest = float(np.linalg.norm(rows, axis=1).max())
        yield Condition("‖x‖ <= 1", longest <= 1.0 + 1e-9, f"a context of norm {longest:g}")
        yield Condition("one right action, losses of 0 and 1", loss in (0.0, 1.0), f"a loss of {loss:g}")
        least = self.mu * (1.0 - 1e-9)
        yield Condition("p >= μ", probability >= least, f"a probability of {probability:g} and μ = {self.mu:g}")

    def _redraw(self, q: Array) -> None:
        """Draw particles again by weight, and move them within their own spread."""
        self._journal.keep_generator(self._rng)
        self._journal.keep(self._table)
        n = len(q)
        i, j, k = self._rng.choice(n, (3, n), p=q)
        old, mean = self._table, np.tensordot(q, self._table, 1)
        h = self.step
        moved = mean + np.sqrt(1.0 - h * h) * (old[i] - mean) + h * np.sqrt(0.5) * (old[j] - old[k])
        self._table[...] = ball(moved.reshape(n, -1), 2.0 * self.radius).reshape(moved.shape)
        self._cost[...] = 0.0
