"""What a log says of a policy's reward: sums over events of w, the policy's probability over that of the log, and w r.

The mean of w r is the IPS estimate, Σ w r / Σ w the self-normalised one (SNIPS), whose 95% interval comes from the
variance of w (r - SNIPS). Sums of disjoint events add up, so that they are kept by five minutes and put together later.

>>> both = Sums(1, 1.0, 1.0, 1.0, 1.0, 1.0, 1) + Sums(1, 1.0, 0.0, 1.0, 0.0, 0.0, 1)
>>> both.snips, round(both.half_width, 3)
(0.5, 0.693)
"""

import math

import msgspec

__all__ = ["Sums"]

_NORMAL = 1.959964


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
        """Of its interval."""
        mean = self.snips
        spread = max(self.wwrr - 2.0 * mean * self.wwr + mean * mean * self.ww, 0.0)
        return _NORMAL * math.sqrt(spread) / self.w if self.w else 0.0
