"""Figure 1: how regret grows with T for a class of entropy ε^-p, from the theorem's bound itself.

The chaining bound of Theorem "chaining_ramp" is minimised numerically over α, β and μ, with no help from the
proposition that states the rates, at horizons so far out that only exponents are left. Its slope in ln T must then be
Figure 1's, and its slope in ln K the proposition's power of K:

    T    p <= 2: (p+2)/(p+4)    p >= 2: p/(p+1)    full information: max(1/2, (p-1)/p)    square loss: (p+1)/(p+2)
    K    p <= 2: printed (p+2)/(p+4); at the printed parameters (3p+8)/(2p+8); at the best ones 4/(p+4) (erratum E20)

4/(p+4) balances the bound's own terms: with β = K^b and μ = K^-pb/2, b = 2/(p+4), the variance, the exploration and the
chaining term all carry K^{4/(p+4)}. It meets the parametric K at p = 0 and the other regime's K^{2/3} at p = 2.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from marginbandits.experiments.claims.claim import Chart, Claim, Finding, Line, Parameters, Results, verdict
from marginbandits.experiments.claims.figures import exponent_curves
from marginbandits.experiments.claims.measuring import control
from marginbandits.experiments.marks import PALETTE
from marginbandits.experiments.svg import Axis
from marginbandits.experiments.svg import Line as Curve
from marginbandits.theory import Bound, Game, Power, entropy_growth, exponents, margin_ramp

__all__ = ["CLAIM"]

TOLERANCE = 0.01
"""What logarithms leave of a slope at such T."""

FARTHEST = {False: (60, 10), True: (24, 1)}
"""Whether p is 2 or more; from there on ε^-p overflows earlier. T and K, as powers of ten, at which slopes begin."""

LONGER, MORE = 3, 1
"""By so many powers of ten T and K grow."""

OTHER = "the entropy of p = 1 at every p"


def measure(p: float, broken: str = "") -> Mapping[str, float]:
    """Slopes of the bound, at the best parameters and at the proposition's."""
    T, K = (10**power for power in FARTHEST[p >= 2.0])
    entropy = Power(1.0 if broken else p)

    def in_t(bound: Callable[[Power, Game], Bound]) -> float:
        low, high = (bound(entropy, Game(2, horizon, 1.0)).value for horizon in (T, 10**LONGER * T))
        return math.log(high / low) / math.log(10**LONGER)

    def in_k(bound: Callable[[Power, Game], Bound]) -> float:
        low, high = (bound(entropy, Game(n_actions, T, 1.0)).value for n_actions in (K, 10**MORE * K))
        return math.log(high / low) / math.log(10**MORE)

    return {
        "T, best": in_t(margin_ramp),
        "T, proposition": in_t(entropy_growth),
        "K, best": in_k(margin_ramp),
        "K, proposition": in_k(entropy_growth),
    }


def units(quick: bool) -> list[Parameters]:
    """From p = 1/4 to 8; p = 2 itself has a logarithm that no T makes small."""
    grid = (0.25, 0.5, 1.0, 1.5, 1.75, 2.5, 3.0, 4.0, 6.0, 8.0)
    return [{"p": p} for p in grid]


def judge(results: Results) -> Finding:
    """Each slope against the stated exponent."""
    p = np.array(results.each("p"))
    stated = {name: np.array([exponents(one)[name] for one in p]) for name in ("margin", "full", "square")}
    in_t, in_k = results.values("T, best"), results.values("K, best")
    in_k_printed = results.values("K, proposition")
    off = float(np.abs(in_t - stated["margin"]).max())
    low = p < 2.0
    printed, best = (p + 2.0) / (p + 4.0), 4.0 / (p + 4.0)
    at_printed = (3.0 * p + 8.0) / (2.0 * p + 8.0)
    above, found = float((in_k - printed)[low].max()), float(np.abs(in_k - best)[low].max())
    proposition = float(np.abs(in_k_printed - at_printed)[low].max())
    high = float(np.abs(in_k - p / (p + 1.0))[~low].max())
    one = int(np.flatnonzero(p == 1.0)[0])
    (T_low, K_low), (T_high, K_high) = FARTHEST[False], FARTHEST[True]
    lines = [
        Line(
            "The margin bound grows like T^{(p+2)/(p+4)} up to p = 2 and like T^{p/(p+1)} from there",
            f"the exponents of Figure 1, within {TOLERANCE}",
            f"within {off:.4f} of them: at T = 10^{T_low} at {int(low.sum())} values of p below 2, "
            f"at T = 10^{T_high} at {int((~low).sum())} above",
            verdict(off <= TOLERANCE),
        ),
        Line(
            "It lies between full information and square-loss realizability",
            "max(1/2, (p-1)/p) to (p+1)/(p+2)",
            f"by {float((in_t - stated['full']).min()):.3f} and {float((stated['square'] - in_t).min()):.3f} at least",
            verdict(bool((in_t >= stated["full"] - TOLERANCE).all() and (in_t <= stated["square"] + TOLERANCE).all())),
        ),
        Line(
            "For p <= 2 it grows like K^{(p+2)/(p+4)}",
            f"K^{printed[one]:.1f} at p = 1",
            f"K^{in_k[one]:.2f} at p = 1, at the proposition's parameters K^{in_k_printed[one]:.2f}; "
            f"off the corrected exponents by {max(found, proposition):.4f} at most",
            verdict(above <= TOLERANCE, corrected=max(found, proposition) <= TOLERANCE),
        ),
        Line(
            "For p >= 2 it grows like K^{p/(p+1)}",
            "p/(p+1)",
            f"within {high:.4f} at {int((~low).sum())} values of p, T = 10^{T_high}",
            verdict(high <= TOLERANCE),
        ),
    ]
    lines_of_figure_1 = exponent_curves(8.0)
    curves = [
        Curve("measured", [2.0], [exponents(2.0)["margin"]], "#1d232b", dots=True),
        *(Curve("", [a], [b], PALETTE[0], dots=True) for a, b in zip(p, in_t, strict=True)),
        *lines_of_figure_1,
    ]
    below = np.linspace(0.0, 2.0, 41)
    powers = [
        Curve("best parameters", below, 4.0 / (below + 4.0), PALETTE[0]),
        *(Curve("", [a], [b], PALETTE[0], dots=True) for a, b in zip(p[low], in_k[low], strict=True)),
        Curve("proposition's parameters", below, (3.0 * below + 8.0) / (2.0 * below + 8.0), PALETTE[2]),
        *(Curve("", [a], [b], PALETTE[2], dots=True) for a, b in zip(p[low], in_k_printed[low], strict=True)),
        Curve("printed", below, (below + 2.0) / (below + 4.0), PALETTE[1], dashed=True),
    ]
    charts = [
        Chart(
            "Figure 1: the exponent of T",
            curves,
            Axis.of([0.0, 8.0], "p"),
            Axis(0.45, 0.95, _marks(0.5, 0.9), label="exponent of T"),
            lines_of_figure_1,
        ),
        Chart(
            "The exponent of K, p <= 2",
            powers,
            Axis.of([0.0, 2.0], "p"),
            Axis(0.4, 1.2, _marks(0.5, 1.1), label="exponent of K"),
            powers,
        ),
    ]
    note = (
        "Lines are the stated exponents, dots the slopes of the bound, its parameters chosen by numeric search: in T "
        f"between 10^{T_low} and 10^{T_low + LONGER} below p = 2, between 10^{T_high} and 10^{T_high + LONGER} above, "
        f"both with K = 2; in K between 10^{K_low} and 10^{K_low + MORE}, and between 10^{K_high} and "
        f"10^{K_high + MORE}. The black dot marks p = 2, where the exponent changes course."
    )
    return Finding(lines, charts, [note])


def _marks(low: float, high: float) -> list[tuple[float, str]]:
    return [(mark, f"{mark:.1f}") for mark in np.arange(low, high + 0.05, 0.1).round(1)]


CLAIM = Claim(
    "figure-1",
    "Figure 1: how the bound grows",
    "Figure 1, Theorem 'chaining_ramp' and Proposition 'entropy_growth', section 2",
    "For a class whose sequential metric entropy grows like ε^-p the margin bound has a phase change at p = 2, and "
    "lies between what full information and what square-loss realizability allow.",
    measure,
    units,
    judge,
    errata=(20,),
    controls=(control(OTHER, units),),
)
