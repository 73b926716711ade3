"""The paper's claims as experiments, in the order of the paper; a new one is a module with a `CLAIM`, listed here.

>>> [claim.name for claim in chosen("figure-1")]
['figure-1']
>>> chosen("figure1")
Traceback (most recent call last):
    ...
ValueError: no claim is called 'figure1'; did you mean 'figure-1'?
"""

from marginbandits.experiments import arguments
from marginbandits.experiments.claims import (
    calibration,
    comparators_metric,
    figure_1,
    figure_1_learners,
    finite_classes,
    hinge_lmc,
    lipschitz,
    lipschitz_actions,
    many_cells,
    margin_adaptation,
    margins,
    margins_infinite,
    norm_balls,
    oracle_comparators,
    policy_regret,
    price_of_k,
    ramp_ftl,
    resampling,
    separability,
    smooth_ftl,
    variance,
    wasserstein,
)
from marginbandits.experiments.claims.claim import Claim

__all__ = ["CLAIMS", "chosen"]

_MODULES = (
    calibration,
    variance,
    figure_1,
    figure_1_learners,
    many_cells,
    finite_classes,
    price_of_k,
    policy_regret,
    margin_adaptation,
    margins_infinite,
    hinge_lmc,
    norm_balls,
    wasserstein,
    resampling,
    separability,
    smooth_ftl,
    ramp_ftl,
    lipschitz,
    lipschitz_actions,
    margins,
    oracle_comparators,
    comparators_metric,
)

CLAIMS: tuple[Claim, ...] = tuple(module.CLAIM for module in _MODULES)


def chosen(names: str | None = None) -> tuple[Claim, ...]:
    """Those named, with commas between them, in the order of the paper; all if none is."""
    return tuple(arguments.chosen(names, {claim.name: claim for claim in CLAIMS}, "claim"))
