"""Draws from exp(-potential) on a convex set."""

from marginbandits.samplers.diagnostics import Diagnostics, diagnose, effective_sample_size, split_r_hat
from marginbandits.samplers.hit_and_run import hit_and_run, uniform_ball
from marginbandits.samplers.langevin import projected_langevin
from marginbandits.samplers.potential import HingePotential, RampPotential

__all__ = [
    "Diagnostics",
    "HingePotential",
    "RampPotential",
    "diagnose",
    "effective_sample_size",
    "hit_and_run",
    "projected_langevin",
    "split_r_hat",
    "uniform_ball",
]
