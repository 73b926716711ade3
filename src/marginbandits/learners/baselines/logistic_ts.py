"""Logistic Thompson sampling with a diagonal Laplace posterior.

Each model is N(m, diag(1/q)). A round moves it to the posterior mode of one logistic observation r = 1 - ℓ in [0, 1],

    m += c z/q,   c = r - σ(<m, z> + c Σ z_i²/q_i),   q_i += z_i² σ(1 - σ)

and an action is played with the probability that its score <w, z> is the largest, as in `LinTS`.

Sparse rows are mostly rare words, of which all actions know as little, and which no round tells much of. There

    the scores are moved together        by one normal u, each to its mean + uσ: each is still a draw of its posterior,
                                         but what all are equally unsure of cancels, where K draws apart would
                                         mostly differ by it
    a column never seen is known         as if it had been seen `regularisation` times (`oracles.diagonal`)
    a round counts for z_i²/4            the largest σ(1 - σ), so that steps shrink also where rewards are rare

What that is worth is in docs/text.md.

Chapelle & Li (2011), "An empirical evaluation of Thompson sampling", algorithm 3; Vaswani et al. (2020), "Old dog
learns new tricks: randomized UCB for bandit problems" (one u for all); Böhning & Lindsay (1988), "Monotonicity of
quadratic-approximation algorithms" (¼).

>>> agent = LogisticTS(n_actions=2, seed=0)
>>> for _ in range(100):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action == 0))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

import math
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from marginbandits import laws, policies
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, Sparse, dense
from marginbandits.features import Features
from marginbandits.laws import move_together
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.swift import compiled_rounds
from marginbandits.learners.swift_offers import compiled_offers
from marginbandits.oracles.diagonal import Diagonal, prior_of, score_all, score_one
from marginbandits.policies import race_of_normals
from marginbandits.state import SQUARES, Field, zeros
from marginbandits.types import Array, Mask
from marginbandits.validation import Integer, Real, validated

__all__ = ["LogisticTS"]

Places = npt.NDArray[np.int64]

_FARTHEST = 1e30
"""No mean is beyond this: a step c z/q has |c| <= 1 and c z²/q of the size of a logit, so it is short of 1e6."""


FAR = 1e140


@kernel
def _update(mean: Array, precision: Array, row: Array, reward: float, prior: float, steady: bool) -> None:
    """One step; `prior` adds to every precision, and a `steady` step to the precision as if σ were ½."""
    score, spread = 0.0, 0.0
    for i in range(row.shape[0]):
        score += mean[i] * row[i]
        spread += row[i] * row[i] / (precision[i] + prior)
    low, high = -1.0, 1.0  # c lies between -1 and 1, and the equation's two sides cross once
    for _ in range(40):
        c = 0.5 * (low + high)
        if reward - 1.0 / (1.0 + math.exp(-(score + c * spread))) > c:
            low = c
        else:
            high = c
    sigma = 1.0 / (1.0 + math.exp(-(score + c * spread)))
    curvature = 0.25 if steady else sigma * (1.0 - sigma)
    for i in range(row.shape[0]):
        mean[i] += c * row[i] / (precision[i] + prior)
        precision[i] += row[i] * row[i] * curvature


@kernel
def _law_one(columns: Places, row: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, mean, deviation, work = state
    for a in range(mask.shape[0]):
        score, variance = 0.0, 0.0
        for j in range(row.shape[0]):
            score += means[a, j] * row[j]
            variance += row[j] * row[j] / precisions[a, j]
        mean[a] = min(max(score, -FAR), FAR)  # beyond these every difference is one of certainty
        deviation[a] = min(scale * math.sqrt(variance), FAR)
    return bool(race_of_normals(mean, deviation, mask, work, law))


@kernel
def _learn_one(
    columns: Places, row: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    _update(state[0][action], state[1][action], row, 1.0 - loss, 0.0, False)


@kernel
def _law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, share, mean, deviation = state
    score_one(means, precisions, share, columns, values, mean, deviation)
    for a in range(mask.shape[0]):
        deviation[a] *= scale
    return bool(move_together(mean, deviation, starts, mask, law))


@kernel
def _learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    means, precisions, _, share, _, _ = state
    _update_filled(means[action], precisions[action], columns, values, 1.0 - loss, share)


@kernel
def _law_rows(columns: Places, values: Array, ends: Places, starts: Places, mask: Mask, state: Any, law: Array) -> None:
    mean, deviation = np.empty(mask.shape[0]), np.empty(mask.shape[0])
    score_all(state[0], state[1], state[3], values, columns, ends, True, starts, mean, deviation)
    for k in range(mask.shape[0]):
        deviation[k] *= state[2]
    if not move_together(mean, deviation, starts, mask, law):
        law[:] = np.nan


@kernel
def _learn_offer(columns: Places, values: Array, n: int, loss: float, probability: float, state: Any) -> None:
    _update_filled(state[0][0], state[1][0], columns, values, 1.0 - loss, state[3])


@kernel
def _update_filled(
    means: Array, precisions: Array, columns: Places, values: Array, reward: float, share: float
) -> None:
    """One steady step on what a row has filled."""
    n = values.shape[0]
    mean, precision = np.empty(n), np.empty(n)
    for k in range(n):
        mean[k], precision[k] = means[columns[k]], precisions[columns[k]]
    _update(mean, precision, values, reward, prior_of(values, share), True)
    for k in range(n):
        means[columns[k]], precisions[columns[k]] = mean[k], precision[k]


class LogisticTS(Learner):
    """Posterior sampling on logistic regression; `scale` widens or narrows the posterior.

    O(Kd) a round, d being what is filled; `n_particles` is for dense K x d contexts only.
    """

    journals = True
    changes_actions = True
    takes_sparse = True
    _compiled: ClassVar[Any] = compiled_rounds((_law_one, _learn_one), (_law_wide, _learn_wide))
    _compiled_offers: ClassVar[Any] = compiled_offers(_law_rows, _learn_offer)
    live = frozenset({"scale"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        scale: Annotated[float, Real(above=0)] = 0.25,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        n_particles: Annotated[int, Integer(1)] = 64,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.scale = scale
        self.regularisation = regularisation
        self.n_particles = n_particles

    def _arrays(self) -> tuple[Any, ...]:
        share = () if self._wide is None else (self._wide.share,)
        return self._mean, self._precision, self.scale, *share, *np.empty((3 - len(share), self.n_actions))

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        self._wide = Diagonal(n_blocks, n_features, 0.0, self.regularisation) if shape.sparse else None
        if self._wide is not None:
            self._mean, self._precision = self._wide.mean, self._wide.precision
            return {"wide": self._wide}
        self._mean, self._precision = zeros((2, n_blocks, n_features))
        self._precision[...] = self.regularisation
        self._directions = zeros((self.n_particles if shape.shared else 0, n_features))
        self._rng.standard_normal(out=self._directions)
        begun = np.full(n_features, self.regularisation)
        return {
            "mean": Field(self._mean, -_FARTHEST, _FARTHEST, per_block=True),
            "precision": Field(self._precision, self.regularisation, SQUARES, initial=begun, per_block=True),
            "directions": Field(self._directions, -100.0, 100.0),
        }

    def _law(self, one: Batch) -> Array:
        if self._wide is not None:
            means, deviations = self._wide.scores(one)
            return laws.moved_together(means, self.scale * deviations, one)
        rows = dense(one.rows)
        mean = (self._mean * rows).sum(1)
        if not one.shared:
            deviation = self.scale * np.sqrt((rows**2 / self._precision).sum(1))
            # Beyond these every difference is one of certainty.
            return policies.largest_of_normals(np.clip(mean, -FAR, FAR), np.minimum(deviation, FAR), one.mask)
        draws = mean + self.scale * (self._directions / np.sqrt(self._precision)) @ rows.T
        return np.asarray(policies.greedy(draws, one.mask).mean(0))

    def _predicted(self, batch: Batch) -> Array:
        scores = (self._mean * dense(batch.rows)).sum(1) if self._wide is None else self._wide.scores(batch)[0]
        return np.asarray(expit(-scores))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        rows, at, block = one.rows, one.row(action), one.block(action)
        columns, row = rows.row(at) if isinstance(rows, Sparse) else (slice(None), rows[at])
        self._journal.keep(self._mean, (block, columns))
        self._journal.keep(self._precision, (block, columns))
        mean, precision = self._mean[block], self._precision[block]
        if isinstance(columns, slice):
            _update(mean, precision, row, 1.0 - loss, 0.0, False)
        else:
            assert self._wide is not None
            _update_filled(mean, precision, columns, row, 1.0 - loss, self._wide.share)
