"""How learners play: laws of a whole batch at once, laid out like its mask (see `contexts`).

The same formulas as `policies`, for contexts that may each have their own number of actions. Laws are made
of these, context by context and in the same order whatever the batch, so that many at once give bit for bit what one
at a time gives.

>>> import numpy as np
>>> from marginbandits.contexts import per_action
>>> batch = per_action(np.zeros((2, 1)), n_actions=3, mask=np.array([True, True, True, True, False, True]))
>>> law = greedy(np.array([0.1, 0.7, 0.7, 0.2, 0.9, 0.1]), batch)
>>> law
array([0. , 0.5, 0.5, 1. , 0. , 0. ])
>>> explored(law, batch, 0.3)
array([0.1 , 0.45, 0.45, 0.85, 0.  , 0.15])
"""

import math

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.types import Array, Mask

__all__ = ["explored", "floored", "greedy", "moved_together", "proportional", "uniform"]

Places = npt.NDArray[np.int64]


def uniform(batch: Batch) -> Array:
    """Every available action alike."""
    return greedy(np.zeros(len(batch.mask)), batch)


def greedy(scores: Array, batch: Batch) -> Array:
    """Uniform over the available actions of largest score."""
    law = np.empty(len(scores))
    if not greedy_each(scores, batch.starts, batch.mask, law):
        raise FloatingPointError("the model's numbers are no longer finite")
    return law


def proportional(values: Array, batch: Batch) -> Array:
    """Each available action in proportion to its non-negative value; uniform where all are 0."""
    law = np.empty(len(values))
    _proportional(values, batch.starts, batch.mask, law)
    return law


def moved_together(means: Array, deviations: Array, batch: Batch) -> Array:
    """P(m_a + uσ_a is the largest) for one standard normal u: what all are equally unsure of moves no choice.

    >>> from marginbandits.contexts import per_action
    >>> alone = per_action(np.zeros((1, 1)), n_actions=3)
    >>> moved_together(np.array([0.5, 0.0, 0.0]), np.array([7.0, 7.0, 7.5]), alone).round(3)
    array([0.841, 0.   , 0.159])
    """
    law = np.empty(len(means))
    if not move_together(means, deviations, batch.starts, batch.mask, law):
        raise FloatingPointError("the model's numbers are no longer finite")
    return law


def explored(law: Array, batch: Batch, share: float) -> Array:
    """(1 - ε) p + ε/n on the n available actions, ε being `share`; in place."""
    explore_each(law, batch.starts, batch.mask, share, -1.0)
    return law


def floored(law: Array, batch: Batch, mu: float) -> Array:
    """(1 - nμ) p + μ on the n available actions, μ at most 1/n; in place."""
    explore_each(law, batch.starts, batch.mask, -1.0, mu)
    return law


@kernel
def greedy_each(scores: Array, starts: Places, mask: Mask, law: Array) -> bool:
    """`greedy` for other kernels; `law` may be `scores` itself. False at a NaN."""
    for i in range(starts.shape[0] - 1):
        largest = -np.inf
        for k in range(starts[i], starts[i + 1]):
            if np.isnan(scores[k]):
                return False
            if mask[k]:
                largest = max(largest, scores[k])
        ties = 0
        for k in range(starts[i], starts[i + 1]):
            best = mask[k] and scores[k] == largest
            law[k] = 1.0 if best else 0.0
            ties += best
        if ties > 1:
            for k in range(starts[i], starts[i + 1]):
                law[k] /= ties
    return True


@kernel
def greedy_over_floor(scores: Array, starts: Places, mask: Mask, mu: float, law: Array) -> bool:
    """`floored` of `greedy`, for other kernels; `law` may be `scores` itself. False at a NaN."""
    if not greedy_each(scores, starts, mask, law):
        return False
    explore_each(law, starts, mask, -1.0, mu)
    return True


@kernel
def move_together(means: Array, deviations: Array, starts: Places, mask: Mask, law: Array) -> bool:
    """`moved_together` for other kernels. False at a NaN.

    Along the upper hull of the lines m + uσ, from the least slope to the largest.
    """
    for i in range(starts.shape[0] - 1):
        now = -1
        for k in range(starts[i], starts[i + 1]):
            law[k] = 0.0
            if np.isnan(means[k]) or np.isnan(deviations[k]):
                return False
            if mask[k] and (
                now < 0
                or deviations[k] < deviations[now]
                or (deviations[k] == deviations[now] and means[k] > means[now])
            ):
                now = k
        below = 0.0  # the probability of all u so far
        while now >= 0:
            following, crossing = -1, math.inf
            for k in range(starts[i], starts[i + 1]):
                if mask[k] and deviations[k] > deviations[now]:
                    u = (means[now] - means[k]) / (deviations[k] - deviations[now])
                    if u < crossing or (following >= 0 and u == crossing and deviations[k] > deviations[following]):
                        following, crossing = k, u
            until = max(0.5 * math.erfc(-crossing / math.sqrt(2.0)), below)  # crossings are rounded
            ties = 0
            for k in range(starts[i], starts[i + 1]):
                ties += mask[k] and deviations[k] == deviations[now] and means[k] == means[now]
            for k in range(starts[i], starts[i + 1]):
                if mask[k] and deviations[k] == deviations[now] and means[k] == means[now]:
                    law[k] = (until - below) / ties
            now, below = following, until
    return True


@kernel
def _proportional(values: Array, starts: Places, mask: Mask, law: Array) -> None:
    for i in range(starts.shape[0] - 1):
        total, n = 0.0, 0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] if mask[k] else 0.0
            n += mask[k]
        for k in range(starts[i], starts[i + 1]):
            share = values[k] / total if total > 0.0 else 1.0 / n
            law[k] = share if mask[k] else 0.0


@kernel
def explore_each(law: Array, starts: Places, mask: Mask, share: float, mu: float) -> None:
    """`explored`, or `floored` where the share is negative, for other kernels."""
    for i in range(starts.shape[0] - 1):
        n = 0
        for k in range(starts[i], starts[i + 1]):
            n += mask[k]
        floor = share / n if share >= 0.0 else min(mu, 1.0 / n)
        keep = max(1.0 - n * floor, 0.0)
        for k in range(starts[i], starts[i + 1]):
            law[k] = keep * law[k] + floor if mask[k] else 0.0


# Draws from laws, for `act`, `act_many` and `policies.sample`.


@kernel
def certain(law: Array) -> int:
    """The action of probability 1, or -1."""
    for a in range(law.shape[0]):
        if law[a] > 0.0:
            return a if law[a] == 1.0 else -1
    return -1


@kernel
def uncertain(laws: Array, starts: Places) -> int:
    """How many laws leave something to chance."""
    n = 0
    for i in range(starts.shape[0] - 1):
        n += certain(laws[starts[i] : starts[i + 1]]) < 0
    return n


@kernel
def drawn(law: Array, draw: float) -> int:
    """The action at which the cumulative law first exceeds `draw`; never one of probability 0."""
    total = 0.0
    for a in range(law.shape[0]):
        total += law[a]
    left, chosen = draw * total, -1
    for a in range(law.shape[0]):
        if law[a] > 0.0:
            chosen = a
            left -= law[a]
            if left < 0.0:
                break
    return chosen


@kernel
def drawn_each(laws: Array, starts: Places, draws: Array, actions: Places) -> None:
    """An action of each law; only laws that leave something to chance use up a draw."""
    used = 0
    for i in range(actions.shape[0]):
        law = laws[starts[i] : starts[i + 1]]
        actions[i] = certain(law)
        if actions[i] < 0:
            actions[i] = drawn(law, draws[used])
            used += 1
