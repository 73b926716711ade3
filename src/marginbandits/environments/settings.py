"""Settings that ask for something: a margin, doubt of far labels, patience, or scaling.

    SeparableMisspecified  a margin separates perfectly, and regression of the reward is wrong for ever
    FarWrongLabels         most labels far from the border are wrong, and the best linear rule does not believe them
    RareRewards            a few rewards in a hundred rounds, logistic in linear scores
    LinearLabels           the best of K noisy linear scores, from columns that are normal, have heavy tails, or grow
                           while the labels stay what they are

The first two have K x d contexts: action 0 is described by (z, 1), action 1 by -(z, 1), and z takes three values.

>>> env = SeparableMisspecified(n_rounds=4, seed=0)
>>> env.contexts.shape, bool((env.losses[:, 0] == (env.z < 0)).all())
((4, 2, 2), True)
"""

from typing import Annotated, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from marginbandits.environments.base import Oblivious, zero_one_losses
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Count, Instance, OneOf, Real, Seed, fits, remembered, validated

__all__ = ["FarWrongLabels", "LinearLabels", "RareRewards", "SeparableMisspecified"]

_PLACES = np.array([-0.2, 0.2, 1.0])


class _TwoSides(Oblivious):
    """z is drawn from three places; action 0 is right where it is positive, but for labels that are turned."""

    shares: ClassVar[tuple[float, float, float]]
    turned: ClassVar[float]

    @validated
    def __init__(self, n_rounds: Count, *, seed: Seed = None) -> None:
        fits(n_rounds=n_rounds, numbers=4)
        self.seed = remembered(seed)
        rng = np.random.default_rng(self.seed)
        self.z: Array = _PLACES[rng.choice(3, n_rounds, p=self.shares)]
        turned = (self.z == _PLACES[-1]) & (rng.random(n_rounds) < self.turned)
        row = np.stack([self.z, np.ones(n_rounds)], 1)
        self._settle(np.stack([row, -row], 1), zero_one_losses(((self.z < 0) ^ turned).astype(np.int64), 2))


class SeparableMisspecified(_TwoSides):
    """z is -0.2, 0.2 or 1 with probability 0.1, 0.3 and 0.6, and no label is wrong: θ = (1, 0) separates with a margin.

    The reward is not linear in the rows. Its least squares pay for the many z = 1 that are too right, and put z = -0.2
    on the wrong side of the border, whatever the number of rounds: a tenth of them is lost.
    """

    shares = (0.1, 0.3, 0.6)
    turned = 0.0


class FarWrongLabels(_TwoSides):
    """z is -0.2, 0.2 or 1 with probability 0.35, 0.35 and 0.3; of the labels at z = 1, four in five are wrong.

    The best linear rule is still the sign of z, and loses 0.24. A convex loss charges it for how far beyond the border
    those labels lie, and prefers a rule that loses 0.41.
    """

    shares = (0.35, 0.35, 0.3)
    turned = 0.8


class RareRewards(Oblivious):
    """Rewards are 1 with probability 1/(1 + exp(-(b + <w_a, x>))), ‖w_a‖ = `spread`, for normal contexts x.

    b is such that uniform play earns `rate` a round; `weights` are w, and `means` the expected losses.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        n_features: Count,
        n_rounds: Count,
        *,
        rate: Annotated[float, Real(1e-6, 0.5)] = 0.03,
        spread: Annotated[float, Real(0, 10)] = 1.0,
        seed: Seed = None,
    ) -> None:
        self.n_features, self.rate, self.spread, self.seed = n_features, rate, spread, remembered(seed)
        rng = np.random.default_rng(self.seed)
        contexts, self.weights = _linear(n_actions, n_features, n_rounds, rng)
        self.weights *= spread
        scores = contexts @ self.weights.T
        most = float(np.abs(scores).max()) + 100.0
        offset = float(brentq(lambda b: expit(b + scores).mean() - rate, -most, most))
        self.means: Array = 1.0 - expit(offset + scores)
        self._settle(contexts, (rng.random(scores.shape) < self.means).astype(float))


class LinearLabels(Oblivious):
    """The label is the largest of K linear scores plus `noise` times Gumbel noise; `weights` have a row of norm 1 each.

    Columns are normal, or, with `degrees` of freedom, Student's t: with 2 or fewer none has a variance. Contexts are
    shown in a unit that shrinks steadily, so that the last is `growth` times as long, while labels stay what they are.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        n_features: Count,
        n_rounds: Count,
        *,
        degrees: Annotated[float | None, OneOf(Real(0.5, 1e6), Instance(type(None)))] = None,
        growth: Annotated[float, Real(1e-6, 1e6)] = 1.0,
        noise: Annotated[float, Real(0, 1e6)] = 0.5,
        seed: Seed = None,
    ) -> None:
        self.n_features, self.degrees, self.growth, self.noise = n_features, degrees, growth, noise
        self.seed = remembered(seed)
        rng = np.random.default_rng(self.seed)
        contexts, self.weights = _linear(n_actions, n_features, n_rounds, rng, degrees)
        scores = contexts @ self.weights.T
        labels = (scores + noise * rng.gumbel(size=scores.shape)).argmax(1)
        scale = np.geomspace(1.0, growth, n_rounds)
        self._settle(contexts * scale[:, None], zero_one_losses(labels, n_actions))


def _linear(
    n_actions: int, n_features: int, n_rounds: int, rng: np.random.Generator, degrees: float | None = None
) -> tuple[Array, Array]:
    """Contexts, normal or of Student's t, and K random weights of norm 1."""
    fits(n_rounds=n_rounds, n_features=n_features)
    fits(n_rounds=n_rounds, n_actions=n_actions)
    fits(n_actions=n_actions, n_features=n_features)
    size = (n_rounds, n_features)
    contexts = rng.standard_normal(size) if degrees is None else rng.standard_t(degrees, size)
    weights = rng.standard_normal((n_actions, n_features))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    return contexts, np.asarray(weights)
