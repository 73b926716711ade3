"""The chaining bounds: full information, then the margin bound for bandits with the ramp and with the hinge.

With H the entropy and I(α, β) = ∫ √H, for losses with Σ E<s, ℓ>² <= V, Σ ‖ℓ‖₁ <= S, Σ ‖ℓ‖₁² <= V', ‖ℓ‖₁ <= R:

    full      (2η/RB) V + (4RB/η) H(β/2) + 3e²αS + 24e(λV'/(4R) + R/λ) I(α, β)
    tuned     4√(2VH(β/2)) + 8RB H(β/2) + 24e √V' I + 3e²αS          η = min(1, RB√(2H/V)),  λ = 2R/√V'
    ramp      4√(2K²T H(β/2)) + μKT + (8/μ) H(β/2) + (1/γ)(3e²αKT + 24e √(KT/μ) I(α, β))
    hinge     μKT + (1/K){4√2 (1 + B/γ) K √(T H(β/2)) + 8(1 + B/γ) H(β/2)/μ + (1/γ)(3e²αKT + 24e √(KT/μ) I(α, β))}

The ramp's is over inf_f L^γ(f), the hinge's over (1/K) inf_f Σ <ℓ, ψ(f)>. No algorithm is known that attains them: the
full-information learner exists by a minimax argument, whose printed proof has slips that its constants survive (errata
E27 to E29). Parameters left out are chosen best: α in closed form, where H(α) = e²KTμ/64; β and μ by search. Foster &
Krishnamurthy (2018), Theorems "chaining_v3", "chaining_ramp" and "chaining_hinge", the last re-derived (erratum E19).

>>> from marginbandits.theory.entropy import Power
>>> bound = margin_ramp(Power(1.0), Game(n_actions=2, horizon=10**6, margin=0.5))
>>> bound.vacuous, sorted(bound.parameters)
(False, ['alpha', 'beta', 'mu'])
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeAlias

import numpy as np
from scipy import optimize

from marginbandits.theory.entropy import Entropy
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.types import Array
from marginbandits.validation import Horizon, Instance, OneOf, Real, validated

__all__ = ["chain_hinge", "full_information", "full_information_tuned", "margin_ramp"]

Amount = Annotated[float, Real(1e-100, 1e100)]
Scale = Annotated[float, Real(0, 1e100)]
MaybeScale = Annotated[float | None, OneOf(Real(0, 1e100), Instance(type(None)))]
MaybeAmount = Annotated[float | None, OneOf(Real(1e-100, 1e100), Instance(type(None)))]
Share = Annotated[float | None, OneOf(Real(1e-300, 1), Instance(type(None)))]
NOBODY = "no algorithm known: the proof is not constructive"

_E2, _24E = 3.0 * math.e**2, 24.0 * math.e


@validated
def full_information(
    entropy: Entropy,
    horizon: Horizon,
    *,
    second_moment: Amount,  # V
    total: Amount,  # S
    squares: Amount,  # V'
    largest_loss: Amount,  # R
    largest_value: Amount,  # B
    alpha: Scale,
    beta: Scale,
    eta: MaybeAmount = None,
    lam: MaybeAmount = None,
) -> Bound:
    """The full-information bound at any η <= 1 and λ; those left out are the tuned ones."""
    _ordered(alpha, beta)
    H, area, RB = entropy._at(0.5 * beta), entropy._area(alpha, beta), largest_loss * largest_value
    if eta is None:
        eta = min(1.0, RB * math.sqrt(2.0 * H / second_moment)) if H > 0.0 else 0.0
    if lam is None:
        lam = 2.0 * largest_loss / math.sqrt(squares)
    return Bound(
        "full information",
        {
            "variance": 2.0 * eta / RB * second_moment,
            "class": 4.0 * RB * H / eta if H > 0.0 else 0.0,
            "discretisation": _E2 * alpha * total,
            "chaining": _24E * (lam * squares / (4.0 * largest_loss) + largest_loss / lam) * area,
        },
        horizon,
        {"eta": eta, "lambda": lam, "alpha": alpha, "beta": beta},
        {"η <= 1": eta <= 1.0},
        benchmark="inf_f Σ <ℓ, s(f)>",
        reference="Theorem chaining_v3",
        erratum="E18: 3e²α, 4√2",
        attained_by=NOBODY,
    )


@validated
def full_information_tuned(
    entropy: Entropy,
    horizon: Horizon,
    *,
    second_moment: Amount,
    total: Amount,
    squares: Amount,
    largest_loss: Amount,
    largest_value: Amount,
    alpha: Scale,
    beta: Scale,
) -> Bound:
    """What the tuned η and λ are shown to give; the bound at those values is never larger."""
    _ordered(alpha, beta)
    H = entropy._at(0.5 * beta)
    return Bound(
        "full information, tuned",
        {
            "variance": 4.0 * math.sqrt(2.0 * second_moment * H),
            "class": 8.0 * largest_loss * largest_value * H,
            "discretisation": _E2 * alpha * total,
            "chaining": _24E * math.sqrt(squares) * entropy._area(alpha, beta),
        },
        horizon,
        {"alpha": alpha, "beta": beta},
        benchmark="inf_f Σ <ℓ, s(f)>",
        reference="Corollary full_info_scaled",
        erratum="E18: 3e²α, 4√2",
        attained_by=NOBODY,
    )


@validated
def margin_ramp(
    entropy: Entropy, game: Game, *, mu: Share = None, alpha: MaybeScale = None, beta: MaybeScale = None
) -> Bound:
    """The contextual bandit margin bound, over inf_f L^γ(f)."""
    K, T, g = game.n_actions, game.horizon, game.margin

    def terms(mu: float, alpha: float, beta: float) -> dict[str, float]:
        H = entropy._at(0.5 * beta)
        return {
            "variance": 4.0 * K * math.sqrt(2.0 * T * H),
            "exploration": mu * K * T,
            "class": 8.0 / mu * H,
            "discretisation": _E2 * alpha * K * T / g,
            "chaining": _24E * math.sqrt(K * T / mu) * entropy._area(alpha, beta) / g,
        }

    chosen = _chosen(terms, entropy, game, mu, alpha, beta)
    return Bound(
        "margin bound, ramp",
        terms(**chosen),
        T,
        chosen,
        {"μ <= 1/K": chosen["mu"] <= (1.0 + 1e-12) / K},
        benchmark="inf_f L^γ(f)",
        reference="Theorem chaining_ramp",
        erratum="E2: μ at most 1/K",
        attained_by=NOBODY,
    )


@validated
def chain_hinge(
    entropy: Entropy, game: Game, *, mu: Share = None, alpha: MaybeScale = None, beta: MaybeScale = None
) -> Bound:
    """The same with the hinge, over (1/K) inf_f Σ <ℓ, ψ(f)>; entropy must be that of scores of size B."""
    K, T, g, S = game.n_actions, game.horizon, game.margin, game.hinge_range

    def terms(mu: float, alpha: float, beta: float) -> dict[str, float]:
        H = entropy._at(0.5 * beta)
        return {
            "variance": 4.0 * S * math.sqrt(2.0 * T * H),
            "exploration": mu * K * T,
            "class": 8.0 * S * H / (mu * K),
            "discretisation": _E2 * alpha * T / g,
            "chaining": _24E * math.sqrt(K * T / mu) * entropy._area(alpha, beta) / (g * K),
        }

    chosen = _chosen(terms, entropy, game, mu, alpha, beta)
    return Bound(
        "margin bound, hinge",
        terms(**chosen),
        T,
        chosen,
        {"μ <= 1/K": chosen["mu"] <= (1.0 + 1e-12) / K},
        benchmark="(1/K) inf_f Σ <ℓ, ψ(f)>",
        reference="Theorem chaining_hinge",
        erratum="E19: 1 + B/γ for B/γ, 4√2, 3e², μKT outside the braces",
        attained_by=NOBODY,
    )


def _ordered(alpha: float, beta: float) -> None:
    if alpha > beta:
        raise ValueError(f"alpha must be at most beta = {beta:g}, got {alpha}")


Terms: TypeAlias = Callable[..., dict[str, float]]


def _chosen(
    terms: Terms, entropy: Entropy, game: Game, mu: float | None, alpha: float | None, beta: float | None
) -> dict[str, float]:
    """The parameters given, and the best values of the others: α exactly, then μ and β by search on a log scale."""
    K, T = game.n_actions, game.horizon
    if mu is not None and mu * K > 1.0 + 1e-12:
        raise ValueError(f"mu must be at most 1/K = {1 / K:g}, got {mu}")
    if alpha is not None and beta is not None:
        _ordered(alpha, beta)

    def complete(mu: float, beta: float) -> dict[str, float]:
        best = entropy._scale_at(math.e**2 * K * T * mu / 64.0)  # where 3e²KT = 24e √(KT/μ) √H(α)
        return {"mu": mu, "alpha": min(best, beta) if alpha is None else alpha, "beta": beta}

    def value(log_mu: float, log_beta: float) -> float:
        m, b = math.exp(min(log_mu, math.log(1.0 / K))), max(math.exp(log_beta), alpha or 0.0)
        return min(sum(terms(**complete(m, b)).values()), 1e300)  # finite, so that line searches can compare

    top = math.log(2.0 * entropy.radius)  # at this β the class is one point
    bottom = math.log(max(1e-9 / T, alpha or 0.0))
    mus = np.linspace(math.log(1e-3 / (K * T)), -math.log(K), 25) if mu is None else np.array([math.log(mu)])
    betas = np.linspace(min(bottom, top), top, 25) if beta is None else np.array([math.log(max(beta, 1e-300))])
    _, m, b = min((value(m, b), m, b) for m in mus for b in betas)
    for _ in range(6):  # line searches in turn; the grid has found the valley
        m = _line(partial(value, log_beta=b), m, mus)
        b = _line(partial(value, m), b, betas)
    return complete(
        min(math.exp(m), 1.0 / K) if mu is None else mu,
        max(math.exp(b), alpha or 0.0) if beta is None else beta,
    )


def _line(function: Callable[[float], float], at: float, grid: Array) -> float:
    """A minimum on the line within two steps of the grid, never worse than where it starts."""
    if len(grid) == 1:
        return at
    step = 2.0 * (grid[1] - grid[0])
    bounds = (max(grid[0], at - step), min(grid[-1], at + step))
    found = float(optimize.minimize_scalar(function, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x)
    return min((found, at), key=function)
