"""What every action of a logged round would have cost: estimates that are right on the mean, whatever the model.

Round i took action a_i with probability p_i and lost ℓ_i. Of the loss of every action a,

    ips   ĉ_i(a) = 1{a = a_i} ℓ_i/p_i
    dr    ĉ_i(a) = q(x_i, a) + 1{a = a_i} (ℓ_i - q(x_i, a_i))/p_i

have the mean ℓ_i(a). q is ridge regression of the losses of each action, drawn towards one of all (`ridge_sums`), and
*cross-fitted*: no round's own loss, nor that of any round of its fold, is in its q, but for the choice of how far it is
drawn. The better q, the less ĉ varies; that it is right on the mean needs the probabilities alone.

The second may lie outside [0, 1], and a surrogate of a negative cost is no surrogate: it would reward a large score
without end. So rounds are shifted, each by the least of its own costs (`shifted`):

    c_i(a) = ĉ_i(a) - min_b ĉ_i(b) >= 0

A shift of all costs of a round by one number changes no difference between policies in that round, hence no policy's
rank; what it changes is the surrogate of them, Σ_a c(a)ψ(s_a), by a multiple of Σ_a ψ(s_a), and so the scores that
minimise it within a class that does not hold the best policy.

Dudík, Langford & Li (2011), "Doubly robust policy evaluation and learning"; Chernozhukov et al. (2018),
"Double/debiased machine learning".

>>> import numpy as np
>>> log = Log(np.ones((2, 1)), np.array([0, 1]), np.array([0.5, 1.0]), np.array([0.5, 0.25]), np.ones((2, 2), bool))
>>> ips(log)
array([[1., 0.],
       [0., 4.]])
>>> shifted(np.array([[0.5, -1.5]]), np.ones((1, 2), bool))
array([[2., 0.]])
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginbandits.oracles.ridge_sums import RidgeSums
from marginbandits.types import Array, Mask

__all__ = ["Log", "dr", "ips", "losses_by_ridge", "shifted"]

Places = npt.NDArray[np.int64]


class Log(NamedTuple):
    """Logged rounds: features (n x d), action, loss and probability of each, and which actions it had (n x K)."""

    rows: Array
    actions: Places
    losses: Array
    probabilities: Array
    mask: Mask

    def take(self, rounds: npt.NDArray[np.int64]) -> "Log":
        """Some of them."""
        rows, actions, losses, probabilities, mask = self
        return Log(rows[rounds], actions[rounds], losses[rounds], probabilities[rounds], mask[rounds])


def ips(log: Log) -> Array:
    """Inverse propensities: n x K, not negative, 0 but for what was played."""
    costs = np.zeros(log.mask.shape)
    costs[np.arange(len(costs)), log.actions] = log.losses / log.probabilities
    return costs


def dr(log: Log, folds: Places) -> Array:
    """Doubly robust, q cross-fitted by these folds (from 0, each of them there): n x K, of any sign."""
    rows, weights = with_one(log.rows), losses_by_ridge(log, folds)
    costs = np.empty(log.mask.shape)
    for fold, own in enumerate(weights):
        inside = np.flatnonzero(folds == fold)
        costs[inside] = corrected(rows[inside] @ own.T, log.take(inside))
    return costs


def corrected(costs: Array, log: Log) -> Array:
    """What a q of other rounds predicts, corrected where it was played."""
    played = np.arange(len(costs)), log.actions
    costs[played] += (log.losses - costs[played]) / log.probabilities
    return costs


def losses_by_ridge(log: Log, folds: Places) -> Array:
    """Of each fold and action the weights (a constant, then d) by which the other folds predict its loss."""
    rows = with_one(log.rows)
    sums = RidgeSums(int(folds.max()) + 1, log.mask.shape[1], rows.shape[1])
    sums.add(rows, log.losses, folds, log.actions)
    return sums.weights()


def shifted(costs: Array, mask: Mask) -> Array:
    """Each round's costs less the least among the actions it had; of the others 0."""
    least = np.where(mask, costs, np.inf).min(1, keepdims=True)
    return np.where(mask, costs - least, 0.0)


def with_one(rows: Array) -> Array:
    """Rows with a column of ones before the others."""
    return np.column_stack([np.ones(len(rows)), rows])
