"""The contract, as code: run these on your own classes; every exported class passes them.

>>> from marginbandits import LinUCB
>>> from marginbandits.checks import check_learner
>>> check_learner(LinUCB)
{}
"""

from marginbandits.checks.environment import check_environment
from marginbandits.checks.expert import check_expert
from marginbandits.checks.features import check_features
from marginbandits.checks.learner import check_learner
from marginbandits.checks.oracle import check_oracle
from marginbandits.checks.rounds import LEARNER_CHECKS
from marginbandits.checks.sampler import check_sampler
from marginbandits.checks.scores import check_scores
from marginbandits.checks.surrogate import check_surrogate

__all__ = [
    "LEARNER_CHECKS",
    "check_environment",
    "check_expert",
    "check_features",
    "check_learner",
    "check_oracle",
    "check_sampler",
    "check_scores",
    "check_surrogate",
]
