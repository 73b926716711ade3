"""Synthetic problems with a known truth: each assumption of the theory as a generator.

    HingeRealizable      some f* in the linear class has <ℓ, ψ(f*)> = K min ℓ: contexts keep a margin from the borders
    Keywords             documents as 0/1 words, separable but for the noise: SynSep, SynNonSep (Banditron)
    LinearRealizable     E ℓ(a) = 1/2 + <θ_a, x>/2: what LinUCB assumes
    LipschitzCube        expected losses are 1-Lipschitz in a p-dimensional cube: what nonparametric methods assume
    MulticlassSeparable  multiclass hinge loss 0, yet the cost-sensitive hinge benchmark grows with T (the paper's
                         appendix on multiclass losses)

>>> env = HingeRealizable(n_actions=3, n_features=4, n_rounds=100, margin=0.05, seed=0)
>>> env.best_scores.sum(1).round(12).any(), bool((env.losses.min(1) == 0).all())
(np.False_, True)
"""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy.linalg import helmert

from marginbandits.arrays import Numbers
from marginbandits.environments.base import Oblivious, flipped, zero_one_losses
from marginbandits.types import Array, Mask
from marginbandits.validation import (
    ActionCount,
    Count,
    Instance,
    Integer,
    OneOf,
    Real,
    Seed,
    fits,
    remembered,
    validated,
)

__all__ = ["HingeRealizable", "Keywords", "LinearRealizable", "LipschitzCube", "MulticlassSeparable"]


class HingeRealizable(Oblivious):
    """The linear scores `best_scores` = W*x, ‖W*‖_F = 1, make the hinge realizable at margin γ; contexts have norm 1.

    The label's score is (K-1)γ or more and every other one -γ or less, so <ℓ, ψ(f*)> = K min ℓ exactly. A context is
    its label's corner of a regular simplex, scaled to carry that margin, plus noise in the remaining directions. No
    arrangement allows more than γ = 1/((K-1)√K), the `widest_margin`; half of it is the default. `noise` flips that
    share of the labels.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        n_features: Count,
        n_rounds: Count,
        *,
        margin: Annotated[float | None, OneOf(Real(above=0), Instance(type(None)))] = None,
        noise: Annotated[float, Real(0, 1)] = 0.0,
        seed: Seed = None,
    ) -> None:
        fits(n_features=n_features, directions=n_features)
        fits(n_actions=n_actions, n_rounds=n_rounds)
        fits(n_rounds=n_rounds, n_features=n_features)
        self.widest_margin = 1.0 / ((n_actions - 1) * math.sqrt(n_actions))
        margin = 0.5 * self.widest_margin if margin is None else margin
        self.n_features, self.margin, self.noise, self.seed = n_features, margin, noise, remembered(seed)
        if n_features < n_actions - 1:
            raise ValueError(f"n_features must be at least n_actions - 1 = {n_actions - 1}, got {n_features}")
        if margin > self.widest_margin:
            raise ValueError(f"margin must be at most 1/((K-1)√K) = {self.widest_margin:.4g}, got {margin}")
        rng = np.random.default_rng(self.seed)
        basis, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        corner = _unit(helmert(n_actions).T) @ basis[:, : n_actions - 1].T
        self.weights: Array = corner / math.sqrt(n_actions)
        label = rng.integers(n_actions, size=n_rounds)
        reach = rng.uniform(margin / self.widest_margin, 1.0, n_rounds)
        rest = rng.standard_normal((n_rounds, n_features - n_actions + 1))
        rest *= np.sqrt(1.0 - reach**2)[:, None] / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-300)
        contexts = reach[:, None] * corner[label] + rest @ basis[:, n_actions - 1 :].T
        self.best_scores: Array = contexts @ self.weights.T
        self._settle(contexts, zero_one_losses(flipped(label, n_actions, noise, rng), n_actions))


class Keywords(Oblivious):
    """Documents as 0/1 vectors of 400 words: 9 topics with 20 to 40 of 120 keywords each, and 280 words of any topic.

    A document has all but 5 of its topic's keywords and 20 of the other words. The linear scores of `weights`, one for
    each keyword and -40 for each foreign one, are then largest for its topic, unless all its words are keywords of
    another topic too, which 15 or more of them never are in practice. `noise` is the share of labels replaced by
    another one. This rebuilds SynSep (noise 0) and SynNonSep (noise 0.05) of Kakade, Shalev-Shwartz & Tewari (2008)
    from descriptions of them; theirs have 10^6 documents.
    """

    @validated
    def __init__(
        self,
        n_rounds: Count,
        *,
        noise: Annotated[float, Real(0, 1)] = 0.0,
        seed: Seed = None,
    ) -> None:
        fits(n_rounds=n_rounds, words=400)
        self.noise, self.seed = noise, remembered(seed)
        rng = np.random.default_rng(self.seed)
        topics = _some(np.ones((9, 120), bool), rng.integers(20, 41, 9), rng)
        self.weights: Array = np.hstack([np.where(topics, 1.0, -40.0), np.zeros((9, 280))])
        self.topics = rng.integers(9, size=n_rounds)
        keywords = _some(topics[self.topics], topics.sum(1)[self.topics] - 5, rng)
        others = _some(np.ones((n_rounds, 280), bool), np.full(n_rounds, 20), rng)
        self._settle(np.hstack([keywords, others]), zero_one_losses(flipped(self.topics, 9, noise, rng), 9))


class LinearRealizable(Oblivious):
    """Bernoulli losses whose means are linear in unit contexts: E ℓ(a) = 1/2 + <θ_a, x>/2 with ‖θ_a‖ = 1."""

    @validated
    def __init__(self, n_actions: ActionCount, n_features: Count, n_rounds: Count, *, seed: Seed = None) -> None:
        fits(n_rounds=n_rounds, n_features=n_features)
        fits(n_rounds=n_rounds, n_actions=n_actions)
        fits(n_actions=n_actions, n_features=n_features)
        self.n_features, self.seed = n_features, remembered(seed)
        rng = np.random.default_rng(self.seed)
        self.weights = _unit(rng.standard_normal((n_actions, n_features)))
        contexts = _unit(rng.standard_normal((n_rounds, n_features)))
        self.means: Array = 0.5 + 0.5 * contexts @ self.weights.T
        self._settle(contexts, (rng.random(self.means.shape) < self.means).astype(float))


class LipschitzCube(Oblivious):
    """Contexts uniform in [0, 1]^p; Bernoulli losses whose means are 1-Lipschitz in the largest-coordinate metric.

    Each action's mean is the distance to the nearest of its own random centres, of which there are `n_centres`.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        dimension: Count,
        n_rounds: Count,
        *,
        n_centres: Count = 4,
        seed: Seed = None,
    ) -> None:
        fits(n_actions=n_actions, n_centres=n_centres, dimension=dimension)
        fits(n_rounds=n_rounds, n_centres=n_centres, dimension=dimension)
        fits(n_rounds=n_rounds, n_actions=n_actions)
        self.dimension, self.n_centres, self.seed = dimension, n_centres, remembered(seed)
        rng = np.random.default_rng(self.seed)
        self.centres: Array = rng.random((n_actions, n_centres, dimension))
        contexts = rng.random((n_rounds, dimension))
        self.means = self.mean_losses(contexts)
        self._settle(contexts, (rng.random(self.means.shape) < self.means).astype(float))

    @validated
    def mean_losses(self, contexts: Annotated[npt.ArrayLike, Numbers(2, low=0, high=1)]) -> Array:
        """Expected loss of every action at any points of the cube."""
        points = np.asarray(contexts)
        if points.shape[1] != self.dimension:
            raise ValueError(f"contexts must have {self.dimension} coordinates, got shape {points.shape}")
        out = np.empty((len(points), len(self.centres)))
        for a, centres in enumerate(self.centres):
            distance = np.abs(points[:, None] - centres[None]).max(-1)
            out[:, a] = distance.min(1)
        return out


class MulticlassSeparable(Oblivious):
    """Separable with multiclass margin, yet no linear class has a cost-sensitive hinge benchmark below cT, c > 0.

    Labels lie in order along a line: the context is (1, z) with z near the label's centre c_y. The scores
    c_y z - c_y²/2 of `weights` give every label the multiclass `margin`. But a middle label's contexts are mixtures of
    its neighbours', so whatever linear score is low on both neighbours is low on it too, and one of the three must pay.
    """

    @validated
    def __init__(self, n_actions: Annotated[int, Integer(3, 10**7)], n_rounds: Count, *, seed: Seed = None) -> None:
        fits(n_rounds=n_rounds, n_actions=n_actions)
        self.seed = remembered(seed)
        rng = np.random.default_rng(self.seed)
        centre = np.linspace(-1.0, 1.0, n_actions)
        spacing = centre[1] - centre[0]
        self.labels = rng.integers(n_actions, size=n_rounds)
        z = centre[self.labels] + spacing * rng.uniform(-0.25, 0.25, n_rounds)
        self.weights: Array = np.stack([-0.5 * centre**2, centre], 1)
        self.margin = float(spacing**2 / 4.0)
        self._settle(np.stack([np.ones(n_rounds), z], 1), zero_one_losses(self.labels, n_actions))


def _some(of: Mask, count: npt.NDArray[np.int64], rng: np.random.Generator) -> Mask:
    """In each row, `count` of the true entries, drawn without replacement."""
    order = np.where(of, rng.random(of.shape), 2.0)
    last = np.take_along_axis(np.sort(order, 1), count[:, None] - 1, 1)
    return np.asarray(order <= last)


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))
