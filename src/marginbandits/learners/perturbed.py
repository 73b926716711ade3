"""What learners that follow a perturbed leader share: what each policy has cost, and the noise of the next round.

Noise for the next round is drawn when a round is learnt, and is part of the state: so laws draw nothing, and are exact.
What an algorithm charges and draws (`Perturbed`) does not depend on how its leader is found: among N policies that are
listed (`PerturbedLearner`), or by an oracle (`perturbed_oracle`).
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np

from marginbandits.contexts import Batch
from marginbandits.features import MaybeFeatures
from marginbandits.learners.base import Parts
from marginbandits.learners.finite_class import Radius, Regressors
from marginbandits.learners.horizon import HorizonLearner
from marginbandits.learners.policy_class import Columns, Contexts, PolicyLearner
from marginbandits.state import COUNT, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Instance, Integer, Seed, validated

__all__ = ["Perturbed", "PerturbedLearner"]

_FARTHEST = 1e100


class Perturbed(HorizonLearner):
    """An algorithm says what a round costs and how the next is perturbed; a subclass knows the contexts and the leader.

    Where a context is, `where`, is its column of what policies play, or its row.
    """

    @abstractmethod
    def _perturbation(self, rng: np.random.Generator) -> Array:
        """What each action of each context that is known is charged beside."""

    @abstractmethod
    def _charge(self, where: Array | Columns, action: int, loss: float, probability: float) -> float:
        """What policies that play this action there are charged."""

    @abstractmethod
    def _often(self) -> Columns:
        """How often each context that is known was given, or seen."""


class PerturbedLearner(PolicyLearner, Perturbed):
    """N policies: the leader is found among the costs of all."""

    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "what keeps every adversary at bay, noise above all, drowns so few rounds"
    }

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        regressors: Regressors = 100,
        contexts: Contexts = None,
        transductive: Annotated[bool, Instance(bool)] = False,
        horizon: Annotated[int, Integer(1, COUNT)] = 1000,
        radius: Radius = 1.0,
        features: MaybeFeatures = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            n_actions,
            regressors=regressors,
            contexts=contexts,
            horizon=horizon,
            radius=radius,
            features=features,
            seed=seed,
        )
        self.transductive = self._may_run_out = transductive
        if transductive and (contexts is None or len(contexts) != horizon):
            raise ValueError(f"contexts must be the {horizon} to come where transductive is True")

    def _often(self) -> Columns:
        return self._pool.counts

    def _parts(self) -> Parts:
        self._cost, self._noise_now = zeros((self.n_policies,)), zeros((self.n_policies,))
        return {
            "cost": Field(self._cost, 0.0, _FARTHEST),
            "noise": Field(self._noise_now, -_FARTHEST, _FARTHEST),
        }

    def _law(self, one: Batch) -> Array:
        """What the leader plays; tied leaders share."""
        perturbed = self._cost + self._noise(one)
        leaders = (perturbed == perturbed.min()).astype(float)
        return np.asarray(self._votes(self._column(one), leaders) / leaders.sum())

    def _noise(self, one: Batch) -> Array:
        """What each policy is charged beside, in this round."""
        return self._noise_now

    def _taught(self, one: Batch, column: Columns, action: int, loss: float, probability: float) -> None:
        if self.transductive:
            whole = self._column(one, self._everything)
            at = self._pool.place(whole)
            if at < 0 or not self._pool.counts[at]:
                raise ValueError("context must be one of the contexts to come, each as often as it was given")
            self._pool.add(whole, -1)
        self._journal.keep(self._cost)
        self._journal.keep(self._noise_now)
        rng = self._chance()
        self._cost[column == action] += self._charge(column, action, loss, probability)
        np.minimum(self._cost, _FARTHEST, out=self._cost)
        self._noise_now[...] = self._pool.sums(self._perturbation(rng))
