"""Score classes F and the features they score."""

from marginbandits.scores.features import (
    Bias,
    Chain,
    Concatenate,
    FeatureMap,
    Fourier,
    Identity,
    Standardise,
)
from marginbandits.scores.finite import Finite
from marginbandits.scores.linear import Linear, SharedLinear
from marginbandits.scores.lipschitz import Cube, MetricSpace, covering_dimension

__all__ = [
    "Bias",
    "Chain",
    "Concatenate",
    "Cube",
    "FeatureMap",
    "Finite",
    "Fourier",
    "Identity",
    "Linear",
    "MetricSpace",
    "SharedLinear",
    "Standardise",
    "covering_dimension",
]
