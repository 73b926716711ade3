"""Learners: act on a context, learn from one loss."""

from typing import TYPE_CHECKING

from marginbandits.exports import on_demand

if TYPE_CHECKING:
    from marginbandits.learners.base import Learner
    from marginbandits.learners.baselines import (
        SOBA,
        Bag,
        Banditron,
        Binning,
        Cover,
        EpochGreedy,
        EpsilonGreedy,
        LinTS,
        LinUCB,
        LogisticTS,
        NearestNeighbours,
        Newtron,
        RegCB,
        SquareCB,
        Supervised,
        Uniform,
    )
    from marginbandits.learners.exponential_weights import ExponentialWeights
    from marginbandits.learners.hinge_lmc import FaithfulHingeLMC, HingeLMC
    from marginbandits.learners.lipschitz_ftl import FaithfulLipschitzFTL, LipschitzFTL
    from marginbandits.learners.loading import load, loads
    from marginbandits.learners.mixture import Mixture
    from marginbandits.learners.off_policy.margin_policy import MarginPolicy
    from marginbandits.learners.smooth_ftl import FaithfulSmoothFTL, SmoothFTL
    from marginbandits.learners.warm import warm_start

__all__ = [
    "SOBA",
    "Bag",
    "Banditron",
    "Binning",
    "Cover",
    "EpochGreedy",
    "EpsilonGreedy",
    "ExponentialWeights",
    "FaithfulHingeLMC",
    "FaithfulLipschitzFTL",
    "FaithfulSmoothFTL",
    "HingeLMC",
    "Learner",
    "LinTS",
    "LinUCB",
    "LipschitzFTL",
    "LogisticTS",
    "MarginPolicy",
    "Mixture",
    "NearestNeighbours",
    "Newtron",
    "RegCB",
    "SmoothFTL",
    "SquareCB",
    "Supervised",
    "Uniform",
    "load",
    "loads",
    "warm_start",
]

if not TYPE_CHECKING:
    __getattr__ = on_demand(__name__, __all__)
