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
ValueError: p must be a finite number above 0, got -1.0
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from scipy.special import gamma, gammaincc

from marginbandits.validation import Integer, Real, validated

__all__ = ["Entropy", "FiniteSize", "Parametric", "Power"]

Positive = Annotated[float, Real(above=0)]


class Entropy(ABC):
    """H(ε), its inverse and the integral of its root."""

    radius: float

    def at(self, scale: float) -> float:
        """H(ε): 0 from the radius on."""
        return 0.0 if scale >= self.radius else max(self._at(scale), 0.0)

    def integral(self, low: float, high: float) -> float:
        """I(low, high) = ∫ √H(ε) dε, in closed form; infinite where it diverges at 0."""
        high = min(high, self._reach())
        return self._integral(low, high) if low < high else 0.0

    @abstractmethod
    def scale_at(self, entropy: float) -> float:
        """The least ε > 0 with H(ε) <= entropy, up to the radius."""

    @abstractmethod
    def _at(self, scale: float) -> float: ...

    @abstractmethod
    def _integral(self, low: float, high: float) -> float: ...

    def _reach(self) -> float:
        return self.radius


@dataclass(frozen=True, slots=True)
class FiniteSize(Entropy):
    """N regressors."""

    size: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        _check_finite(self.size, self.radius)

    def at(self, scale: float) -> float:
        """Ln N at every scale: what exponential weights pay."""
        return math.log(self.size)

    def scale_at(self, entropy: float) -> float:
        """0 if ln N is no more than that, else the radius."""
        return 0.0 if math.log(self.size) <= entropy else self.radius

    def _at(self, scale: float) -> float:
        return math.log(self.size)

    def _integral(self, low: float, high: float) -> float:
        return math.sqrt(math.log(self.size)) * (high - low)


@dataclass(frozen=True, slots=True)
class Parametric(Entropy):
    """H(ε) = d ln(c/ε): d parameters."""

    dimension: float
    scale: float = 1.0  # c
    radius: float = 1.0

    def __post_init__(self) -> None:
        _check_parametric(self.dimension, self.scale, self.radius)

    def scale_at(self, entropy: float) -> float:
        """C exp(-h/d)."""
        return min(self.scale * math.exp(-entropy / self.dimension), self.radius)

    def _at(self, scale: float) -> float:
        return math.inf if scale <= 0.0 else self.dimension * math.log(self.scale / scale)

    def _integral(self, low: float, high: float) -> float:
        u = [math.inf if e <= 0.0 else math.log(self.scale / e) for e in (high, low)]
        upper = [float(gammaincc(1.5, one)) if one < math.inf else 0.0 for one in u]
        return self.scale * math.sqrt(self.dimension) * float(gamma(1.5)) * (upper[0] - upper[1])

    def _reach(self) -> float:
        return min(self.radius, self.scale)


@dataclass(frozen=True, slots=True)
class Power(Entropy):
    """H(ε) = C ε^-p: a nonparametric class."""

    p: float
    constant: float = 1.0  # C
    radius: float = 1.0

    def __post_init__(self) -> None:
        _check_power(self.p, self.constant, self.radius)

    def scale_at(self, entropy: float) -> float:
        """(C/h)^{1/p}."""
        return min((self.constant / entropy) ** (1.0 / self.p), self.radius) if entropy > 0.0 else self.radius

    def _at(self, scale: float) -> float:
        return math.inf if scale <= 0.0 else self.constant * scale**-self.p

    def _integral(self, low: float, high: float) -> float:
        root, k = math.sqrt(self.constant), 1.0 - 0.5 * self.p
        if low <= 0.0:
            return float(root * high**k / k) if k > 0.0 else math.inf
        spread = math.log(high / low)
        if abs(k) * spread < 1e-8:  # p = 2 or next to it
            return float(root * low**k * spread)
        return float(root * low**k * math.expm1(k * spread) / k)


@validated
def _check_finite(size: Annotated[int, Integer(1)], radius: Positive) -> None: ...


@validated
def _check_parametric(dimension: Positive, scale: Positive, radius: Positive) -> None: ...


@validated
def _check_power(p: Positive, constant: Positive, radius: Positive) -> None: ...
