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
    figure_1,
    finite_classes,
    hinge_lmc,
    lipschitz,
    margin_adaptation,
    margins,
    price_of_k,
    resampling,
    separability,
    smooth_ftl,
    variance,
)
from marginbandits.experiments.claims.claim import Claim

__all__ = ["CLAIMS", "chosen"]

_MODULES = (
    calibration,
    variance,
    figure_1,
    finite_classes,
    price_of_k,
    margin_adaptation,
    hinge_lmc,
    resampling,
    separability,
    smooth_ftl,
    lipschitz,
    margins,
)

CLAIMS: tuple[Claim, ...] = tuple(module.CLAIM for module in _MODULES)


def chosen(names: str | None = None) -> tuple[Claim, ...]:
    """Those named, with commas between them, in the order of the paper; all if none is."""
    return tuple(arguments.chosen(names, {claim.name: claim for claim in CLAIMS}, "claim"))
