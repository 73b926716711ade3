"""Intervals for the mean of terms: what each assumes, and when it holds.

    normal      t ± z s/√n                                                     n large, terms hardly skewed
    hall        the t statistic freed of its skewness (Hall 1992)              n large: the default
    bootstrap   the t statistic's own distribution, resampled (Efron 1979)     n large; costs many resamples
    bernstein   t ± √(2 s² ln(4/δ)/n) + 7 R ln(4/δ)/(3(n - 1))                 any n; R the range of the terms
    (likelihood and sequence have modules of their own)

Weights are skewed: a few rounds count a lot, and a log that happens to have none of them looks both too good and too
sure. The normal interval then misses on one side. Hall's transformation removes the skewness g of the t statistic,

    T + g T²/(3√n) + g² T³/(27n) + g/(6√n)  ~  normal,

which is a cubic that can be inverted, so the interval has a closed form and no resampling. Empirical Bernstein (Maurer
& Pontil 2009) holds at any n, and covers more than it says by construction.

Where all terms are equal the first three have nothing to go by, and give the widest interval there is.

>>> [round(end, 3) for end in hall(np.repeat([0.0, 1.0], [90, 10]), 0.95)]
[0.05, 0.176]
"""

import math

import numpy as np
from scipy import special

from marginbandits.types import Array

__all__ = ["bernstein", "bootstrap", "hall", "normal"]

Ends = tuple[float, float]

RESAMPLES = 999
"""How many the bootstrap draws: its ends are then good to about a tenth of a standard error."""


def normal(values: Array, level: float) -> Ends:
    """Mean ± z s/√n."""
    error = _error(values)
    if error == 0.0:
        return -math.inf, math.inf
    reach, mean = float(special.ndtri(0.5 + level / 2.0)) * error, float(values.mean())
    return mean - reach, mean + reach


def hall(values: Array, level: float) -> Ends:
    """The t statistic freed of its skewness; see the module."""
    error = _error(values)
    if error == 0.0:
        return -math.inf, math.inf
    mean, z, root = float(values.mean()), float(special.ndtri(0.5 + level / 2.0)), math.sqrt(len(values))
    skew = float(((values - mean) ** 3).mean()) / float(values.var()) ** 1.5
    return mean - _inverted(z, skew, root) * error, mean - _inverted(-z, skew, root) * error


def bootstrap(values: Array, level: float, rng: np.random.Generator) -> Ends:
    """Quantiles of the t statistics of resamples, turned around the mean; RESAMPLES·n draws."""
    error, n, mean = _error(values), len(values), float(values.mean())
    if error == 0.0:
        return -math.inf, math.inf
    centred, at_once = values - mean, max(1, 2**18 // n)
    found = []
    for begin in range(0, RESAMPLES, at_once):
        again = centred[rng.integers(n, size=(min(at_once, RESAMPLES - begin), n), dtype=np.int32)]
        t, squares = again.sum(1), np.einsum("ij,ij->i", again, again)
        spread = np.sqrt(np.maximum(squares - t**2 / n, 0.0) * n / (n - 1))
        # A resample of equal terms has no t statistic; it says that any value may be.
        found.append(np.where(spread > 0.0, t / np.where(spread > 0.0, spread, 1.0), np.copysign(np.inf, t)))
    low, high = np.quantile(np.concatenate(found), [0.5 - level / 2.0, 0.5 + level / 2.0], method="nearest")
    return mean - float(high) * error, mean - float(low) * error


def bernstein(values: Array, level: float, width: float) -> Ends:
    """Empirical Bernstein for independent terms that lie in a range of this width."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return -math.inf, math.inf
    doubt = math.log(4.0 / (1.0 - level))
    reach = math.sqrt(2.0 * float(values.var(ddof=1)) * doubt / n) + 7.0 * width * doubt / (3.0 * (n - 1))
    return mean - reach, mean + reach


def _error(values: Array) -> float:
    if len(values) < 2 or float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return 0.0
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def _inverted(z: float, skew: float, root: float) -> float:
    """The T at which Hall's cubic is z."""
    a = skew / (3.0 * root)
    if abs(a) < 1e-8:
        return z
    return (math.cbrt(1.0 + 3.0 * a * (z - skew / (6.0 * root))) - 1.0) / a
