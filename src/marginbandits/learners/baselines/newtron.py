"""Newtron: online Newton steps on the logistic loss with bandit feedback, in diagonal form.

    P = softmax(α W z),   p = (1 - γ) P + γ/n
    G = (1 - P_a)/p_a (1/K - e_a) zᵀ  if a was right,   P_a/p_a (e_a - 1/K) zᵀ  if not
    W = argmin Σ <G, W> + κβ/2 <G, W - W_τ>² + ‖W‖²/(2D),   κ = p_a if right, else 1

With a loss between 0 and 1, the two gradients are mixed in that proportion. The paper minimises over ‖W‖ <= D; here W
is free, because with features of norm 1 and the defaults the ball kept the softmax too flat to exploit nine classes.

Hazan & Kale (2011), "Newtron: an efficient bandit algorithm for online multiclass prediction".

>>> agent = Newtron(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 200:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.8)
True
"""

from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, filled
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.state import SQUARES, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Real, validated

__all__ = ["Newtron"]


class Newtron(Learner):
    """Second-order steps, softmax play, a share `gamma` of exploration; O(Kd) a round, d being what is filled."""

    journals = True
    changes_actions = True
    takes_sparse = True
    live = frozenset({"gamma"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        gamma: Annotated[float, Real(above=0, below=1)] = 0.05,
        alpha: Annotated[float, Real(above=0)] = 10.0,
        beta: Annotated[float, Real(above=0)] = 0.01,
        diameter: Annotated[float, Real(above=0)] = 1.0,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.gamma = gamma
        self.alpha = alpha
        self.beta = beta
        self.diameter = diameter

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._linear, self._curvature = zeros((2, 1 if shape.shared else self.n_actions, n_features))
        self._curvature[...] = 1.0 / self.diameter
        begun = np.full(n_features, 1.0 / self.diameter)
        return {
            "linear": Field(self._linear, per_block=True),
            "curvature": Field(self._curvature, 1.0 / self.diameter, SQUARES, initial=begun, per_block=True),
        }

    def _check(self) -> None:
        if (np.abs(self._linear) > 1e80 * self._curvature).any():
            raise ValueError("linear must be a sum of steps whose squares are in the curvature")

    def _softmax(self, one: Batch) -> Array:
        columns, rows = filled(one.rows)
        scores = self.alpha * (self._linear[:, columns] / self._curvature[:, columns] * rows).sum(1)
        values = np.exp(np.where(one.mask, scores - scores[one.mask].max(), -np.inf))
        return np.asarray(values / values.sum())

    def _law(self, one: Batch) -> Array:
        return laws.explored(self._softmax(one), one, self.gamma)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        own, (columns, rows) = self._softmax(one)[action], filled(one.rows)
        step = (np.arange(len(one.mask)) == action) - one.mask / one.mask.sum()
        step *= (loss * own - (1.0 - loss) * (1.0 - own)) / probability
        gradient = (step @ rows)[None] if one.shared else step[:, None] * rows
        weight = self.beta * (loss + (1.0 - loss) * probability) * gradient**2
        where = (slice(None), columns)
        self._journal.keep(self._linear, where)
        self._journal.keep(self._curvature, where)
        self._linear[where] += weight * (self._linear[where] / self._curvature[where]) - gradient
        self._curvature[where] += weight
