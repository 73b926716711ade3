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

__all__ = [
    "Bias",
    "Chain",
    "Concatenate",
    "FeatureMap",
    "Finite",
    "Fourier",
    "Identity",
    "Linear",
    "SharedLinear",
    "Standardise",
]
