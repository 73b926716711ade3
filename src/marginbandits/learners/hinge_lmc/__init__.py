"""Hinge-LMC: exponential weights over scores, sampled by Langevin Monte Carlo; practical and faithful."""

from marginbandits.learners.hinge_lmc.practical import HingeLMC

__all__ = ["HingeLMC"]
