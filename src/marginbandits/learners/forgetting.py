"""Rounds that count for a while only: a learner that begins again.

For any learner, and with one meaning for all.

    window=n          two copies, each of which begins again after n rounds, half a window apart; both learn all rounds,
                      and the older one plays. What is played was learnt from the last n/2 to n rounds.
    window="learnt"   one copy, which begins again when it loses more than it used to.

What it used to lose is a level m, a mean of its losses in which later ones weigh more, from 1 on. For shares s of the
way from m to 1, a sum that does not fall below 0 tells how much likelier what was lost lately is at m' = m + s(1 - m),

    D_s <- max(0, D_s + ℓ ln(m'/m) + (1 - ℓ) ln((1 - m')/(1 - m))),

and it begins again when the largest is above `BAR` + ln(n/3,000), n being its rounds and at least 3,000. Where losses
within [0, 1] are m on average, or less, exp(D_s) from where it last was 0 is a supermartingale, so that n rounds are
taken for a change with probability at most 4n exp(-BAR), or with the logarithm 4 ln n times that of 3,000. The level is
itself an estimate, and at least 3/(n + 3): so this is a guide. Rounds that are learnt at once (`learn_many`) count by
their mean: in which order they come does not matter.

The features go on: how columns are scaled is not forgotten. A window costs as much to act as none does; to learn and to
keep, twice as much if it is a number, and some microseconds a round if it is learnt.

Page (1954), "Continuous inspection schemes".

>>> import numpy as np
>>> watch = np.array([3000.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
>>> [rose(watch, 3000.0, 3, 1.0) for _ in range(4)]  # three losses at once, where one in five was usual; and again
[False, False, False, True]
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.contexts import Shape
from marginbandits.state import COUNT, Field, Journal, Record, State, room
from marginbandits.types import Array

__all__ = ["Forgetting", "rose"]

SHARES = np.array([0.1, 0.2, 0.3, 0.5])
BAR = 12.0
RECENT, PRIOR, LEAST = 2.0, 5.0, 3.0
"""Round i weighs about like i^(RECENT - 1) in the level, which begins as if `PRIOR` rounds had lost 1."""
_ROUNDS, _PLAYER, _LEVEL, _SUMS = range(4)


class Watch(Record):
    """When each copy began; and rounds learnt, which copy plays, m, and D."""

    def __init__(self, n_copies: int) -> None:
        self.began = np.zeros(n_copies, np.int64)
        self.now = np.array([0.0, 0.0, 1.0, *(0.0 for _ in SHARES)])
        self.attach(Journal())

    @property
    def player(self) -> int:
        """The copy that plays."""
        return int(self.now[_PLAYER])

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {"began": Field(self.began, 0, COUNT), "now": Field(self.now, 0.0, COUNT)}

    def check(self) -> None:
        """Copies began before now, one of them plays, and the level is one of losses."""
        rounds, player, level = self.now[:_SUMS].tolist()
        if not (player in range(len(self.began)) and rounds == int(rounds) and (self.began <= rounds).all()):
            raise ValueError("now must have rounds since copies began, and one of them to play")
        if level > 1.0 or (self.now[_SUMS:] > 1e6).any():
            raise ValueError("now must have a level within [0, 1], and sums that would have been taken for a change")


class Forgetting:
    """Copies of a learner for contexts of one shape; what is theirs is part of its state."""

    def __init__(self, window: int | str, shape: Shape, n_features: int) -> None:
        self.shape, self.n_features = shape, n_features
        self.half = None if isinstance(window, str) else -(-window // 2)
        self.watch = Watch(1 if self.half is None else 2)
        self.copies: tuple[Any, ...] = ()
        self._parts: tuple[Mapping[str, Record | Field], ...] = ()

    def begin(self, owner: Any) -> Mapping[str, Record | Field]:
        """All copies, with nothing learnt; returns what they learn by name."""
        self.copies = tuple(_copied(owner) for _ in self.watch.began)
        self._parts = tuple(one._begin(self.shape, self.n_features) for one in self.copies)
        return self._named()

    def _named(self) -> dict[str, Record | Field]:
        named = {f"copy{i}.{name}": one for i, part in enumerate(self._parts) for name, one in part.items()}
        return {**named, "window": self.watch}

    @property
    def player(self) -> Any:
        """The copy that plays."""
        return self.copies[self.watch.player]

    def learn(self, owner: Any, anew: Iterable[Any] | None, *newest: Any) -> None:
        """Teach all copies the newest round; the player learns the first rounds of all `anew`, if it is time."""
        now, began = self.watch.now, self.watch.began
        owner._journal.keep(now)
        for i, one in enumerate(self.copies):
            if anew is not None and i == self.watch.player and began[i] == 0:
                one._anew(anew, *newest)
            else:
                one._update(*newest)
        now[_ROUNDS] = rounds = min(now[_ROUNDS] + 1.0, COUNT)
        if self.half is not None and rounds % self.half == 0.0:
            now[_PLAYER] = rounds // self.half % 2.0  # the one that began half a window ago
            self._renew(owner, 1 - self.watch.player)

    def look(self, owner: Any, losses: list[float]) -> None:
        """After some rounds have been learnt: begin again if losses have risen."""
        now = self.watch.now
        if self.half is None and rose(now, now[_ROUNDS] - self.watch.began[0], len(losses), sum(losses) / len(losses)):
            self._renew(owner, 0)

    def _renew(self, owner: Any, i: int) -> None:
        journal = owner._journal
        for holder, name in ((self, "copies"), (self, "_parts"), (owner, "_state"), (journal, "records")):
            journal.keep_attribute(holder, name)
        owner._chance()
        fresh = _copied(owner)
        with room():
            parts = fresh._begin(self.shape, self.n_features)
        self.copies = (*self.copies[:i], fresh, *self.copies[i + 1 :])
        self._parts = (*self._parts[:i], parts, *self._parts[i + 1 :])
        journal.keep(self.watch.began)
        self.watch.began[i], self.watch.now[_LEVEL], self.watch.now[_SUMS:] = self.watch.now[_ROUNDS], 1.0, 0.0
        journal.records = ()
        owner._state = State({**owner._state.parts, **self._named()}, journal)


@kernel
def rose(watch: Array, n: float, k: int, loss: float) -> bool:
    """Whether losses have risen, after n rounds since it began, the last k of which lost so much on average."""
    before = max(n - k, 0.0)
    level, largest = max(watch[_LEVEL], LEAST / (before + LEAST)), 0.0
    for i in range(SHARES.shape[0]):
        share = SHARES[i]
        ahead = loss * math.log((level + share * (1.0 - level)) / level) + (1.0 - loss) * math.log(1.0 - share)
        watch[_SUMS + i] = max(0.0, watch[_SUMS + i] + k * ahead)
        largest = max(largest, watch[_SUMS + i])
    watch[_LEVEL] += (loss - watch[_LEVEL]) * min(1.0, RECENT * k / (before + PRIOR + RECENT))
    return bool(largest > BAR + math.log(max(1.0, n / 3000.0)))


def _copied(owner: Any) -> Any:
    """A learner of the same parameters, with the same journal and generator, that has no window."""
    twin = object.__new__(type(owner))
    vars(twin).update({name: value for name, value in vars(owner).items() if name not in ("_lock", "_state")})
    twin._forgetting = twin._state = None
    return twin
