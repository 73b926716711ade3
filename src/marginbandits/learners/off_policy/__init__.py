"""Off-policy learning: a policy from a log of past decisions."""

from marginbandits.learners.off_policy.certificate import Certificate
from marginbandits.learners.off_policy.choosing import Candidate
from marginbandits.learners.off_policy.learnt import LearntPolicy
from marginbandits.learners.off_policy.margin_policy import MarginPolicy

__all__ = ["Candidate", "Certificate", "LearntPolicy", "MarginPolicy"]
