"""What a context becomes: scaling, random Fourier features, chains of maps."""

from marginbandits.features.fourier import Fourier
from marginbandits.features.maps import Bias, Chain, Concatenate, FeatureMap, Identity
from marginbandits.features.names import Features, Given, Maps, MaybeFeatures, feature_map
from marginbandits.features.scaling import Standardise
from marginbandits.features.table import Table

__all__ = [
    "Bias",
    "Chain",
    "Concatenate",
    "FeatureMap",
    "Features",
    "Fourier",
    "Given",
    "Identity",
    "Maps",
    "MaybeFeatures",
    "Standardise",
    "Table",
    "feature_map",
]
