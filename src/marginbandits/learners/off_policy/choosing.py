"""How much to regularise, and whether to personalise at all: by the log itself, in doubt for the best constant.

Every candidate λ learns on all folds but one and is asked for an action in each round of that one. There the doubly
robust ĉ, whose q was fitted on the other folds too, says what the action costs, and what the best constant costs: the
mean of the differences is the candidate's *lead*, with a standard error.

    constant      unless the largest lead exceeds `caution` of its standard errors
    otherwise     the λ of the largest lead

Where no candidate is better than the constant, one of m exceeds z standard errors with probability m(1 - N(z)) at most,
for long logs: 3% for five and z = 2.5. The constant is the best by the same ĉ, on all rounds: it is favoured, and the
more so the more actions there are. Where rounds do not have all actions, it is the order of the actions by ĉ that is
constant.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginbandits.learners.off_policy import targets
from marginbandits.learners.off_policy.targets import Log, Places
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.oracles.leader import LinearLeader
from marginbandits.oracles.ramp_erm import RampERM
from marginbandits.oracles.squared_hinge_erm import SquaredHingeERM
from marginbandits.types import Array, Mask

__all__ = ["Candidate", "candidates", "chosen", "constant_leader", "constant_scores", "costs", "leader"]

CONSTANT = 10.0
"""The column that stands for an action's own constant: so large that this costs next to no ridge, and large λ leaves
the best constant rather than nothing."""


class Candidate(NamedTuple):
    """One way to play, by cross-validation: its loss, its lead over the best constant, and the error of that."""

    regularisation: float | None
    """None is the best constant itself."""
    loss: float
    lead: float
    error: float


def costs(log: Log, kind: str, folds: Places) -> Array:
    """What the surrogate is weighted by: n x K, not negative."""
    return targets.ips(log) if kind == "ips" else targets.shifted(targets.dr(log, folds), log.mask)


def leader(surrogate: str, rows: Array, paid: Array, regularisation: float, start: Array | None = None) -> LinearLeader:
    """The least Σ c(a)·surrogate(s_a) + λ/2 Σc ‖W‖² at margin 1, of the rows and a constant column."""
    ridge = regularisation * (float(paid.sum()) or 1.0)
    longest = 1.01 * (2.0 / regularisation) ** 0.5  # W = 0 costs Σc: no minimiser is longer
    wide = np.column_stack([rows, np.full(len(rows), CONSTANT)])
    if surrogate == "squared hinge":
        return SquaredHingeERM(1.0, ridge=ridge).minimise(wide, paid, start)
    if surrogate == "hinge":
        return HingeERM(1.0, radius=longest, ridge=ridge, tolerance=1e-3).minimise(wide, paid, start)
    return RampERM(1.0, radius=longest, ridge=ridge, tolerance=1e-2, max_steps=10).minimise(wide, paid)


def constant_scores(paid: Array, mask: Mask) -> Array:
    """The order of the actions by what they cost, each round's costs less their mean over the actions that it had."""
    level = np.where(mask, paid, 0.0).sum(1, keepdims=True) / mask.sum(1, keepdims=True)
    return np.asarray(-np.where(mask, paid - level, 0.0).sum(0) / np.maximum(mask.sum(0), 1))


def candidates(log: Log, surrogate: str, kind: str, grid: npt.ArrayLike, folds: Places) -> list[Candidate]:
    """The best constant, then one for each λ, the largest first."""
    n, path = len(folds), np.sort(np.asarray(grid, float))[::-1]
    truth, played = targets.dr(log, folds), np.empty((n, len(path)), np.int64)
    for fold in range(int(folds.max()) + 1):
        inside, outside = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        taught, asked = log.take(outside), log.take(inside)
        paid = costs(taught, kind, folds[outside] - (folds[outside] > fold))
        weights = None
        for j, regularisation in enumerate(path):
            weights = leader(surrogate, taught.rows, paid, float(regularisation), weights).weights
            scores = asked.rows @ weights[:, :-1].T + CONSTANT * weights[:, -1]
            played[inside, j] = np.where(asked.mask, scores, -np.inf).argmax(1)
    best = np.where(log.mask, constant_scores(truth, log.mask), -np.inf).argmax(1)
    base = truth[np.arange(n), best]
    more = np.take_along_axis(truth, played, 1) - base[:, None]
    errors = more.std(0, ddof=1) / n**0.5
    found = [Candidate(None, float(base.mean()), 0.0, 0.0)]
    for regularisation, own, error in zip(path, more.T, errors, strict=True):
        found.append(Candidate(float(regularisation), float((base + own).mean()), float(-own.mean()), float(error)))
    return found


def chosen(found: list[Candidate], caution: float) -> Candidate:
    """By the rule above."""
    best = max(found[1:], key=lambda one: one.lead)
    return best if best.lead > caution * best.error else found[0]


def constant_leader(log: Log, paid: Array) -> LinearLeader:
    """Scores that the context does not change: by the order of the actions, margin and all (`realizable_scores`)."""
    order = constant_scores(paid, log.mask)
    order -= order.mean()
    scale = 1.0 / max(float(np.abs(order).max()), 1e-300)
    weights = np.zeros((len(order), log.rows.shape[1] + 1))
    weights[:, -1] = order * scale * (len(order) - 1.0) / CONSTANT
    return LinearLeader(weights)
