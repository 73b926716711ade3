"""Bandit multiclass with second-order and improper learners: mistakes, over the logistic loss or over hinges.

Improper logistic (Foster, Kale, Luo, Mohri & Sridharan 2018): Vovk's aggregation of linear logistic predictors, from
labels weighted by 1/p <= 1/μ. Of mistakes M and Σ -ln σ(Wx)_y, W in a ball of radius B in D dimensions:

    published        M <= min_W Σ ℓ(Wx, y) + (5D/μ) ln(BRT/D + e) + 2KμT         Kμ <= 1/2
    N predictors     M <= min_n Σ ℓ_n       + ln N/μ              + 2KμT         by the same proof, no constant hidden
    tuned            μ = √(…/(2KT)): 2 √(2KT …)

SOBA (Beygelzimer, Orabona & Zhang 2017), with whole matrices, for every U and η in (0, 1] with η (1 + √2 ‖U‖ X) <= 2:

    E M <= Σ ℓ_η(U) + aη‖U‖²/(2 - η) + E Σ gᵀA⁻¹g/(η(2 - η)) + γT
    E Σ gᵀA⁻¹g <= (K/γ) D ln(1 + 2X²T/(aD)),   D = Kd
    ℓ_η(m) = 1 - 2m/(2 - η) + ηm²/(2 - η) for margins m <= 1, else 0: the hinge for η = 0, its square for η = 1

The sum with gᵀA⁻¹g is the second-order bound: what was met, in place of the worst. "Published" is the statement as it
is cited, constants included; the other lines are derived again from the algorithms, with the constants that come of it,
and are what the claims test.

>>> round(improper_logistic_finite(200, 3, 10_000).value), round(soba(9, 3, 10_000).per_round, 2)
(1128, 0.29)
"""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Actions
from marginbandits.types import Array
from marginbandits.validation import Count, Horizon, Instance, Integer, OneOf, Positive, Real, validated

__all__ = ["eta_hinge", "improper_logistic", "improper_logistic_finite", "logistic_floor", "soba"]

Floor = Annotated[float | None, OneOf(Real(1e-12, 0.5), Instance(type(None)))]


@validated
def logistic_floor(n_actions: Actions, horizon: Horizon, complexity: Positive) -> float:
    """μ, at most 1/(2K), for a class of this `complexity`: ln N, or 5D ln(BRT/D + e)."""
    return min(math.sqrt(complexity / (2.0 * n_actions * horizon)), 0.5 / n_actions)


@validated
def improper_logistic(
    dimension: Count, n_actions: Actions, horizon: Horizon, *, radius: Positive = 1.0, mu: Floor = None
) -> Bound:
    """The published bound, over all W of norm at most B = `radius`, contexts of norm at most 1."""
    complexity = 5.0 * dimension * math.log(radius * horizon / dimension + math.e)
    return _logistic("improper logistic", complexity, n_actions, horizon, mu, "min_W Σ ℓ(Wx, y), logistic")


@validated
def improper_logistic_finite(
    size: Annotated[int, Integer(2, 10**300)], n_actions: Actions, horizon: Horizon, *, mu: Floor = None
) -> Bound:
    """The same over N = `size` predictors, with every constant."""
    return _logistic("improper logistic, finite", math.log(size), n_actions, horizon, mu, "min_n Σ ℓ_n, logistic")


def _logistic(name: str, complexity: float, K: int, T: int, mu: float | None, benchmark: str) -> Bound:
    floor = logistic_floor(K, T, complexity) if mu is None else mu
    return Bound(
        name,
        {"class": complexity / floor, "exploration": 2.0 * K * floor * T},
        T,
        {"mu": floor},
        {"Kμ <= 1/2": K * floor <= 0.5 + 1e-12},
        benchmark=benchmark,
        reference="Foster et al. (2018), bandit multiclass",
        attained_by="ImproperLogistic.from_theory",
    )


@validated
def soba(
    dimension: Count,
    n_actions: Actions,
    horizon: Horizon,
    *,
    eta: Annotated[float, Real(1e-6, 1)] = 1.0,
    norm: Annotated[float, Real(0, 1e30)] = 1.0,
    context: Positive = 1.0,
    gamma: Annotated[float | None, OneOf(Real(1e-12, 1), Instance(type(None)))] = None,
    regularisation: Positive = 1.0,
    quadratic: Annotated[float | None, OneOf(Real(0), Instance(type(None)))] = None,
) -> Bound:
    """Expected mistakes of SOBA over Σ ℓ_η(U), ‖U‖ = `norm`, D = `dimension` weights in all, ‖x‖ <= `context`.

    `quadratic` is Σ gᵀA⁻¹g where it was measured; without it the worst case is taken, and γ tuned for that.
    """
    D, K, T, a = dimension, n_actions, horizon, regularisation
    volume = K * D * math.log1p(2.0 * context**2 * T / (a * D))
    curved = eta * (2.0 - eta)
    share = min(1.0, math.sqrt(volume / (curved * T))) if gamma is None else gamma
    met = volume / share if quadratic is None else quadratic
    return Bound(
        "SOBA, second order" if quadratic is not None else "SOBA",
        {"norm": a * eta * norm**2 / (2.0 - eta), "second order": met / curved, "exploration": share * T},
        T,
        {"gamma": share, "eta": eta},
        {"η (1 + √2 ‖U‖ X) <= 2": eta * (1.0 + math.sqrt(2.0) * norm * context) <= 2.0 + 1e-12},
        benchmark="Σ ℓ_η(U)",
        reference="Beygelzimer, Orabona & Zhang (2017), theorem 1; derived again",
        attained_by="FullSOBA",
    )


@validated
def eta_hinge(
    margins: Annotated[npt.ArrayLike, Numbers(low=-1e100, high=1e100)], eta: Annotated[float, Real(0, 1)]
) -> Array:
    """ℓ_η of margins.

    >>> eta_hinge([-1.0, 0.0, 0.5, 2.0], 0.0).tolist(), eta_hinge([-1.0, 0.0, 0.5, 2.0], 1.0).tolist()
    ([2.0, 1.0, 0.5, 0.0], [4.0, 1.0, 0.25, 0.0])
    """
    m = np.minimum(np.asarray(margins, float), 1.0)
    return np.asarray(1.0 - 2.0 * m / (2.0 - eta) + eta * m * m / (2.0 - eta))
