"""Rounds that count for a while only: a learner that begins again.

For any learner, and with one meaning for all.

    window=n          two copies, each of which begins again after n rounds, half a window apart; both learn all rounds,
                      and the older one plays. What is played was learnt from the last n/2 to n rounds.
    window="learnt"   one copy, which begins again when it loses more than it used to.

What it used to lose is a level m, a mean of its losses in which later ones weigh more, from 1 on. For shares s of the
way from m to 1, how much better m + s(1 - m) would have told what is lost lately is a sum that does not fall below 0,

    D_s <- max(0, D_s + (m - ℓ)² - (m + s(1 - m) - ℓ)²),

and it begins again when the largest is above `BAR` + ½ ln(n/3,000), n being its rounds and at least 3,000. Where losses
are m on average, or less, exp(2 D_s) from where it last was 0 is a supermartingale, so that none of n rounds is taken
for a change but with probability 4n exp(-2 BAR); with the logarithm this grows no further than ln n.

The features go on: how columns are scaled is not forgotten. A window costs as much to act as none does; to learn and to
keep, twice as much if it is a number, and nothing if it is learnt.

Page (1954), "Continuous inspection schemes".
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from marginbandits.contexts import Batch, Shape
from marginbandits.state import COUNT, Field, Record, State, room
from marginbandits.types import Array

__all__ = ["Forgetting"]

SHARES = (0.1, 0.2, 0.3, 0.5)
BAR = 6.0
RECENT, PRIOR = 2.0, 5.0
"""Round i weighs about like i^(RECENT - 1) in the level, which begins as if `PRIOR` rounds had lost 1."""


class Forgetting:
    """Copies of a learner for contexts of one shape; what is theirs is part of its state."""

    def __init__(self, window: int | str, shape: Shape, n_features: int) -> None:
        self.window, self.shape, self.n_features = window, shape, n_features
        self.began = np.zeros(2 if isinstance(window, int) else 1, np.int64)  # when each copy did
        self.clock = np.zeros(2, np.int64)  # rounds learnt, and which copy plays
        self.level = np.ones(1)  # m
        self.sums = np.zeros(len(SHARES))  # D
        self._copies: tuple[Any, ...] = ()
        self._parts: tuple[Mapping[str, Record | Field], ...] = ()

    def begin(self, owner: Any) -> Mapping[str, Record | Field]:
        """All copies, with nothing learnt; returns what they learn by name."""
        self._copies = tuple(_copied(owner) for _ in self.began)
        self._parts = tuple(one._begin(self.shape, self.n_features) for one in self._copies)
        return self._named()

    def _named(self) -> dict[str, Record | Field]:
        named = {f"copy{i}.{name}": one for i, part in enumerate(self._parts) for name, one in part.items()}
        return {
            **named,
            "began": Field(self.began, 0, COUNT),
            "clock": Field(self.clock, 0, COUNT),
            "level": Field(self.level, 0.0, 1.0),
            "sums": Field(self.sums, 0.0, COUNT),
        }

    @property
    def player(self) -> Any:
        """The copy that plays."""
        return self._copies[min(int(self.clock[1]), len(self._copies) - 1)]

    def laws(self, batch: Batch) -> Array:
        """What the player plays."""
        return np.asarray(self.player._laws(batch))

    def learn(self, owner: Any, anew: Iterable[Any] | None, *newest: Any) -> None:
        """Teach all copies the newest round; the player learns the first rounds of all `anew`, if it is time."""
        for array in (self.began, self.clock, self.level, self.sums):
            owner._journal.keep(array)
        player = self.player
        for one, began in zip(self._copies, self.began.tolist(), strict=True):
            if anew is not None and one is player and began == 0:
                one._anew(anew, *newest)
            else:
                one._update(*newest)
        self.clock[0] = min(int(self.clock[0]) + 1, COUNT)
        for i in self._due(newest[2]):
            self._renew(owner, i)

    def _due(self, loss: float) -> list[int]:
        """Which copies begin again now."""
        rounds = int(self.clock[0])
        if isinstance(self.window, int):
            half = -(-self.window // 2)
            if rounds % half:
                return []
            self.clock[1] = rounds // half % 2  # the one that began half a window ago
            return [1 - int(self.clock[1])]
        n, level = rounds - int(self.began[0]), float(self.level[0])
        ahead = [(level - loss) ** 2 - (level + share * (1.0 - level) - loss) ** 2 for share in SHARES]
        self.sums[:] = [max(0.0, before + one) for before, one in zip(self.sums.tolist(), ahead, strict=True)]
        self.level += (loss - level) * RECENT / (n - 1 + PRIOR + RECENT)
        return [0] if self.sums.max() > BAR + 0.5 * math.log(max(1.0, n / 3000.0)) else []

    def _renew(self, owner: Any, i: int) -> None:
        journal = owner._journal
        for holder, name in ((self, "_copies"), (self, "_parts"), (owner, "_state"), (journal, "records")):
            journal.keep_attribute(holder, name)
        owner._chance()
        fresh = _copied(owner)
        with room():
            parts = fresh._begin(self.shape, self.n_features)
        self._copies = (*self._copies[:i], fresh, *self._copies[i + 1 :])
        self._parts = (*self._parts[:i], parts, *self._parts[i + 1 :])
        self.began[i], self.level[0], self.sums[:] = self.clock[0], 1.0, 0.0
        journal.records = ()
        owner._state = State({**owner._state.parts, **self._named()}, journal)


def _copied(owner: Any) -> Any:
    """A learner of the same parameters, with the same journal and generator, that has no window."""
    twin = object.__new__(type(owner))
    vars(twin).update({name: value for name, value in vars(owner).items() if name not in ("_lock", "_state")})
    twin._forgetting = twin._state = None
    return twin
