"""BISTRO and BISTRO+: a relaxation of the game, played by the leader of a perturbed past. Contexts i.i.d. or known.

Losses are an adversary's; contexts come from a law that can be sampled, or are known beforehand. With L >= K, each
round draws the rounds to come: x_s, a vector ε_s of K random signs, and Z_s, which is L, or in BISTRO+ is L with
probability K/L and else 0. Then

    R(ĉ_{1:t}, ρ) = -min_π { Σ_{s<=t} ĉ_s(π(x_s)) + Σ_{s>t} 2 ε_s(π(x_s)) Z_s } + (T - t) K/L     the relaxation
    q ∈ argmin_q max_{p : p_i <= 1/L} E_{i~p} [ <q, L e_i> + R(…, L e_i) ]                         one draw of ρ
    play (1 - K/L) q + 1/L,     ĉ = L X e_a,  X = 1 with probability ℓ(a)/(L p(a)), else 0

and E R is *admissible*: E_x min_q max_ℓ E [ℓ(a) + E R(…, ĉ_t)] <= E R(…), whatever came before. Summed over rounds,
regret is at most E R(∅) = E max_π Σ 2εZ + TK/L, and 1 for the first round, which is uniform here. With Z = L throughout
that is of order K^{1/2} T^{3/4} (ln N)^{1/4}; with the variance that Z has in BISTRO+ (KT)^{2/3} (ln N)^{1/3}
(`theory.bistro_regret` has constants).

The paper finds q by K + 1 calls of the oracle. One is enough: with ψ_0 = min_π of the perturbed past and ψ_i the same
with L added where π(x_t) = i, the value is -ψ_0 + Σ_i (q_i - (ψ_i - ψ_0)/L)₊, and ψ_i exceeds ψ_0 for no action but
the leader's, so that the leader's own action is a minimiser; tied leaders share. Both facts are tested.

Established here: the algorithm and its admissibility, which is checked by enumeration on small games. Reconstructed:
that BISTRO rounds its estimates like BISTRO+, and L, which minimises the bound above. `contexts` is a sample of the law
of contexts, or with `transductive` those to come, in any order. A round costs N times their distinct columns. A class
that is known by its oracle alone, `BISTRO.of_oracle`, costs one call of it: what it has lost and what it is charged
beside are one weighted sample.

Rakhlin & Sridharan (2016), "BISTRO: an efficient relaxation-based method for contextual bandits"; Syrgkanis, Luo,
Krishnamurthy & Schapire (2016), "Improved regret bounds for oracle-based adversarial contextual bandits".

>>> import numpy as np
>>> corners = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])  # "always the first", "always the second", for x = 1
>>> agent = BISTROPlus(n_actions=2, regressors=corners, contexts=[[1.0]], horizon=2000, seed=0)
>>> for _ in range(2000):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> agent.law([1.0]).round(2)
array([0.07, 0.93])
>>> agent.bound().vacuous
False
"""

from typing import Annotated, Any

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch
from marginbandits.learners.perturbed import Perturbed, PerturbedLearner
from marginbandits.learners.perturbed_oracle import LONGEST, Given, PerturbedByOracle, Size
from marginbandits.learners.policy_class import Columns
from marginbandits.state import Field, zeros
from marginbandits.theory import Bound, bistro_regret, bistro_scale
from marginbandits.types import Array, Oracle
from marginbandits.validation import ActionCount, Instance, Integer, Seed, validated

__all__ = ["BISTRO", "BISTROPlus", "OracleBISTRO"]


class _Relaxation(Perturbed):
    """Its law, charges and noise, however the leader is found."""

    plus: bool
    _span: float

    def _law(self, one: Batch) -> Array:
        return laws.floored(super()._law(one), one, 1.0 / self._span)

    def _charge(self, where: Array | Columns, action: int, loss: float, probability: float) -> float:
        return self._span if self._rng.random() * self._span * probability < loss else 0.0

    def _perturbation(self, rng: np.random.Generator) -> Array:
        """Σ 2 ε_s Z_s over the rounds s > t to come, by their context and action."""
        counts, left = self._often(), max(self.horizon - self._learnt() - 1, 0)
        return self._signed(rng, rng.multinomial(rng.binomial(left, self._share()), counts / counts.sum()))

    def _share(self) -> float:
        """Of rounds in which Z is not 0."""
        return self.n_actions / self._span if self.plus else 1.0

    def _signed(self, rng: np.random.Generator, n: Columns) -> Array:
        """Σ 2 ε_s L for each context and action, where a context comes n times."""
        # Binomials by `multinomial`: NumPy's `binomial` of an array leaks a few bytes a call.
        signs = rng.multinomial(np.repeat(n[:, None], self.n_actions, axis=1), [0.5, 0.5])
        return np.asarray(2.0 * self._span * (signs[..., 0] - signs[..., 1]))


class BISTRO(_Relaxation, PerturbedLearner):
    """The leader of a past perturbed by every round to come: T^{3/4}."""

    plus = False

    @classmethod
    def of_oracle(
        cls,
        n_actions: int,
        oracle: Oracle,
        *,
        contexts: Array,
        size: int,
        horizon: int = 1000,
        seed: int | np.random.Generator | None = None,
    ) -> "OracleBISTRO":
        """For a class that is known by its oracle, of at most `size` policies; `contexts` are a sample of their law."""
        return OracleBISTRO(
            n_actions, oracle=oracle, contexts=contexts, size=size, horizon=horizon, plus=cls.plus, seed=seed
        )

    @property
    def scale(self) -> float:
        """L."""
        return bistro_scale(self.n_policies, self.n_actions, self.horizon, plus=self.plus)

    def bound(self) -> Bound:
        """What the theory promises over the horizon."""
        return self._on_contexts(bistro_regret(self.n_policies, self.n_actions, self.horizon, plus=self.plus))

    def _parts(self) -> Any:
        self._span = self.scale
        self._present = zeros((len(self.contexts) if self.transductive else 0, self.n_actions))
        farthest = 2.0 * self._span
        return {**super()._parts(), "present": Field(self._present, -farthest, farthest)}

    def _perturbation(self, rng: np.random.Generator) -> Array:
        """Where contexts to come are known, of one law else.

        Of the contexts to come one will be the next round's, which is not to come any more: what one of each column is
        charged is kept apart, for `_noise` to take off.
        """
        if not self.transductive:
            return super()._perturbation(rng)
        counts, share = self._often(), self._share()
        noise = self._signed(rng, rng.multinomial(np.maximum(counts - 1, 0), [share, 1.0 - share])[:, 0])
        self._journal.keep(self._present)
        there = (counts > 0) & (rng.random(len(counts)) < share)
        self._present[: len(counts)] = 2.0 * self._span * there[:, None] * rng.choice([-1.0, 1.0], noise.shape)
        return np.asarray(noise + self._present[: len(counts)])

    def _noise(self, one: Batch) -> Array:
        if not self.transductive:
            return self._noise_now
        column = self._column(one, self._everything)
        at = self._pool.place(column)
        return self._noise_now if at < 0 else self._noise_now - self._present[at][column]


class BISTROPlus(BISTRO):
    """The leader of a past perturbed by few of the rounds to come, which is all that variance asks for: T^{2/3}."""

    plus = True


class OracleBISTRO(_Relaxation, PerturbedByOracle):
    """BISTRO, or with `plus` BISTRO+, for a class of at most `size` policies that is known by its oracle.

    One call a round. `contexts` are a sample of their law: which of them are to come cannot be told to it.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        oracle: Annotated[Oracle, Instance(Oracle)],
        contexts: Given,
        size: Size = 1000,
        horizon: Annotated[int, Integer(1, LONGEST)] = 1000,
        plus: Annotated[bool, Instance(bool)] = True,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, oracle=oracle, contexts=contexts, size=size, horizon=horizon, seed=seed)
        self.plus = plus
        self._span = bistro_scale(size, n_actions, horizon, plus=plus)

    def bound(self) -> Bound:
        """What the theory promises over the horizon, of an oracle that finds the least."""
        return bistro_regret(self.size, self.n_actions, self.horizon, plus=self.plus)
