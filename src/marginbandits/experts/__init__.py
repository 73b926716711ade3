"""Classes of predictions, for learners that find out which of them fits."""

from marginbandits.experts.expert import Expert
from marginbandits.experts.linear import OneRightExpert, RidgeExpert
from marginbandits.experts.networks import NetworksExpert
from marginbandits.experts.trees import TreesExpert

__all__ = ["Expert", "NetworksExpert", "OneRightExpert", "RidgeExpert", "TreesExpert"]
