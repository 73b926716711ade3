"""What the systems that the paper compares with promise, each by its own analysis, with every constant.

N policies or regressors, K actions, T rounds; regret over the best policy.

    BISTRO      E max_π Σ 2 ε L + TK/L                  L = √(TK / 2√(2T ln N)): T^{3/4} K^{1/2} (ln N)^{1/4}
    BISTRO+     E max_π Σ 2 ε Z + TK/L                  L = (TK / 2 ln N)^{1/3}: (KT)^{2/3} (ln N)^{1/3}

    perturbed   G/ε + 2εdKT + KT/(eM)                   M = ⌈√(KT)⌉, ε the best: √(dKT G); d = |X|, or 1 if
    leader                                              transductive, G = inf_{u<1} (ln N - |X| ln(1 - u²))/u
    regressor   KμT + 2√(2cKT V) with probability 1 - δ      V = (β_T + ln(2N/δ))/(1 - e^{-1/2}), μ = min(1/2K, 1/√T)
    elimination
    ILOVE-      C₀(4K d_τ' + √(8K d_τ τ)) + √(8T ln(2/δ))  with probability 1 - δ     d_t = ln(16 t²N/δ)
    TOCONBANDITS                   C₀ = 4ψ + 4√2 (1 + 94.1), ψ = 100, μ = min{1/2K, √(d_τ/(Kτ))}
    OFUL        4√(TD ln(λ + T/D)) (√λ S + R√(2 ln(1/δ) + D ln(1 + T/λD)))  with probability 1 - δ; D = Kd where
                every action has weights of its own

and 1 more for the first round of the first three, which is uniform. E max of N sums is at most
inf_λ (ln N + T ln E e^{λ2εZ})/λ, which is what is computed: at most 2L√(2T ln N) with Z = L, about 2√(2TKL ln N) with
Z = L in a share K/L of rounds.

Rakhlin & Sridharan (2016); Syrgkanis, Luo, Krishnamurthy & Schapire (2016); Syrgkanis, Krishnamurthy & Schapire (2016),
with the constants of `learners.comparators.perturbed_leader`; Agarwal, Dudík, Kale, Langford & Schapire (2012), with
those of `learners.comparators.regressor_elimination`; Agarwal, Hsu, Kale, Langford, Li & Schapire (2014);
Abbasi-Yadkori, Pál & Szepesvári (2011).

>>> [round(bistro_regret(4, 2, 10_000, plus=plus).value) for plus in (False, True)]
[5163, 3106]
>>> round(perturbed_leader_regret(4, 2, 10_000, 2).value)
1155
"""

import math
from collections.abc import Callable
from typing import Annotated

from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Actions
from marginbandits.validation import Choice, Count, Horizon, Instance, Integer, Positive, Real, validated

__all__ = [
    "ELIMINATIONS",
    "SLACK",
    "bistro_regret",
    "bistro_scale",
    "elimination_threshold",
    "oful_radius",
    "oful_regret",
    "perturbed_leader_regret",
    "regressor_elimination_regret",
    "taming_floor",
    "taming_regret",
]

Size = Annotated[int, Integer(1, 10**300)]
Flag = Annotated[bool, Instance(bool)]
Chance = Annotated[float, Real(1e-12, 1)]
ELIMINATIONS = ("printed", "sharp")
SLACK = 0.05
"""By how much the constraints of `RegressorElimination` may be missed."""

POLICIES = "min_π Σ ℓ(π(x))"


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a quasiconvex function of log x, by golden sections: any x gives a bound, the best a good one.

    >>> round(_least(lambda x: x + 1 / x, 1e-6, 1e6), 6)
    2.0
    """
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = math.log(low), math.log(high)
    for _ in range(90):
        left, right = b - ratio * (b - a), a + ratio * (b - a)
        if function(math.exp(left)) <= function(math.exp(right)):
            b = right
        else:
            a = left
    return function(math.exp(0.5 * (a + b)))


def _log_cosh(y: float) -> float:
    return y + math.log1p(math.exp(-2.0 * y)) - math.log(2.0)


@validated
def bistro_scale(size: Size, n_actions: Actions, horizon: Horizon, *, plus: Flag = True) -> float:
    """L, at least K, for N = `size` policies."""
    log_size = math.log(max(size, 2))
    if plus:
        scale = math.cbrt(horizon * n_actions / (2.0 * log_size))
    else:
        scale = math.sqrt(horizon * n_actions / (2.0 * math.sqrt(2.0 * horizon * log_size)))
    return max(scale, float(n_actions))


@validated
def bistro_regret(size: Size, n_actions: Actions, horizon: Horizon, *, plus: Flag = True) -> Bound:
    """E R(∅): the expected regret of `BISTRO`, or of `BISTROPlus`."""
    scale = bistro_scale(size, n_actions, horizon, plus=plus)
    share = n_actions / scale if plus else 1.0
    log_size = math.log(size)

    def largest(rate: float) -> float:
        y = _log_cosh(2.0 * rate * scale)
        moment = math.log1p(share * math.expm1(y)) if y < 700.0 else y + math.log(share)
        return (log_size + horizon * moment) / rate

    name = "BISTRO" + "+" * plus
    return Bound(
        name,
        {
            "class": _least(largest, 1e-12 / scale, 1e3 / scale) if size > 1 else 0.0,
            "exploration": horizon * n_actions / scale,
            "first round": 1.0,
        },
        horizon,
        {"L": scale},
        {"L at least K": scale >= n_actions},
        benchmark=POLICIES,
        reference="Syrgkanis, Luo, Krishnamurthy & Schapire (2016)" if plus else "Rakhlin & Sridharan (2016)",
        attained_by="BISTROPlus" if plus else "BISTRO",
    )


@validated
def perturbed_leader_regret(
    size: Size,
    n_actions: Actions,
    horizon: Horizon,
    contexts: Count,
    *,
    transductive: Flag = False,
    separated: Flag = True,
) -> Bound:
    """The expected regret of `ContextualFTPL` with X of |X| = `contexts`.

    X must be a separator, on which no two policies agree throughout (`separated`), or hold all contexts to come.
    """
    log_size = math.log(max(size, 2))
    spread = _least(lambda u: (log_size - contexts * math.log1p(-u * u)) / u if u < 1.0 else math.inf, 1e-9, 1.0)
    moved = 2.0 * (1 if transductive else contexts) * n_actions * horizon
    rate, most = math.sqrt(spread / moved), math.ceil(math.sqrt(n_actions * horizon))
    return Bound(
        "contextual follow-the-perturbed-leader" + ", transductive" * transductive,
        {
            "noise": spread / rate,
            "stability": rate * moved,
            "resampling": n_actions * horizon / (math.e * most),
            "first round": 1.0,
        },
        horizon,
        {"epsilon": rate, "M": most, "G": spread},
        {"X tells all policies apart, or holds all contexts": separated or transductive},
        benchmark=POLICIES,
        reference="Syrgkanis, Krishnamurthy & Schapire (2016), constants of our own",
        attained_by="ContextualFTPL",
    )


@validated
def elimination_threshold(
    size: Size,
    rounds: Horizon,
    *,
    delta: Chance = 0.05,
    elimination: Annotated[str, Choice(*ELIMINATIONS)] = "printed",
) -> float:
    """β_t: by how much squared errors may exceed the least after t = `rounds` rounds."""
    if elimination == "sharp":
        return 0.5 * math.log(2 * size / delta)
    return 18.0 * math.log(2 * size * rounds**3 * max(math.log2(rounds), 1.0) / delta)


@validated
def regressor_elimination_regret(
    size: Size,
    n_actions: Actions,
    horizon: Horizon,
    *,
    delta: Chance = 0.05,
    elimination: Annotated[str, Choice(*ELIMINATIONS)] = "printed",
    right: Flag = True,
) -> Bound:
    """The regret of `RegressorElimination`, expected over contexts and actions, with probability 1 - δ.

    One regressor must be `right`: E[r | x, a] = f*(x, a).
    """
    mu = min(0.5 / n_actions, 1.0 / math.sqrt(horizon))
    threshold = elimination_threshold(size, horizon, delta=delta, elimination=elimination)
    error = (threshold + math.log(2 * size / delta)) / -math.expm1(-0.5)
    missed = (1.0 + SLACK) / (1.0 - n_actions * mu)
    return Bound(
        f"regressor elimination, {elimination}",
        {
            "errors": 2.0 * math.sqrt(2.0 * missed * n_actions * horizon * error),
            "exploration": n_actions * mu * horizon,
            "first round": 1.0,
        },
        horizon,
        {"mu": mu, "beta": threshold, "V": error, "delta": delta},
        {"one regressor is right": right},
        benchmark=POLICIES + ", one regressor right",
        reference="Agarwal, Dudík, Kale, Langford & Schapire (2012), constants of our own",
        attained_by="RegressorElimination",
    )


def _confidence(size: int, rounds: int, delta: float) -> float:
    """d_t = ln(16 t²N/δ)."""
    return math.log(16.0 / delta) + math.log(size) + 2.0 * math.log(rounds)


@validated
def taming_floor(size: Size, n_actions: Actions, rounds: Horizon, *, delta: Chance = 0.05) -> float:
    """μ of `ILOVETOCONBANDITS` after an epoch that ended at round τ = `rounds`."""
    return min(0.5 / n_actions, math.sqrt(_confidence(size, rounds, delta) / (n_actions * rounds)))


@validated
def taming_regret(
    size: Size, n_actions: Actions, horizon: Horizon, *, delta: Chance = 0.05, psi: Positive = 100.0
) -> Bound:
    """The regret of `ILOVETOCONBANDITS` with probability 1 - δ: lemma 17, where epochs end at powers of two.

    τ is the end of the epoch that holds round T, and τ' of the last one with d_τ'/τ' > 1/(4K). ψ must be 100, which is
    what 94.1 is for; with another the lemma is not stated. `allowed` is 2Kψμ, the *estimated* regret of a round that
    the algorithm's own constraint allows.

    >>> [taming_regret(8, 2, 2**k).vacuous for k in (29, 30)]
    [True, False]
    """
    early = 2
    while _confidence(size, early, delta) > early / (4.0 * n_actions):
        early *= 2
    end = 1 << (horizon - 1).bit_length()
    mu = taming_floor(size, n_actions, horizon, delta=delta)
    constant = 4.0 * psi + 4.0 * math.sqrt(2.0) * (1.0 + 94.1)
    return Bound(
        "ILOVETOCONBANDITS",
        {
            "first epochs": 4.0 * constant * n_actions * _confidence(size, early // 2, delta),
            "variance": constant * math.sqrt(8.0 * n_actions * _confidence(size, end, delta) * end),
            "draws": math.sqrt(8.0 * horizon * math.log(2.0 / delta)),
        },
        horizon,
        {"mu": mu, "psi": psi, "C0": constant, "delta": delta, "allowed": 2.0 * n_actions * psi * mu},
        {"ψ = 100": psi == 100.0},
        benchmark="max_π R(π), rounds drawn independently",
        reference="Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), lemma 17",
        attained_by="ILOVETOCONBANDITS",
    )


Nonnegative = Annotated[float, Real(0, 1e30)]


@validated
def oful_radius(
    volume: Nonnegative, delta: Chance, noise: Nonnegative, norm: Nonnegative, regularisation: Positive
) -> float:
    """√β, where `volume` is ln(det A/det λI); theorem 2 of Abbasi-Yadkori, Pál & Szepesvári (2011)."""
    return noise * math.sqrt(volume + 2.0 * math.log(1.0 / delta)) + math.sqrt(regularisation) * norm


@validated
def oful_regret(
    dimension: Count,
    horizon: Horizon,
    *,
    delta: Chance = 0.05,
    noise: Nonnegative = 0.5,
    norm: Nonnegative = 1.0,
    regularisation: Positive = 1.0,
    context: Nonnegative = 1.0,
    mean: Nonnegative = 1.0,
) -> Bound:
    """The regret of `OFUL` with probability 1 - δ; theorem 3.

    `context` and `mean` are the largest ‖z‖ and |<θ*, z>|, which the theorem needs to be at most 1.
    """
    volume = dimension * math.log1p(horizon / (regularisation * dimension))
    radius = oful_radius(volume, delta, noise, norm, regularisation)
    log = math.log(regularisation + horizon / dimension) - min(math.log(regularisation), 0.0)  # of det A, or det A/λI
    widths = 4.0 * math.sqrt(horizon * dimension * log)
    return Bound(
        "OFUL",
        {"widths": widths * radius},
        horizon,
        {"D": dimension, "radius": radius, "delta": delta, "lambda": regularisation},
        {
            "λ at least 1": regularisation >= 1.0,
            "‖z‖ at most 1": context <= 1.0 + 1e-9,
            "|<θ*, z>| at most 1": mean <= 1.0 + 1e-9,
        },
        benchmark="max_a <θ*, z_a>",
        reference="Abbasi-Yadkori, Pál & Szepesvári (2011), theorem 3",
        attained_by="OFUL",
    )
