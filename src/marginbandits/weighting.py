"""From one observed loss to a non-negative estimate of all of them.

The learner saw ℓ(a) of the action a it played with probability P(a). With r = 1 - ℓ:

    loss side     ℓ̂(b) = ℓ(a) 1{b = a}/P(a)                           mean ℓ
    reward side   ℓ̂(b) = r(a) 1{b ≠ a}/P(a)                           mean ℓ + c,  c = Σ_a r(a) - 1
    mixed         share · loss side + (1 - share) · reward side        mean ℓ + (1 - share) c
    thresholded   loss side where P(a) <= 1/2, reward side elsewhere   mean ℓ + Σ_a r(a) 1{P(a) > 1/2}

A constant added to all losses changes no comparison between distributions. Bandit multiclass has c = 0. All four stay
non-negative, which the second-order bound of exponential weights needs. P must be the marginal probability of the
played action: weighting by one sampled parameter's own propensity is unbiased too, and ruins the variance.

Where P is known (mixture play), the weight is 1/P. Where it can only be sampled, it is the number of fresh draws until
the action comes up again, capped at M (`geometric_weight`), or the same with each draw replaced by its expectation
(`rao_blackwell_weight`): equal mean, less variance. Both have mean (1 - (1 - P)^M)/P: never an over-estimate.

>>> loss_side(4, action=1, loss=0.5, probability=0.25)
array([0., 2., 0., 0.])
>>> reward_side(4, action=1, loss=0.5, probability=0.25)
array([2., 0., 2., 2.])
>>> thresholded([0.75, 0.25], action=0, loss=0.25)
array([1., 1.])
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers, Probabilities
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Integer, Real, quoted, validated

__all__ = [
    "geometric_moments",
    "geometric_weight",
    "loss_side",
    "mixed",
    "rao_blackwell_weight",
    "reward_side",
    "thresholded",
]

Action = Annotated[int, Integer(0, 10**7)]
Loss = Annotated[float, Real(0, 1)]
Probability = Annotated[float, Real(1e-300, 1)]
Cap = Annotated[int, Integer(1, 10**7)]


@validated
def loss_side(n_actions: ActionCount, action: Action, loss: Loss, probability: Probability) -> Array:
    """Inverse-propensity estimate: all weight on the played action."""
    return mixed(n_actions, action, loss, probability, share=1.0)


@validated
def reward_side(n_actions: ActionCount, action: Action, loss: Loss, probability: Probability) -> Array:
    """The reward of the played action, charged to every other one: a success says something about all."""
    return mixed(n_actions, action, loss, probability, share=0.0)


@validated
def mixed(
    n_actions: ActionCount,
    action: Action,
    loss: Loss,
    probability: Probability,
    *,
    share: Annotated[float, Real(0, 1)],
) -> Array:
    """`share` of the loss side and the rest of the reward side; share may depend on the past, not on the action."""
    if action >= n_actions:
        raise ValueError(f"action must be below n_actions={n_actions}, got {action}")
    estimate = np.full(n_actions, (1.0 - share) * (1.0 - loss) / probability)
    estimate[action] = share * loss / probability
    return estimate


@validated
def thresholded(distribution: Annotated[npt.ArrayLike, Numbers(1, low=0, high=1)], action: Action, loss: Loss) -> Array:
    """Loss side for rare actions, reward side for likely ones: both sides' variance stays bounded without a floor."""
    p = np.asarray(distribution, float)
    if not abs(p.sum() - 1.0) < 1e-6:
        raise ValueError(f"distribution must sum to 1, got {quoted(distribution)}")
    if not (action < len(p) and p[action] > 0.0):
        raise ValueError(f"action must be one of positive probability, got {action} and {quoted(distribution)}")
    likely = p > 0.5
    share = 0.0 if likely[action] else 1.0
    return mixed(len(p), action, loss, float(p[action]), share=share) + likely


@validated
def geometric_weight(draw: Callable[[], int], action: Action, cap: Cap) -> int:
    """Number of calls of `draw` until it returns `action`, at most `cap`: an estimate of 1/P(action).

    The draws must be independent of each other and of what led to `action`.
    """
    return next((k for k in range(1, cap) if draw() == action), cap)


@validated
def rao_blackwell_weight(probabilities: Annotated[npt.ArrayLike, Numbers(*range(1, 9), low=0, high=1)]) -> Array:
    """Σ_k Π_{j<k} (1 - p_j), k = 1…M, for the action's probability p_j under each of M independent parameters.

    The expectation of `geometric_weight` (cap M) given those parameters; the last one never matters.

    >>> rao_blackwell_weight([0.5, 0.5, 0.5])
    np.float64(1.75)
    """
    p = np.asarray(probabilities, float)
    return np.asarray(1.0 + np.cumprod(1.0 - p[..., :-1], -1).sum(-1))[()]


@validated
def geometric_moments(probability: Probabilities, cap: Cap) -> tuple[Array, Array]:
    """Mean and second moment of min(Geometric(q), M).

    Mean (1 - r^M)/q and second moment [1 + r - (2M + 1) r^M + (2M - 1) r^{M+1}]/q², with r = 1 - q; at most 2/q².
    Computed as Σ_k P(m >= k) and Σ_k (2k - 1) P(m >= k), which lose no digits where q is small.

    >>> geometric_moments(0.5, 2)
    (np.float64(1.5), np.float64(2.5))
    """
    q = np.asarray(probability, float)
    if q.size * cap > 10**8:
        raise ValueError(f"cap must be at most {10**8 // q.size} for {q.size} probabilities, got {cap}")
    k = np.arange(cap)
    survives = (1.0 - q[..., None]) ** k
    return np.asarray(survives.sum(-1))[()], np.asarray(((2 * k + 1) * survives).sum(-1))[()]
