"""Where learners meet environments."""

from marginbandits.experiments.simulate import Trace, simulate

__all__ = ["Trace", "simulate"]
