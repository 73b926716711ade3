"""The methods the paper's learners are measured against, one short file each."""

from marginbandits.learners.baselines.epsilon_greedy import EpsilonGreedy
from marginbandits.learners.baselines.lints import LinTS
from marginbandits.learners.baselines.linucb import LinUCB
from marginbandits.learners.baselines.uniform import Uniform

__all__ = ["EpsilonGreedy", "LinTS", "LinUCB", "Uniform"]
