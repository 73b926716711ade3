"""SmoothFTL: follow the leader of the hinge surrogate, in epochs; practical and faithful."""

from marginbandits.learners.smooth_ftl.faithful import FaithfulSmoothFTL, from_theory
from marginbandits.learners.smooth_ftl.practical import SmoothFTL

__all__ = ["FaithfulSmoothFTL", "SmoothFTL", "from_theory"]
