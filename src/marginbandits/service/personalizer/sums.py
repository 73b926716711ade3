"""What a log says of a policy's reward: sums over events of w, the policy's probability over that of the log, and w r.

The mean of w r is the IPS estimate, Σ w r / Σ w the self-normalised one (SNIPS), whose 95% interval comes from the
variance of w (r - SNIPS): "ips" and "snips" of `evaluation.off_policy`, with its interval "normal", to rounding. Those
need every event; sums of disjoint events add up, so that they are kept by five minutes and put together later.

>>> both = Sums.of(1.0, 1.0) + Sums.of(1.0, 0.0)
>>> both.snips, round(both.half_width, 3)
(0.5, 0.98)
"""

import math

import msgspec
from scipy import special

__all__ = ["Sums"]

_NORMAL = float(special.ndtri(0.975))


class Sums(msgspec.Struct, frozen=True, array_like=True):
    """Of n events: weights, rewards by weight, and squares."""

    n: int = 0
    w: float = 0.0
    wr: float = 0.0
    ww: float = 0.0
    wwr: float = 0.0
    wwrr: float = 0.0
    used: int = 0

    @classmethod
    def of(cls, weight: float, reward: float) -> "Sums":
        """One event."""
        wr = weight * reward
        return cls(1, weight, wr, weight * weight, weight * wr, wr * wr, int(weight > 0.0))

    def __add__(self, other: "Sums") -> "Sums":
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Sums(*(one + more for one, more in pairs))

    @property
    def snips(self) -> float:
        """The estimate; 0 where the log never does what the policy would."""
        return self.wr / self.w if self.w else 0.0

    @property
    def half_width(self) -> float:
        """Of its interval; 0 where there are no two events, of which alone one can be known."""
        if self.n < 2 or not self.w:
            return 0.0
        mean = self.snips
        spread = max(self.wwrr - 2.0 * mean * self.wwr + mean * mean * self.ww, 0.0)
        return _NORMAL * math.sqrt(spread * self.n / (self.n - 1)) / self.w
