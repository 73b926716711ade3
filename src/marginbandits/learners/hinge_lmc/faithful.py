"""Hinge-LMC as the paper analyses it: exponential weights over linear scores with the hinge surrogate, sampled.

    θ_j ~ P ∝ exp(-η Σ_s w_s ℓ_s ψ(f(x_s; θ)_{a_s})) on ‖θ‖ <= R     particles, redrawn when the potential changes
    a ~ p̄ = mean_j p^μ(·; θ_j),   p^μ = (1 - Kμ) π_hinge + μ         the play, and the probability that is reported

Only rounds with a positive loss enter the potential. The weight w is an estimate of 1/P(a):

    "mixture"         1/p̄(a), the reported probability: unbiased given the particles, no cap; late and logged feedback
                      is weighted by the probability it was logged with
    "geometric"       as printed: the number of fresh draws θ̃ ~ P, ã ~ p^μ(·; θ̃) until ã = a, at most M
    "rao_blackwell"   the same with every ã replaced by its expectation: equal mean, less variance

Algorithm 1 as printed is `weighting="geometric", n_particles=1`. It plays one draw θ_t, whose own probability
p^μ(a; θ_t) is what `Decision` reports, for it is the true law given the learner's state; the *weight* never uses it,
but estimates the marginal over P (weighting by the particle's own propensity is unbiased too, and ruins the variance).
These two weightings redraw the particle after every round, each draw from a new uniform start, because resampling
needs independent draws. Theirs are draws from P as it is when the loss arrives: for late feedback, logs, and rounds
with a mask, the mixture is the right choice.

With surrogate="ramp" the potential and the play are those of the ramp φ = min(ψ, 1): a round that is wrong costs its
weight and no more, so labels that are wrong far from the border are not believed. That is exponential weights over the
ramp, the paper's inefficient algorithm (its bound is in `theory.exponential_weights`, for finite classes); lines of its
potential, which is not convex, are sampled exactly, and nothing is known of how fast they mix.

η and μ come from `theory.tuning`, once the width of contexts is known: "printed" is the theorem's, "ideal" that of
exponential weights with exact draws (η larger, μ = 0). `from_theory` takes the printed one and refuses contexts of norm
above 1; the class by itself takes the ideal one and shortens such rows to norm 1. The horizon T is part of the tuning:
memory for T rounds is laid out at the start, and round T + 1 is refused, for the theorem ends there.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", Algorithms 1 and 2.

>>> agent = from_theory(n_features=2, n_actions=3, horizon=1000, margin=0.1, seed=0)
>>> for _ in range(200):
...     decision = agent.act([0.6, 0.8])
...     agent.learn([0.6, 0.8], decision, loss=float(decision.action != 2))
>>> agent.act([0.6, 0.8]).distribution.argmax()
np.int64(2)
>>> agent.act([3.0, 4.0])
Traceback (most recent call last):
    ...
ValueError: context must have norm at most 1, got a row of norm 5
"""

import math
import warnings
from typing import Annotated

import numpy as np

from marginbandits import policies, weighting
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features, Identity
from marginbandits.learners.base import Parts
from marginbandits.learners.horizon import HorizonLearner
from marginbandits.projections import ball
from marginbandits.samplers import HingePotential, RampPotential, hit_and_run, projected_langevin, uniform_ball
from marginbandits.scores import Linear, SharedLinear
from marginbandits.state import Field, zeros
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.theory import Setting, exponential_weights_rate, hinge_lmc_tuning
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Choice, Instance, Integer, OneOf, Real, Seed, validated

__all__ = ["FaithfulHingeLMC", "from_theory"]

Count = Annotated[int, Integer(1, 10**9)]
Margin = Annotated[float, Real(above=0)]
Radius = Annotated[float, Real(1)]
Weighting = Annotated[str, Choice("mixture", "geometric", "rao_blackwell")]
Sampler = Annotated[str, Choice("hit_and_run", "smoothed_langevin", "langevin")]
Tuning = Annotated[str, Choice("printed", "ideal")]
Surrogate = Annotated[str, Choice("hinge", "ramp")]
Cap = Annotated[str, Choice("corrected", "printed")]

_SMOOTHING_ERROR = 0.1
"""How much capped Langevin chains may move the potential by smoothing it."""


class FaithfulHingeLMC(HorizonLearner):
    """Algorithm 1 with J = `n_particles` draws; `cap` is M: ⌈K√T⌉ ("corrected") or √T ("printed").

    `sampler` draws particles in `steps` steps each: exact lines ("hit_and_run"), or projected Langevin with the
    smoothing in closed form or averaged over 16 draws. `long_contexts` says what becomes of rows of norm above 1.
    """

    journals = True

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        horizon: Annotated[int, Integer(1, 2**53)] = 1000,
        margin: Margin = 0.1,
        radius: Radius = 1.0,
        surrogate: Surrogate = "hinge",
        n_particles: Count = 10,
        weighting: Weighting = "mixture",
        tuning: Tuning = "ideal",
        cap: Cap = "corrected",
        sampler: Sampler = "hit_and_run",
        steps: Count = 10,
        n_features: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))] = None,
        long_contexts: Annotated[str, Choice("shorten", "refuse")] = "shorten",
        features: Features = Identity(),  # noqa: B008  # a recipe, never changed
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        if surrogate == "ramp" and (tuning != "ideal" or sampler != "hit_and_run"):
            raise ValueError("surrogate='ramp' needs tuning='ideal' and sampler='hit_and_run', which know of it")
        self.horizon, self.margin, self.radius, self.surrogate = horizon, margin, radius, surrogate
        self.n_particles, self.weighting, self.tuning, self.cap = n_particles, weighting, tuning, cap
        self.sampler, self.steps = sampler, steps
        self.n_features, self.long_contexts = n_features, long_contexts

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        zeros((self.n_actions, self.n_actions))  # refused now, where the score class would be too large
        kind = SharedLinear if shape.shared else Linear
        self._scores = kind(self.n_actions, n_features, radius=self.radius)
        self._surrogate = (Ramp if self.surrogate == "ramp" else Hinge)(self.margin)
        setting = Setting.of(self._scores, self.horizon, self.margin)
        tuned = hinge_lmc_tuning(setting, version=self.cap)
        self.eta, self.mu = tuned.eta, tuned.mu
        if self.tuning == "ideal":
            self.eta, self.mu = exponential_weights_rate(setting, surrogate=self.surrogate), 0.0
        self._most_draws = math.ceil(tuned.cap)
        self._costly = zeros((self.horizon, setting.dimension))  # φ of the rounds that cost something
        self._weights = zeros((self.horizon,))  # η w ℓ of those
        self._rounds = np.zeros(2, np.int64)  # how many those are, and how many rounds in all
        self._particles = zeros((self.n_particles, setting.dimension))
        self._particles[...] = uniform_ball(self.n_particles, setting.dimension, self.radius, self._rng)
        longest = self.radius * (1.0 + 1e-9)
        return {
            "costly": Field(self._costly, -2.0, 2.0),
            "weights": Field(self._weights, 0.0, 1e30),
            "rounds": Field(self._rounds, 0, self.horizon),
            "particles": Field(self._particles, -longest, longest),
        }

    def _law(self, one: Batch) -> Array:
        return np.asarray(self._play(self._particles, _context(one), one.mask).mean(0))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._chance()
        context = _context(one)
        self._journal.keep(self._rounds)
        self._journal.keep(self._particles)
        if loss > 0.0:
            weight = self._weight(context, action, probability)
            at = int(self._rounds[0])
            self._journal.keep(self._costly, at)
            self._journal.keep(self._weights, at)
            self._costly[at] = self._scores.gradient(context, action)
            self._weights[at] = self.eta * weight * loss
            self._rounds[0] += 1
        self._rounds[1] += 1
        if self.weighting != "mixture":
            self._particles[...] = self._fresh(self.n_particles)
        elif loss > 0.0:
            self._particles[...] = self._moved(self._particles)

    def _check(self) -> None:
        if self._rounds[0] > self._rounds[1]:
            raise ValueError(f"rounds must have no more that cost something than there were, got {self._rounds}")
        if np.linalg.norm(self._particles, axis=1).max() > self.radius * (1.0 + 1e-9):
            raise ValueError(f"particles must lie in the ball of radius {self.radius}")

    def _learnt(self) -> int:
        return int(self._rounds[1])

    # The algorithm's parts.

    def _play(self, particles: Array, context: Array, available: Mask) -> Array:
        """p^μ(·; θ) of every particle."""
        values = self._surrogate(self._scores.values(particles, context))
        return policies.explore(policies.proportional(values, available), self.mu, available)

    def _weight(self, context: Array, action: int, probability: float) -> float:
        if self.weighting == "mixture":
            return 1.0 / probability
        if self.weighting == "geometric":
            return float(weighting.geometric_weight(lambda: self._draw(context), action, self._most_draws))
        survives = 1.0
        chances: list[float] = []
        while survives > 1e-9 and len(chances) < self._most_draws:
            chances.append(float(self._play(self._fresh(1), context, self._everything)[0, action]))
            survives *= 1.0 - chances[-1]
        return float(weighting.rao_blackwell_weight([*chances, 0.0][: self._most_draws]))

    def _draw(self, context: Array) -> int:
        """A fresh action ã ~ p^μ(·; θ̃), θ̃ ~ P."""
        return policies.sample(self._play(self._fresh(1), context, self._everything)[0], self._rng.random())

    def _fresh(self, n: int) -> Array:
        """Independent draws from P, each from a new uniform start."""
        return self._moved(uniform_ball(n, self._scores.dimension, self.radius, self._rng))

    def _moved(self, start: Array) -> Array:
        """`steps` steps of the sampler for P from the given points."""
        n = self._rounds[0]
        if n == 0:
            return start  # uniform already
        kind = RampPotential if self.surrogate == "ramp" else HingePotential
        potential = kind(self._costly[:n], self._weights[:n], self.margin)
        if self.sampler == "hit_and_run":
            return hit_and_run(potential, start, self._rng, radius=self.radius, n_steps=self.steps)
        u, step = potential.smoothing(_SMOOTHING_ERROR)
        u, step = min(u, self.radius), min(step, 0.01 * self.radius**2 / self._scores.dimension)
        closed = self.sampler == "smoothed_langevin"
        return projected_langevin(
            potential.smoothed_gradient(u) if closed else potential.gradient,
            start,
            self._scores.project,
            self._rng,
            step=step,
            n_steps=self.steps,
            smoothing=0.0 if closed else u,
            n_draws=16,
        )


def _context(one: Batch) -> Array:
    """A vector, or a matrix of one row per action, of norm at most 1."""
    rows = ball(dense(one.rows), 1.0)
    return rows if one.shared else np.asarray(rows[0])


@validated
def from_theory(
    *,
    n_features: Count,
    n_actions: ActionCount,
    horizon: Count,
    margin: Margin,
    radius: Radius = 1.0,
    surrogate: Surrogate = "hinge",
    weighting: Weighting = "mixture",
    tuning: Tuning = "printed",
    cap: Cap = "corrected",
    n_particles: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))] = None,
    sampler: Sampler = "hit_and_run",
    steps: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))] = None,
    long_contexts: Annotated[str, Choice("shorten", "refuse")] = "refuse",
    seed: Seed = None,
) -> FaithfulHingeLMC:
    """Hinge-LMC with the paper's parameters, for vector or K x d contexts of width `n_features` and norm at most 1.

    `n_particles` is 10 for the mixture and 1, as printed, otherwise. `steps` is the sampler's steps for a draw. The
    theorem asks Langevin for N steps that nobody can wait for: without `steps` a warning says how many, and a hundred
    are made, of a size that suits a hundred. Hit-and-run has no N: 10 lines from where each particle was, or 10 for
    each dimension where every draw starts anew.
    """
    restarts = weighting != "mixture"
    dimension = max(1, n_actions - 1) * n_features
    if steps is None and sampler != "hit_and_run":
        steps = 100
        setting = Setting.of(Linear(n_actions, n_features, radius=radius), horizon, margin)
        asked = {version: hinge_lmc_tuning(setting, version=version) for version in ("printed", "corrected")}
        warnings.warn(
            f"the theorem asks for 10^{asked['printed'].log10_steps:.0f} Langevin steps for every draw (its proof, "
            f"with constants, for 10^{asked['corrected'].log10_steps:.0f}), each averaging "
            f"10^{asked['corrected'].log10_draws:.0f} gradients; {steps} are made, and the theorem does not cover "
            "them: give steps= to choose, or sampler='hit_and_run'",
            stacklevel=2,
        )
    return FaithfulHingeLMC(
        n_actions,
        horizon=horizon,
        margin=margin,
        radius=radius,
        surrogate=surrogate,
        n_particles=(1 if restarts else 10) if n_particles is None else n_particles,
        weighting=weighting,
        tuning=tuning,
        cap=cap,
        sampler=sampler,
        steps=(10 * dimension if restarts else 10) if steps is None else steps,
        n_features=n_features,
        long_contexts=long_contexts,
        seed=seed,
    )
