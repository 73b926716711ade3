"""Follow-the-leader over Lipschitz policies, as the paper has it and as practice wants it."""

from marginbandits.learners.lipschitz_ftl.faithful import FaithfulLipschitzFTL

__all__ = ["FaithfulLipschitzFTL"]
