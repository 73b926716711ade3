"""Linear sum-to-zero score classes in the centred parameterisation, with exact constants.

Vector contexts (`Linear`): W = QV with Q a K x (K-1) orthonormal basis of the vectors that sum to zero and ‖V‖_F <= R.
Then f(x)_a = <q_a, Vx>, the K scores sum to zero whatever V is, and no direction of the parameter is wasted:

    dimension (K-1)d      L = √(1 - 1/K)      B = R √(1 - 1/K)

Action features (`SharedLinear`): row x_a per action, one weight vector w, f(x)_a = <w, x_a - mean_b x_b>:

    dimension d           L = 2(1 - 1/K)      B = 2R(1 - 1/K)

L and B are for contexts (rows) of norm at most 1, and are attained. Parameters are flat vectors, so samplers and
oracles need not know which class they work on; any leading axes are particles. SciPy sparse contexts are welcome.

>>> import numpy as np
>>> scores = Linear(n_actions=3, n_features=2, radius=2.0)
>>> parameters = scores.project(np.full(scores.dimension, 5.0))
>>> values = scores.values(parameters, np.array([0.6, 0.8]))
>>> bool(abs(values.sum()) < 1e-12), bool(abs(values).max() <= scores.bound)
(True, True)
"""

import math
from typing import Annotated, Any

import numpy as np
import scipy.linalg
import scipy.sparse

from marginbandits.arrays import Numbers
from marginbandits.parametrised import Parametrised
from marginbandits.projections import ball
from marginbandits.sound import sound
from marginbandits.types import Array
from marginbandits.validation import (
    ActionCount,
    Count,
    Instance,
    Integer,
    OneOf,
    Positive,
    fits,
    validated,
)

__all__ = ["Linear", "SharedLinear"]

Contexts = Annotated[
    Any, OneOf(Instance(scipy.sparse.sparray, scipy.sparse.spmatrix), Numbers(1, 2, 3, low=-1e100, high=1e100))
]
"""An array, or a SciPy sparse one of one or two dimensions."""
Action = Annotated[int, Integer(0, 10**7)]
Parameters = Annotated[Array, Numbers(*range(1, 9), low=-1e100, high=1e100)]


class _Ball(Parametrised):
    """Θ is the Euclidean ball of radius R: projection is rescaling."""

    radius: float

    n_actions: int

    @validated
    def project(self, parameters: Parameters) -> Array:
        """The nearest point of the ball, for each vector along the last axis."""
        return ball(parameters, self.radius)

    def _refuse_action(self, action: int) -> None:
        if action >= self.n_actions:
            raise ValueError(f"action must be below n_actions={self.n_actions}, got {action}")


class Linear(_Ball):
    """f(x) = QVx for contexts x of d features; parameters are V, row by row."""

    @validated
    def __init__(self, n_actions: ActionCount, n_features: Count, radius: Positive = 1.0) -> None:
        fits(n_actions=n_actions, directions=n_actions)
        self.n_actions = n_actions
        self.n_features = n_features
        self.radius = radius
        self.basis: Array = np.ascontiguousarray(scipy.linalg.helmert(n_actions).T)

    @property
    def dimension(self) -> int:
        """(K-1)d."""
        return (self.n_actions - 1) * self.n_features

    @property
    def lipschitz(self) -> float:
        """L = √(1 - 1/K), the length of each q_a."""
        return math.sqrt(1.0 - 1.0 / self.n_actions)

    @property
    def bound(self) -> float:
        """B = RL."""
        return self.radius * self.lipschitz

    @validated
    def weights(self, parameters: Parameters) -> Array:
        """W = QV, one row per action."""
        _refuse_width(parameters, self.dimension)
        shaped = parameters.reshape(*parameters.shape[:-1], self.n_actions - 1, self.n_features)
        return np.asarray(self.basis @ shaped)

    @validated
    def parameters_of(self, weights: Annotated[Array, Numbers(*range(2, 9), low=-1e100, high=1e100)]) -> Array:
        """V = QᵀW of the nearest weights whose rows sum to zero: the inverse of `weights` on those."""
        if weights.shape[-2:] != (self.n_actions, self.n_features):
            raise ValueError(f"weights must be {self.n_actions} x {self.n_features}, got shape {weights.shape}")
        return np.asarray((self.basis.T @ weights).reshape(*weights.shape[:-2], self.dimension))

    @validated
    def values(self, parameters: Parameters, context: Contexts) -> Array:
        """Scores of one context (d) or of many (n x d, dense or sparse): particles, then rows, then actions."""
        weights = self.weights(parameters)
        if context.ndim > 2 or context.shape[-1] != self.n_features:
            raise ValueError(f"context must have {self.n_features} features, got shape {context.shape}")
        if scipy.sparse.issparse(context) and context.ndim == 2:
            flat = weights.reshape(-1, self.n_features)
            product = np.asarray(scipy.sparse.csr_array(sound(context)) @ flat.T)
            shaped = product.reshape(-1, *weights.shape[:-1])
            return np.moveaxis(shaped, 0, -2)
        dense = sound(context).toarray() if scipy.sparse.issparse(context) else context
        if dense.ndim == 1:
            return np.asarray(weights @ dense)
        return np.asarray(dense @ np.swapaxes(weights, -1, -2))

    @validated
    def gradient(self, context: Contexts, action: Action) -> Array:
        """q_a ⊗ x: the derivative of the action's score in the parameters."""
        self._refuse_action(action)
        if context.shape not in ((self.n_features,), (1, self.n_features)):
            raise ValueError(f"context must be one row of {self.n_features} features, got shape {context.shape}")
        row = sound(context).toarray() if scipy.sparse.issparse(context) else context
        return np.outer(self.basis[action], row.ravel()).ravel()


class SharedLinear(_Ball):
    """f(x)_a = <w, x_a - x̄> for contexts of K rows of features; parameters are w."""

    @validated
    def __init__(self, n_actions: ActionCount, n_features: Count, radius: Positive = 1.0) -> None:
        self.n_actions = n_actions
        self.n_features = n_features
        self.radius = radius

    @property
    def dimension(self) -> int:
        """The width d."""
        return self.n_features

    @property
    def lipschitz(self) -> float:
        """L = 2(1 - 1/K): one row opposite to all others is that far from the mean."""
        return 2.0 * (1.0 - 1.0 / self.n_actions)

    @property
    def bound(self) -> float:
        """B = RL."""
        return self.radius * self.lipschitz

    @validated
    def values(self, parameters: Parameters, context: Contexts) -> Array:
        """Scores of one context (K x d, dense or sparse) or of many (n x K x d): particles, rows, actions."""
        _refuse_width(parameters, self.n_features)
        if context.shape[-2:] != (self.n_actions, self.n_features):
            raise ValueError(f"context must be {self.n_actions} x {self.n_features}, got shape {context.shape}")
        if scipy.sparse.issparse(context):
            product = np.asarray(scipy.sparse.csr_array(sound(context)) @ parameters.reshape(-1, self.n_features).T)
            raw = product.T.reshape(*parameters.shape[:-1], self.n_actions)
        elif np.ndim(context) == 2:
            raw = parameters @ context.T
        else:
            raw = np.einsum("nad,...d->...na", context, parameters)
        return np.asarray(raw - raw.mean(-1, keepdims=True))

    @validated
    def gradient(self, context: Contexts, action: Action) -> Array:
        """x_a - x̄."""
        self._refuse_action(action)
        if context.shape != (self.n_actions, self.n_features):
            raise ValueError(f"context must be {self.n_actions} x {self.n_features}, got shape {context.shape}")
        rows = sound(context).toarray() if scipy.sparse.issparse(context) else context
        return np.asarray(rows[action] - rows.mean(0))


def _refuse_width(parameters: Array, width: int) -> None:
    if parameters.shape[-1] != width:
        raise ValueError(f"parameters must be vectors of {width} numbers, got shape {parameters.shape}")
