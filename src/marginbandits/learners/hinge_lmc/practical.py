"""Hinge-LMC in its practical form: no horizon, no tuning, a round that costs the same for ever.

For each action a, particles w drawn by Langevin steps from exp(-U_a/τ²), where every round that played a costs

    ℓ (γ + s)_+ + (1 - ℓ)(γ - s)_+ + s²/2,   s = <w, z>

the paper's hinge, twice: the loss pulls the score below -γ, the reward above γ. For scores that sum to zero that is at
most what the two-sided loss estimate charges to all actions, and equal to it for two; here every action's scores are
its own. Rounds count alike, whatever their probability. Played is the action of largest

    mean of s + 2 (variance of s)^{1/2}   over its particles

with a floor μ_t that fades like 1/√t under every action. See `samplers.particles` for the chain, and docs/hinge_lmc.md
for what each choice is worth on real data.

With margin="adapt" each margin of a grid has its own particles, and play is shared among the margins by exponential
weights on their own estimated losses.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", section 3.1.

>>> agent = HingeLMC(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from scipy.special import logsumexp

from marginbandits import laws, weighting
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.factors import square_norm
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.hinge_lmc import faithful
from marginbandits.learners.hinge_lmc.diagnostics import Monitor, RunDiagnostics
from marginbandits.learners.hinge_lmc.files import REPLAYED, relearn, without_young_blocks
from marginbandits.oracles.ridge import Ridge
from marginbandits.reservoir import Reservoir
from marginbandits.samplers.particles import absorb, langevin_step
from marginbandits.samplers.stored_pull import StoredPull
from marginbandits.saving import Archive
from marginbandits.state import Field, zeros
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Choice, Integer, OneOf, Real, Seed, validated

__all__ = ["HingeLMC"]


class HingeLMC(Learner):
    """Optimistic play on `n_particles` posterior samples per action; O(d²) to learn, O(Kd) to act.

    `margin` is γ, in units where a score of ±1 stands for certainty; `temperature` is τ, how widely particles spread
    and so how much is explored; `smoothing` scales the floor μ_t = smoothing/(K√t). `minibatch` rounds are looked at
    again in every step, out of at most `memory` that are kept: 8 (d (Kd + memory) + n_particles memory) bytes
    in all, for d features.
    """

    MARGINS: ClassVar[tuple[float, ...]] = (0.6, 1.2, 2.4)
    """The grid of margin="adapt"; at 2.4 hardly any score reaches it, and the potential is ridge regression's."""

    TURNS: ClassVar[int] = 8
    """A round moves one in eight of its action's particles, in turn, for an eighth of the cost of moving all."""

    STEP: ClassVar[float] = 0.3
    """h: the share of the way to the posterior's mean that a step goes."""

    HOPE: ClassVar[float] = 2.0
    """How many of their own deviations the particles of an action hope for beyond their mean score."""

    TRUST: ClassVar[float] = 0.1
    """Learning rate of the exponential weights over margins, on losses in [0, 1]."""

    constants: ClassVar[Mapping[str, float]] = {"MARGINS": 1e6, "TURNS": 1000, "STEP": 1.0, "HOPE": 1e6, "TRUST": 1e6}
    journals = True
    from_theory = staticmethod(faithful.from_theory)

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        margin: Annotated[float | str, OneOf(Real(above=0), Choice("adapt"))] = 1.2,
        n_particles: Annotated[int, Integer(1)] = 16,
        temperature: Annotated[float, Real(0)] = 0.1,
        regularisation: Annotated[float, Real(1e-9)] = 0.2,
        smoothing: Annotated[float, Real(0)] = 0.02,
        minibatch: Annotated[int, Integer(1, 10**9)] = 64,
        memory: Annotated[int, Integer(1)] = 10_000,
        features: Features = "fourier",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.margin = margin
        self.n_particles = n_particles
        self.temperature = temperature
        self.regularisation = regularisation
        self.smoothing = smoothing
        self.minibatch = minibatch
        self.memory = memory

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        grid = self.MARGINS if self.margin == "adapt" else (float(self.margin),)
        self._margins = zeros((len(grid), self.n_particles)).ravel()
        self._margins.reshape(len(grid), -1)[...] = np.array(grid)[:, None]
        self._ridge = Ridge(n_blocks, n_features, self.regularisation)
        size = max(1, self.memory // n_blocks)
        self._reservoir = Reservoir(n_blocks, size, n_features)
        spread = self.temperature / math.sqrt(self.regularisation)
        self._particles = zeros((n_blocks, len(self._margins), n_features))
        self._rng.standard_normal(out=self._particles)
        self._particles *= spread
        self._pull = StoredPull(n_blocks, len(self._margins), size, n_features)
        self._monitor = Monitor()
        self._log_weights = np.full(len(grid), -math.log(len(grid)))
        return {
            "ridge": self._ridge,
            "reservoir": self._reservoir,
            "pull": self._pull,
            "monitor": self._monitor,
            "particles": Field(self._particles),
            "log_weights": Field(self._log_weights, high=1e-9),
        }

    def _fields(self) -> Mapping[str, Field]:
        return without_young_blocks(super()._fields(), self._ridge, self._reservoir)

    def _check(self) -> None:
        if not self._reservoir.seen.any():
            raise ValueError("reservoir.seen must count the rounds learnt")

    def _restore(self, archive: Archive) -> None:
        young = archive.take(REPLAYED, len(self._particles))
        super()._restore(archive)
        for block in young:
            relearn(self._ridge, self._reservoir, block)

    def _scores(self, one: Batch) -> Array:
        """K x particles."""
        rows = dense(one.rows)
        return np.asarray(rows @ self._particles[0].T if one.shared else self._particles @ rows[0])

    def _guesses(self, scores: Array, one: Batch) -> Array:
        """The action each margin's particles hope most of: margins x K, ties shared."""
        hopeful = np.empty((len(self._log_weights), len(scores)))
        _hope(scores.reshape(len(scores), len(hopeful), self.n_particles), self.HOPE, hopeful)
        return np.array([laws.greedy(each, one) for each in hopeful])

    def _law(self, one: Batch) -> Array:
        guesses = self._guesses(self._scores(one), one)
        law = guesses[0]
        if len(guesses) > 1:
            law = laws.proportional(np.exp(self._log_weights) @ guesses, one)
        return laws.floored(law, one, self.smoothing / (len(one.mask) * math.sqrt(self._reservoir.seen.sum())))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        rng = self._chance()
        self._look(self._scores(one), one, action, loss, probability)
        block, row = one.block(action), dense(one.rows)[one.row(action)]
        self._journal.keep(self._particles, block)
        particles, theta, factor = self._particles[block], self._ridge.theta[block], self._ridge.factor[block]
        self._ridge.learn(dense(one.rows), one.row(action), block, 1.0 - 2.0 * loss)
        nudges = self.temperature * rng.standard_normal(len(particles))
        absorb(particles, self._margins, row, loss, nudges, *self._ridge.last())
        slot = self._reservoir.slot(block, rng)
        if slot >= 0:
            self._pull.forget(block, slot, self._reservoir.rows[block, slot])
            self._reservoir.put(block, slot, row, loss)
            self._refresh(block, slice(0, len(particles)), slice(slot, slot + 1))
        seen, n = int(self._reservoir.seen[block]), len(particles)
        turn = seen % self.TURNS
        some = slice(n * turn // self.TURNS, n * (turn + 1) // self.TURNS)
        self._refresh(block, some, self._reservoir.stretch(block, self.minibatch))
        pull = self._pull.total[block, some] * (seen / self._reservoir.held(block))
        normals = rng.standard_normal(pull.shape)
        langevin_step(particles[some], theta, factor, pull, float(seen), self.STEP, self.temperature, normals)

    def _refresh(self, block: int, some: slice, at: slice) -> None:
        rows, losses = self._reservoir.rows[block, at], self._reservoir.losses[block, at]
        self._pull.refresh(block, some, at, self._particles[block, some], rows, losses, self._margins[some])

    def _look(self, scores: Array, one: Batch, action: int, loss: float, probability: float) -> None:
        """Before learning: how the particles would have done."""
        guesses = self._guesses(scores, one)
        prefer = guesses.argmax(1).repeat(self.n_particles)
        agreement = np.count_nonzero(scores.argmax(0) == prefer) / len(prefer)
        mean, margin = float(scores[action].sum()) / scores.shape[1], self._margins[0]
        potential = loss * max(margin + mean, 0.0) + (1.0 - loss) * max(margin - mean, 0.0)
        self._monitor.observe(agreement, potential, 1.0 / probability)
        if len(guesses) > 1 and len(scores) > 1:
            self._judge(guesses, action, loss, probability)

    def _judge(self, guesses: Array, action: int, loss: float, probability: float) -> None:
        """Exponential weights: each margin is charged the two-sided estimate of its own play's loss."""
        estimate = weighting.mixed(guesses.shape[1], action, loss, max(probability, 0.1), share=0.5)
        self._journal.keep(self._log_weights)
        self._log_weights -= self.TRUST * guesses @ estimate
        self._log_weights -= logsumexp(self._log_weights)

    def diagnostics(self) -> RunDiagnostics:
        """How the run is going; refused before the first round."""
        if self._map is None:
            raise ValueError("there is nothing to diagnose before the first learn")
        weights = np.exp(self._log_weights)
        counted, total, squares, largest, above = self._monitor.weights.tolist()
        agreement, potential = self._monitor.recent()
        until, agreement_curve, potential_curve = self._monitor.curves()
        return RunDiagnostics(
            rounds=int(self._reservoir.seen.sum()),
            agreement=agreement,
            potential=potential,
            spread=self._spread(),
            effective_sample_share=total**2 / (counted * squares),
            largest_weight=largest,
            clipped=above / counted,
            margins=dict(zip(self._margins[:: self.n_particles].tolist(), weights.tolist(), strict=True)),
            until=until,
            agreement_curve=agreement_curve,
            potential_curve=potential_curve,
        )

    def _spread(self) -> float:
        """Over some of the rounds kept, within each margin's particles; NaN where there is no temperature or spread."""
        ratios = []
        for block, particles in enumerate(self._particles):
            for row in self._reservoir.rows[block, : min(16, self._reservoir.held(block))]:
                scores = (particles @ row).reshape(-1, self.n_particles)
                expected = self.temperature**2 * square_norm(self._ridge.factor[block], row)
                if expected > 0.0 and self.n_particles > 1:
                    ratios.append(scores.var(1, ddof=1).mean() / expected)
        return float(np.mean(ratios)) if ratios else math.nan


@kernel
def _hope(scores: Array, hope: float, out: Array) -> None:
    """Mean + hope · deviation of an action's scores, for each margin's particles."""
    n = scores.shape[2]
    for a in range(scores.shape[0]):
        for group in range(scores.shape[1]):
            total = 0.0
            for j in range(n):
                total += scores[a, group, j]
            mean, square = total / n, 0.0
            for j in range(n):
                square += (scores[a, group, j] - mean) ** 2
            out[group, a] = mean + hope * math.sqrt(square / n)
