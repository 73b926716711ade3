"""Learners: act on a context, learn from one loss."""

from marginbandits.learners.base import Learner, load
from marginbandits.learners.baselines import (
    Bag,
    Banditron,
    Cover,
    EpochGreedy,
    EpsilonGreedy,
    LinTS,
    LinUCB,
    RegCB,
    SquareCB,
    Supervised,
    Uniform,
)

__all__ = [
    "Bag",
    "Banditron",
    "Cover",
    "EpochGreedy",
    "EpsilonGreedy",
    "Learner",
    "LinTS",
    "LinUCB",
    "RegCB",
    "SquareCB",
    "Supervised",
    "Uniform",
    "load",
]
