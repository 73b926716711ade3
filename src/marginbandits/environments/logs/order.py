"""Whether the losses of a log stand in an order that chance would not give: sorted by reward, say.

Estimates do not mind the order, but learning from such a log, splitting it in two or watching a mean over time goes
wrong. The measure is the correlation of neighbouring losses, kept as three sums:

    r = Σ (ℓ_t - m)(ℓ_{t+1} - m) / Σ (ℓ_t - m)²

In random order r√n is near a standard normal. A log is called sorted if r is at least 1/2, r√n at least 5, and the sum
below the line at least 20 times the square of the widest difference (so that of 0/1 losses about 20 of each are there):
fewer than one log in a thousand in random order is.
A log in which users come back, or which drifts slowly, has correlated neighbours too, but seldom as much as 1/2.

>>> import numpy as np
>>> losses = np.random.default_rng(0).random(1000)
>>> shuffled, inorder = Order(), Order()
>>> shuffled.add(losses)
>>> inorder.add(np.sort(losses))
>>> shuffled.sorted, inorder.sorted
(False, True)
"""

import math

import numpy as np

from marginbandits.types import Array

__all__ = ["Order"]

LEAST, SURPRISE, ENOUGH = 0.5, 5.0, 20


class Order:
    """Sums over losses in the order they come in; kept from the mean of the first ones, for precision."""

    def __init__(self) -> None:
        self._n, self._sum, self._squares, self._products = 0, 0.0, 0.0, 0.0
        self._first = self._last = self._origin = 0.0
        self._low, self._high = math.inf, -math.inf

    def add(self, losses: Array) -> None:
        """Some more."""
        if not len(losses):
            return
        if self._n == 0:
            self._origin = float(losses.mean())
            self._first = float(losses[0]) - self._origin
        centred = losses - self._origin
        chain = centred if self._n == 0 else np.concatenate([[self._last], centred])
        self._products += float(chain[1:] @ chain[:-1])
        self._squares += float(centred @ centred)
        self._sum += float(centred.sum())
        self._last = float(centred[-1])
        self._n += len(losses)
        self._low = min(self._low, float(losses.min()))
        self._high = max(self._high, float(losses.max()))

    @property
    def correlation(self) -> float:
        """r: 0 where losses do not differ."""
        spread, m = self._spread(), self._sum / max(self._n, 1)
        if spread <= 1e-12 * self._squares or self._n < 2:
            return 0.0
        ends = self._first + self._last
        return (self._products - m * (2 * self._sum - ends) + (self._n - 1) * m * m) / spread

    @property
    def sorted(self) -> bool:
        """Whether they are in no random order."""
        r, widest = self.correlation, self._high - self._low
        return r >= LEAST and r * math.sqrt(self._n) >= SURPRISE and self._spread() >= ENOUGH * widest**2

    def _spread(self) -> float:
        return self._squares - self._sum**2 / max(self._n, 1)
