"""What can be promised of a learnt policy: an upper bound on its mean loss that holds with a stated probability.

**Held out.** By a log that the policy was not learnt on, of which the probabilities are right. With the terms
t_i = π(a_i|x_i) ℓ_i/p_i, which lie within [0, M], M = 1/min p, and whose mean is the policy's loss,

    E ℓ <= t̄ + √(2 V ln(2/δ)/n) + 7 M ln(2/δ)/(3(n - 1)),   V the sample variance

with probability 1 - δ, for any n and any distribution. M must be known beforehand; here it is taken from the log.

**Margin.** By the log that it was learnt on. Greedy play costs at most the ramp, and the ramp of every W at once is
near its mean: with the played action's IPS cost c_i = ℓ_i/p_i, R = 2^j the next power of two above ‖W‖,

    E ℓ <= (1/n) Σ c_i φ(s_i) + (2R√(1 - 1/K)/n) √(Σ c_i²‖z_i‖²) + 3M √(ln(2/δ_j)/(2n)),   δ_j = δ/(2.3 (1 + |j|)²)

by the contraction of a 1-Lipschitz φ and Massart's bound for linear classes; it holds for every λ, so that choosing one
costs nothing. It takes the features' scales as given, though they were learnt from the same contexts. Where losses are
noise for the most part, the ramp of all actions but the best is not 0, and the bound says nothing.

A bound of 1 or more is called vacuous: no loss is above 1.

Maurer & Pontil (2009), "Empirical Bernstein bounds"; Bartlett & Mendelson (2002), "Rademacher and Gaussian
complexities".

>>> import numpy as np
>>> print(held_out(np.ones(900), np.zeros(900), np.full(900, 0.5), 0.95))
loss at most 0.0191 with probability 0.95 (held out, 900 rounds; estimate 0)
"""

import math
from dataclasses import dataclass

import numpy as np

from marginbandits.learners.off_policy.targets import Log
from marginbandits.surrogates import Ramp
from marginbandits.types import Array

__all__ = ["Certificate", "held_out", "margin_bound"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A bound on the mean loss, the estimate that it surrounds, and where both are from."""

    kind: str
    estimate: float
    bound: float
    confidence: float
    n_rounds: int

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than that losses are at most 1."""
        return not self.bound < 1.0

    def __str__(self) -> str:
        said = "nothing: vacuous, as" if self.vacuous else "loss at most"
        more = f"{self.kind}, {self.n_rounds:,} rounds; estimate {self.estimate:.3g}"
        return f"{said} {self.bound:.3g} with probability {self.confidence:g} ({more})"


def held_out(shares: Array, losses: Array, probabilities: Array, confidence: float) -> Certificate:
    """The empirical Bernstein bound; `shares` are the policy's probabilities of the actions that were taken."""
    n, log = len(losses), math.log(2.0 / (1.0 - confidence))
    terms = shares * losses / probabilities
    largest = 1.0 / float(probabilities.min())
    width = math.inf
    if n > 1:
        width = math.sqrt(2.0 * float(terms.var(ddof=1)) * log / n) + 7.0 * largest * log / (3.0 * (n - 1))
    estimate = float(terms.mean())
    return Certificate("held out", estimate, estimate + width, confidence, n)


def margin_bound(log: Log, weights: Array, constant: float, confidence: float = 0.95) -> Certificate:
    """The margin bound at margin 1, of weights whose last column is for a column of this constant."""
    n, K = log.mask.shape
    scores = log.rows @ weights[:, :-1].T + constant * weights[:, -1]
    paid = log.losses / log.probabilities
    estimate = float((paid * Ramp(1.0)(scores[np.arange(n), log.actions])).mean())
    j = math.ceil(math.log2(max(float(np.linalg.norm(weights)), 1e-9)))
    squares = (log.rows**2).sum(1) + constant**2
    complexity = 2.0 * 2.0**j * math.sqrt(1.0 - 1.0 / K) * math.sqrt(float((paid**2 * squares).sum())) / n
    spent = (1.0 - confidence) / (2.3 * (1 + abs(j)) ** 2)
    deviation = 3.0 * math.sqrt(math.log(2.0 / spent) / (2.0 * n)) / float(log.probabilities.min())
    return Certificate("margin", estimate, estimate + complexity + deviation, confidence, n)
