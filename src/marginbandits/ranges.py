"""In what numbers losses come: a declared range, as losses or as rewards, and what they are within [0, 1].

>>> import numpy as np
>>> as_losses(np.array([0.0, 125.0, 500.0]), (0.0, 500.0), rewards=True)
array([1.  , 0.75, 0.  ])
>>> as_losses(np.array([0.25, 2.0]), None, rewards=False)
array([0.25, 2.  ])
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from marginbandits.types import Array
from marginbandits.validation import Constraint, Instance, OneOf, Real

__all__ = ["MaybeRange", "Range", "as_losses", "one_range"]


class Range(Constraint):
    """Two numbers, the second larger than the first."""

    _number = Real()

    def __str__(self) -> str:
        return "two finite numbers, the larger one second"

    def clean(self, value: object) -> tuple[float, float]:
        """The two."""
        if isinstance(value, list | tuple) and len(value) == 2:
            low, high = (self._number.clean(one) for one in value)
            if low < high:
                return low, high
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        """One, three, two of which the larger comes first, and what is no number."""
        yield from ([], [0.0], [0.0, 1.0, 2.0], [1.0, 0.0], [1.0, 1.0], "ab", 3, [0.0, float("nan")], [0, "1"])


MaybeRange = Annotated[tuple[float, float] | None, OneOf(Range(), Instance(type(None)))]
"""Two numbers, or None for (0, 1)."""


def one_range(
    reward_range: tuple[float, float] | None, loss_range: tuple[float, float] | None
) -> tuple[float, float] | None:
    """The one that is given, if any; both are refused."""
    if reward_range is not None and loss_range is not None:
        raise ValueError(f"give reward_range or loss_range, got {reward_range} and {loss_range}")
    return reward_range or loss_range


def as_losses(values: Array, within: tuple[float, float] | None, *, rewards: bool) -> Array:
    """Losses within [0, 1] of values within this range; what is outside stays outside, and NaN stays NaN."""
    if within is not None:
        with np.errstate(over="ignore"):
            values = (values - within[0]) / (within[1] - within[0])
    return 1.0 - values if rewards else values
