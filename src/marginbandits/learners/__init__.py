"""Learners: act on a context, learn from one loss."""

from marginbandits.learners.base import Learner, load
from marginbandits.learners.baselines import (
    SOBA,
    Bag,
    Banditron,
    Cover,
    EpochGreedy,
    EpsilonGreedy,
    LinTS,
    LinUCB,
    LogisticTS,
    Newtron,
    RegCB,
    SquareCB,
    Supervised,
    Uniform,
)
from marginbandits.learners.exponential_weights import ExponentialWeights
from marginbandits.learners.hinge_lmc import FaithfulHingeLMC, HingeLMC
from marginbandits.learners.smooth_ftl import FaithfulSmoothFTL, SmoothFTL

__all__ = [
    "SOBA",
    "Bag",
    "Banditron",
    "Cover",
    "EpochGreedy",
    "EpsilonGreedy",
    "ExponentialWeights",
    "FaithfulHingeLMC",
    "FaithfulSmoothFTL",
    "HingeLMC",
    "Learner",
    "LinTS",
    "LinUCB",
    "LogisticTS",
    "Newtron",
    "RegCB",
    "SmoothFTL",
    "SquareCB",
    "Supervised",
    "Uniform",
    "load",
]
