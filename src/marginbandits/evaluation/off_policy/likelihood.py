"""Empirical likelihood: which values make what was seen likely, among all distributions on the rounds that were seen.

A distribution gives round i the probability P_i; its likelihood is Π P_i, at most n^-n. The value v is believed as long
as some distribution with Σ P_i t_i = v, and Σ P_i c_i = 0 for what is known to have mean 0, is likely enough:

    -2 log max Π n P_i  <=  quantile of χ² with one degree of freedom,      P_i = 1/(n (1 + α(t_i - v) + β c_i))

beyond what the side condition costs alone. With t = wℓ and c = w - 1 that is the estimator of Karampatziakis, Langford
& Mineiro (2020), "Empirical likelihood for contextual bandits"; its most likely value lies at α = 0. For other terms
there is no side condition (Owen 1988), and the most likely value is their mean. The interval takes its shape from the
data: it is not symmetric where terms are skewed. It never reaches beyond what was seen, so it needs a few of the rare
events.

>>> t = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
>>> [round(end, 3) for end in likely_interval(t, None, 0.95)]
[0.065, 0.719]
"""

import math

import numpy as np
from scipy import optimize, stats

from marginbandits.types import Array

__all__ = ["likely_interval", "most_likely"]


def most_likely(values: Array, weights: Array) -> tuple[float, float]:
    """The most likely mean of `values` given that `weights` have mean 1, and the slope of that correction."""
    c = weights - 1.0
    if not (c.min() < 0.0 < c.max()):  # no distribution on these rounds has mean 1: the nearest thing is the ratio
        return float(values.sum() / weights.sum()), float(values.sum() / weights.sum())
    beta = _tilt(c[:, None], np.zeros(1))
    P = 1.0 / (1.0 + c * beta[0])
    P /= P.sum()
    slope = float(P @ ((values - P @ values) * c) / (P @ c**2))
    return float(P @ values), slope


def likely_interval(values: Array, control: Array | None, level: float) -> tuple[float, float]:
    """The values whose likelihood ratio is within the quantile; `control`, n or n x k, has mean 0."""
    if float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return -math.inf, math.inf  # equal terms: nothing to go by, as for the other intervals
    known = np.empty((len(values), 0)) if control is None else control.reshape(len(values), -1)
    known = known[:, [column.min() < 0.0 < column.max() for column in known.T]]
    scale = float(np.abs(values).max()) or 1.0
    start = np.zeros(known.shape[1])
    if known.shape[1]:
        start = _tilt(known, start)
        free, P = 2.0 * float(np.log1p(known @ start).sum()), 1.0 / (1.0 + known @ start)
        centre = float((P / P.sum()) @ values)
    else:
        free, centre = 0.0, float(values.mean())
    limit = float(stats.chi2.ppf(level, 1)) + free

    moments, last = np.column_stack([values / scale, known]), np.zeros(1 + known.shape[1])

    def excess(v: float) -> float:
        nonlocal last
        moments[:, 0] = (values - v) / scale
        last = _tilt(moments, last)  # from where it was for a value near by
        return 2.0 * float(_log(1.0 + moments @ last, len(values)).sum()) - limit

    ends = []
    for extreme in (float(values.min()), float(values.max())):
        last = np.concatenate([[0.0], start])
        step = extreme - centre
        inside, outside = centre, centre + 1e-3 * step
        while excess(outside) < 0.0 and abs(outside - centre) < abs(step):
            inside, outside = outside, centre + min(2.0 * (outside - centre) / step, 1.0) * step
        crossed = excess(inside) < 0.0 < excess(outside)
        ends.append(float(optimize.brentq(excess, inside, outside, xtol=1e-9 * scale)) if crossed else extreme)
    return min(ends[0], centre), max(ends[1], centre)


@np.errstate(over="ignore", invalid="ignore")  # a step that is too long is taken back
def _tilt(moments: Array, start: Array) -> Array:
    """The multipliers at which Σ log(1 + multipliers·moments) is largest, by Newton's method; concave."""
    n, x = len(moments), start
    best = float(_log(1.0 + moments @ x, n).sum())
    for _ in range(100):
        z = 1.0 + moments @ x
        inside = np.maximum(z, 1.0 / n)
        slope = np.where(z >= 1.0 / n, 1.0 / inside, 2.0 * n - z * n**2)
        bend = np.where(z >= 1.0 / n, 1.0 / inside**2, float(n) ** 2)
        gradient, hessian = moments.T @ slope, (moments * bend[:, None]).T @ moments
        move = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        gain = float(gradient @ move)
        if gain <= 1e-13 * max(n, 1):
            break
        size = 1.0
        while (value := float(_log(1.0 + moments @ (x + size * move), n).sum())) < best + 1e-4 * size * gain:
            size /= 2.0
            if size < 1e-9:
                return x
        x, best = x + size * move, value
    return x


@np.errstate(over="ignore")
def _log(z: Array, n: int) -> Array:
    """The logarithm, continued below 1/n as a parabola (Owen 2001), so that every multiplier has a value."""
    inside = np.maximum(z, 1.0 / n)
    return np.where(z >= 1.0 / n, np.log(inside), -np.log(n) - 1.5 + 2.0 * n * z - 0.5 * (n * z) ** 2)
