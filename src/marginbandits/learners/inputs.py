"""What users hand to a learner beside contexts: losses, decisions, masks; each refused by name if it is not one."""

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from marginbandits.arrays import Booleans
from marginbandits.learners.offers import Names
from marginbandits.types import Decision, Mask
from marginbandits.validation import quoted

__all__ = ["HEAVIEST", "Scale", "each", "is_one_mask", "read_decision", "read_loss", "read_mask", "read_masks"]

T = TypeVar("T")
U = TypeVar("U")

# The plain types first: a check against an abstract class costs ten times as much.
_REAL: tuple[Any, ...] = (float, numbers.Real, np.bool_)
_INTEGER: tuple[Any, ...] = (int, numbers.Integral)
_BOOL: tuple[Any, ...] = (bool, np.bool_)
_TIME: tuple[Any, ...] = (np.timedelta64, np.datetime64)  # numbers to the abstract classes, but of what?

_MASKS = Booleans(1, 2)

RAREST = 1e-12
"""A probability below this is learnt from as if it were this: importance weights and their squares stay numbers."""

HEAVIEST = 1.0 / RAREST
"""So no weight 1/p is above this."""

FAINTEST = 1e-100
"""A loss below this is 0: its square would be."""


class Scale(NamedTuple):
    """In what numbers losses come: as losses, or as rewards, within low and high.

    >>> Scale(rewards=True, low=0.0, high=500.0).loss(None, 125)
    0.75
    """

    rewards: bool
    low: float
    high: float

    @property
    def slope(self) -> float:
        """What a loss of 1 more is in these numbers."""
        return self.low - self.high if self.rewards else self.high - self.low

    def given(self, loss: Any) -> Any:
        """Losses within [0, 1], one or an array, in these numbers."""
        return (self.high if self.rewards else self.low) + self.slope * loss

    def loss(self, loss: Any, reward: Any) -> float:
        """The loss within [0, 1]."""
        name, value, other = ("reward", reward, loss) if self.rewards else ("loss", loss, reward)
        if value is None or other is not None:
            raise ValueError(f"give {name} alone, by {name}_range, got loss={quoted(loss)} and reward={quoted(reward)}")
        share = (_within(name, value, self.low, self.high) - self.low) / (self.high - self.low)
        return _told(1.0 - share if self.rewards else share)


def read_loss(loss: Any, reward: Any, scale: Scale | None = None) -> float:
    """The loss, or 1 - reward: one of them must be given, a number in [0, 1]. One below `FAINTEST` is 0."""
    if scale is not None:
        return scale.loss(loss, reward)
    if reward is None and isinstance(loss, float) and 0.0 <= (number := float(loss)) <= 1.0:
        return number if number >= FAINTEST else 0.0  # most of them; NumPy's own compare slowly
    if (loss is None) == (reward is None):
        raise ValueError(f"give either loss or reward, got loss={quoted(loss)} and reward={quoted(reward)}")
    if reward is None:
        return _told(_within("loss", loss, 0.0, 1.0))
    return 1.0 - _told(_within("reward", reward, 0.0, 1.0))


def _within(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, _REAL) and not isinstance(value, _TIME) and low <= value <= high:
        return min(max(float(value), low), high)  # numbers of few digits are compared in as few
    raise ValueError(f"{name} must be a number in [{low:.15g}, {high:.15g}], got {quoted(value)}")


def _told(number: float) -> float:
    """The number, if it is not so small that its square is none."""
    return number if number >= FAINTEST else 0.0


def read_decision(decision: object, n_actions: int, names: Names | None = None) -> tuple[int, float]:
    """The place of a decision's action, and its probability; from `act` or from a log."""
    if not isinstance(decision, Decision):
        hint = "; Decision.from_dict makes one of it" * isinstance(decision, dict)
        raise ValueError(f"decision must be a Decision, got {quoted(decision)}{hint}")
    law = decision.distribution
    if law is not None and names is None and _size(law) != n_actions:
        raise ValueError(f"decision must be one of {n_actions} actions, got one of {_size(law)}: another learner's?")
    action: Any = decision.action if names is None else names.place(decision.action)
    probability: Any = decision.probability
    if type(action) is int and type(probability) is float and 0 <= action < n_actions and RAREST <= probability <= 1:
        return action, probability  # what `act` made; the rest is for decisions from elsewhere
    whole = isinstance(action, _INTEGER) and not isinstance(action, _BOOL + _TIME)
    place = int(action) if whole else -1  # once: what it says the next time is of no concern
    if not 0 <= place < n_actions:
        hint = "; give actions= as act was given them" * isinstance(action, str)
        raise ValueError(f"action must be a whole number from 0 to {n_actions - 1}, got {quoted(action)}{hint}")
    real = isinstance(probability, _REAL) and not isinstance(probability, _BOOL + _TIME)
    share = _number(probability) if real else 0.0
    if not 0.0 < share <= 1.0:
        raise ValueError(f"probability must be a number above 0 and at most 1, got {quoted(probability)}")
    return place, max(share, RAREST)


def _number(value: Any) -> float:
    """As a float; what is too large for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _size(law: Any) -> int:
    """How many actions a law is of; of what is none, one."""
    try:
        return len(law)
    except TypeError:
        return 1


def each(name: str, items: Iterable[T], read: Callable[[T], U]) -> list[U]:
    """All of them read; the error of a bad one says which it is."""
    found = []
    for i, item in enumerate(items):
        try:
            found.append(read(item))
        except ValueError as error:
            raise ValueError(f"{name}[{i}]: {error}") from None
    return found


def read_mask(available: Any, n_actions: int) -> Mask:
    """A mask of booleans, at least one of them True."""
    try:
        mask: Mask = np.asarray(_MASKS.clean(available))
    except ValueError:
        raise ValueError(f"available must be a mask of {n_actions} booleans, got {quoted(available)}") from None
    if mask.shape != (n_actions,):
        raise ValueError(f"available must be a mask of {n_actions} booleans, got {quoted(available)}")
    if not mask.any():
        raise ValueError(f"available must leave at least one action, got {quoted(available)}")
    return mask


def read_masks(available: Any, n: int) -> Sequence[Any]:
    """One mask for all of n contexts, or one for each, to be read with each context."""
    if available is None:
        return [None] * n
    if n == 0 and not (isinstance(available, list | tuple | np.ndarray) and len(available) == 0):
        try:
            _MASKS.clean(available)
        except ValueError:
            raise ValueError(f"available must be booleans, got {quoted(available)}") from None
    masks = [available] * n if n == 0 or is_one_mask(available) else list(available)
    if len(masks) != n:
        raise ValueError(f"available must be one mask, or one for each of {n} contexts, got {len(masks)}")
    return masks


def is_one_mask(available: Any) -> bool:
    """Whether it is one mask for all contexts, and not a sequence of them."""
    if isinstance(available, np.ndarray):
        return available.ndim < 2
    if not isinstance(available, list | tuple):
        return True
    return not any(one is None or isinstance(one, list | tuple | np.ndarray) for one in available)
