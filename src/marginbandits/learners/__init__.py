"""Learners: act on a context, learn from one loss."""

from marginbandits.learners.base import Learner, load
from marginbandits.learners.baselines import EpsilonGreedy, LinTS, LinUCB, Uniform

__all__ = ["EpsilonGreedy", "Learner", "LinTS", "LinUCB", "Uniform", "load"]
