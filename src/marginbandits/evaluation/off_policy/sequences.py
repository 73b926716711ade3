"""Confidence sequences: an interval after every round, all of which hold at once, however long one looks.

For terms X >= 0 of mean m in [0, 1], and any guess X̂ in [0, 1] made before the round, for every 0 <= λ < 1

    exp(λ Σ(X_i - m) - (-log(1 - λ) - λ) Σ(X_i - X̂_i)²)

is a supermartingale that starts at 1: it exceeds 1/δ at any time with probability at most δ. Mixed over λ by a gamma
law it depends on S = Σ(X_i - m) and V = Σ(X_i - X̂_i)² alone, so that m is doubted as soon as S > u(V). The bound of m
from below needs no bound of X from above, hence of no weight; and bounding the value from above is bounding another
from below:

    X = wℓ            mean v           Y = w(1 - ℓ)          mean 1 - v, since Ew = 1
    X = (w - u)ℓ + (w - u)₋ + 1 - τ    mean 1 + v - v'       for two policies; Y the same with u - w; both halved

τ is the distance of the two policies in that round: where they agree both terms are 1, and say nothing. It holds for
logs written by a policy that learns, too: what is needed is Ew = 1 in each round, given all before. Means may differ
from round to round, as they do where a policy learns or the world changes: then m is the mean of those so far, and the
interval after n rounds is for that mean. So intervals are not intersected with those before: they were for others.

Howard, Ramdas, McAuliffe & Sekhon (2021); Karampatziakis, Mineiro & Ramdas (2021), "Off-policy confidence sequences";
Waudby-Smith, Wu, Ramdas, Karampatziakis & Mineiro (2022), "Anytime-valid off-policy inference for contextual bandits".

>>> steady = sequence(Evidence(np.ones(400), np.tile([0.0, 1.0], 200)), 0.95)
>>> int(steady.times[-1]), round(float(steady.low[-1]), 3), round(float(steady.high[-1]), 3)
(400, 0.405, 0.595)
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from marginbandits.evaluation.off_policy.evidence import Evidence, Pair
from marginbandits.types import Array

__all__ = ["Sequence", "boundary", "sequence"]

TIMES = 200
"""At how many times the bound is computed; in between the last one holds on."""


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """The interval after each of some numbers of rounds, of the mean over these."""

    times: npt.NDArray[np.int64]
    low: Array
    high: Array


def sequence(evidence: Evidence | Pair, level: float) -> Sequence:
    """Intervals for the value of a policy, or for the difference of two, that hold at all times together."""
    if isinstance(evidence, Pair):
        gap, y = evidence.first.w - evidence.second.w, evidence.first.y
        rest = 1.0 - evidence.distance
        up, down = gap * y + np.maximum(-gap, 0.0) + rest, -gap * y + np.maximum(gap, 0.0) + rest
        scale = 2.0
    else:
        up, down = evidence.w * evidence.y, evidence.w * (1.0 - evidence.y)
        scale = 1.0
    times = np.unique(np.geomspace(1, len(up), TIMES).round().astype(np.int64))
    doubt = (1.0 - level) / 2.0
    low = scale * _from_below(up / scale, times, doubt) + 1.0 - scale
    high = 1.0 - scale * _from_below(down / scale, times, doubt)
    return Sequence(times, np.clip(low, 1.0 - scale, 1.0), np.clip(high, 1.0 - scale, 1.0))


def boundary(variance: Array, doubt: float, rho: float = 1.0) -> Array:
    """u(V): where the mixture over λ first exceeds 1/doubt, by bisection."""
    low, high = np.zeros_like(variance), np.sqrt(variance + 1.0) + 1.0
    target = -math.log(doubt)
    while (short := _wealth(high, variance, rho) < target).any():
        high = np.where(short, 2.0 * high, high)
    for _ in range(50):
        middle = (low + high) / 2.0
        short = _wealth(middle, variance, rho) < target
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def _from_below(x: Array, times: npt.NDArray[np.int64], doubt: float) -> Array:
    before = np.concatenate([[0.0], np.cumsum(x)[:-1]])
    guess = np.minimum((before + 0.5) / np.arange(1, len(x) + 1), 1.0)
    spread = np.cumsum((x - guess) ** 2)[times - 1]
    return np.asarray((np.cumsum(x)[times - 1] - boundary(spread, doubt)) / times)


def _wealth(s: Array, v: Array, rho: float) -> Array:
    """The logarithm of the mixture, for s >= 0."""
    a, x = v + rho, s + v + rho
    return np.asarray(
        s + v + rho * math.log(rho) - a * np.log(x) + _log_gamma(a, x) - _log_gamma(np.array(rho), np.array(rho))
    )


def _log_gamma(a: Array, x: Array) -> Array:
    """Logarithm of the lower incomplete gamma function, not regularised."""
    return np.asarray(np.log(special.gammainc(a, x)) + special.gammaln(a))
