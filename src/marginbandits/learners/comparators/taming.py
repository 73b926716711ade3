"""ILOVETOCONBANDITS: importance-weighted low-variance epoch-timed oracleized contextual bandits, over a finite class.

Rounds and contexts are drawn independently from one law. At the end of epoch m, after τ_m = 2^{m-1} rounds, with
R̂(π) the mean of r 1{π(x) = a}/p and b_π = (max R̂ - R̂(π))/(ψμ_m), find weights Q >= 0 of sum at most 1 over policies:

    Σ_π Q(π) b_π <= 2K                                             low regret
    Ê_x[1/Q^μ(π(x) | x)] <= 2K + b_π  for all π                    low variance,  Q^μ = (1 - Kμ) Q + μ
    μ_m = min{1/(2K), √(ln(16 τ_m² N/δ)/(K τ_m))},  ψ = 100

and play Q̃^μ in epoch m + 1, Q̃ being Q with what is left of 1 on the policy of largest R̂. Coordinate descent finds Q:
scale it down while Σ Q(2K + b) > 2K; then, while some π has D_π = V_π - (2K + b_π) > 0, V_π the left side above and S_π
the mean of 1/Q^μ(π(x) | x)², add (V_π + D_π)/(2(1 - Kμ) S_π) to Q(π). It ends within 4 ln(1/(Kμ))/μ additions.

Regret is of order √(KT ln(TN/δ)) + K ln(TN/δ) with probability 1 - δ (`theory.taming_regret` has the constants). With
ψ = 100 that is about large T: low regret alone allows 2Kψμ a round, more than 1 up to millions of rounds, and till then
play stays near uniform; with its constants the bound is vacuous up to hundreds of millions. So many can be played
because the law is the same throughout an epoch (`play_epochs`). A smaller `psi` plays better and has no theorem.

Ê_x is over the contexts so far, while policies tell at most `SAMPLE` of them apart; from then on over those. The
calls of an ERM oracle are an enumeration here, of N. `Cover` is the online form for large classes.

Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), "Taming the monster: a fast and simple algorithm for contextual
bandits". The optimisation problem, its solution, ψ and μ are the paper's; tests check both constraints after every
epoch.

>>> import numpy as np
>>> corners = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])  # "always the first", "always the second", for x = 1
>>> agent = ILOVETOCONBANDITS(n_actions=2, regressors=corners, psi=1.0, seed=0)
>>> for _ in range(600):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> agent.law([1.0]).round(2), agent.epoch
(array([0.14, 0.86]), 10)
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np

from marginbandits import laws
from marginbandits.arrays import Numbers
from marginbandits.contexts import LARGEST, Batch, dense, per_action
from marginbandits.features import MaybeFeatures
from marginbandits.learners.base import Parts
from marginbandits.learners.finite_class import Radius, Regressors
from marginbandits.learners.policy_class import Columns, PolicyLearner
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory import Bound, taming_floor, taming_regret
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Horizon, Instance, Integer, Real, Seed, validated

__all__ = ["ILOVETOCONBANDITS"]

_FARTHEST = 1e100


class ILOVETOCONBANDITS(PolicyLearner):
    """A sparse distribution over policies of low regret and low variance, solved for anew in each epoch."""

    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "with ψ = 100 play stays near uniform for millions of rounds"
    }
    SAMPLE: ClassVar[int] = 512

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        regressors: Regressors = 100,
        psi: Annotated[float, Real(1e-6, 1e6)] = 100.0,
        delta: Annotated[float, Real(1e-12, 1)] = 0.05,
        radius: Radius = 1.0,
        features: MaybeFeatures = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            n_actions,
            regressors=regressors,
            contexts=None,
            horizon=COUNT,
            radius=radius,
            features=features,
            seed=seed,
        )
        self.psi, self.delta = psi, delta

    @property
    def epoch(self) -> int:
        """m: how many epochs have ended."""
        return 0 if self._map is None else self._learnt().bit_length()

    @property
    def mu(self) -> float:
        """μ of the epoch that ended last."""
        return taming_floor(self.n_policies, self.n_actions, 2 ** max(self.epoch - 1, 0), delta=self.delta)

    @property
    def allocation(self) -> Array:
        """Q, whose sum is at most 1."""
        return np.array(self._q)

    @validated
    def bound(self, rounds: Horizon) -> Bound:
        """What the theory promises for so many rounds, drawn independently."""
        bound = taming_regret(self.n_policies, self.n_actions, rounds, delta=self.delta, psi=self.psi)
        all_seen = self._map is None or not self._pool.full
        return replace(bound, conditions={**bound.conditions, "all kinds of contexts are kept": all_seen})

    def constraints(self) -> tuple[float, float]:
        """Σ Q b - 2K, and the largest V_π - 2K - b_π: at the end of an epoch neither is positive."""
        bad, K2 = self._bad(), 2.0 * self.n_actions
        return float(self._q @ bad) - K2, float((self._inverse(self._q, 1) - K2 - bad).max())

    @validated
    def play_epochs(
        self,
        contexts: Annotated[Array, Numbers(2, low=-LARGEST, high=LARGEST)],
        rewarded: Annotated[Array, Numbers(2, low=0, high=1)],
        rounds: Annotated[int, Integer(1, COUNT)],
        rng: Annotated[np.random.Generator, Instance(np.random.Generator)],
    ) -> Array:
        """Play so many independent rounds and learn from them, by whole epochs: billions, where contexts are few.

        Each of the `contexts`, vectors, is as likely; `rewarded` says of each, and of each action, how likely a reward
        of 1 is, the others being 0. Returns how often each action is played on each, in expectation by the laws.

        Throughout an epoch the law stays as it is, so how often each action of each context is played, and rewarded, is
        multinomial; and all that is kept of a round, a count of the context and r/p of policies, are sums. An epoch
        leaves the learner as its rounds would, up to rounding; only their order is not drawn.

        >>> corners = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])
        >>> agent = ILOVETOCONBANDITS(n_actions=2, regressors=corners, seed=0)
        >>> agent.learn([1.0], agent.act([1.0]), loss=0.0)
        >>> chances = np.array([[0.1, 0.9]])
        >>> played = agent.play_epochs(np.array([[1.0]]), chances, 2**40 - 1, np.random.default_rng(0))
        >>> agent.epoch, bool(played[0, 0] < 0.01 * played.sum())
        (41, True)
        """
        with self._lock:
            if self._map is None or self._shape is None or self._state is None:
                raise ValueError(
                    "play_epochs must wait for the first round learnt: by its context the class is laid out"
                )
            wanted = (len(contexts), self._shape.width), (len(contexts), self.n_actions)
            if self._shape.shared or (contexts.shape, rewarded.shape) != wanted or not len(contexts):
                shapes = f"{contexts.shape} and {rewarded.shape}"
                raise ValueError(f"contexts and rewarded must be of shapes {wanted[0]} and {wanted[1]}, got {shapes}")
            if self._learnt() + rounds > COUNT:
                raise ValueError(
                    f"rounds must be at most {COUNT - self._learnt():,}, after those learnt, got {rounds:,}"
                )
            self._journal.begin()
            self._journal.keep_all(self._state)
            try:
                played = self._play_epochs(contexts, rewarded, rounds, rng)
            except BaseException:
                self._journal.undo()
                raise
            self._journal.begin()  # what was kept is kept no longer
        return played

    def _play_epochs(self, contexts: Array, rewarded: Array, rounds: int, rng: np.random.Generator) -> Array:
        assert self._map is not None
        rows = dense(self._map.transform(contexts))
        columns = [self._column(per_action(one[None], self.n_actions)) for one in rows]
        even, played = np.full(len(contexts), 1.0 / len(contexts)), np.zeros(rewarded.shape)
        end = self._learnt() + rounds
        while (now := self._learnt()) < end:
            n = min(2**self.epoch, end) - now
            laws_now, seen = np.asarray(self.laws(contexts)), rng.multinomial(n, even)
            for at, column in enumerate(columns):
                plays = rng.multinomial(seen[at], laws_now[at])
                wins = np.array([rng.binomial(k, p) for k, p in zip(plays, rewarded[at], strict=True)])
                self._rewards += (wins / laws_now[at])[column]
                if not self._pool.full:  # as with rounds one by one, where contexts are more than it holds
                    self._pool.add(column, int(seen[at]))
                played[at] += seen[at] * laws_now[at]
            self._rounds[0] += n
            self._perhaps_end_epoch()
        return played

    def _parts(self) -> Parts:
        self._rewards, self._q, self._best = zeros((3, self.n_policies))
        self._best[0] = 1.0
        return {
            "rewards": Field(self._rewards, 0.0, _FARTHEST),
            "q": Field(self._q, 0.0, 1.0),
            "best": Field(self._best, 0.0, 1.0),
        }

    def _check(self) -> None:
        super()._check()
        if self._q.sum() > 1.0 + 1e-9 or abs(float(self._best.sum()) - 1.0) > 1e-9:
            raise ValueError("q must sum to at most 1, and best to 1")

    def _law(self, one: Batch) -> Array:
        whole = self._q + (1.0 - self._q.sum()) * self._best
        return laws.floored(self._votes(self._column(one), whole), one, self.mu)

    def _taught(self, one: Batch, column: Columns, action: int, loss: float, probability: float) -> None:
        for array in (self._rewards, self._q, self._best):
            self._journal.keep(array)
        plays = column == action
        self._rewards[plays] = np.minimum(self._rewards[plays] + (1.0 - loss) / probability, _FARTHEST)
        self._perhaps_end_epoch()

    def _perhaps_end_epoch(self) -> None:
        """At a power of two, find what the next epoch plays."""
        rounds = self._learnt()
        if rounds & (rounds - 1) == 0:
            best = self._rewards == self._rewards.max()
            self._best[...] = best / best.sum()
            self._q[...] = self._solved()

    # The optimisation problem.

    def _bad(self) -> Array:
        """b: estimated regrets over ψμ."""
        mean = self._rewards / max(self._learnt(), 1)
        return np.asarray((mean.max() - mean) / (self.psi * self.mu))

    def _inverse(self, q: Array, power: int) -> Array:
        """Of each policy: the mean over contexts of (1/Q^μ(π(x) | x))^power."""
        mu, counts = self.mu, self._pool.counts
        smooth = (1.0 - self.n_actions * mu) * self._pool.shares(q) + mu
        return self._pool.sums((counts / counts.sum())[:, None] * smooth**-power)

    def _solved(self) -> Array:
        mu, K2, bad = self.mu, 2.0 * self.n_actions, self._bad()
        q = np.zeros(self.n_policies)
        for _ in range(1 + math.ceil(4.0 * math.log(1.0 / (self.n_actions * mu)) / mu)):
            total = float(q @ (K2 + bad))
            if total > K2:
                q *= K2 / total
            variance = self._inverse(q, 1)
            missed = variance - K2 - bad
            worst = int(missed.argmax())
            if missed[worst] <= 0.0:
                break
            square = self._inverse(q, 2)[worst]
            q[worst] += (variance[worst] + missed[worst]) / (2.0 * (1.0 - self.n_actions * mu) * square)
        return q
