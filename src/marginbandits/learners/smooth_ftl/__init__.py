"""SmoothFTL: follow the leader of the hinge surrogate, in epochs; practical and faithful."""

from marginbandits.learners.smooth_ftl.practical import SmoothFTL

__all__ = ["SmoothFTL"]
