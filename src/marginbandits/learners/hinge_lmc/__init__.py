"""Hinge-LMC: exponential weights on the hinge surrogate, by sampling; practical and faithful."""

from marginbandits.learners.hinge_lmc.faithful import FaithfulHingeLMC, from_theory
from marginbandits.learners.hinge_lmc.practical import HingeLMC

__all__ = ["FaithfulHingeLMC", "HingeLMC", "from_theory"]
