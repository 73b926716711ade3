"""Hinge-LMC in its practical form: no horizon, no tuning, a round that costs the same for ever.

For each action a, particles w drawn by Langevin steps from exp(-U_a/τ²), where every round that played a costs the
squared hinge on both sides of the margin γ,

    ℓ (γ + s)_+²/2 + (1 - ℓ)(γ - s)_+²/2,   s = <w, z>:

the loss pulls the score below -γ, the reward above γ, and beyond the margin a round that agrees costs nothing. Its
minimiser is γ E[1 - 2ℓ | x] where the class has it, so scores remain comparable with regression; where it has not,
scores grow where the best action is clear, instead of paying for being too right. Rounds count alike, whatever their
probability. Played is the action of largest

    mean of s + hope · (variance of s)^{1/2}   over its particles

with a floor μ_t that fades like 1/√t under every action. The first rounds are learnt anew once the scale of the
features is known (`early`). See `samplers.particles` for the chain, and docs/hinge_lmc.md for what each choice is worth
on real data. With surrogate="hinge" a round costs the paper's hinge, on both sides, and s²/2.

Scores may be networks, `scores=Networks()`, which learn from the same potential (`networks`, and docs/networks.md).

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", section 3.1; Rosasco et al. (2004), "Are loss
functions all the same?".

>>> agent = HingeLMC(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

import math
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Annotated, Any, ClassVar, Unpack, cast

import numpy as np

from marginbandits import laws
from marginbandits.contexts import CODES, Batch, Shape, Sparse, dense
from marginbandits.factors import square_norm
from marginbandits.features import MaybeFeatures, Standardise
from marginbandits.held import chance
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.early import Round
from marginbandits.learners.hinge_lmc import faithful
from marginbandits.learners.hinge_lmc.diagnostics import Monitor, RunDiagnostics
from marginbandits.learners.hinge_lmc.files import REPLAYED, relearn, without_young_blocks
from marginbandits.learners.hinge_lmc.networks import LESS, LESS_OF_A_BAG, NetworkPosterior, refuse_idle
from marginbandits.learners.hinge_lmc.rounds import VECTORS, LastRound, learn_one, n_normals, play_one, pointed
from marginbandits.learners.hinge_lmc.wide import WIDE_ROUND, WidePosterior
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.swift import compiled_rounds
from marginbandits.normals import fill
from marginbandits.oracles.chains import Chains, chains
from marginbandits.oracles.ridge import Ridge
from marginbandits.reservoir import Reservoir
from marginbandits.samplers.stored_pull import StoredPull
from marginbandits.saving import Archive
from marginbandits.scores import Networks
from marginbandits.state import COUNT, Field, zeros
from marginbandits.surrogates import TWO_SIDED
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Integer, Real, validated

__all__ = ["HingeLMC"]


class HingeLMC(Learner):
    """Optimistic play on `n_particles` posterior samples per action; O(d²) to learn, O(Kd) to act.

    `margin` is γ; `temperature` is τ, how widely particles spread, and `hope` how many of their deviations they are
    taken beyond their mean: how much is explored; `smoothing` scales the floor μ_t = smoothing/(K√t). A round moves
    `moves` of its action's particles, in turn, the share `step` of the way to the posterior's mean, and looks again at
    `minibatch` rounds out of at most `memory` of the action that are kept: 4K (d (d + memory) + 2 n_particles memory)
    bytes in all, for d features. Those that have a name have scales of their own, and are learnt in single precision;
    others in double, which takes up to twice as much. Rounds that are no longer kept count as least squares, without a
    margin.

    With `scores=Networks(...)` the networks take the particles' place. Then of these parameters `surrogate`, `margin`,
    `hope` and `smoothing` count, and those of `Networks`; the others are refused. `features` are "raw" if none are
    given (without a bias, if they have a body), else "fourier". "squared_error" is for them only: what they would be
    without a margin.
    """

    EARLY: ClassVar[int] = 256
    constants: ClassVar[Mapping[str, float]] = {"EARLY": 2.0**20}
    journals = True
    changes_actions = True
    takes_sparse = True
    from_theory = staticmethod(faithful.from_theory)
    _compiled: ClassVar[Any] = compiled_rounds(dense=VECTORS, sparse=WIDE_ROUND)
    live = frozenset({"hope", "smoothing"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        scores: Annotated[Networks | None, Instance(Networks, type(None))] = None,
        surrogate: Annotated[str, Choice(*TWO_SIDED)] = "squared_hinge",
        margin: Annotated[float, Real(1e-6, 1e6)] = 1.0,
        n_particles: Annotated[int, Integer(1)] = 16,
        temperature: Annotated[float, Real(0, 1e6)] = 0.1,
        hope: Annotated[float, Real(0, 1e6)] = 1.0,
        moves: Annotated[int, Integer(1)] = 2,
        step: Annotated[float, Real(above=0, high=1)] = 0.3,
        regularisation: Annotated[float, Real(1e-9)] = 0.2,
        smoothing: Annotated[float, Real(0)] = 0.02,
        minibatch: Annotated[int, Integer(1, 10**9)] = 64,
        memory: Annotated[int, Integer(1)] = 1_000,
        features: MaybeFeatures = None,
        **options: Unpack[Options],
    ) -> None:
        if scores is None and surrogate == "squared_error":
            raise ValueError("surrogate='squared_error' needs scores=Networks(): linear scores have LinUCB for it")
        if features is None:  # a body knows what its columns are: no bias among them
            bare = scores is not None and scores.body is not None
            features = Standardise(bias=False) if bare else "fourier" if scores is None else "raw"
        super().__init__(n_actions, features=features, **options)
        self.takes_sparse = scores is None or scores.bag is not None
        self._reader.image = None if scores is None else scores.image
        self._tried: Shape | None = None
        self.scores = scores
        self.surrogate = surrogate
        self.margin = margin
        self.n_particles = n_particles
        self.temperature = temperature
        self.hope = hope
        self.moves = moves
        self.step = step
        self.regularisation = regularisation
        self.smoothing = smoothing
        self.minibatch = minibatch
        self.memory = memory
        if scores is not None:
            refuse_idle(self, signature(HingeLMC))
            self._smaller = LESS if scores.bag is None else LESS_OF_A_BAG

    def _laws_now(self, batch: Batch) -> Array:
        if self._map is None and self.scores is not None:
            self._try(batch)
        return super()._laws_now(batch)

    def _try(self, batch: Batch) -> None:
        """Refuse, before the first round, what could not be learnt from; what has been tried is remembered."""
        width, sparse = batch.rows.shape[1], isinstance(batch.rows, Sparse)
        shape = Shape(batch.shared, width, sparse and self._keeps_sparse(width), width == CODES)
        if shape != self._tried:
            self._journal.begin()
            try:
                self._start(shape)
            finally:
                self._journal.undo()
            self._tried = shape

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        self._squared = self.surrogate != "hinge"
        self._networks = self._wide = None
        if shape.sparse and self.scores is None:
            self._wide = WidePosterior(n_blocks, n_features, self.regularisation)
        if self._wide is not None:
            return {"wide": self._wide}
        # What is named has scales of its own, and columns of about one: single precision is enough for it.
        number = np.float32 if isinstance(self.features, str) else np.float64
        if self.scores is not None:
            if self.scores.bag is not None and not shape.sparse:
                raise ValueError(f"bag={self.scores.bag} is for sparse rows, or names and values, got dense features")
            self._networks = NetworkPosterior(
                self.scores,
                n_blocks,
                n_features,
                seed=int(self._rng.integers(COUNT)),
                surrogate=self.surrogate,
                margin=self.margin,
                precision=number,
            )
            self._monitor = self._networks.monitor
            return {"networks": self._networks}
        self._target = self.margin if self._squared else 1.0
        self._ridge = Ridge(n_blocks, n_features, self.regularisation, number)
        self._reservoir = Reservoir(n_blocks, self.memory, n_features, number)
        self._particles: Array = zeros((n_blocks, self.n_particles, n_features), number)
        self._scatter()
        self._pull = StoredPull(n_blocks, self.n_particles, self.memory, n_features)
        self._last = LastRound(self._particles, self._pull, self.moves, self.minibatch)
        self._monitor = Monitor()
        return {
            "ridge": self._ridge,
            "reservoir": self._reservoir,
            "pull": self._pull,
            "monitor": self._monitor,
            "last": self._last,
            "particles": Field(self._particles, per_block=True),
        }

    @property
    def noisy(self) -> int:  # type: ignore[override]  # as many as a round of particles takes
        """Normal draws of a round."""
        return 0 if self._wide is not None else n_normals(self.n_particles, self.moves, self._particles.shape[2])

    def _may_hasten(self) -> bool:
        return self._networks is None and super()._may_hasten()

    def _arrays(self) -> tuple[Any, ...]:
        wide = self._wide
        if wide is None:
            state, row = self._all(), np.empty((1, self._particles.shape[2]))
            return state, self.smoothing, *pointed(row, self.n_actions, np.empty(self.noisy), state)
        learning = wide.mean, wide.precision, wide.rounds, self.margin, self._squared
        return *learning, self.hope * self.temperature, self.smoothing, *np.empty((2, self.n_actions))

    def _scatter(self) -> None:
        """Particles as they are before any round: draws of the Gaussian part."""
        fill(chance(self._rng), self._particles.reshape(-1))
        self._particles *= self.temperature / math.sqrt(self.regularisation)

    def _anew(self, rounds: Iterable[Round], *newest: Any) -> None:
        if self._networks is not None:
            self._networks.relearn(rounds)
            self._update(*newest)
            return
        self._chance()
        for part in (self._ridge, self._reservoir, self._pull, self._monitor):
            part.begin()
        self._scatter()
        self._absorb(rounds, -1)  # the loop has kept everything

    def _fields(self) -> Mapping[str, Field]:
        if self._forgetting is not None or not self._has_particles:
            return super()._fields()
        return without_young_blocks(super()._fields(), self._ridge, self._reservoir, self._target)

    def _restore(self, archive: Archive) -> None:
        if self._forgetting is not None or not self._has_particles:
            super()._restore(archive)
            return
        young = archive.take(REPLAYED, len(self._particles))
        super()._restore(archive)
        for block in young:
            relearn(self._ridge, self._reservoir, block, self._target)

    @property
    def _has_particles(self) -> bool:
        return self._wide is None and self._networks is None

    def _scores(self, one: Batch) -> Array:
        """K x particles."""
        rows = dense(one.rows)
        return np.asarray(rows @ self._particles[0].T if one.shared else self._particles @ rows[0])

    def _law(self, one: Batch) -> Array:
        n = len(one.mask)
        rounds = self._monitor.rounds if self._wide is None else float(self._wide.rounds[0])
        floor = self.smoothing / (n * math.sqrt(max(rounds, 1.0)))
        if self._wide is not None:
            means, deviations = self._wide.spread(one)
            hopeful = means + self.hope * self.temperature * deviations
            return laws.floored(laws.greedy(hopeful, one), one, floor)
        if self._networks is not None:
            means, deviations = self._networks.scores(one)
            return laws.floored(laws.greedy(means + self.hope * deviations, one), one, floor)
        law = np.empty(n)
        if not play_one(dense(one.rows), one.shared, one.starts, one.mask, self._particles, self.hope, floor, law):
            raise FloatingPointError("the model's numbers are no longer finite")
        return law

    def _widths(self, batch: Batch) -> Array:
        if self._wide is not None:
            deviations = self.temperature * self._wide.spread(batch)[1]
        elif self._networks is not None:
            deviations = self._networks.scores(batch)[1]
        else:
            deviations = self._scores(batch).std(1)
        return np.asarray(0.5 * self.hope * deviations / (self.margin if self._squared else 1.0))

    def _predicted(self, batch: Batch) -> Array:
        apart = self._networks if self._wide is None else self._wide
        scores = self._scores(batch).mean(1) if apart is None else apart.scores(batch)[0]
        return np.asarray(0.5 - 0.5 * scores / (self.margin if self._squared else 1.0))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        if self._wide is not None:
            self._wide.learn(one, action, loss, self.margin, self._squared)
            return
        if self._networks is not None:
            self._networks.learn(one, action, loss, probability, self.hope)
            return
        self._absorb([(one, action, loss, probability)], self._journal.stamp)

    def _absorb(self, rounds: Iterable[Round], stamp: int) -> None:
        state, normals = self._all(), np.empty(self.noisy)
        for one, action, loss, probability in rounds:
            fill(self._source(), normals)
            learn_one(dense(one.rows), one.shared, len(one.mask), action, loss, probability, normals, state, stamp)

    def _all(self) -> tuple[Any, ...]:
        """What a round of particles is learnt by, and changes."""
        ridge, kept, pull, last, seen = self._ridge, self._reservoir, self._pull, self._last, self._monitor
        return (
            self.margin,
            self._squared,
            self.hope,
            self.temperature,
            self.step,
            self.moves,
            self.minibatch,
            ridge.models,
            *ridge.room(),
            kept.rows,
            kept.losses,
            kept.seen,
            kept.next,
            kept.gone,
            kept.before,
            self._particles,
            pull.slopes,
            pull.total,
            last.particles,
            last.total,
            last.slopes,
            last.places,
            seen.bins,
            seen.state,
            seen.weights,
            seen.before,
        )

    def diagnostics(self) -> RunDiagnostics:
        """How the run is going; refused before the first round."""
        with self._lock:
            if self._map is None:
                raise ValueError("there is nothing to diagnose before the first learn")
            return cast(HingeLMC, self._playing)._diagnosed()

    def chains(self) -> Chains:
        """Whether networks have mixed: a copy of them takes 1,000 steps more. Refused before the first round.

        Those of the bootstrap, which is usual, are no chains of one law: R̂ and spread then say how far they disagree.
        """
        with self._lock:
            if self.scores is None:
                raise ValueError("chains are those of networks: this learner has no scores=Networks()")
            networks = None if self._map is None else cast(HingeLMC, self._playing)._networks
            if networks is None:
                raise ValueError("there are no chains before the first learn")
            return chains(networks.ensemble, draws=100, every=10)

    def _diagnosed(self) -> RunDiagnostics:
        if self._wide is not None:
            raise ValueError("there is nothing to diagnose of wide contexts: no particles are drawn for them")
        if not self._monitor.rounds:
            raise ValueError("there is nothing to diagnose before the next learn: what was learnt has been given up")
        counted, total, squares, largest, above = self._monitor.weights.tolist()
        agreement, potential = self._monitor.recent()
        until, agreement_curve, potential_curve = self._monitor.curves()
        return RunDiagnostics(
            rounds=int(self._monitor.rounds),
            agreement=agreement,
            potential=potential,
            spread=self._spread(),
            effective_sample_share=total**2 / (counted * squares),
            largest_weight=largest,
            clipped=above / counted,
            beyond=self._beyond(),
            until=until,
            agreement_curve=agreement_curve,
            potential_curve=potential_curve,
        )

    def _spread(self) -> float:
        """Over some of the rounds kept; NaN where there is no temperature or spread, or no Gaussian part."""
        if self._networks is not None:
            return math.nan
        ratios = []
        for block, particles in enumerate(self._particles):
            for row in self._reservoir.rows[block, : min(16, self._reservoir.held(block))]:
                expected = self.temperature**2 * square_norm(self._ridge.models[block], row)
                if expected > 0.0 and self.n_particles > 1:
                    ratios.append((particles @ row).var(ddof=1) / expected)
        return float(np.mean(ratios)) if ratios else math.nan

    def _beyond(self) -> float:
        """The share of (particle, round kept) pairs whose score was beyond the margin when last looked at."""
        if self._networks is not None:
            return self._networks.ensemble.beyond()
        held = sum(self._reservoir.held(block) for block in range(len(self._particles)))
        return float(np.count_nonzero(self._pull.slopes)) / (held * self.n_particles)
