"""Off-policy evaluation: what another policy would have lost, from a log of what was done. Arrays in, estimates out."""

from marginbandits.evaluation.off_policy.diagnostics import Finding, Watch
from marginbandits.evaluation.off_policy.estimate import Estimate
from marginbandits.evaluation.off_policy.estimators import METHODS, Terms, difference, terms
from marginbandits.evaluation.off_policy.evidence import Evidence, Gatherer, Pair
from marginbandits.evaluation.off_policy.judging import INTERVALS, value
from marginbandits.evaluation.off_policy.sequences import sequence

__all__ = [
    "INTERVALS",
    "METHODS",
    "Estimate",
    "Evidence",
    "Finding",
    "Gatherer",
    "Pair",
    "Terms",
    "Watch",
    "difference",
    "sequence",
    "terms",
    "value",
]
