"""Learners that predict each action's loss or reward by regression, and differ in how they play it.

A subclass fills one hole, `_laws`: from `self._ridge` (ridge regression of `best` - ℓ, exact, O(d²); `self._wide` for
sparse rows, with a diagonal A, O(d)) or from `self._oracle` (online regression of the loss, O(d)). Either has one model
per action for vector contexts, one shared by all for K x d contexts.
"""

from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, Sparse, dense
from marginbandits.factors import dot
from marginbandits.features import Given
from marginbandits.laws import greedy_each
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import Options
from marginbandits.oracles.diagonal import DiagonalRidge, regress
from marginbandits.oracles.every_regression import predict_every
from marginbandits.oracles.online_regression import OnlineRegression, learn_row, predict_one
from marginbandits.oracles.ridge import Ridge, observe
from marginbandits.state import COUNT, Field, aligned
from marginbandits.types import Array, Mask

__all__ = [
    "OracleLearner",
    "RidgeLearner",
    "learn_offer",
    "learn_oracle",
    "learn_ridge",
    "learn_wide",
    "vote",
    "vote_every",
]

Places = npt.NDArray[np.int64]


@kernel
def learn_ridge(
    columns: Places, row: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    """One round of ridge regression."""
    models, room, unkept, best = state[0], state[1], state[2], state[3]
    observe(models[action], row, 1.0, best - loss - dot(models[action, -1], row), room, unkept)


@kernel
def learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    """One round of it with a diagonal A."""
    regress(state[0][action], state[1][action], columns, values, -loss)


@kernel
def learn_oracle(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    """One round of online regression that is indifferent to p."""
    states, totals, span, rounds, rate, work, weighted = state[:7]
    rounds[0] += 1.0
    weight = 1.0 / states.shape[1] if weighted else 1.0
    learn_row(states[0, action], totals[0], span, columns, values, loss, weight, rate, work)


@kernel
def learn_offer(columns: Places, values: Array, n: int, loss: float, probability: float, state: Any) -> None:
    """The same, of the row of one of n actions, all of which share one regression."""
    states, totals, span, rounds, rate, work, weighted = state[:7]
    rounds[0] += 1.0
    learn_row(states[0, 0], totals[0], span, columns, values, loss, 1.0 / n if weighted else 1.0, rate, work)


@kernel
def vote(states: Array, columns: Places, values: Array, starts: Places, mask: Mask, votes: Array) -> bool:
    """Of each of several policies, all but the last row of `votes`: what it predicts to lose least."""
    for policy in range(votes.shape[0] - 1):
        predict_one(states[policy], columns, values, votes[-1])
        if not _choose(votes[-1], starts, mask, votes[-1], votes[policy]):
            return False
    return True


@kernel
def vote_every(
    by_column: Array, columns: Places, values: Array, starts: Places, mask: Mask, votes: Array, predicted: Array
) -> bool:
    """The same of a sparse row, and what every regression predicts."""
    predict_every(by_column, columns, values, predicted)
    K = mask.shape[0]
    for policy in range(votes.shape[0] - 1):
        if not _choose(predicted[policy * K : policy * K + K], starts, mask, votes[-1], votes[policy]):
            return False
    return True


@kernel
def _choose(losses: Array, starts: Places, mask: Mask, scores: Array, law: Array) -> bool:
    """The greedy law of one context; False if what is predicted is no number."""
    for a in range(mask.shape[0]):
        scores[a] = -losses[a]
    return greedy_each(scores, starts, mask, law)


class RidgeLearner(Learner):
    """Ridge regression: O(Kd²) a round, 8Kd² bytes (K = 1 where the model is shared).

    Sparse rows of `sparse_from` columns and more are learnt with a diagonal A, O(K) a filled column, 16Kd bytes.
    """

    journals = True
    changes_actions = True
    takes_sparse = True
    sparse_from = 512
    best: ClassVar[float] = 1.0
    """What a loss of 0 is worth: predicted is the reward 1 - ℓ if 1, and -ℓ if 0, so that who was never played looks
    worst, or best. With a diagonal A it is 0: there, most of what a row holds was never seen."""

    def __init__(
        self,
        n_actions: int | None,
        *,
        regularisation: float,
        features: Given,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.regularisation = regularisation

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        given = 1 if shape.shared else self.n_actions, n_features, self.regularisation
        self._wide = DiagonalRidge(*given) if shape.sparse else None
        if self._wide is not None:
            return {"wide": self._wide}
        self._ridge = Ridge(*given)
        return {"ridge": self._ridge}

    def _arrays(self) -> tuple[Any, ...]:
        if self._wide is not None:
            return self._wide.mean, self._wide.precision, *np.empty((2, self.n_actions))
        return self._ridge.models, aligned(2 * self._ridge.models.shape[2] + 1), np.zeros((0, 0)), self.best

    def _scores(self, batch: Batch) -> Array:
        """Of each action of each context, what it is predicted to be worth."""
        return self._ridge.predict(batch) if self._wide is None else self._wide.predict(batch)

    def _predicted(self, batch: Batch) -> Array:
        return (self.best if self._wide is None else 0.0) - self._scores(batch)

    def _widths(self, batch: Batch) -> Array:
        return np.sqrt(self._ridge.variance(batch) if self._wide is None else self._wide.variance(batch))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        rows, place = one.rows, (one.row(action), one.block(action))
        if self._wide is not None:
            assert isinstance(rows, Sparse)
            self._wide.learn(rows, *place, -loss)
        else:
            self._ridge.learn(dense(rows), *place, self.best - loss)


class OracleLearner(Learner):
    """Online regression of the loss, O(Kd) a round; for sparse rows d is what is filled. Subclasses choose the play.

    Every round counts alike, as in the theory of regression oracles. `weighted` counts it as Vowpal Wabbit does:
    1/(Kp), right on average even where the regression cannot be, but with more variance; or, where the explorer is
    `indifferent` to p, 1/K, which is a learning rate smaller by √K.
    """

    journals = True
    changes_actions = True
    takes_sparse = True
    n_policies = 1
    together: ClassVar[bool] = False
    """Whether all regressions are asked at once (`every_regression`)."""
    indifferent: ClassVar[bool] = False

    def __init__(
        self,
        n_actions: int | None,
        *,
        learning_rate: float,
        weighted: bool,
        features: Given,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.learning_rate = learning_rate
        self.weighted = weighted

    def _importance(self, n_actions: int, probability: float) -> float:
        if not self.weighted:
            return 1.0
        return 1.0 / (n_actions * (1.0 if self.indifferent else probability))

    def _models(self) -> int:
        """Regressions to keep."""
        return self.n_policies

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        blocks = 1 if shape.shared else self.n_actions
        given = self._models(), blocks, n_features, self.learning_rate
        self._oracle = OnlineRegression(*given, sparse=shape.sparse, together=self.together)
        self._rounds = np.zeros(1)
        return {"oracle": self._oracle, "rounds": Field(self._rounds, 0.0, COUNT)}

    def _arrays(self) -> tuple[Any, ...]:
        o = self._oracle
        return o.state, o.totals, o.span, self._rounds, self.learning_rate, o.work, self.weighted

    def _predicted(self, batch: Batch) -> Array:
        return self._oracle.predict(batch)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._count()
        self._oracle.learn(one, action, loss, self._importance(len(one.mask), probability))

    def _count(self) -> None:
        self._journal.keep(self._rounds)
        self._rounds += 1.0
