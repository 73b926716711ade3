"""Hinge-LMC: exponential weights on the hinge surrogate, by sampling."""

from marginbandits.learners.hinge_lmc.faithful import FaithfulHingeLMC, from_theory

__all__ = ["FaithfulHingeLMC", "from_theory"]
