"""The features a learner can be given by name.

"raw"       standardise online, append a bias
"fourier"   the raw features and random Fourier features of them, side by side; of sparse rows the raw ones alone
"""

from typing import Annotated, TypeAlias

from marginbandits.features.maps import FeatureMap
from marginbandits.features.scaling import Standardise
from marginbandits.features.table import Table
from marginbandits.features.usual import Usual
from marginbandits.validation import Choice, Instance, OneOf

__all__ = ["Features", "Given", "Maps", "MaybeFeatures", "feature_map"]

Given: TypeAlias = str | FeatureMap | Table
_NAMES = Choice("raw", "fourier")
Features = Annotated[Given, OneOf(_NAMES, Instance(FeatureMap, Table))]
MaybeFeatures = Annotated[Given | None, OneOf(_NAMES, Instance(FeatureMap, Table, type(None)))]
"""None leaves the choice to the learner."""
Maps = Annotated[str | FeatureMap, OneOf(_NAMES, Instance(FeatureMap))]
"""Of what has columns already."""


def feature_map(features: Given, *, sparse: bool = False) -> FeatureMap:
    """The recipe a name stands for; a recipe stands for itself, and a table for that of the features after it."""
    if isinstance(features, Table):
        features = features.features
    if isinstance(features, FeatureMap):
        return features
    if features == "raw" or (features == "fourier" and sparse):
        return Standardise()
    if features == "fourier":
        return Usual()
    raise ValueError(f"features must be 'raw', 'fourier' or a FeatureMap, got {features!r}")
