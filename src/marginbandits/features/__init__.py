"""What a context becomes: scaling, random Fourier features, chains of maps."""

from marginbandits.features.fourier import Fourier
from marginbandits.features.maps import Bias, Chain, Concatenate, FeatureMap, Identity
from marginbandits.features.names import Features, MaybeFeatures, feature_map
from marginbandits.features.scaling import Standardise

__all__ = [
    "Bias",
    "Chain",
    "Concatenate",
    "FeatureMap",
    "Features",
    "Fourier",
    "Identity",
    "MaybeFeatures",
    "Standardise",
    "feature_map",
]
