"""SmoothFTL as the paper analyses it: epochs that double, each played by the leader of the one before.

    epoch m    rounds 2^m … 2^{m+1} - 1; epoch 0 plays uniformly
    leader     f_{m-1} = argmin_f Σ ℓ(a)/p(a) ψ(f(x)_a) over the rounds of epoch m - 1 only     (`oracles.hinge_erm`)
    play       p = (1 - Kμ) π_hinge(f_{m-1}(x)) + μ

μ comes from `theory.smooth_ftl_floor`, for a class whose metric entropy grows like ε^-p: linear scores in a ball have
p = 2, whatever the dimension. The guarantee is for contexts and losses drawn independently from one law; regret to
(1/K) min_f E Σ <ℓ, ψ(f)> is of order (T/γ)^{p/(p+1)}, and (T/γ)^{2/3} for p < 2.

With `surrogate="ramp"` leaders are sought for the ramp φ in place of ψ, and played in proportion to it. The ramp is not
convex, and the guarantee, regret to min_f E Σ <ℓ, φ(f)>, would need its least; what is found is `oracles.ramp_erm`'s.

The theorem needs scores within B = 1 (R√(1 - 1/K) <= 1; 2R(1 - 1/K) <= 1 for K x d contexts), leaders that are the
least, and p >= 2 for the printed μ. `from_theory` refuses anything else, but for `outside_theory=True`; that rounds
are independent draws from one law, and what an `oracle` of one's own finds, it cannot see.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", Algorithm 3.

>>> agent = from_theory(n_features=2, n_actions=3, horizon=1000, margin=0.2, seed=0)
>>> for _ in range(600):
...     decision = agent.act([0.6, 0.8])
...     agent.learn([0.6, 0.8], decision, loss=float(decision.action != 2))
>>> agent.act([0.6, 0.8]).distribution.round(2)
array([0.1 , 0.1 , 0.81])
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features, Identity
from marginbandits.learners.base import Parts
from marginbandits.learners.conditions import Condition, OutsideTheory
from marginbandits.learners.epochs import EpochLearner
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.oracles.leader import Followed
from marginbandits.oracles.ramp_erm import RampERM
from marginbandits.projections import ball
from marginbandits.scores import Linear, SharedLinear
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.theory import smooth_ftl_floor
from marginbandits.types import Array, Oracle, Surrogate
from marginbandits.validation import ActionCount, Choice, Instance, Integer, OneOf, Real, Seed, validated

__all__ = ["FaithfulSmoothFTL", "from_theory"]


class FaithfulSmoothFTL(EpochLearner):
    """Algorithm 3 for linear scores of norm `radius`; `p` is the entropy exponent, `version` chooses μ.

    `oracle` finds the leaders: by default `HingeERM`, or `RampERM`, at the margin and radius given here; anything with
    their `fit` does, and is saved with the learner if its leaders are arrays (`oracles.leader`). `epochs` tells what
    each leader cost and how good it is: the gap is None where the oracle has no certificate, and large where its
    evaluations ran out.
    """

    theorem = "Theorem ftl"
    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "the theorem's μ keeps half of the play uniform over so few rounds"
    }

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        horizon: Annotated[int, Integer(1, 2**53)] = 1000,
        margin: Annotated[float, Real(above=0)] = 0.1,
        p: Annotated[float, Real(0)] = 2.0,
        radius: Annotated[float, Real(above=0)] = 1.0,
        version: Annotated[str, Choice("proof", "printed")] = "proof",
        surrogate: Annotated[str, Choice("hinge", "ramp")] = "hinge",
        oracle: Annotated[Oracle | None, OneOf(Instance(Oracle), Instance(type(None)))] = None,
        n_features: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))] = None,
        long_contexts: Annotated[str, Choice("shorten", "refuse")] = "shorten",
        outside_theory: OutsideTheory = None,
        features: Features = Identity(),  # noqa: B008  # a recipe, never changed
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.horizon, self.margin, self.p = horizon, margin, p
        self.radius, self.version, self.surrogate, self.oracle = radius, version, surrogate, oracle
        self.n_features, self.long_contexts, self.outside_theory = n_features, long_contexts, outside_theory
        self.mu = smooth_ftl_floor(n_actions, horizon, margin, p=p, version=version)
        self._hold_to_theory()

    def _needs(self, shared: bool) -> Iterable[Condition]:
        B = (SharedLinear if shared else Linear)(self.n_actions, 1, radius=self.radius).bound
        yield Condition("B <= 1", B <= 1.0 + 1e-12, f"B = {B:g} of radius={self.radius:g}")
        yield Condition("leaders that are the least", self.surrogate == "hinge", "surrogate='ramp', which has no proof")
        yield Condition("p >= 2 for the printed μ", self.version == "proof" or self.p >= 2.0, f"p={self.p:g}")

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        default = HingeERM if self.surrogate == "hinge" else RampERM
        self._followed = Followed(self.oracle or default(self.margin, radius=self.radius), n_blocks, n_features)
        self._values: Surrogate = Hinge(self.margin) if self.surrogate == "hinge" else Ramp(self.margin)
        return {**self._begin_epochs(n_features), "followed": self._followed}

    def _law(self, one: Batch) -> Array:
        values = self._values(self._followed.scores(ball(dense(one.rows), 1.0), one.shared))
        return laws.floored(laws.proportional(values, one), one, self.mu)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        row, block = self._followed.round(ball(dense(one.rows), 1.0), one.shared, action)
        self._keep(row, block, loss, probability)

    def _lead(
        self, rows: Array, actions: npt.NDArray[np.int64], losses: Array, weights: Array
    ) -> tuple[float, float | None, float, bool]:
        scores = self._followed.refit(rows, actions, losses, weights)
        return float((losses * weights) @ self._values(scores)), self._followed.gap, 0.0, True


def from_theory(
    *,
    n_features: int,
    n_actions: int,
    horizon: int,
    margin: float,
    p: float = 2.0,
    radius: float = 1.0,
    version: str = "proof",
    surrogate: str = "hinge",
    oracle: Oracle | None = None,
    long_contexts: str = "refuse",
    outside_theory: bool = False,
    seed: int | np.random.Generator | None = None,
) -> FaithfulSmoothFTL:
    """SmoothFTL with the paper's parameters, for vector or K x d contexts of width `n_features` and norm at most 1."""
    return FaithfulSmoothFTL(
        n_actions,
        horizon=horizon,
        margin=margin,
        p=p,
        radius=radius,
        version=version,
        surrogate=surrogate,
        oracle=oracle,
        n_features=n_features,
        long_contexts=long_contexts,
        outside_theory=outside_theory,
        seed=seed,
    )
