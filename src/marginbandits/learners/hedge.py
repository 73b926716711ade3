"""What exponential weights do in a round, for all regressors at once: average, charge.

    average    P(a) = Σ q s_a/Σ_b s_b             over the available actions, in stretches of 512 regressors
    charge     cost += ℓ̂(a) s_a                   in the same game of available actions

Scores are K x N tables in single precision. A game of available actions counts scores from a level (`_levels`): of the
relative margin and of policies the best available score, of ramp and hinge the mean of those available.

>>> scores = np.array([[0.5, -0.5], [-0.5, 0.5]], np.float32)  # two regressors, each for an action of its own
>>> law, room, all_of_them = np.zeros(2), np.empty((4, 2), np.float32), np.ones(2, bool)
>>> average(scores, np.array([[0.75, 0.25]]), np.array([0.1], np.float32), KINDS["ramp"], all_of_them, room, law)
>>> law
array([0.75, 0.25])
"""

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.types import Array, Mask

__all__ = ["KINDS", "average", "charge"]

Table = npt.NDArray[np.float32]

_RAMP, _HINGE, _RELATIVE, _POLICY, _ADVICE = range(5)
KINDS = {"ramp": _RAMP, "hinge": _HINGE, "relative": _RELATIVE, "policy": _POLICY, "advice": _ADVICE}


@kernel
def _surrogate(scores: Table, a: int, start: int, kind: int, inverse: float, level: Table, out: Table) -> None:
    """Values of one action for a stretch of regressors; scores count from their `level`."""
    K = np.float32(scores.shape[0])
    one, zero, slope = np.float32(1.0), np.float32(0.0), np.float32(inverse)
    for n in range(out.shape[0]):
        s = scores[a, start + n] - level[n]
        if kind == _RAMP:
            out[n] = min(max(one + slope * s, zero), one)
        elif kind in (_HINGE, _RELATIVE):
            out[n] = max(one + slope * s, zero)
        elif kind == _POLICY:
            out[n] = one if s == zero else zero
        else:
            out[n] = max(s + one / K, zero)


@kernel
def _levels(scores: Table, start: int, kind: int, mask: Mask, level: Table) -> None:
    """The largest score of an available action; for ramp and hinge their mean, which is 0 where all are available."""
    available = 0
    for a in range(scores.shape[0]):
        available += mask[a]
    best = kind in (_RELATIVE, _POLICY)
    level[:] = np.float32(-np.inf if best else 0.0)
    if kind == _ADVICE or (not best and available == scores.shape[0]):
        return
    share = np.float32(1.0 / available)
    for a in range(scores.shape[0]):
        if mask[a]:
            for n in range(level.shape[0]):
                s = scores[a, start + n]
                level[n] = max(s, level[n]) if best else level[n] + share * s


@kernel
def _fill(
    scores: Table, start: int, kind: int, inverse: float, mask: Mask, level: Table, room: Table, total: Table
) -> None:
    """Values of the available actions in their rows of `room`, and the sum of these."""
    total[:] = np.float32(0.0)
    for a in range(scores.shape[0]):
        if mask[a]:
            values = room[a, : total.shape[0]]
            _surrogate(scores, a, start, kind, inverse, level, values)
            for n in range(total.shape[0]):
                total[n] += values[n]


@kernel
def average(scores: Table, q: Array, margins: Table, kind: int, mask: Mask, room: Table, law: Array) -> None:
    """law[a] = Σ q s_a/Σ_b s_b over available actions; a regressor that gives them all 0 counts as uniform."""
    K, N = scores.shape
    available = 0
    for a in range(K):
        available += mask[a]
    for start in range(0, N, 512):
        size = min(512, N - start)
        level, total = room[K, :size], room[K + 1, :size]
        _levels(scores, start, kind, mask, level)
        for g in range(margins.shape[0]):
            _fill(scores, start, kind, 1.0 / margins[g], mask, level, room, total)
            idle = 0.0
            for n in range(size):
                idle += q[g, start + n] if total[n] <= 0.0 else 0.0
            for n in range(size):
                total[n] = np.float32(q[g, start + n]) / total[n] if total[n] > 0.0 else np.float32(0.0)
            for a in range(K):
                if mask[a]:
                    values, part = room[a, :size], np.float32(0.0)  # short sums, exact enough for single precision
                    for n in range(size):
                        part += total[n] * values[n]
                    law[a] += np.float64(part) + idle / available


@kernel
def charge(
    scores: Table,
    margins: Table,
    kind: int,
    mask: Mask,
    action: int,
    estimate: float,
    farthest: float,
    room: Table,
    cost: Array,
) -> None:
    """Add ℓ̂(a) s(a) to every pair's cost, then take the smallest off; policies and advice pay by what they play."""
    K, N = scores.shape
    available = 0
    for a in range(K):
        available += mask[a]
    least = np.inf
    for start in range(0, N, 512):
        size = min(512, N - start)
        level, total, values = room[K, :size], room[K + 1, :size], room[action, :size]
        _levels(scores, start, kind, mask, level)
        for g in range(margins.shape[0]):
            if kind in (_POLICY, _ADVICE):
                _fill(scores, start, kind, 1.0 / margins[g], mask, level, room, total)
                for n in range(size):
                    values[n] = values[n] / total[n] if total[n] > 0.0 else np.float32(1.0 / available)
            else:
                _surrogate(scores, action, start, kind, 1.0 / margins[g], level, values)
            for n in range(size):
                cost[g, start + n] = min(cost[g, start + n] + estimate * values[n], farthest)
                least = min(least, cost[g, start + n])
    for g in range(margins.shape[0]):
        for n in range(N):
            cost[g, n] -= least
