"""Surrogate losses of a score vector: hinge, ramp, relative margin, and the Gaussian-smoothed hinge.

With scores s that sum to zero and a margin γ > 0 (Foster & Krishnamurthy 2018, section 1.1 and footnote):

    ramp       φ(s)_a = min(max(1 + s_a/γ, 0), 1)
    hinge      ψ(s)_a = max(1 + s_a/γ, 0)
    relative   θ(s)_a = max(1 + (s_a - max_b s_b)/γ, 0)

Coordinatewise θ <= φ <= ψ, and each bounds the loss of the best-scored action: ℓ(argmax s) <= <ℓ, θ(s)>.

One convention holds at every kink, for scalars and arrays alike: **the slope is that of the flat side**, so it is 1/γ
strictly between the kinks and 0 elsewhere. NaN scores give NaN values: nothing is hidden here, learners refuse them.

>>> Hinge(margin=0.5)([1.0, -0.25, -0.75])
array([3. , 0.5, 0. ])
>>> Ramp(margin=0.5)([1.0, -0.25, -0.75])
array([1. , 0.5, 0. ])
>>> RelativeMargin(margin=0.5)([1.0, 0.75, -1.75])
array([1. , 0.5, 0. ])
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from marginbandits.arrays import Integers, Numbers, Scores
from marginbandits.parametrised import Parametrised
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Real, quoted, validated

__all__ = [
    "Hinge",
    "Ramp",
    "RelativeMargin",
    "SmoothedHinge",
    "centred",
    "cost_sensitive_hinge",
    "margin_loss",
    "multiclass_hinge",
    "multiclass_margin",
    "realizable_scores",
]

Margin = Annotated[float, Real(above=0)]
Vectors = Annotated[npt.ArrayLike, Numbers(*range(1, 9), low=-1e300, high=1e300)]
"""A number for each action, along the last axis."""
Losses = Annotated[npt.ArrayLike, Numbers(*range(1, 9), low=0, high=1)]
Labels = Annotated[npt.ArrayLike, Integers(low=0)]


class _WithMargin(Parametrised):
    @validated
    def __init__(self, margin: Margin) -> None:
        self.margin = margin


class Hinge(_WithMargin):
    """ψ(s) = max(1 + s/γ, 0): convex, so its minimisers can be found and its posteriors sampled."""

    @validated
    def __call__(self, scores: Scores) -> Array:
        """Values ψ(s), elementwise."""
        return np.maximum(1.0 + np.asarray(scores, float) / self.margin, 0.0)

    @validated
    def slope(self, scores: Scores) -> Array:
        """1/γ where s > -γ, else 0."""
        s = np.asarray(scores, float)
        return _slope(s, s > -self.margin, self.margin)


class Ramp(_WithMargin):
    """φ(s) = min(ψ(s), 1): bounded, so one bad action costs at most its loss; not convex."""

    @validated
    def __call__(self, scores: Scores) -> Array:
        """Values φ(s), elementwise."""
        return np.clip(1.0 + np.asarray(scores, float) / self.margin, 0.0, 1.0)

    @validated
    def slope(self, scores: Scores) -> Array:
        """1/γ where -γ < s < 0, else 0."""
        s = np.asarray(scores, float)
        return _slope(s, (s > -self.margin) & (s < 0.0), self.margin)


class RelativeMargin(_WithMargin):
    """θ(s)_a = max(1 + (s_a - max s)/γ, 0): the usual multiclass margin; needs no sum-to-zero scores.

    It is 2/γ-Lipschitz in the largest coordinate change (ramp and hinge: 1/γ), and not convex.
    """

    @validated
    def __call__(self, scores: Scores) -> Array:
        """Values θ(s) over the last axis."""
        return np.maximum(1.0 + _gap(scores) / self.margin, 0.0)

    @validated
    def slope(self, scores: Scores) -> Array:
        """Derivative in the action's own score, the largest score held fixed: 1/γ where -γ < s_a - max s < 0."""
        gap = _gap(scores)
        return _slope(gap, (gap > -self.margin) & (gap < 0.0), self.margin)


class SmoothedHinge(Parametrised):
    """E ψ(s + Z) for Z ~ N(0, width²), in closed form, with v = 1 + s/γ and σ = width/γ.

        value  v N(v/σ) + σ n(v/σ)      slope  N(v/σ)/γ      curvature  n(v/σ)/(σ γ²)

    It exceeds the hinge by at most width/(γ√(2π)) and its curvature is at most 1/(width γ √(2π)). For a score linear
    in θ, <φ_a, θ>, smoothing θ by N(0, u² I) is smoothing the score with width u‖φ_a‖: this replaces the Monte-Carlo
    average over z in the paper's Algorithm 2.

    >>> SmoothedHinge(margin=1.0, width=0.1)(-1.0).round(4)
    np.float64(0.0399)
    """

    @validated
    def __init__(self, margin: Margin, width: Annotated[float, Real(above=0)]) -> None:
        self.margin = margin
        self.width = width

    @validated
    def __call__(self, scores: Scores) -> Array:
        """Values, elementwise."""
        _, ratio, sigma = self._standardised(scores)
        ratio = np.maximum(ratio, -50.0)  # 0 to double precision, and defined at -inf
        return np.asarray(sigma * (ratio * ndtr(ratio) + _normal_density(ratio)))[()]

    @validated
    def slope(self, scores: Scores) -> Array:
        """First derivative, elementwise."""
        return np.asarray(ndtr(self._standardised(scores)[1]) / self.margin)[()]

    @validated
    def curvature(self, scores: Scores) -> Array:
        """Second derivative, elementwise."""
        _, ratio, sigma = self._standardised(scores)
        return np.asarray(_normal_density(ratio) / (sigma * self.margin**2))[()]

    def _standardised(self, scores: npt.ArrayLike) -> tuple[Array, Array, float]:
        v = 1.0 + np.asarray(scores, float) / self.margin
        sigma = self.width / self.margin
        return v, v / sigma, sigma


TWO_SIDED = "squared_hinge", "hinge", "squared_error"
"""What a round may cost whose action was played, by that action's score alone (`two_sided_slope`)."""


def two_sided_slope(kind: str, scores: Any, losses: Any, margin: float, xp: Any = np) -> Any:
    """Slope in the score s of what a round costs: on both sides of the margin, the loss pulling down, the reward up.

        squared_hinge   ℓ (γ + s)_+²/2 + (1 - ℓ)(γ - s)_+²/2
        hinge           ℓ (γ + s)_+ + (1 - ℓ)(γ - s)_+ + s²/2
        squared_error   (s - γ(1 - 2ℓ))²/2

    Arrays may be of any library `xp` that follows the array API.

    >>> two_sided_slope("squared_hinge", np.array([0.5, 3.0, 3.0]), np.array([0.0, 0.0, 1.0]), margin=1.0)
    array([-0.5,  0. ,  4. ])
    """
    if kind == "squared_error":
        return scores - margin * (1.0 - 2.0 * losses)
    lost, earned, none = losses + 0.0 * scores, 1.0 - losses - 0.0 * scores, 0.0 * scores
    if kind == "squared_hinge":
        lost, earned = lost * (scores + margin), earned * (margin - scores)
    slope = xp.where(scores > -margin, lost, none) - xp.where(scores < margin, earned, none)
    return slope + scores if kind == "hinge" else slope


@validated
def centred(scores: Vectors) -> Array:
    """Raw scores minus their mean over actions: the sum-to-zero representative the surrogates need."""
    s = np.asarray(scores, float)
    return np.asarray(s - s.mean(-1, keepdims=True))


@validated
def cost_sensitive_hinge(scores: Vectors, label: Labels, margin: Margin) -> Array:
    """CC-hinge Σ_{y ≠ label} ψ(f_y) of the centred scores: <ℓ, ψ> for the 0/1 loss of multiclass prediction."""
    s = centred(scores)
    values = Hinge(margin)(s)
    own = np.take_along_axis(values, _index(label, s), -1)[..., 0]
    return np.asarray(values.sum(-1) - own)[()]


@validated
def multiclass_hinge(scores: Vectors, label: Labels, margin: Margin) -> Array:
    """MC-hinge max(1 - (s_label - max_{y ≠ label} s_y)/γ, 0): the multiclass SVM's loss; raw scores allowed.

    CC^γ = 0 implies MC^{Kγ} = 0 (`multiclass_margin`). Not conversely for K >= 3: the scores (c, 0, -c) have MC^c = 0
    and CC >= 1 at every margin. For K = 2 the two agree: CC^γ = MC^{2γ}.
    """
    s = np.array(scores, float)
    index = _index(label, s)
    own = np.take_along_axis(s, index, -1)[..., 0]
    np.put_along_axis(s, index, -np.inf, -1)
    return Hinge(margin)(s.max(-1) - own)


@validated
def multiclass_margin(n_actions: ActionCount, margin: Margin) -> float:
    """Kγ: the multiclass margin that zero cost-sensitive hinge loss at margin γ implies."""
    return n_actions * margin


@validated
def margin_loss(scores: Vectors, losses: Losses, margin: Margin) -> Array:
    """Σ_a ℓ(a) 1{s_a >= -γ}: the benchmark of the paper's margin bounds."""
    s, paid = np.asarray(scores, float), np.asarray(losses, float)
    if paid.shape[-1] != s.shape[-1] or (paid.ndim > 1 < s.ndim and paid.shape != s.shape):
        raise ValueError(f"losses must go with scores of shape {s.shape}, got shape {paid.shape}")
    return np.asarray((paid * (s >= -margin)).sum(-1))[()]


@validated
def realizable_scores(losses: Losses, margin: Margin) -> Array:
    """Scores under which hinge play is optimal: Kγ/n - γ on the n actions of least loss, -γ elsewhere.

    Then <ℓ, ψ(s)> = K min ℓ. Ties share the mass, which keeps the sum at zero; |s| reaches (K - 1)γ at most.

    >>> realizable_scores([0.2, 0.9, 0.2, 0.5], margin=1.0)
    array([ 1., -1.,  1., -1.])
    """
    losses = np.asarray(losses, float)
    best = losses == losses.min(-1, keepdims=True)
    return np.asarray(margin * (best * (losses.shape[-1] / best.sum(-1, keepdims=True)) - 1.0))


def _index(label: npt.ArrayLike, scores: Array) -> npt.NDArray[np.int64]:
    index = np.asarray(label)
    if index.shape != scores.shape[:-1] or (index >= scores.shape[-1]).any():
        rule = f"whole numbers from 0 to {scores.shape[-1] - 1}, one for each of the rows of scores"
        raise ValueError(f"label must be {rule}, got {quoted(label)}")
    return index[..., None]


def _gap(scores: npt.ArrayLike) -> Array:
    s = np.asarray(scores, float)
    if not s.ndim or not s.shape[-1]:
        raise ValueError(f"scores must have one for each action, got {quoted(scores)}")
    return np.asarray(s - s.max(-1, keepdims=True))


def _slope(scores: Array, rising: npt.NDArray[np.bool_], margin: float) -> Array:
    return np.asarray(np.where(np.isnan(scores), np.nan, rising / margin))[()]


def _normal_density(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi))
