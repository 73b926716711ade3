"""Hinge-LMC's running time: as the theorem prints it, and counted from its own parameters.

    printed     R^22 L^14 d^14 M² T^10/(K²γ²) + R^28 L^50 d^14 M² T^4/(K^26 γ²)
    worst       T (M + 1) · N · m · d       T rounds of at most M + 1 draws, N steps each, m gradients of d numbers each
    expected    T (K + 1) · N · m · d       for resampling takes K draws on average, whatever M

At the printed N and m and M = √T the worst case is T^{3/2}, not T, times the rest: T^{10.5} (erratum E11). A gradient
itself costs a sum over the rounds so far, which none of them counts. All are orders: logarithms and constants are left
out as the theorem does. Numbers are kept as base-10 logarithms, for they overflow floats.

Foster & Krishnamurthy (2018), Theorem "proj_lmc" and "Running time calculation" of its proof.

>>> spent = hinge_lmc_running_time(Setting(dimension=10, n_actions=3, horizon=1000, margin=0.5), version="printed")
>>> f"10^{spent.log10_printed:.0f} 10^{spent.log10_worst:.0f} 10^{spent.log10_expected:.0f}"
'10^47 10^48 10^47'
"""

import math
from dataclasses import dataclass
from typing import Annotated

from marginbandits.theory.setting import Setting
from marginbandits.theory.tuning import hinge_lmc_tuning
from marginbandits.validation import Choice, Real, record, validated

__all__ = ["RunningTime", "hinge_lmc_running_time"]

Log = Annotated[float, Real()]


@record
@dataclass(frozen=True, slots=True)
class RunningTime:
    """Base-10 logarithms of how many numbers are computed in T rounds, and in one draw of the sampler."""

    log10_printed: Log
    log10_worst: Log
    log10_expected: Log
    log10_draw: Log  # N·m·d


@validated
def hinge_lmc_running_time(
    setting: Setting, *, version: Annotated[str, Choice("printed", "proof", "corrected")] = "corrected"
) -> RunningTime:
    """What T rounds of Algorithm 1 with Algorithm 2 take, at the parameters of `hinge_lmc_tuning`."""
    log = math.log10
    d, K, T, g = setting.dimension, setting.n_actions, setting.horizon, setting.margin
    R, L = setting.radius, setting.lipschitz
    tuned = hinge_lmc_tuning(setting, version=version)
    common = 22 * log(R) + 14 * log(L) + 14 * log(d) + 2 * log(tuned.cap) - 2 * log(K * g)
    first, second = 10 * log(T), 6 * log(R) + 36 * log(L) + 4 * log(T) - 24 * log(K)
    printed = common + max(first, second) + log(1.0 + 10.0 ** -abs(first - second))
    draw = tuned.log10_steps + tuned.log10_draws + log(d)
    return RunningTime(printed, log(T * (tuned.cap + 1.0)) + draw, log(T * (K + 1.0)) + draw, draw)
