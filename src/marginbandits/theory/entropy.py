"""How large a class is at each scale: its sequential metric entropy H(ε) = log N_∞,∞(ε, F, T), and I(a, b) = ∫ √H.

    finite          H = ln N                     I = √(ln N) (b - a)
    parametric      H = d ln(c/ε)                I = c √d (Γ(3/2, ln(c/b)) - Γ(3/2, ln(c/a)))
    nonparametric   H = C ε^-p                   I = √C (b^{1-p/2} - a^{1-p/2})/(1 - p/2),  √C ln(b/a) at p = 2

Lipschitz functions on [0, 1]^p are nonparametric with their p; the unit ball of ℓ_q, 1 < q <= 2, with p = q/(q-1); a
class of sequential Rademacher complexity Rad behaves like p = 2 with C = Rad²/T, up to logarithms. Beyond its radius,
the largest score B, a class is one point: H(ε) = 0 for ε >= B. Integrals stop there.

>>> Power(2.0).integral(0.25, 0.5).__round__(6), Parametric(3).at(0.5).__round__(6)
(0.693147, 2.079442)
>>> Power(-1.0)
Traceback (most recent call last):
    ...
ValueError: p must be a finite number at least 0.001 and at most 1000, got -1.0
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from scipy.special import gamma, gammaincc

from marginbandits.validation import Integer, Positive, Real, record, validated

__all__ = ["Dimension", "Entropy", "FiniteSize", "Parametric", "Power"]

Dimension = Annotated[float, Real(1e-3, 1e3)]
"""p of a nonparametric class: at either end the rate is that of the limit to three digits."""

Scale = Annotated[float, Real(0, 1e300)]


class Entropy(ABC):
    """H(ε), its inverse and the integral of its root. A subclass fills `_below`, `_inverse` and `_integral`."""

    radius: float

    @validated
    def at(self, scale: Scale) -> float:
        """H(ε): 0 from the radius on; but ln N at every scale for a finite class, which exponential weights pay."""
        return self._at(scale)

    @validated
    def integral(self, low: Scale, high: Scale) -> float:
        """I(low, high) = ∫ √H(ε) dε, in closed form; infinite where it diverges at 0, or no float holds it."""
        return self._area(low, high)

    @validated
    def scale_at(self, entropy: Annotated[float, Real(0, 1e308)]) -> float:
        """The least ε > 0 with H(ε) <= entropy, up to the radius; 0 for a finite class that is no larger."""
        return self._scale_at(entropy)

    # The same without checks, for searches that ask ten thousand times.

    def _at(self, scale: float) -> float:
        return 0.0 if scale >= self.radius else max(self._below(scale), 0.0)

    def _area(self, low: float, high: float) -> float:
        high = min(high, self._reach())
        return self._integral(low, high) if low < high else 0.0

    def _scale_at(self, entropy: float) -> float:
        return min(self._inverse(entropy), self.radius) if entropy > 0.0 else self.radius

    # What they are below the radius.

    @abstractmethod
    def _below(self, scale: float) -> float: ...

    @abstractmethod
    def _inverse(self, entropy: float) -> float: ...

    @abstractmethod
    def _integral(self, low: float, high: float) -> float: ...

    def _reach(self) -> float:
        return self.radius


@record
@dataclass(frozen=True, slots=True)
class FiniteSize(Entropy):
    """N regressors."""

    size: Annotated[int, Integer(1, 10**300)]
    radius: Positive = 1.0

    def _at(self, scale: float) -> float:
        return math.log(self.size)

    def _scale_at(self, entropy: float) -> float:
        return self._inverse(entropy)

    def _below(self, scale: float) -> float:
        return math.log(self.size)

    def _inverse(self, entropy: float) -> float:
        return 0.0 if math.log(self.size) <= entropy else self.radius

    def _integral(self, low: float, high: float) -> float:
        return math.sqrt(math.log(self.size)) * (high - low)


@record
@dataclass(frozen=True, slots=True)
class Parametric(Entropy):
    """H(ε) = d ln(c/ε): d parameters."""

    dimension: Annotated[float, Real(1e-3, 1e9)]
    scale: Positive = 1.0  # c
    radius: Positive = 1.0

    def _below(self, scale: float) -> float:
        return math.inf if scale <= 0.0 else self.dimension * math.log(self.scale / scale)

    def _inverse(self, entropy: float) -> float:
        return self.scale * math.exp(-entropy / self.dimension)

    def _integral(self, low: float, high: float) -> float:
        u = [math.inf if e <= 0.0 else math.log(self.scale / e) for e in (high, low)]
        upper = [float(gammaincc(1.5, one)) if one < math.inf else 0.0 for one in u]
        return self.scale * math.sqrt(self.dimension) * float(gamma(1.5)) * (upper[0] - upper[1])

    def _reach(self) -> float:
        return min(self.radius, self.scale)


@record
@dataclass(frozen=True, slots=True)
class Power(Entropy):
    """H(ε) = C ε^-p: a nonparametric class."""

    p: Dimension
    constant: Positive = 1.0  # C
    radius: Positive = 1.0

    def _below(self, scale: float) -> float:
        return math.inf if scale <= 0.0 else self.constant * _power(scale, -self.p)

    def _inverse(self, entropy: float) -> float:
        return _power(self.constant / entropy, 1.0 / self.p)

    def _integral(self, low: float, high: float) -> float:
        root, k = math.sqrt(self.constant), 1.0 - 0.5 * self.p
        if low <= 0.0:
            return float(root * high**k / k) if k > 0.0 else math.inf
        spread = math.log(high / low) if high / low < math.inf else math.log(high) - math.log(low)
        if abs(k) * spread < 1e-8:  # p = 2 or next to it
            return root * _power(low, k) * spread
        # From the end that is larger, so that nothing overflows but the answer.
        if k > 0.0:
            return root * _power(high, k) * -math.expm1(-k * spread) / k
        return root * _power(low, k) * math.expm1(k * spread) / k


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent) if base < math.inf else math.inf
    except OverflowError:
        return math.inf
