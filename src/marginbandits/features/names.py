"""The features a learner can be given by name.

"raw"       standardise online, append a bias
"fourier"   the raw features and random Fourier features of them, side by side
"""

from typing import Annotated

from marginbandits.features.fourier import Fourier
from marginbandits.features.maps import Bias, Chain, Concatenate, FeatureMap
from marginbandits.features.scaling import Standardise
from marginbandits.validation import Choice, Instance, OneOf

__all__ = ["Features", "MaybeFeatures", "feature_map"]

Features = Annotated[str | FeatureMap, OneOf(Choice("raw", "fourier"), Instance(FeatureMap))]
MaybeFeatures = Annotated[str | FeatureMap | None, OneOf(Choice("raw", "fourier"), Instance(FeatureMap, type(None)))]
"""None leaves the choice to the learner."""


def feature_map(features: str | FeatureMap) -> FeatureMap:
    """The recipe a name stands for; a recipe stands for itself."""
    if isinstance(features, FeatureMap):
        return features
    if features == "raw":
        return Standardise()
    if features == "fourier":
        return Chain([Standardise(bias=False), Concatenate([Bias(), Fourier()])])
    raise ValueError(f"features must be 'raw', 'fourier' or a FeatureMap, got {features!r}")
