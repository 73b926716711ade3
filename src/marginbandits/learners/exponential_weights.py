"""Exponential weights over a finite class of regressors: the paper's reduction to full information, made constructive.

With weights q over regressors f, and s_f a surrogate of the scores f(x):

    P(a) = Σ_f q(f) s_f(a)/Σ_b s_f(b)          the average of normalised vectors; play (1 - Kμ) P + μ, μ = 0 is fine
    ℓ̂ = ℓ(a) e_a/P(a)                          the estimate of all losses
    q(f) ∝ exp(-η Σ <s_f, ℓ̂>)                  η from `theory.tuning`: for a horizon, or anytime

    surrogate     s                                    regret at most                       over
    "relative"    θ: relative margin                   K √(2T ln N)                         min_f Σ <ℓ, θ(f)>
    "ramp"        φ                                    K √(2T ln N)                         min_f Σ <ℓ, φ(f)>
    "hinge"       ψ                                    about (1 + B/γ) √(T ln N)            (1/K) min_f Σ <ℓ, ψ(f)>
    "policy"      one-hot of the best score: Exp4      √(2KT ln N)                          min_f Σ ℓ(argmax f)
    "advice"      scores + 1/K: experts' laws          √(2KT ln N)                          min_f Σ <ℓ, advice>

(√2 times as much without a horizon; `theory.exponential_weights` has every constant.) θ <= φ <= ψ at the same price, so
the relative margin is the default. For it and the ramp the price does not depend on γ: given `margins`, weights are
kept for every pair of a regressor and a margin, and the best margin is learnt at the cost of their logarithm.

The class is `regressors`: a `Finite` class (functions, models, an ε-cover); an array of N x K x d weights, N x d for
K x d contexts; a list of fitted classifiers; or a number N of random linear regressors of norm `radius`. A class that
is given scores contexts as they are, random regressors score "raw" features, unless `features` says otherwise. Linear
classes see them shortened to norm 1. A class of functions or models cannot be saved.

Foster & Krishnamurthy (2018), section 2; Auer, Cesa-Bianchi, Freund & Schapire (2002) for Exp4.

>>> import numpy as np
>>> corners = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])  # "always the first", "always the second", for x = 1
>>> agent = ExponentialWeights(n_actions=2, regressors=corners, horizon=400, seed=0)
>>> for _ in range(400):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> agent.act([1.0]).distribution.round(2)
array([0., 1.])
"""

import math
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Identity, MaybeFeatures
from marginbandits.learners.base import Learner, Parts
from marginbandits.projections import ball
from marginbandits.scores import Finite, Linear, SharedLinear
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory import Bound, Game, exponential_weights, finite_rate, second_moment
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Choice, Instance, Integer, ListOf, OneOf, Real, Seed, validated

__all__ = ["ExponentialWeights"]

Table = npt.NDArray[np.float32]

_RAMP, _HINGE, _RELATIVE, _POLICY, _ADVICE = range(5)
_KINDS = {"ramp": _RAMP, "hinge": _HINGE, "relative": _RELATIVE, "policy": _POLICY, "advice": _ADVICE}
_FARTHEST = 1e200
_TINY = 1e-12  # scores are kept in single precision


class ExponentialWeights(Learner):
    """Hedge over a finite class with the ramp, hinge or relative-margin surrogate, or over policies: Exp4."""

    competes: ClassVar[bool] = False
    takes_names: ClassVar[bool] = False
    needs_every_row: ClassVar[bool] = True
    journals: ClassVar[bool] = True

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        regressors: Annotated[Any, OneOf(Integer(2), Instance(np.ndarray, Finite, list, tuple))] = 1000,
        surrogate: Annotated[str, Choice(*_KINDS)] = "relative",
        margin: Annotated[float, Real(_TINY, 1.0 / _TINY)] = 0.1,
        margins: Annotated[list[float] | None, OneOf(ListOf(Real(_TINY, 1.0 / _TINY)), Instance(type(None)))] = None,
        horizon: Annotated[int | None, OneOf(Integer(1, COUNT), Instance(type(None)))] = None,
        mu: Annotated[float, Real(0)] = 0.0,
        radius: Annotated[float, Real(_TINY, 1.0 / _TINY)] = 1.0,
        features: MaybeFeatures = None,
        seed: Seed = None,
    ) -> None:
        if features is None:
            features = "raw" if isinstance(regressors, int) else Identity()
        super().__init__(n_actions, features=features, seed=seed)
        self.regressors, self.surrogate, self.margin, self.margins = regressors, surrogate, margin, margins
        self.horizon, self.mu, self.radius = horizon, mu, radius
        if mu * n_actions > 1.0:
            raise ValueError(f"mu must be at most 1/n_actions = {1 / n_actions:g}, got {mu}")
        if margins is not None and surrogate not in ("ramp", "relative"):
            raise ValueError(f"margins must be None with surrogate={surrogate!r}: only ramp and relative can learn one")
        self._kind = _KINDS[surrogate]
        self._functions: Finite | None = None
        self._given: Array | None = None  # what is given as weights, centred
        if isinstance(regressors, np.ndarray):
            self._given = _checked_weights(regressors, n_actions)
        elif not isinstance(regressors, int):
            made = regressors if isinstance(regressors, Finite) else Finite.from_models(regressors, n_actions)
            if made.n_actions != n_actions:
                raise ValueError(f"regressors must score n_actions={n_actions} actions, got {made.n_actions}")
            if made.weights is None:
                self._functions = made
            else:
                self.regressors = self._given = made.weights  # plain numbers, which can be saved

    def bound(self, rounds: int | None = None) -> Bound:
        """What the theory promises for so many rounds, the horizon's if none are given, once the class is built."""
        if self._map is None:
            raise ValueError("bound must wait for the first round learnt: the class is built for its features")
        rounds = self.horizon if rounds is None else rounds
        if rounds is None:
            raise ValueError("rounds must be given where there is no horizon")
        kind = "policy" if self.surrogate == "advice" else self.surrogate
        return exponential_weights(
            self._cost.shape[1],
            Game(self.n_actions, rounds, self.margin, self._largest),
            surrogate=kind,
            n_margins=len(self._margins),
            anytime=self.horizon is None,
            mu=self.mu,
        )

    @property
    def weights(self) -> Array:
        """q: one row per margin, one column per regressor."""
        return np.asarray(self._q / self._q.sum())

    def dumps(self) -> bytes:
        """Everything learnt; a class of functions or models is not plain data, and is refused."""
        if self._functions is not None:
            raise ValueError("regressors must be numbers to be saved: functions and models are not plain data")
        return super().dumps()

    # The holes.

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._table, self._largest = self._built(shape, n_features)
        K, N = self.n_actions, self._table.shape[2] if self._functions is None else len(self._functions)
        self._margins = np.array([self.margin] if self.margins is None else self.margins, np.float32)
        kind = "policy" if self.surrogate == "advice" else self.surrogate
        self._variance = second_moment(kind, Game(K, 1, self.margin, self._largest))
        self._log_size = math.log(N * len(self._margins))
        self._cost = zeros((len(self._margins), N))  # Σ <s, ℓ̂>, less the smallest
        self._q = zeros((len(self._margins), N))
        self._q[...] = 1.0
        self._rounds = np.zeros(1, np.int64)
        self._scores: Table = zeros((K, N), np.float32)
        self._room: Table = zeros((K + 2, N), np.float32)
        self._seen: Array | None = None  # the context whose scores are in the table
        drawn = (
            {"table": Field(self._table, -self.radius, self.radius)}
            if self._functions is None and self._given is None
            else {}
        )
        return {
            "cost": Field(self._cost, 0.0, _FARTHEST),
            "weights": Field(self._q, 0.0, 1.0),
            "rounds": Field(self._rounds, 0, COUNT),
            **drawn,
        }

    def _law(self, one: Batch) -> Array:
        self._score(one)
        law = np.zeros(self.n_actions)
        _average(self._scores, self._q, self._margins, self._kind, one.mask, self._room, law)
        law /= law.sum()
        return laws.floored(law, one, self.mu) if self.mu > 0.0 else law

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        for array in (self._cost, self._q, self._rounds):
            self._journal.keep(array)
        if loss > 0.0:
            self._score(one)
            _charge(
                self._scores,
                self._margins,
                self._kind,
                action,
                loss / probability,
                _FARTHEST,
                self._room,
                self._cost,
            )
        self._rounds[0] = min(int(self._rounds[0]) + 1, COUNT)
        if loss > 0.0 or self.horizon is None:
            np.exp(-self.eta * self._cost, out=self._q)

    def _check(self) -> None:
        if self._q.max() < 1.0 or self._cost.min() > 0.0:
            raise ValueError("the largest of weights must be 1, and the smallest cost 0")

    # Its parts.

    @property
    def eta(self) -> float:
        """η for the next round."""
        anytime = self.horizon is None
        rounds = int(self._rounds[0]) + 1 if self.horizon is None else self.horizon
        return finite_rate(self._log_size, self._variance, rounds, anytime=anytime)

    def _built(self, shape: Shape, n_features: int) -> tuple[Table, float]:
        """Weights laid out as blocks x features x regressors, and B; nothing for a class of functions."""
        if self._functions is not None:
            return np.zeros((0, 0, 0), np.float32), self._functions.bound
        if self._given is not None:
            expected = (n_features,) if shape.shared else (self.n_actions, n_features)
            if self._given.shape[1:] != expected:
                raise ValueError(
                    f"context must fit regressors of shape {self._given.shape}, got {n_features} features "
                    + ("for each action" if shape.shared else "in all")
                )
            w = self._given
            largest = float(np.linalg.norm(w, axis=-1).max()) * (2.0 if shape.shared else 1.0)
        else:
            kind = SharedLinear if shape.shared else Linear
            scores = kind(self.n_actions, n_features, radius=self.radius)
            theta = zeros((int(self.regressors), scores.dimension))
            theta[...] = self._rng.standard_normal(theta.shape)
            theta *= self.radius / np.linalg.norm(theta, axis=1, keepdims=True)
            w = scores.weights(theta) if isinstance(scores, Linear) else theta
            largest = scores.bound
        blocks = w.reshape(len(w), -1, n_features)
        return np.ascontiguousarray(blocks.transpose(1, 2, 0), np.float32), max(largest, 1e-300)

    def _score(self, one: Batch) -> None:
        """Fill the table of scores, unless it is of this context already: `learn` mostly follows `act`."""
        rows = dense(one.rows)
        if self._seen is not None and np.array_equal(self._seen, rows):
            return
        self._seen = None
        if self._functions is not None:
            self._scores[...] = self._functions.values(rows if one.shared else rows[0]).T
        else:
            short = ball(rows, 1.0)
            if one.shared:
                short -= short.mean(0)
            _linear(self._table, short.astype(np.float32), one.shared, self._scores)
        self._seen = rows.copy()


def _checked_weights(weights: npt.NDArray[Any], n_actions: int) -> Array:
    """Weights per action are centred; those shared by all actions are as they are."""
    if weights.ndim not in (2, 3) or weights.dtype.kind not in "iuf" or not weights.size:
        raise ValueError(f"regressors must be N x K x d or N x d numbers, got {weights.dtype} of {weights.shape}")
    if weights.ndim == 3 and weights.shape[1] != n_actions:
        raise ValueError(f"regressors must have n_actions={n_actions} rows each, got shape {weights.shape}")
    if not (np.abs(weights) <= 1.0 / _TINY).all():
        raise ValueError(f"regressors must be finite numbers within ±{1.0 / _TINY:g}")
    given = weights.astype(float)
    return given - given.mean(1, keepdims=True) if given.ndim == 3 else given


@kernel
def _linear(table: Table, rows: Table, shared: bool, scores: Table) -> None:
    """scores[a, n] = Σ_j table[a, j, n] rows[a, j]; one block, or else one row, serves all actions."""
    K, N = scores.shape
    for start in range(0, N, 512):
        end = min(start + 512, N)
        for a in range(K):
            w, x = table[0 if shared else a], rows[a if shared else 0]
            out = scores[a, start:end]
            out[:] = np.float32(0.0)
            for j in range(x.shape[0]):
                column, weight = w[j, start:end], x[j]
                for n in range(end - start):
                    out[n] += weight * column[n]


@kernel
def _surrogate(scores: Table, a: int, start: int, kind: int, inverse: float, top: Table, out: Table) -> None:
    """Values of one action for a stretch of regressors; `top` is their largest score."""
    K = np.float32(scores.shape[0])
    one, zero, slope = np.float32(1.0), np.float32(0.0), np.float32(inverse)
    for n in range(out.shape[0]):
        s = scores[a, start + n]
        if kind == _RAMP:
            out[n] = min(max(one + slope * s, zero), one)
        elif kind == _HINGE:
            out[n] = max(one + slope * s, zero)
        elif kind == _RELATIVE:
            out[n] = max(one + slope * (s - top[n]), zero)
        elif kind == _POLICY:
            out[n] = one if s == top[n] else zero
        else:
            out[n] = max(s + one / K, zero)


@kernel
def _largest(scores: Table, start: int, mask: Mask, top: Table) -> None:
    top[:] = np.float32(-np.inf)
    for a in range(scores.shape[0]):
        if mask[a]:
            for n in range(top.shape[0]):
                s = scores[a, start + n]
                top[n] = s if s > top[n] else top[n]


@kernel
def _share_ties(scores: Table, start: int, top: Table, ties: Table, values: Table) -> None:
    ties[:] = np.float32(0.0)
    for a in range(scores.shape[0]):
        for n in range(top.shape[0]):
            ties[n] += np.float32(1.0) if scores[a, start + n] == top[n] else np.float32(0.0)
    for n in range(top.shape[0]):
        if ties[n] > 1.0:
            values[n] /= ties[n]


@kernel
def _average(scores: Table, q: Array, margins: Table, kind: int, mask: Mask, room: Table, law: Array) -> None:
    """law[a] = Σ q s_a/Σ_b s_b over available actions; a regressor that gives them all 0 counts as uniform."""
    K, N = scores.shape
    available = 0
    for a in range(K):
        available += mask[a]
    for start in range(0, N, 512):
        size = min(512, N - start)
        top, total = room[K, :size], room[K + 1, :size]
        if kind in (_RELATIVE, _POLICY):
            _largest(scores, start, mask, top)
        for g in range(margins.shape[0]):
            total[:] = np.float32(0.0)
            for a in range(K):
                if mask[a]:
                    values = room[a, :size]
                    _surrogate(scores, a, start, kind, 1.0 / margins[g], top, values)
                    for n in range(size):
                        total[n] += values[n]
            idle = 0.0
            for n in range(size):
                weight = q[g, start + n]
                idle += weight if total[n] <= 0.0 else 0.0
                total[n] = np.float32(weight) / total[n] if total[n] > 0.0 else np.float32(0.0)
            for a in range(K):
                if mask[a]:
                    values, part = room[a, :size], np.float32(0.0)  # short sums, exact enough for single precision
                    for n in range(size):
                        part += total[n] * values[n]
                    law[a] += np.float64(part) + idle / available


@kernel
def _charge(
    scores: Table, margins: Table, kind: int, action: int, estimate: float, farthest: float, room: Table, cost: Array
) -> None:
    """Add ℓ̂(a) s(a) to every pair's cost, then take the smallest off."""
    K, N = scores.shape
    everything = np.ones(K, np.bool_)
    least = np.inf
    for start in range(0, N, 512):
        size = min(512, N - start)
        top, values = room[K, :size], room[action, :size]
        if kind in (_RELATIVE, _POLICY):
            _largest(scores, start, everything, top)
        for g in range(margins.shape[0]):
            _surrogate(scores, action, start, kind, 1.0 / margins[g], top, values)
            if kind == _POLICY:
                _share_ties(scores, start, top, room[K + 1, :size], values)
            for n in range(size):
                cost[g, start + n] = min(cost[g, start + n] + estimate * values[n], farthest)
                least = min(least, cost[g, start + n])
    for g in range(margins.shape[0]):
        for n in range(N):
            cost[g, n] -= least
