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

A round with a mask is a game of its available actions alone, in what is played and in what is charged: the best score
is the best available one, scores sum to zero over those available, and experts' laws are taken given that they play one
of them. The price is that of all K, if B bounds those scores (as it does in a ball of weights).

The class is `regressors`: a `Finite` class (functions, models, an ε-cover); an array of N x K x d weights, N x d for
K x d contexts; a list of fitted classifiers; or a number N of random linear regressors of norm `radius`. A class that
is given scores contexts as they are, random regressors score "raw" features, unless `features` says otherwise. Linear
classes see them shortened to norm 1. A class of functions or models cannot be saved.

`from_theory` asks for the class and the horizon, and refuses what the bound does not cover: contexts of norm above 1
(of linear classes, whose B is for those), rounds beyond the horizon, and advice that is no law;
`outside_theory=True` takes them.

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
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Identity, MaybeFeatures
from marginbandits.learners import hedge
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.conditions import Condition, OutsideTheory, refuse_outside
from marginbandits.learners.finite_class import TINY, FiniteClass, Radius, Regressors, Table
from marginbandits.scores import Cells, Cube, lipschitz_cover
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory import Bound, Game, exponential_weights, finite_rate, second_moment
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Choice, Instance, Integer, ListOf, OneOf, Real, Seed, validated

__all__ = ["ExponentialWeights"]

_FARTHEST = 1e200
_BOUND = "the bound of exponential weights"


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
        regressors: Regressors = 1000,
        surrogate: Annotated[str, Choice(*hedge.KINDS)] = "relative",
        margin: Annotated[float, Real(TINY, 1.0 / TINY)] = 0.1,
        margins: Annotated[list[float] | None, OneOf(ListOf(Real(TINY, 1.0 / TINY)), Instance(type(None)))] = None,
        horizon: Annotated[int | None, OneOf(Integer(1, COUNT), Instance(type(None)))] = None,
        mu: Annotated[float, Real(0)] = 0.0,
        radius: Radius = 1.0,
        outside_theory: OutsideTheory = None,
        features: MaybeFeatures = None,
        seed: Seed = None,
    ) -> None:
        if features is None:
            features = "raw" if isinstance(regressors, int) else Identity()
        super().__init__(n_actions, features=features, seed=seed)
        self.surrogate, self.margin, self.margins = surrogate, margin, margins
        self.horizon, self.mu, self.radius, self.outside_theory = horizon, mu, radius, outside_theory
        if mu * n_actions > 1.0:
            raise ValueError(f"mu must be at most 1/n_actions = {1 / n_actions:g}, got {mu}")
        if margins is not None and surrogate not in ("ramp", "relative"):
            raise ValueError(f"margins must be None with surrogate={surrogate!r}: only ramp and relative can learn one")
        self._kind = hedge.KINDS[surrogate]
        self._class = FiniteClass(regressors, n_actions, radius)
        self.regressors = self._class.parameter

    @classmethod
    @validated
    def on_lipschitz_cover(
        cls,
        *,
        space: Annotated[Cube, Instance(Cube)],
        epsilon: Annotated[float, Real(1e-6, 1e6)],
        horizon: Annotated[int | None, OneOf(Integer(1, COUNT), Instance(type(None)))] = None,
        margin: Annotated[float, Real(TINY, 1.0 / TINY)] = 1.0,
        surrogate: Annotated[str, Choice("ramp", "advice")] = "ramp",
        seed: Seed = None,
    ) -> "ExponentialWeights":
        """Two actions, all 1-Lipschitz scores in [-γ, γ] by a cover: by their ramps, or "advice", the policies π_ramp.

        >>> agent = ExponentialWeights.on_lipschitz_cover(space=Cube([0.0], [1.0]), epsilon=0.25, horizon=100, seed=0)
        >>> agent.regressors.shape
        (176, 2, 4)
        """
        table = lipschitz_cover(space, epsilon=epsilon, bound=margin)
        if surrogate == "advice":
            ramps = np.minimum(1.0 + table / margin, 1.0)
            table = ramps / ramps.sum(1, keepdims=True) - 0.5
        cells = Cells(space, 0.5 * epsilon)
        return cls(2, regressors=table, surrogate=surrogate, margin=margin, horizon=horizon, features=cells, seed=seed)

    @classmethod
    def from_theory(
        cls,
        n_actions: int,
        *,
        regressors: Any,
        horizon: int,
        surrogate: str = "relative",
        margin: float = 0.1,
        margins: list[float] | None = None,
        outside_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> Self:
        """Over a class that is given, for a horizon, with μ = 0, held to the conditions of `bound`."""
        return cls(
            n_actions,
            regressors=regressors,
            surrogate=surrogate,
            margin=margin,
            margins=margins,
            horizon=horizon,
            outside_theory=outside_theory,
            features=Identity(),
            seed=seed,
        )

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
            Game(self.n_actions, rounds, self.margin, self._class.bound),
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
        self._class.refuse_saving()
        return super().dumps()

    # The holes.

    def _ready(self, n: int) -> None:
        if self.outside_theory is False and self.horizon is not None:
            done = 0 if self._map is None else int(self._rounds[0])
            rounds = Condition("T rounds at most", done + n <= self.horizon, f"round {done + n} of {self.horizon}")
            refuse_outside(_BOUND, [rounds])

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        drawn = self._class.begin(shape, n_features, self._rng)
        K, N = self.n_actions, self._class.size
        self._margins = np.array([self.margin] if self.margins is None else self.margins, np.float32)
        kind = "policy" if self.surrogate == "advice" else self.surrogate
        self._variance = second_moment(kind, Game(K, 1, self.margin, self._class.bound))
        self._log_size = math.log(N * len(self._margins))
        self._cost = zeros((len(self._margins), N))  # Σ <s, ℓ̂>, less the smallest
        self._q = zeros((len(self._margins), N))
        self._q[...] = 1.0
        self._rounds = np.zeros(1, np.int64)
        self._room: Table = zeros((K + 2, N), np.float32)
        return {
            "cost": Field(self._cost, 0.0, _FARTHEST),
            "weights": Field(self._q, 0.0, 1.0),
            "rounds": Field(self._rounds, 0, COUNT),
            **drawn,
        }

    def _law(self, one: Batch) -> Array:
        law = np.zeros(self.n_actions)
        hedge.average(self._scores(one), self._q, self._margins, self._kind, one.mask, self._room, law)
        law /= law.sum()
        return laws.floored(law, one, self.mu) if self.mu > 0.0 else law

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        for array in (self._cost, self._q, self._rounds):
            self._journal.keep(array)
        scores = self._scores(one) if loss > 0.0 or self.outside_theory is False else None
        if scores is not None and loss > 0.0:
            hedge.charge(
                scores,
                self._margins,
                self._kind,
                one.mask,
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

    def _scores(self, one: Batch) -> Table:
        """K x N; refused where the bound says nothing of such a context."""
        scores = self._class.scores(one)
        if self.outside_theory is False:
            refuse_outside(_BOUND, self._needs(dense(one.rows), scores))
        return scores

    def _needs(self, rows: Array, scores: Table) -> Iterable[Condition]:
        """What the bound needs of a context with such scores."""
        longest = float(np.linalg.norm(rows, axis=1).max()) if self._class.functions is None else 0.0
        yield Condition("‖x‖ <= 1", longest <= 1.0 + 1e-9, f"a context of norm {longest:g}")
        if self.surrogate == "advice":
            least = float(scores.min()) + 1.0 / self.n_actions  # probabilities sum to 1, for scores sum to 0
            yield Condition("advice that is a law", least >= -1e-6, f"a probability of {least:g}")
