"""Networks of several learners as one stack: in each layer those of the first learner, then of the second, and so on.

>>> two = Perceptrons(n_networks=2, sizes=(1, 2))
>>> stretches(two, 2).tolist()  # weights of either, then biases
[[0, 0, 2], [1, 2, 4], [0, 4, 6], [1, 6, 8]]
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from marginbandits.oracles.ensembles import Ensemble
from marginbandits.scores.networks import Perceptrons
from marginbandits.types import Array

__all__ = ["of_each", "stacked", "stretches"]

Small = npt.NDArray[np.float32]


def stacked(shape: Perceptrons, ensembles: Sequence[Ensemble]) -> Small:
    """The weights that all begin with, as those of one stack of networks."""
    all_of_them = np.zeros(shape.dimension, np.float32)
    E = ensembles[0].recipe.n_networks
    for s, one in enumerate(ensembles):
        for to, layer in zip(shape.layers(all_of_them), one.shape.layers(one.parameters), strict=True):
            to.weights[s * E : (s + 1) * E], to.biases[s * E : (s + 1) * E] = layer.weights, layer.biases
    return all_of_them


def stretches(shape: Perceptrons, n_learners: int) -> npt.NDArray[np.int64]:
    """Of each layer's weights, and biases: whose they are, where these begin in the flat array, and where they end."""
    found, at = [], 0
    for layer in shape.layers(np.zeros(shape.dimension, np.float32)):
        for one in layer:
            n = one.size // n_learners
            found += [(s, at + s * n, at + (s + 1) * n) for s in range(n_learners)]
            at += one.size
    return np.array(found)


def of_each(shape: Perceptrons, n_learners: int, values: Array) -> Small:
    """A number of each learner, at each of its weights."""
    found = np.empty(shape.dimension, np.float32)
    for s, i, j in stretches(shape, n_learners).tolist():
        found[i:j] = values[s]
    return found
