"""Hinge-LMC's parameters: as the theorem prints them, as its proof needs them, and with the constants written out.

    η = √(d γ² ln(RLTK/γ)/(5K²B²T))     μ = 1/(K√T)     M = √T     τ = 1/(L√T)     G = ηTML/γ

                 theorem (printed)                      proof, corrected
    u            1/(T^{3/2} L M R η √d)                 τ/(8RG√d)
    λ            1/(8 √T R³)                            τ/(8R³)
    N            R^18 L^12 T^6 d^12 + R^24 L^48 d^12/K^24    proof: R^18 (max{d, (RG)²√d/τ}/τ)^12
                                                        corrected: 8^12 R^18 (max{d, RG + R²λ, R(G/u + λ)}/τ)^12
    m            T³ d R⁴ L² M²/(Kγ)²                    256 R⁴ G² ln(16RN/τ)/τ²
    α            R²/N                                   R²/N

Printed u lacks a factor γ, printed N is what no version of the proof gives, and the logarithm in the proof's m is
upside down. M = √T leaves a bias of order KZ√T/M, which M = ⌈K√T⌉ repairs at no cost in expected draws: it is the
default of the corrected version. Unnamed universal constants are 1. N overflows floats, so it is kept as a logarithm:
at any sensible setting √α is below what a float can resolve next to 1, and the chain of the theorem cannot move.

A finite class (`finite_rate`): η = √(2 ln N/(V₁T)), or η_t = √(ln N/(V₁t)) without a horizon; see `theory.finite`.

With exact draws and exact weights (`exponential_weights_rate`) only η remains: √(2 d ln(2RLTK/γ)/(V₁T)), and μ = 0.

And SmoothFTL's: its epochs (`epoch_end`) and its floor μ (`smooth_ftl_floor`), for a class of metric entropy ε^-p; for
Lipschitz policies `lipschitz_ftl_floor`, and `lipschitz_actions_radius` where actions are a continuum.

>>> setting = Setting(dimension=10, n_actions=3, horizon=1000, margin=0.5)
>>> printed = hinge_lmc_tuning(setting, version="printed")
>>> f"{printed.eta:.4f} {printed.mu:.4f} {printed.cap:.1f} {printed.log10_steps:.0f}"
'0.0220 0.0105 31.6 30'
"""

import math
from dataclasses import dataclass
from typing import Annotated

from marginbandits.theory.entropy import Dimension
from marginbandits.theory.setting import Actions, Game, Setting
from marginbandits.validation import (
    Choice,
    Horizon,
    Instance,
    OneOf,
    Positive,
    Real,
    record,
    validated,
)

__all__ = [
    "SURROGATES",
    "HingeLMCTuning",
    "binning_radius",
    "epoch_end",
    "exponential_weights_rate",
    "finite_rate",
    "hinge_lmc_tuning",
    "lipschitz_actions_radius",
    "lipschitz_ftl_floor",
    "lipschitz_ftl_radius",
    "second_moment",
    "smooth_ftl_floor",
]

SURROGATES = ("ramp", "hinge", "relative", "policy")
Size = Annotated[float, Real(0, 1e100)]


Finite = Annotated[float, Real()]


@record
@dataclass(frozen=True, slots=True)
class HingeLMCTuning:
    """Learning rate, smoothing of the play, cap of the weights, and the parameters of every call of the sampler."""

    eta: Finite
    mu: Finite
    cap: Finite  # M
    accuracy: Finite  # τ, in Wasserstein distance
    smoothing: Finite  # u
    ridge: Finite  # λ
    log10_steps: Finite  # N
    log10_step: Finite  # α
    log10_draws: Finite  # m


@validated
def hinge_lmc_tuning(
    setting: Setting,
    *,
    version: Annotated[str, Choice("printed", "proof", "corrected")] = "corrected",
    cap: Annotated[float | None, OneOf(Real(1, 1e100), Instance(type(None)))] = None,
) -> HingeLMCTuning:
    """The parameters of Algorithms 1 and 2; `cap` replaces M. Needs RLTK > γ, or the logarithm in η is not positive."""
    d, K, T, g = setting.dimension, setting.n_actions, setting.horizon, setting.margin
    R, L, B = setting.radius, setting.lipschitz, setting.bound
    eta = math.sqrt(d * g * g * log_size(setting) / (5.0 * K * K * B * B * T))
    mu, tau = 1.0 / (K * math.sqrt(T)), 1.0 / (L * math.sqrt(T))
    if cap is None:
        cap = float(math.ceil(K * math.sqrt(T))) if version == "corrected" else math.sqrt(T)
    G = eta * T * cap * L / g
    if version == "printed":
        u, ridge = 1.0 / (T**1.5 * L * cap * R * eta * math.sqrt(d)), 1.0 / (8.0 * math.sqrt(T) * R**3)
        first = 18 * _log10(R) + 12 * _log10(L) + 6 * _log10(T) + 12 * _log10(d)
        second = 24 * _log10(R) + 48 * _log10(L) + 12 * _log10(d) - 24 * _log10(K)
        steps = max(first, second) + _log10(1.0 + 10.0 ** -abs(first - second))
        draws = 3 * _log10(T) + _log10(d) + 4 * _log10(R) + 2 * _log10(L) + 2 * _log10(cap) - 2 * _log10(K * g)
    else:
        u, ridge = tau / (8.0 * R * G * math.sqrt(d)), tau / (8.0 * R**3)
        if version == "proof":
            base, constant = max(_log10(d), 2 * _log10(R * G) + 0.5 * _log10(d) - _log10(tau)), 0.0
        else:
            curved = _log10(R) + _log10(G) - _log10(u) + _log10(1.0 + ridge / G * u)  # R(G/u + λ)
            base, constant = max(_log10(d), _log10(R * G + R * R * ridge), curved), 12 * _log10(8)
        steps = constant + 18 * _log10(R) + 12 * (base - _log10(tau))
        log_ratio = math.log(16.0 * R / tau) + steps * math.log(10.0)
        draws = _log10(256) + 4 * _log10(R) + 2 * _log10(G) + _log10(log_ratio) - 2 * _log10(tau)
    return HingeLMCTuning(eta, mu, cap, tau, u, ridge, steps, 2 * _log10(R) - steps, draws)


@validated
def exponential_weights_rate(
    setting: Setting, *, surrogate: Annotated[str, Choice("hinge", "ramp")] = "hinge", sharp: bool = True
) -> float:
    """η of exponential weights with exact draws and exact weights; `sharp` chooses V₁."""
    game = Game(setting.n_actions, setting.horizon, setting.margin, setting.bound)
    V = second_moment(surrogate, game, sharp=sharp) * setting.horizon
    return math.sqrt(2.0 * setting.dimension * log_size(setting, 2.0) / V)


@validated
def second_moment(surrogate: Annotated[str, Choice(*SURROGATES)], game: Game, *, sharp: bool = True) -> float:
    """V₁, the bound of E<s, ℓ̂>² in one round: K for policies, K² for ramp and relative margin, more for the hinge."""
    if surrogate == "hinge":
        return game.second_moment(sharp=sharp)
    return float(game.n_actions) if surrogate == "policy" else float(game.n_actions**2)


@validated
def finite_rate(
    log_size: Size, second_moment: Annotated[float, Real(1e-100, 1e200)], rounds: Horizon, *, anytime: bool = False
) -> float:
    """η of exponential weights over e^log_size regressors: for a horizon of so many rounds, or in that round."""
    return math.sqrt((1.0 if anytime else 2.0) * log_size / (second_moment * rounds))


@validated
def smooth_ftl_floor(
    n_actions: Actions,
    horizon: Horizon,
    margin: Positive,
    *,
    p: Annotated[float, Real(0, 1e3)] = 0.0,
    version: Annotated[str, Choice("proof", "printed")] = "proof",
) -> float:
    """SmoothFTL's μ, at most 1/K: below p = 2 the choice that the same proof gives, regret (T/γ)^{2/3}.

        printed   T^{-1/(p+1)}/K                  regret T^{p/(p+1)}/γ
        proof     γ^{-p/(p+1)} T^{-1/(p+1)}/K     regret (T/γ)^{p/(p+1)}; for p < 2, (γ²T)^{-1/3}/K

    The clip binds for T < γ^-p (γ^-2 where p < 2), exactly where the bound exceeds T.

    >>> round(smooth_ftl_floor(2, 1000, 1.0), 6), smooth_ftl_floor(2, 1000, 0.01)
    (0.05, 0.5)
    """
    if version == "printed":
        log_scale = -math.log(horizon) / (p + 1.0)
    else:
        q = max(p, 2.0)
        log_scale = -(q * math.log(margin) + math.log(horizon)) / (q + 1.0)
    return math.exp(min(0.0, log_scale)) / n_actions


@validated
def lipschitz_ftl_floor(n_actions: Actions, radius: Annotated[float, Real(1e-100, 1e100)]) -> float:
    """Lipschitz follow-the-leader's μ: the radius of its net, at most 1/K."""
    return min(radius, 1.0 / n_actions)


@validated
def lipschitz_ftl_radius(
    n_actions: Actions,
    horizon: Horizon,
    *,
    p: Dimension,
    size: Annotated[float, Real(1, 1e100)] = 1.0,
    version: Annotated[str, Choice("proof", "printed")] = "proof",
) -> float:
    """The radius β of Lipschitz follow-the-leader's net: (C/(KT))^{1/(p+1)}.

    The space has nets of C β^-p centres; C is its `size`, 1 in the paper. The proof needs p >= 2; below, it gives
    (KT)^{2/3} with μ = (KT)^{-1/3}, the choice for p = 2.

    >>> round(lipschitz_ftl_radius(4, 2000, p=2.0), 6), round(lipschitz_ftl_radius(4, 2000, p=1.0), 6)
    (0.05, 0.05)
    """
    q = p if version == "printed" else max(p, 2.0)
    return math.pow(size / (n_actions * horizon), 1.0 / (q + 1.0))


@validated
def binning_radius(horizon: Horizon, *, p: Dimension) -> float:
    """Radius T^{-1/(p+2)} of independent cells, which makes their regret T^{(p+1)/(p+2)}.

    >>> round(binning_radius(10_000, p=2.0), 6)
    0.1
    """
    return math.pow(horizon, -1.0 / (p + 2.0))


@validated
def lipschitz_actions_radius(horizon: Horizon, *, p: Dimension, q: Dimension) -> float:
    """ε, the radius of a net of actions of dimension q: T^{-1/(p+1+pq)}, with p = 2 for anything less.

    >>> round(lipschitz_actions_radius(10_000, p=2.0, q=1.0), 3)
    0.158
    """
    p = max(p, 2.0)
    return math.pow(horizon, -1.0 / (p + 1.0 + p * q))


@validated
def epoch_end(start: Horizon, growth: Annotated[float, Real(1, 1e6)]) -> int:
    """The first round after the epoch that begins at round `start` >= 1: 1, 2, 4, 8, … for growth 2.

    >>> [epoch_end(start, 2.0) for start in (1, 2, 4)], [epoch_end(start, 1.2) for start in (1, 2, 10)]
    ([2, 4, 8], [2, 3, 12])
    """
    return max(start + 1, math.ceil(start * growth - 1e-9))


def log_size(setting: Setting, factor: float = 1.0) -> float:
    """ln(factor · RLTK/γ), the logarithm of the class's size at the scale that matters; it must be positive."""
    size = factor * setting.radius * setting.lipschitz * setting.horizon * setting.n_actions / setting.margin
    if not size > 1.0:
        raise ValueError(f"margin must be below RLTK = {size * setting.margin / factor:g}, got {setting.margin}")
    return math.log(size)


_log10 = math.log10
