"""Regret bounds of Hinge-LMC against (1/K) min_θ Σ <ℓ, ψ(f(x; θ))>, as functions that show their terms.

    printed     √T/γ + (2d/(Kη)) ln(RLTK/γ) + 10 η B² K T/γ²
    corrected   μKT + 2TLτ/γ + T Z_max/(eM(1 - Kμ)) + 1/K + (d/(Kη)) ln(2RLTKM/γ)
                + (η/K)[2(1 + B/γ) K T L τ/(γμ) + (1 + B/γ)² K² T]          sharp: V₁ in place of (1 + B/γ)² K²
    ideal       (1/K)(1 + √(2 d V₁ T ln(2RLTK/γ)))      exact draws, exact weights, μ = 0

The printed one needs B >= γ and B >= 1, both unstated in the theorem, and states a benchmark K times larger than its
proof shows; here the benchmark is the proof's. In the corrected one τ = 0 stands for exact draws and `cap=None` for
exact weights (mixture play): the bias term and M leave. Foster & Krishnamurthy (2018), theorem of appendix "Hinge-LMC".

>>> setting = Setting(dimension=10, n_actions=3, horizon=1000, margin=0.5)
>>> round(hinge_lmc_printed(setting).value), round(hinge_ew_ideal(setting, sharp=False).value)
(5339, 1301)
>>> round(hinge_ew_ideal(setting).value)
920
"""

import math
from typing import Annotated

from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Setting
from marginbandits.theory.tuning import exponential_weights_rate, hinge_lmc_tuning, log_size
from marginbandits.validation import Instance, OneOf, Real, validated

__all__ = ["hinge_ew_ideal", "hinge_lmc_corrected", "hinge_lmc_printed"]


_OVER = "(1/K) min_θ Σ <ℓ, ψ(f(x; θ))>"


@validated
def hinge_lmc_printed(setting: Setting) -> Bound:
    """The theorem's right-hand side at the theorem's η."""
    d, K, T, g, B = setting.dimension, setting.n_actions, setting.horizon, setting.margin, setting.bound
    if not max(1.0, g) <= B:
        raise ValueError(f"bound must be at least 1 and at least the margin {g}: the printed theorem needs it, got {B}")
    eta = hinge_lmc_tuning(setting, version="printed").eta
    return Bound(
        "Hinge-LMC, as printed",
        {
            "sampling": math.sqrt(T) / g,
            "class": 2.0 * d / (K * eta) * log_size(setting),
            "variance": 10.0 * eta * B * B * K * T / g**2,
        },
        T,
        {"eta": eta},
        {"B >= γ": g <= B, "B >= 1": B >= 1.0},
        benchmark=_OVER,
        reference="Theorem proj_lmc",
        erratum="E3: the benchmark is 1/K of the printed one; E4: √T/γ is not all the proof adds",
        attained_by="FaithfulHingeLMC",
    )


@validated
def hinge_lmc_corrected(
    setting: Setting,
    *,
    eta: Annotated[float, Real(1e-200, 1e200)],
    mu: Annotated[float, Real(0, 1)],
    cap: Annotated[float | None, OneOf(Real(1, 1e100), Instance(type(None)))],
    accuracy: Annotated[float, Real(0, 1e100)] = 0.0,
    sharp: bool = False,
) -> Bound:
    """The proof's right-hand side at any η, μ < 1/K, M = `cap` and τ = `accuracy`; τ > 0 needs μ > 0.

    `sharp` has the sharp second moment in it, where the proof has the printed one.
    """
    d, K, T, g, L = setting.dimension, setting.n_actions, setting.horizon, setting.margin, setting.lipschitz
    if not K * mu < 1.0:
        raise ValueError(f"mu must be below 1/K = {1 / K:g}, got {mu}")
    if accuracy > 0.0 and mu == 0.0:
        raise ValueError(f"mu must be positive where draws are only accurate to {accuracy}, got {mu}")
    S = setting.hinge_range
    inexact = 2.0 * S * K * T * L * accuracy / g / mu if accuracy > 0.0 else 0.0
    return Bound(
        "Hinge-LMC, corrected",
        {
            "exploration": mu * K * T,
            "sampling": 2.0 * T * L * accuracy / g,
            "capped weights": 0.0 if cap is None else T * setting.largest_sum / (math.e * cap * (1.0 - K * mu)),
            "discretisation": 1.0 / K,
            "class": d / (K * eta) * log_size(setting, 2.0 if cap is None else 2.0 * cap),
            "variance": eta / K * (inexact + setting.second_moment(sharp=sharp) * T),
        },
        T,
        {"eta": eta, "mu": mu, "accuracy": accuracy} | ({} if cap is None else {"cap": cap}),
        benchmark=_OVER,
        reference="Theorem proj_lmc, its proof",
        erratum="E3, E4, E5, E10, E13",
        attained_by="FaithfulHingeLMC",
    )


@validated
def hinge_ew_ideal(setting: Setting, *, sharp: bool = True) -> Bound:
    """Exponential weights with exact draws, exact weights and no exploration, at its best η."""
    eta = exponential_weights_rate(setting, sharp=sharp)
    d, K, T = setting.dimension, setting.n_actions, setting.horizon
    return Bound(
        "exponential weights with the hinge, exact draws",
        {
            "discretisation": 1.0 / K,
            "class": d / (K * eta) * log_size(setting, 2.0),
            "variance": eta / (2.0 * K) * setting.second_moment(sharp=sharp) * T,
        },
        T,
        {"eta": eta, "mu": 0.0, "V1": setting.second_moment(sharp=sharp)},
        benchmark=_OVER,
        reference="Lemma continuous_hedge with Lemma ips_variance",
        erratum="E13",
        attained_by="FaithfulHingeLMC",
    )
