"""Contextual follow-the-perturbed-leader: noise on the losses of a few made-up contexts. Losses are an adversary's.

X is a *separator*: any two policies differ on one of its contexts; or, transductive, X holds the contexts to come. Each
round charges every action at every x ∈ X with Laplace noise z of density (ε/2) e^{-ε|z|}, and plays the leader:

    π_t = argmin_π Σ_{s<t} ℓ̂_s(π(x_s)) + Σ_{x∈X} z_x(π(x))
    ℓ̂_t = ℓ(a) J e_a,   J = the first of at most M fresh draws of z whose leader plays a at x_t, M if none does

J is 1/p(a) on average, up to (1 - p)^M: geometric resampling (Neu & Bartók 2013), which needs no probability. The law
of a round is the leader's action, certain once z is drawn, and z is drawn anew after every round: so `probability` is
1, exactly, and a log of it is of no use to others; nor can this learner learn from the decisions of others.

    regret <= G/ε + 2εdKT + KT/(eM) + 1,   G = inf_{u<1} (ln N - |X| ln(1 - u²))/u,   d = |X|, or 1 where x_t ∈ X

What is proved: noise costs E max_π -Σ z <= G/ε. Adding c at (x_t, i) moves the leader away from i only if it moves at
some x ∈ X from its action there, a. Given all noise but z_x(a), the leader plays a at x iff z_x(a) <= ν, and still does
if z_x(a) <= ν - c; P(ν - c < z <= ν) <= εc P(z <= ν), and given that the leader plays a at x, what it plays at x_t does
not depend on z_x(a). Summed over a and x: εcd P(leader plays i), or with x = x_t alone εc P(…); then E J² <= 2/p².
The algorithm is the paper's; this proof, its constants and the ε that they lead to are worked out here, and for a
separator they give √T where the paper's abstract has T^{2/3}. Transductive: T^{3/4}, as there. Before the first round
nothing is known, and every action is as likely: the 1.

A class may be known by its oracle alone, `ContextualFTPL.of_oracle`: a leader costs one call of it, and so does each
fresh draw.

Syrgkanis, Krishnamurthy & Schapire (2016), "Efficient algorithms for adversarial contextual learning".

>>> import numpy as np
>>> corners = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])  # "always the first", "always the second", for x = 1
>>> agent = ContextualFTPL(n_actions=2, regressors=corners, contexts=[[1.0]], horizon=500, seed=0)
>>> for _ in range(500):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> agent.law([1.0]), agent.bound().vacuous
(array([0., 1.]), False)
"""

from abc import abstractmethod
from typing import Annotated

import numpy as np

from marginbandits.learners.base import Parts
from marginbandits.learners.perturbed import Perturbed, PerturbedLearner
from marginbandits.learners.perturbed_oracle import LONGEST, Given, PerturbedByOracle, Size
from marginbandits.learners.policy_class import Columns
from marginbandits.theory import Bound, perturbed_leader_regret
from marginbandits.types import Array, Oracle
from marginbandits.validation import ActionCount, Instance, Integer, Seed, validated

__all__ = ["ContextualFTPL", "OracleFTPL"]

_AT_ONCE = 16


class _Resampled(Perturbed):
    """Its noise, and charges by resampling, however the leader is found."""

    _rate: float
    _most: int

    def _perturbation(self, rng: np.random.Generator) -> Array:
        return rng.laplace(0.0, 1.0 / self._rate, (len(self._often()), self.n_actions))

    def _charge(self, where: Array | Columns, action: int, loss: float, probability: float) -> float:
        if not loss:
            return 0.0
        if self._learnt() == 1:  # the one round whose law was known
            return loss / probability
        return loss * self._resampled(where, action)

    @abstractmethod
    def _resampled(self, where: Array | Columns, action: int) -> int:
        """J: how many fresh draws it takes until the leader plays the action there, at most M."""


class ContextualFTPL(_Resampled, PerturbedLearner):
    """The leader of a past perturbed on a separator, or on the contexts to come; estimates by resampling."""

    @classmethod
    def of_oracle(
        cls,
        n_actions: int,
        oracle: Oracle,
        *,
        contexts: Array,
        size: int,
        transductive: bool = False,
        horizon: int = 1000,
        seed: int | np.random.Generator | None = None,
    ) -> "OracleFTPL":
        """For a class known by its oracle, of at most `size` policies; `contexts` tell them apart, or are to come."""
        return OracleFTPL(
            n_actions,
            oracle=oracle,
            contexts=contexts,
            size=size,
            transductive=transductive,
            horizon=horizon,
            seed=seed,
        )

    def bound(self) -> Bound:
        """What the theory promises over the horizon, once the class has met the contexts of X."""
        if self._map is None:
            raise ValueError("bound must wait for the first round learnt: what X separates is known by its features")
        return self._promised()

    def _promised(self) -> Bound:
        d = self.SAMPLE if self.contexts is None else len(self._pool.columns)
        known = self.contexts is not None
        apart = known and len(np.unique(self._pool.columns, axis=1).T) == self.n_policies
        bound = perturbed_leader_regret(
            self.n_policies, self.n_actions, self.horizon, d, transductive=self.transductive, separated=apart
        )
        return self._on_contexts(bound)

    def _parts(self) -> Parts:
        tuned = self._promised().parameters
        self._rate, self._most = tuned["epsilon"], int(tuned["M"])
        return super()._parts()

    def _resampled(self, where: Array | Columns, action: int) -> int:
        plays, columns, places = where == action, self._pool.columns, np.arange(len(self._pool.columns))[:, None]
        for done in range(0, self._most, _AT_ONCE):
            noise = self._rng.laplace(0.0, 1.0 / self._rate, (_AT_ONCE, len(columns), self.n_actions))
            leaders = (self._cost + noise[:, places, columns].sum(1)).argmin(1)
            found = np.flatnonzero(plays[leaders])
            if len(found):
                return min(done + int(found[0]) + 1, self._most)
        return self._most


class OracleFTPL(_Resampled, PerturbedByOracle):
    """`ContextualFTPL` for a class of at most `size` policies that is known by its oracle.

    A round costs a call of it, and one more for each fresh draw: about K, and at most M. `contexts` are a separator, or
    with `transductive` all those to come; nobody checks that they are.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        oracle: Annotated[Oracle, Instance(Oracle)],
        contexts: Given,
        size: Size = 1000,
        transductive: Annotated[bool, Instance(bool)] = False,
        horizon: Annotated[int, Integer(1, LONGEST)] = 1000,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, oracle=oracle, contexts=contexts, size=size, horizon=horizon, seed=seed)
        self.transductive = transductive
        tuned = self.bound().parameters
        self._rate, self._most = tuned["epsilon"], int(tuned["M"])

    def bound(self) -> Bound:
        """What the theory promises over the horizon, of an oracle that finds the least."""
        return perturbed_leader_regret(
            self.size, self.n_actions, self.horizon, len(self._given), transductive=self.transductive
        )

    def _resampled(self, where: Array | Columns, action: int) -> int:
        row = np.asarray(where, float)
        for done in range(1, self._most):
            if self._choice(self._led(self._perturbation(self._rng)), row) == action:
                return done
        return self._most
