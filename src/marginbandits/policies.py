"""Scores to distributions: how a score vector is played.

    proportional   π = v/Σv        with v = ψ(s) or φ(s): the paper's π_hinge and π_ramp
    sharpened      π ∝ v^q         q = 1 is proportional play, q → ∞ the arg max
    greedy         π uniform on the arg max (ties share)
    explore        p^μ = (1 - nμ) p + μ, on the n available actions
    largest_of_normals   π(a) = P(s_a is largest), s independent normals: Thompson sampling

All but the last work over the last axis of any array. All take `available`, a mask of the actions that may be played:
the others get probability exactly 0. `sample` turns a distribution and one uniform draw into an action; it never
returns an action of probability 0.

>>> from marginbandits.surrogates import Hinge
>>> p = proportional(Hinge(margin=1.0)([0.5, 0.5, -1.0]))
>>> p
array([0.5, 0.5, 0. ])
>>> explore(p, mu=0.1)
array([0.45, 0.45, 0.1 ])
>>> sample(p, 0.7)
1
"""

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Booleans, Numbers
from marginbandits.compiled import kernel
from marginbandits.laws import drawn, greedy_each
from marginbandits.types import Array, Mask
from marginbandits.validation import Constraint, Instance, Integer, OneOf, Real, quoted

__all__ = ["explore", "greedy", "largest_of_normals", "proportional", "sample", "sharpened", "uniform"]


_ARRAY, _FLOAT, _BOOL = np.ndarray, np.dtype(np.float64), np.dtype(np.bool_)
_MOST = 10**7
_COUNT, _DRAW, _POWER, _SHARE = Integer(1, _MOST), Real(0, below=1), Real(above=0), Real(0, 1)
_ANY, _LAWS, _LAW = Numbers(*range(1, 9), finite=False), Numbers(*range(1, 9), low=0), Numbers(1, low=0)
_MEAN, _DEVIATION = Numbers(1, low=-1e150, high=1e150), Numbers(1, low=0, high=1e150)  # weights times contexts
_MASK = Booleans(*range(1, 9))

Values = Annotated[npt.ArrayLike, _LAWS]
Available = Annotated[npt.ArrayLike | None, OneOf(_MASK, Instance(type(None)))]


def proportional(values: Values, available: Available = None) -> Array:
    """Play each available action in proportion to its non-negative value; uniformly where all are 0."""
    return sharpened(values, 1.0, available)


def sharpened(values: Values, q: Annotated[float, _POWER], available: Available = None) -> Array:
    """π ∝ v^q over the available actions, computed relative to the largest value so that no q overflows."""
    v, mask, out, answer = _by_rows("values", values, available)
    if not _sharpened(v, _checked("q", q, _POWER), mask, out):
        raise ValueError(f"values must be finite and not negative, got {quoted(values)}")
    return answer


def greedy(scores: Annotated[npt.ArrayLike, _ANY], available: Available = None) -> Array:
    """Uniform over the available actions of largest score."""
    s, mask, out, answer = _by_rows("scores", scores, available)
    starts = np.arange(0, s.size + 1, s.shape[1])
    if not greedy_each(s.ravel(), starts, np.broadcast_to(mask, s.shape).ravel(), out.ravel()):
        raise ValueError(f"scores must not be NaN, got {quoted(scores)}")
    return answer


def uniform(n_actions: Annotated[int, _COUNT], available: Available = None) -> Array:
    """Every available action alike."""
    if type(n_actions) is not int or not 0 < n_actions <= _MOST:
        n_actions = _checked("n_actions", n_actions, _COUNT)
    return greedy(np.zeros(n_actions), available)


def explore(
    distribution: Annotated[npt.ArrayLike, _LAWS], mu: Annotated[float, _SHARE], available: Available = None
) -> Array:
    """p^μ = (1 - nμ) p + μ on the n available actions: each of them has probability at least μ <= 1/n."""
    p, mask, out, answer = _by_rows("distribution", distribution, available)
    if not _is_law(p, mask):
        raise ValueError(f"distribution must be one over the available actions, got {quoted(distribution)}")
    share = mu if type(mu) is float else _checked("mu", mu, _SHARE)
    if not _explore(p, share, mask, out):
        raise ValueError(f"mu must lie between 0 and 1/{mask.sum(1).max()}, got {mu}")
    return answer


def sample(distribution: Annotated[npt.ArrayLike, _LAW], draw: Annotated[float, _DRAW]) -> int:
    """The action at which the cumulative distribution first exceeds `draw`, a number in [0, 1)."""
    if not (type(distribution) is _ARRAY and distribution.dtype is _FLOAT and distribution.ndim == 1):
        distribution = _checked("distribution", distribution, _LAW)
    if type(draw) is not float:
        draw = _checked("draw", draw, _DRAW)
    action: int = _sample(distribution, draw)  # type: ignore[arg-type]  # an array, by the lines above
    if action < 0:
        _checked("draw", draw, _DRAW)
        positive = "finite and not negative, with a positive entry"
        raise ValueError(f"distribution must be {positive}, got {quoted(distribution)}")
    return action


def largest_of_normals(
    mean: Annotated[npt.ArrayLike, _MEAN],
    deviation: Annotated[npt.ArrayLike, _DEVIATION],
    available: Annotated[npt.ArrayLike, _MASK],
) -> Array:
    """Probability that each of several independent normals is the largest among those available.

    >>> largest_of_normals(np.zeros(4), np.ones(4), np.array([True, True, True, False])).round(12)
    array([0.33333333, 0.33333333, 0.33333333, 0.        ])
    """
    m, d = _checked("mean", mean, _MEAN), _checked("deviation", deviation, _DEVIATION)
    if d.shape != m.shape:
        raise ValueError(f"deviation must be {len(m)} numbers, one for each mean, got {quoted(deviation)}")
    mask = _mask(available, len(m), len(m))[0]
    law = np.empty(len(m))
    race_of_normals(m, d.copy(), mask, np.empty(len(m)), law)
    return law


def _checked(name: str, value: object, rule: Constraint) -> Any:
    """By hand rather than by `validated`, because learners come here in every round."""
    try:
        return rule.clean(value)
    except ValueError:
        raise ValueError(f"{name} must be {rule}, got {quoted(value)}") from None


_REACH, _PANEL = 8.0, 4.0
"""In deviations: how far a score can be from its mean, and how wide panels are there."""
_NODES, _SHARES = 0.5 * (1.0 + np.array(np.polynomial.legendre.leggauss(16))) - np.array([[0.0], [0.5]])


def _by_rows(name: str, values: npt.ArrayLike, available: npt.ArrayLike | None) -> tuple[Array, Mask, Array, Array]:
    """Values as rows, a mask of one row or as many, and room for the answer: as rows, and in the values' shape."""
    if type(values) is _ARRAY and values.dtype is _FLOAT and values.flags.c_contiguous:
        v = values
    else:
        v = _checked(name, values, _ANY)
    if not (v.size and 0 < v.ndim < 9):
        raise ValueError(f"{name} must have a number for each action, got {quoted(values)}")
    n = v.shape[-1]
    answer = np.empty(v.shape)
    mask = np.ones((1, n), bool) if available is None else _mask(available, n, v.size)
    return v.reshape(-1, n), mask, answer.reshape(-1, n), answer


def _mask(available: npt.ArrayLike, n: int, size: int) -> Mask:
    if type(available) is _ARRAY and available.dtype is _BOOL and available.flags.c_contiguous:
        mask = available
    else:
        mask = _checked("available", available, _MASK)
    if mask.ndim < 1 or mask.shape[-1] != n or mask.size not in (n, size):
        raise ValueError(f"available must be booleans, one mask of {n} or one for each row, got {quoted(available)}")
    mask = mask.reshape(-1, n)
    if not _leaves_some(mask):
        raise ValueError(f"available must leave at least one action, got {quoted(available)}")
    return mask


@kernel
def _leaves_some(mask: Mask) -> bool:
    for i in range(mask.shape[0]):
        some = False
        for a in range(mask.shape[1]):
            some |= mask[i, a]
        if not some:
            return False
    return True


@kernel
def _is_law(distribution: Array, mask: Mask) -> bool:
    for i in range(distribution.shape[0]):
        allowed = mask[i] if mask.shape[0] > 1 else mask[0]
        total = 0.0
        for a in range(distribution.shape[1]):
            if not distribution[i, a] >= 0.0 or (distribution[i, a] > 0.0 and not allowed[a]):
                return False
            total += distribution[i, a]
        if not abs(total - 1.0) < 1e-6:
            return False
    return True


@kernel
def _sharpened(values: Array, q: float, mask: Mask, out: Array) -> bool:
    n, k = values.shape
    for i in range(n):
        allowed = mask[i] if mask.shape[0] > 1 else mask[0]
        largest = 0.0
        for a in range(k):
            if not 0.0 <= values[i, a] < np.inf:
                return False
            if allowed[a]:
                largest = max(largest, values[i, a])
        total = 0.0
        for a in range(k):
            relative = values[i, a] / largest if largest > 0.0 else 1.0
            out[i, a] = relative**q if allowed[a] else 0.0
        for a in range(k):
            total += out[i, a]
        for a in range(k):
            out[i, a] /= total
    return True


@kernel
def _explore(distribution: Array, mu: float, mask: Mask, out: Array) -> bool:
    n, k = distribution.shape
    for i in range(n):
        allowed = mask[i] if mask.shape[0] > 1 else mask[0]
        count = 0
        for a in range(k):
            count += allowed[a]
        # The slack admits mu = 1/count computed elsewhere with other rounding.
        if not 0.0 <= mu * count <= 1.0 + 1e-12:
            return False
        keep = max(1.0 - count * mu, 0.0)
        for a in range(k):
            out[i, a] = keep * distribution[i, a] + (mu if allowed[a] else 0.0)
    return True


@kernel
def _sample(distribution: Array, draw: float) -> int:
    total = 0.0
    least = 0.0
    for a in range(distribution.shape[0]):
        total += distribution[a]
        least = min(least, distribution[a])
    if not (total < np.inf and least == 0.0 and 0.0 <= draw < 1.0):  # NaN is not below inf
        return -1
    return drawn(distribution, draw)


@kernel
def race_of_normals(mean: Array, deviation: Array, available: Mask, work: Array, law: Array) -> bool:
    """`largest_of_normals` for other kernels; `work` is for as many numbers.

    Deviations become, where they are less, 1e-12 of the widest: one that is certain is all but certain.

    With F_b the distribution of score b and G = Π F_b, P(a) = ∫ G f_a/F_a, so the same scores serve all actions: those
    that the largest can have, in panels no wider than what changes there asks for, by Gauss's rule in each. False where
    there are no numbers.
    """
    k, widest, best = mean.shape[0], 0.0, -1
    for a in range(k):
        if np.isnan(mean[a]) or np.isnan(deviation[a]):
            return False
        widest = max(widest, deviation[a]) if available[a] else widest
    for a in range(k):
        law[a], deviation[a] = 0.0, max(deviation[a], 1e-12 * widest, 1e-150)
        if available[a] and (best < 0 or mean[a] - _REACH * deviation[a] > mean[best] - _REACH * deviation[best]):
            best = a
    # Scores are counted from the mean of what has the highest low end: they keep their digits there.
    origin, score, top = mean[best], -_REACH * deviation[best], -np.inf
    for a in range(k):
        if available[a]:
            top = max(top, mean[a] - origin + _REACH * deviation[a])
    while score < top:
        end = top
        for b in range(k):
            if available[b]:
                begins = mean[b] - origin - _REACH * deviation[b]
                if score < begins:
                    end = min(end, begins)
                elif score < mean[b] - origin + _REACH * deviation[b]:
                    end = min(end, score + _PANEL * deviation[b])
        for i in range(_NODES.shape[0]):
            at, product = score + _NODES[i] * (end - score), 1.0
            for b in range(k):
                work[b] = 1.0
                if available[b] and product > 1e-18:
                    work[b] = below(at, mean[b] - origin, deviation[b])
                    product *= work[b]
            if product > 1e-18:
                product *= _SHARES[i] * (end - score)
                for a in range(k):
                    u = (at - (mean[a] - origin)) / deviation[a]
                    if available[a] and abs(u) <= _REACH:
                        law[a] += product * math.exp(-0.5 * u * u) / (work[a] * deviation[a])
        score = end
    total = 0.0
    for a in range(k):
        total += law[a]
    for a in range(k):
        law[a] /= total
    return True


@kernel
def below(score: float, mean: float, deviation: float) -> float:
    """The probability that a normal is below a score; where that is 1 but for rounding, it is 1."""
    u = (score - mean) / deviation
    return 1.0 if u >= 8.5 else 0.5 * math.erfc(-u * math.sqrt(0.5))
