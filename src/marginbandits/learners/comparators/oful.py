"""OFUL: LinUCB with the confidence radius of its theorem instead of a constant that is chosen.

    argmax_a <θ_a, z> + √β_t √(zᵀ A_a⁻¹ z),     √β_t = R √(2 ln(√(det A/det λI)/δ)) + √λ S

A = λI + Σ z zᵀ and θ are those of LinUCB: one regression per action for vector contexts, which is one of D = Kd columns
whose A is made of K blocks; one of D = d columns for K x d contexts. If E[r | z] = <θ*, z> with ‖θ*‖ <= S (all blocks
together), and r - <θ*, z> is R-sub-Gaussian (R = ½ for rewards in [0, 1]), θ* is within the radius in all rounds with
probability 1 - δ, and with ‖z‖ <= 1 and |<θ*, z>| <= 1 regret is then at most

    4 √(T D ln(λ + T/D)) (√λ S + R √(2 ln(1/δ) + D ln(1 + T/(λD))))

(`theory.oful_regret`). The theorem is about contexts as they are: give `features=Identity()`. det A comes from the
factor that LinUCB keeps, so a round costs what it costs there.

Abbasi-Yadkori, Pál & Szepesvári (2011), "Improved algorithms for linear stochastic bandits", theorems 2 and 3.

>>> agent = OFUL(n_actions=3, norm=1.0, seed=0)
>>> for x in [-1.0, 1.0] * 30:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> agent.act([1.0]).action, agent.act([-1.0]).action, round(agent.radius, 2)
(1, 0, 3.35)
"""

import math
from typing import Annotated, ClassVar, Unpack

import numpy as np

from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.laws import greedy
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import RidgeLearner
from marginbandits.theory import Bound, oful_radius, oful_regret
from marginbandits.types import Array
from marginbandits.validation import Count, Real, validated

__all__ = ["OFUL"]


class OFUL(RidgeLearner):
    """Optimism within the ellipsoid that holds θ* with probability 1 - δ in all rounds."""

    competes: ClassVar[bool] = False
    takes_sparse = False  # its ellipsoid is that of an exact A

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        delta: Annotated[float, Real(1e-12, 1)] = 0.05,
        noise: Annotated[float, Real(0, 1e6)] = 0.5,
        norm: Annotated[float, Real(0, 1e6)] = 1.0,
        regularisation: Annotated[float, Real(1e-9)] = 1.0,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, **options)
        self.delta, self.noise, self.norm = delta, noise, norm

    @validated
    def bound(
        self,
        rounds: Count,
        dimension: Count,
        *,
        context: Annotated[float, Real(0, 1e30)] = 1.0,
        mean: Annotated[float, Real(0, 1e30)] = 1.0,
    ) -> Bound:
        """What the theory promises for so many rounds, in D = `dimension` columns: Kd, or d of K x d contexts.

        `context` and `mean` are the largest ‖z‖ and |<θ*, z>|, which it needs to be at most 1; nobody checks rounds.
        """
        return oful_regret(
            dimension,
            rounds,
            delta=self.delta,
            noise=self.noise,
            norm=self.norm,
            regularisation=self.regularisation,
            context=context,
            mean=mean,
        )

    @property
    def radius(self) -> float:
        """√β for the next round."""
        return float(self._playing._radius()) if self._map is not None else self._radius_of(0.0)

    def _radius(self) -> float:
        diagonal = self._ridge.factor.diagonal(axis1=1, axis2=2)  # of C, which is triangular: A⁻¹ = CᵀC
        volume = -2.0 * float(np.log(diagonal).sum()) - diagonal.size * math.log(self.regularisation)
        return self._radius_of(max(volume, 0.0))

    def _radius_of(self, volume: float) -> float:
        return oful_radius(volume, self.delta, self.noise, self.norm, self.regularisation)

    def _widths(self, batch: Batch) -> Array:
        return np.asarray(self._radius() * super()._widths(batch))

    def _laws(self, batch: Batch) -> Array:
        return greedy(self._ridge.predict(batch) + self._widths(batch), batch)
