"""Regressor Elimination: play what the regressors that still fit would play, spread so that each can be told apart.

Some f* of N regressors predicts the reward of every action: E[r | x, a] = f*(x, a). F_t are those that fit, π_f their
best actions, A(x) = {π_f(x) : f ∈ F_t} the actions still in question, n = |A(x)|. Each time F_t changes,

    P on F_t with  E_x[1/q(π_f(x) | x)] <= E_x |A(x)| for all f ∈ F_t,   q(a | x) = (1 - nμ) P(π_f(x) = a) + μ on A(x)
    play q,    F_{t+1} = {f ∈ F_t : Σ (f(x, a) - r)² <= its least + β_t},    μ = min(1/(2K), 1/√T)

where A(x) is one action, it is played for certain. Such a P exists by the minimax theorem; it is found here by
multiplicative steps on E_x Σ_a ln q, to within 5% and the factor 1/(1 - Kμ) by which that optimum may miss (`excess`
says by how much it did). The law of x is that of `contexts`; else the first rounds stand for it.

    elimination   β_t                              regret, with probability 1 - δ
    "printed"     18 ln(2N t³ log₂t / δ)           1 + KμT + 2 √(2cKT V),   V = (β_T + ln(2N/δ))/(1 - e^{-1/2})
    "sharp"       ½ ln(2N/δ)                       the same: about 5.5 √(KT ln(2N/δ)) + K√T

c is that 5% and factor. With g = f - f* and Y = (f - r)² - (f* - r)², E e^{-λY} <= E e^{-(λ - λ²/2) g²}: λ = 2 keeps f*
for ever, λ = 1 bounds Σ E g² of survivors by V, and a survivor's policy loses at most √(2cK V/t) a round. The paper
states the order √(KT ln(NT/δ)) and the algorithm with n = K in q, for which P need not exist where n < K; its constant
18 is as remembered. "sharp", and the constants of the bound for both, are worked out here.

An array of weights gives rewards as they are, f(x, a) = <W_a, x>; other classes 1/K + their scores, so that they sum
to 1 as `predict_proba` does; both are cut to [0, 1]. Where no regressor is right, the promise is void: the least wrong
by squares on its own choices is left. A round costs N; a change of F_t some hundred times N times the contexts.

Agarwal, Dudík, Kale, Langford & Schapire (2012), "Contextual bandit learning with predictable rewards".

>>> import numpy as np
>>> rewards = np.array([[[0.9], [0.1]], [[0.1], [0.9]]])  # the first action is good, or the second
>>> agent = RegressorElimination(2, regressors=rewards, contexts=[[1.0]], elimination="sharp", horizon=200, seed=0)
>>> for _ in range(50):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> agent.fitting, agent.law([1.0])
(array([1]), array([0., 1.]))
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np

from marginbandits.contexts import Batch
from marginbandits.features import MaybeFeatures
from marginbandits.learners.base import Parts
from marginbandits.learners.finite_class import Radius, Regressors
from marginbandits.learners.policy_class import Columns, Contexts, PolicyLearner
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory import Bound, elimination_threshold, regressor_elimination_regret
from marginbandits.theory.comparators import ELIMINATIONS, SLACK
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Choice, Integer, Real, Seed, validated

__all__ = ["RegressorElimination"]

_STEPS = 5000


class RegressorElimination(PolicyLearner):
    """Plays the best actions of regressors not yet refuted by their squared error."""

    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "its class must hold the regressor that is right, and of random ones none is"
    }

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        regressors: Regressors = 100,
        contexts: Contexts = None,
        elimination: Annotated[str, Choice(*ELIMINATIONS)] = "printed",
        delta: Annotated[float, Real(1e-12, 1)] = 0.05,
        horizon: Annotated[int, Integer(1, COUNT)] = 1000,
        radius: Radius = 1.0,
        features: MaybeFeatures = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            n_actions,
            regressors=regressors,
            contexts=contexts,
            horizon=horizon,
            radius=radius,
            features=features,
            seed=seed,
            centred=False,
        )
        self.elimination, self.delta = elimination, delta
        self._mu = min(0.5 / n_actions, 1.0 / math.sqrt(horizon))
        self._base = 0.0 if isinstance(self.regressors, np.ndarray) else 1.0 / n_actions

    def bound(self) -> Bound:
        """What the theory promises over the horizon, unless no regressor can be right.

        Σ (f*(x, a) - r)² is at most t/4 + √(t ln(1/δ)/2) with probability 1 - δ, for each term is in [0, 1], with the
        variance of a reward in [0, 1] as its mean: all above that, none is right.
        """
        right = True
        if self._map is not None:
            t = self._learnt()
            right = float(self._errors.min()) <= 0.25 * t + math.sqrt(0.5 * t * math.log(1.0 / self.delta)) + 1e-9
        return self._on_contexts(
            regressor_elimination_regret(
                self.n_policies,
                self.n_actions,
                self.horizon,
                delta=self.delta,
                elimination=self.elimination,
                right=right,
            )
        )

    @property
    def fitting(self) -> Columns:
        """F_t: which regressors are left; none is refuted before the first round."""
        return np.arange(self.n_policies) if self._map is None else np.flatnonzero(self._fits)

    @property
    def excess(self) -> float:
        """The largest E_x[1/q(π_f(x) | x)] of regressors left, over E_x |A(x)|."""
        shares, on = self._pool.shares(self._weights), self._in_question()
        n = on.sum(1, keepdims=True)
        inverse = np.where(on, 1.0 / ((1.0 - n * self._mu) * shares + self._mu), 0.0)
        return float(self._mean(inverse)[self._fits > 0].max() / (self._chances() @ n[:, 0]))

    def _parts(self) -> Parts:
        self._errors, self._fits, self._weights = zeros((3, self.n_policies))
        self._fits[...] = 1.0
        self._solve()
        return {
            "errors": Field(self._errors, 0.0, COUNT),
            "fits": Field(self._fits, 0.0, 1.0),
            "weights": Field(self._weights, 0.0, 1.0),
        }

    def _check(self) -> None:
        super()._check()
        if abs(float(self._weights @ self._fits) - 1.0) > 1e-9 or abs(float(self._weights.sum()) - 1.0) > 1e-9:
            raise ValueError("weights must be a distribution over the regressors that are left")
        if not self._fits.any() or not ((self._fits == 0.0) | (self._fits == 1.0)).all():
            raise ValueError("fits must say of each regressor whether it is left, and one must be")

    def _law(self, one: Batch) -> Array:
        column = self._column(one)
        law, on = self._votes(column, self._weights), self._votes(column, self._fits) > 0.0
        law = np.where(on, (1.0 - on.sum() * self._mu) * law + self._mu, 0.0)
        return np.asarray(law / law.sum()) if on.sum() > 1 else on.astype(float)

    def _taught(self, one: Batch, column: Columns, action: int, loss: float, probability: float) -> None:
        for array in (self._errors, self._fits, self._weights):
            self._journal.keep(array)
        predicted = np.clip(self._base + self._class.scores(one)[action].astype(float), 0.0, 1.0)
        self._errors += (predicted - (1.0 - loss)) ** 2
        left = self._fits > 0.0
        threshold = elimination_threshold(
            self.n_policies, self._learnt(), delta=self.delta, elimination=self.elimination
        )
        self._fits[left & (self._errors > self._errors[left].min() + threshold)] = 0.0
        known = len(self._pool.columns)
        if (self._fits > 0.0).sum() < left.sum() or (self.contexts is None and known & (known - 1) == 0):
            self._solve()

    # The distribution over regressors.

    def _chances(self) -> Array:
        counts = self._pool.counts
        return np.asarray(counts / counts.sum())

    def _in_question(self) -> Mask:
        """A(x): of each column, the actions that regressors which fit play."""
        return np.asarray(self._pool.shares(self._fits) > 0.0)

    def _mean(self, values: Array) -> Array:
        """Of each regressor: the mean over columns of the value of its action."""
        return self._pool.sums(self._chances()[:, None] * values)

    def _solve(self) -> None:
        """Multiplicative steps from half even weights, half those before; each raises E_x Σ_a ln q."""
        before, even = self._weights * self._fits, self._fits / self._fits.sum()
        weights = 0.5 * even + (0.5 / before.sum() * before if before.any() else 0.5 * even)
        if len(self._pool.columns):
            chances, on = self._chances(), self._in_question()
            kept = 1.0 - on.sum(1, keepdims=True) * self._mu
            limit = (1.0 + SLACK) * float(chances @ on.sum(1)) / (1.0 - self.n_actions * self._mu)
            left = self._fits > 0.0
            for _ in range(_STEPS):
                inverse = np.where(on, 1.0 / (kept * self._pool.shares(weights) + self._mu), 0.0)
                if self._mean(inverse)[left].max() <= limit:
                    break
                weights = weights * self._mean(kept * inverse)
                weights /= weights.sum()
        self._weights[...] = weights
