"""Has the chain mixed? Effective sample size and split R̂ over several chains of one quantity or many.

    ESS   = m n/(1 + 2 Σ_k ρ_k)   autocorrelations over all chains, summed while pairs stay positive and fall (Geyer)
    R̂     = √(((n - 1)/n W + B/n)/W)   between-chain B and within-chain W variance of the halves of every chain

An AR(1) chain with coefficient ρ has ESS/(m n) = (1 - ρ)/(1 + ρ). R̂ is 1 where all halves agree; above 1.01, go on.

Gelman et al. (2013), "Bayesian Data Analysis", chapter 11; Geyer (1992), "Practical Markov chain Monte Carlo".

>>> import numpy as np
>>> draws = np.random.default_rng(0).standard_normal((4, 500))
>>> bool(abs(effective_sample_size(draws) - 2000) < 400), bool(split_r_hat(draws) < 1.01)
(True, True)
>>> draws[0] += 3.0
>>> bool(split_r_hat(draws) > 1.5)
True
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["Diagnostics", "diagnose", "effective_sample_size", "split_r_hat"]

Draws = Annotated[npt.ArrayLike, Numbers(2, 3, low=-1e100, high=1e100)]
Steps = Annotated[int, Integer(0)]


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What a sampler did and how well it mixed; `acceptance` is None where no move is ever refused."""

    steps: int
    gradient_evaluations: int
    acceptance: float | None
    ess: float
    r_hat: float


@validated
def diagnose(
    draws: Draws,
    *,
    steps: Steps,
    gradient_evaluations: Steps = 0,
    acceptance: Annotated[float | None, OneOf(Real(0, 1), Instance(type(None)))] = None,
) -> Diagnostics:
    """The record of a run: the least ESS and the largest R̂ over the coordinates of chains x draws (x d)."""
    ess, r_hat = effective_sample_size(draws), split_r_hat(draws)
    return Diagnostics(steps, gradient_evaluations, acceptance, float(np.min(ess)), float(np.max(r_hat)))


@validated
def effective_sample_size(draws: Draws) -> Array:
    """Number of independent draws that would know the mean as well: chains x draws, or chains x draws x d."""
    x = _halves(draws)
    m, n = x.shape[:2]
    centred = x - x.mean(1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :n].mean(0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + x.mean(1).var(0, ddof=1)
    rho = 1.0 - (within - covariance * n / (n - 1)) / np.where(total > 0, total, 1.0)
    pairs = rho[: n // 2 * 2].reshape(n // 2, 2, *rho.shape[1:]).sum(1)
    kept = np.minimum.accumulate(np.where(np.cumprod(pairs > 0, axis=0), pairs, 0.0), axis=0)
    time = np.maximum(2.0 * kept.sum(0) - 1.0, 1.0 / np.log10(max(m * n, 10)))
    return np.asarray(np.where(total > 0, m * n / time, np.nan))[()]


@validated
def split_r_hat(draws: Draws) -> Array:
    """Potential scale reduction of the halved chains: chains x draws, or chains x draws x d."""
    x = _halves(draws)
    n = x.shape[1]
    within, between = x.var(1, ddof=1).mean(0), x.mean(1).var(0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) / n + between / within))[()]


def _halves(draws: npt.ArrayLike) -> Array:
    """Every chain cut in two; an odd draw in the middle is left out."""
    x = np.asarray(draws, float)
    if x.shape[1] < 4:
        raise ValueError(f"draws must be chains x draws (x d), four draws or more each, got shape {x.shape}")
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])
