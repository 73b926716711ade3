"""The paper's bounds and parameter choices, as functions."""

from marginbandits.theory.bounds import Bound, hinge_ew_ideal, hinge_lmc_corrected, hinge_lmc_printed
from marginbandits.theory.setting import Setting
from marginbandits.theory.tuning import (
    HingeLMCTuning,
    epoch_end,
    exponential_weights_rate,
    hinge_lmc_tuning,
    smooth_ftl_floor,
)

__all__ = [
    "Bound",
    "HingeLMCTuning",
    "Setting",
    "epoch_end",
    "exponential_weights_rate",
    "hinge_ew_ideal",
    "hinge_lmc_corrected",
    "hinge_lmc_printed",
    "hinge_lmc_tuning",
    "smooth_ftl_floor",
]
