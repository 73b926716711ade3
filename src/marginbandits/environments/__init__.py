"""Environments: sequences of rounds that know all losses and reveal one."""

from marginbandits.environments.adversarial import AdaptiveAdversary, Drifting, Switching
from marginbandits.environments.base import Oblivious
from marginbandits.environments.classification import Classification
from marginbandits.environments.logged import Logged
from marginbandits.environments.settings import (
    FarWrongLabels,
    LinearLabels,
    RareRewards,
    SeparableMisspecified,
)
from marginbandits.environments.synthetic import (
    HingeRealizable,
    Keywords,
    LinearRealizable,
    LipschitzCube,
    MulticlassSeparable,
)

__all__ = [
    "AdaptiveAdversary",
    "Classification",
    "Drifting",
    "FarWrongLabels",
    "HingeRealizable",
    "Keywords",
    "LinearLabels",
    "LinearRealizable",
    "LipschitzCube",
    "Logged",
    "MulticlassSeparable",
    "Oblivious",
    "RareRewards",
    "SeparableMisspecified",
    "Switching",
]
