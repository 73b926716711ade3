"""Banditron: the perceptron with bandit feedback.

    ŷ = argmax <w_a, z>,   p = (1 - γ) 1{a = ŷ} + γ/n,   W += (r(a)/p(a)) e_a zᵀ - e_ŷ zᵀ

with r = 1 - ℓ; ties of ŷ share the step. Mistakes grow like T^{2/3} where the data are separable with a margin.

Kakade, Shalev-Shwartz & Tewari (2008), "Efficient bandit algorithms for online multiclass prediction".

>>> agent = Banditron(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

from typing import Annotated, Unpack

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, filled
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.state import Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Real, validated

__all__ = ["Banditron"]


class Banditron(Learner):
    """A perceptron that explores a share `gamma` of the time; O(Kd) a round, d being what is filled."""

    journals = True
    changes_actions = True
    takes_sparse = True
    live = frozenset({"gamma"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        gamma: Annotated[float, Real(above=0, below=1)] = 0.1,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.gamma = gamma

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._weights = zeros((1 if shape.shared else self.n_actions, n_features))
        return {"weights": Field(self._weights, per_block=True)}

    def _guess(self, one: Batch) -> Array:
        columns, rows = filled(one.rows)
        return laws.greedy((self._weights[:, columns] * rows).sum(1), one)

    def _law(self, one: Batch) -> Array:
        return laws.explored(self._guess(one), one, self.gamma)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        steps = -self._guess(one)
        steps[action] += (1.0 - loss) / probability
        columns, rows = filled(one.rows)
        self._journal.keep(self._weights, (slice(None), columns))
        self._weights[:, columns] += steps @ rows if one.shared else steps[:, None] * rows
