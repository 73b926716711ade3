"""How well it went: progressive loss, regret, and intervals over repeated runs.

>>> progressive_loss([1.0, 0.0, 1.0, 0.0])
array([1.        , 0.5       , 0.66666667, 0.5       ])
>>> interval([0.3, 0.4, 0.5])
Interval(mean=0.4, low=0.1516, high=0.6484)
"""

import functools
import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from marginbandits.arrays import Numbers
from marginbandits.types import Array
from marginbandits.validation import Real, quoted, validated

__all__ = ["Interval", "best_action_regret", "interval", "linear_policy_losses", "progressive_loss"]

Losses = Annotated[npt.ArrayLike, Numbers(1, low=-1e100, high=1e100, booleans=True)]
Runs = Annotated[npt.ArrayLike, Numbers(*range(1, 9), low=-1e100, high=1e100, booleans=True, empty=True)]
Table = Annotated[npt.ArrayLike, Numbers(2, low=-1e100, high=1e100, booleans=True)]


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval."""

    mean: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"Interval(mean={self.mean:.4g}, low={self.low:.4g}, high={self.high:.4g})"


@validated
def progressive_loss(losses: Runs) -> Array:
    """Mean loss of the rounds so far, over the last axis: each action was chosen before its loss was known."""
    values = np.asarray(losses, float)
    return np.asarray(values.cumsum(-1) / np.arange(1, values.shape[-1] + 1))


@validated
def best_action_regret(losses: Losses, all_losses: Table) -> Array:
    """Cumulative loss (T) minus that of the single action that was best over all T rounds (T x K)."""
    table = np.asarray(all_losses, float)
    if np.shape(losses) != table.shape[:1]:
        raise ValueError(f"losses must be T numbers and all_losses T x K, got {np.shape(losses)} and {table.shape}")
    best = table.sum(0).argmin()
    return np.asarray((np.asarray(losses, float) - table[:, best]).cumsum())


@validated
def linear_policy_losses(contexts: Table, all_losses: Table) -> Array:
    """Loss in every round of one linear policy fitted to all of them in hindsight: x -> argmin_a <w_a, x> + b_a.

    The benchmark class of linear learners, near its best: which linear policy loses least is a hard question, so this
    is the one whose scores fit the losses by least squares (lightly regularised) on standardised contexts.

    >>> linear_policy_losses([[-2.0], [-1.0], [1.0], [2.0]], [[0, 1], [0, 1], [1, 0], [1, 0]])
    array([0., 0., 0., 0.])
    """
    X, table = np.asarray(contexts, float), np.asarray(all_losses, float)
    if len(X) != len(table):
        raise ValueError(f"contexts must be T x d and all_losses T x K, got shapes {X.shape} and {table.shape}")
    spread = X.std(0)
    Z = (X - X.mean(0)) / np.where(spread > 0, spread, 1.0)
    centred = table - table.mean(0)
    n, d = Z.shape
    if d <= n:
        scores = Z @ np.linalg.solve(Z.T @ Z + np.eye(d), Z.T @ centred)
    else:
        scores = centred - np.linalg.solve(Z @ Z.T + np.eye(n), centred)
    return np.asarray(table[np.arange(n), (scores + table.mean(0)).argmin(1)])


@validated
def interval(
    values: Losses,
    level: Annotated[float, Real(above=0, below=1)] = 0.95,
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Student's t interval for the mean of independent repetitions; unbounded if there is only one.

    Where all values must lie `within` two ends, as losses do in [0, 1], so does their mean: the interval is cut there,
    and covers as often as before.

    >>> interval([0.0, 0.1], within=(0.0, 1.0))
    Interval(mean=0.05, low=0, high=0.6853)
    """
    x = np.asarray(values, float)
    try:
        least, most = (float(end) for end in within)
    except (TypeError, ValueError):
        raise ValueError(f"within must be two numbers, got {quoted(within)}") from None
    if not (least <= x.min() and x.max() <= most):
        raise ValueError(f"values must lie within {within}, got {x.min()} to {x.max()}")
    mean = float(x.mean())
    half = _quantile(level, len(x)) * float(x.std(ddof=1)) / math.sqrt(len(x)) if len(x) > 1 else math.inf
    return Interval(mean, max(mean - half, least), min(mean + half, most))


@functools.cache
def _quantile(level: float, n: int) -> float:
    return float(stats.t.ppf(0.5 + level / 2, n - 1))
