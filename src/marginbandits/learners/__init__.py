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
    from marginbandits.learners.comparators.bistro import BISTRO, BISTROPlus
    from marginbandits.learners.comparators.contextual_zooming import ContextualZooming
    from marginbandits.learners.comparators.full_soba import FullSOBA
    from marginbandits.learners.comparators.hier_exp4 import HierExp4
    from marginbandits.learners.comparators.improper_logistic import ImproperLogistic
    from marginbandits.learners.comparators.oful import OFUL
    from marginbandits.learners.comparators.perturbed_leader import ContextualFTPL
    from marginbandits.learners.comparators.regressor_elimination import RegressorElimination
    from marginbandits.learners.comparators.taming import ILOVETOCONBANDITS
    from marginbandits.learners.exponential_weights import ExponentialWeights
    from marginbandits.learners.hinge_lmc import FaithfulHingeLMC, HingeLMC
    from marginbandits.learners.lipschitz_ftl import FaithfulLipschitzFTL, LipschitzFTL
    from marginbandits.learners.loading import load, loads
    from marginbandits.learners.mixture import Mixture
    from marginbandits.learners.off_policy.margin_policy import MarginPolicy
    from marginbandits.learners.smooth_ftl import FaithfulSmoothFTL, SmoothFTL
    from marginbandits.learners.warm import warm_start

__all__ = [
    "BISTRO",
    "ILOVETOCONBANDITS",
    "OFUL",
    "SOBA",
    "BISTROPlus",
    "Bag",
    "Banditron",
    "Binning",
    "ContextualFTPL",
    "ContextualZooming",
    "Cover",
    "EpochGreedy",
    "EpsilonGreedy",
    "ExponentialWeights",
    "FaithfulHingeLMC",
    "FaithfulLipschitzFTL",
    "FaithfulSmoothFTL",
    "FullSOBA",
    "HierExp4",
    "HingeLMC",
    "ImproperLogistic",
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
    "RegressorElimination",
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
