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

Draws are hit-and-run lines, or Langevin's (`samplers.langevin`), and then there are two chains:

    "theorem"     Algorithm 2: every draw from θ = 0, with u, λ, α = R²/N and m of `theory.hinge_lmc_tuning`; N steps
    "practical"   u and α that `steps` steps can use, no λ, m = 16, from where the particle was; no theorem

With surrogate="ramp" the potential and the play are those of the ramp φ = min(ψ, 1): a round that is wrong costs its
weight and no more, so labels that are wrong far from the border are not believed. That is exponential weights over the
ramp, the paper's inefficient algorithm (its bound is in `theory.exponential_weights`, for finite classes); lines of its
potential, which is not convex, are sampled exactly, and nothing is known of how fast they mix.

η and μ come from `theory.tuning`, once the width of contexts is known: "printed" is the theorem's, "ideal" that of
exponential weights with exact draws (η larger, μ = 0). `from_theory` takes the printed one and refuses contexts of norm
above 1; the class by itself takes the ideal one and shortens such rows to norm 1. The horizon T is part of the tuning:
memory for T rounds is laid out at the start, and round T + 1 is refused, for the theorem ends there.

The printed theorem needs a bound B of the scores that is at least 1 and at least γ: where scores are smaller, B = 1 is
such a bound and is taken, and γ > B is refused by `from_theory`, as are a chain shorter than Algorithm 2's and T = 1,
but for `outside_theory=True`. No condition says how well lines have mixed, or how many particles stand for P.

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

import dataclasses
import math
from collections.abc import Iterable
from typing import Annotated

import numpy as np

from marginbandits import policies, weighting
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features, Identity
from marginbandits.learners.base import Parts
from marginbandits.learners.conditions import Condition, OutsideTheory
from marginbandits.learners.horizon import HorizonLearner
from marginbandits.projections import ball
from marginbandits.samplers import HingePotential, RampPotential, hit_and_run, projected_langevin, uniform_ball
from marginbandits.scores import Linear, SharedLinear
from marginbandits.state import Field, zeros
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.theory import HingeLMCTuning, Setting, exponential_weights_rate, hinge_lmc_tuning
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
Chain = Annotated[str, Choice("theorem", "practical")]

_SMOOTHING_ERROR = 0.1
"""How much practical Langevin chains may move the potential by smoothing it."""

_MOST_STEPS = 10**9
_PRACTICAL_STEPS = 100


class FaithfulHingeLMC(HorizonLearner):
    """Algorithm 1 with J = `n_particles` draws; `cap` is M: ⌈K√T⌉ ("corrected") or √T ("printed").

    `sampler` draws particles in `steps` steps each: exact lines ("hit_and_run"), or projected Langevin with the
    smoothing in closed form, or averaged over draws; `chain` is whose. `long_contexts` says what becomes of rows of
    norm above 1, `outside_theory` whether the theorem's conditions are held to.
    """

    journals = True
    theorem = "Theorem proj_lmc"

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
        chain: Chain = "practical",
        steps: Count = 10,
        n_features: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))] = None,
        long_contexts: Annotated[str, Choice("shorten", "refuse")] = "shorten",
        outside_theory: OutsideTheory = None,
        features: Features = Identity(),  # noqa: B008  # a recipe, never changed
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        if surrogate == "ramp" and (tuning != "ideal" or sampler != "hit_and_run"):
            raise ValueError("surrogate='ramp' needs tuning='ideal' and sampler='hit_and_run', which know of it")
        self.horizon, self.margin, self.radius, self.surrogate = horizon, margin, radius, surrogate
        self.n_particles, self.weighting, self.tuning, self.cap = n_particles, weighting, tuning, cap
        self.sampler, self.chain, self.steps = sampler, chain, steps
        self.n_features, self.long_contexts, self.outside_theory = n_features, long_contexts, outside_theory
        self._hold_to_theory()

    def _needs(self, shared: bool) -> Iterable[Condition]:
        kind = SharedLinear if shared else Linear
        setting = self._setting(kind(self.n_actions, self.n_features or 1, radius=self.radius))
        g, B, T = self.margin, setting.bound, self.horizon
        size = 2.0 * setting.radius * setting.lipschitz * T * self.n_actions
        if self.tuning == "ideal":
            yield Condition("γ < 2RLTK", g < size, f"margin={g:g} and 2RLTK = {size:g}")
        else:
            yield Condition("γ <= B", g <= B, f"margin={g:g} and B = {B:g}")
            yield Condition("T >= 2", T >= 2, f"horizon={T}")
        if self.sampler != "hit_and_run":
            asked = hinge_lmc_tuning(setting, version=self.cap).log10_steps if g < size / 2.0 else 0.0
            yield Condition("draws within τ, and so μ > 0", self.tuning == "printed", f"tuning={self.tuning!r}")
            yield Condition("Algorithm 2's chain", self.chain == "theorem", f"chain={self.chain!r}")
            enough = math.log10(self.steps) >= asked - 1e-9
            yield Condition(f"N = 10^{asked:.1f} Langevin steps for every draw", enough, f"steps={self.steps}")

    def _setting(self, scores: Linear | SharedLinear) -> Setting:
        return _setting_of(scores, self.horizon, self.margin, self.tuning)

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        zeros((self.n_actions, self.n_actions))  # refused now, where the score class would be too large
        kind = SharedLinear if shape.shared else Linear
        self._scores = kind(self.n_actions, n_features, radius=self.radius)
        self._surrogate = (Ramp if self.surrogate == "ramp" else Hinge)(self.margin)
        setting = self._setting(self._scores)
        self.tuned: HingeLMCTuning = hinge_lmc_tuning(setting, version=self.cap)
        self.eta, self.mu = self.tuned.eta, self.tuned.mu
        if self.tuning == "ideal":
            self.eta, self.mu = exponential_weights_rate(setting, surrogate=self.surrogate), 0.0
        self._most_draws = math.ceil(self.tuned.cap)
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
        """`steps` steps of the sampler for P from the given points; Algorithm 2 has its own start."""
        n = self._rounds[0]
        if n == 0:
            return start  # uniform already
        kind = RampPotential if self.surrogate == "ramp" else HingePotential
        potential = kind(self._costly[:n], self._weights[:n], self.margin)
        if self.sampler == "hit_and_run":
            return hit_and_run(potential, start, self._rng, radius=self.radius, n_steps=self.steps)
        if self.chain == "theorem":
            u, ridge, start = self.tuned.smoothing, self.tuned.ridge, np.zeros_like(start)
            step, n_draws = 10.0**self.tuned.log10_step, math.ceil(10.0**self.tuned.log10_draws)
        else:
            u, step = potential.smoothing(_SMOOTHING_ERROR)
            u, step = min(u, self.radius), min(step, 0.01 * self.radius**2 / self._scores.dimension)
            ridge, n_draws = 0.0, 16
        closed = self.sampler == "smoothed_langevin"
        return projected_langevin(
            potential.smoothed_gradient(u) if closed else potential.gradient,
            start,
            self._scores.project,
            self._rng,
            step=step,
            n_steps=self.steps,
            smoothing=0.0 if closed else u,
            n_draws=1 if closed else n_draws,
            ridge=ridge,
        )


def _setting_of(scores: Linear | SharedLinear, horizon: int, margin: float, tuning: str) -> Setting:
    """The class's constants; the printed theorem asks for a B of 1 at least, which bounds smaller scores too."""
    setting = Setting.of(scores, horizon, margin)
    return dataclasses.replace(setting, bound=max(1.0, setting.bound)) if tuning == "printed" else setting


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
    chain: Chain = "theorem",
    steps: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))] = None,
    long_contexts: Annotated[str, Choice("shorten", "refuse")] = "refuse",
    outside_theory: bool = False,
    seed: Seed = None,
) -> FaithfulHingeLMC:
    """Hinge-LMC with the paper's parameters, for vector or K x d contexts of width `n_features` and norm at most 1.

    `n_particles` is 10 for the mixture and 1, as printed, otherwise. `steps` is the sampler's steps for a draw:
    without it, the N of Algorithm 2 for Langevin, which nobody can wait for but at toy sizes, or 100 of the practical
    chain. Hit-and-run has no N: 10 lines from where each particle was, or 10 for each dimension where every draw starts
    anew.
    """
    restarts = weighting != "mixture"
    if steps is None and sampler == "hit_and_run":
        steps = 10 * max(1, n_actions - 1) * n_features if restarts else 10
    elif steps is None:
        steps = _PRACTICAL_STEPS
        if chain == "theorem":
            scores = Linear(n_actions, n_features, radius=radius)
            asked = hinge_lmc_tuning(_setting_of(scores, horizon, margin, tuning), version=cap)
            if asked.log10_steps > math.log10(_MOST_STEPS):
                raise ValueError(
                    f"steps must be at most {_MOST_STEPS:,}, and {_theorem_asks(asked)}; sampler='hit_and_run' is "
                    "exact on every line, and chain='practical' with outside_theory=True makes a hundred steps"
                )
            steps = math.ceil(10.0**asked.log10_steps * (1.0 - 1e-9))  # a logarithm has no more digits
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
        chain=chain,
        steps=steps,
        n_features=n_features,
        long_contexts=long_contexts,
        outside_theory=outside_theory,
        seed=seed,
    )


def _theorem_asks(asked: HingeLMCTuning) -> str:
    steps, draws = asked.log10_steps, asked.log10_draws
    return f"the theorem asks for 10^{steps:.0f} Langevin steps for every draw, each averaging 10^{draws:.0f} gradients"
