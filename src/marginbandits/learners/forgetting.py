"""Rounds that count for a while only: copies of a learner that begin at different times, of which one plays.

Every copy learns every round, whoever played it. So this is for any learner, and means the same for all.

    window=n          two copies, each of which begins again after n rounds, half a window apart; the older one plays.
                      What is played was learnt from the last n/2 to n rounds.
    window="learnt"   the copy that plays goes on for as long as no younger one predicts better. Challengers begin again
                      every `BEGINS` rounds. Before a round is learnt, each copy predicts the loss of what was played.
                      With D the sum, since a challenger began, of the player's squared errors less its own,

                          D > ln(1/ALPHA)/2   it becomes the player.

Where the player predicts without bias, exp(2D) is a supermartingale, so no challenger of many is taken for a better one
but with probability ALPHA. A learner with a window costs as much to act as one without, and as many times to learn, and
to keep, as it has copies.

Hazan & Seshadhri (2009), "Efficient learning algorithms for changing environments".
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from marginbandits.contexts import Batch, Shape
from marginbandits.state import COUNT, Field, Record, State, room
from marginbandits.types import Array

__all__ = ["Forgetting"]

BEGINS = (128, 1024)
"""Rounds after which each challenger begins again."""
ALPHA = 1e-4


class Forgetting:
    """Copies of a learner for contexts of one shape; what is theirs is part of its state."""

    def __init__(self, window: int | str, shape: Shape, n_features: int) -> None:
        self.window, self.shape, self.n_features = window, shape, n_features
        n = 2 if isinstance(window, int) else 1 + len(BEGINS)
        self.began = np.zeros(n, np.int64)  # when each copy did
        self.clock = np.zeros(2, np.int64)  # rounds learnt, and which copy plays
        self.leads = np.zeros(n)  # D of each
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
            "leads": Field(self.leads, -COUNT, COUNT),
        }

    @property
    def player(self) -> Any:
        """The copy that plays."""
        return self._copies[min(int(self.clock[1]), len(self._copies) - 1)]

    def laws(self, batch: Batch) -> Array:
        """What the player plays."""
        return np.asarray(self.player._laws(batch))

    def learn(self, owner: Any, anew: Iterable[Any] | None, *newest: Any) -> None:
        """Teach all copies the newest round; the first of all learns its first rounds `anew` if there are any."""
        for array in (self.began, self.clock, self.leads):
            owner._journal.keep(array)
        if self.window == "learnt":
            self._judge(*newest[:3])
        for i, one in enumerate(self._copies):
            if anew is not None and i == self.clock[1] and self.began[i] == 0:
                one._anew(anew, *newest)
            else:
                one._update(*newest)
        self.clock[0] = min(int(self.clock[0]) + 1, COUNT)
        for i in self._due():
            self._renew(owner, i)

    def _judge(self, one: Batch, action: int, loss: float) -> None:
        """Who would have predicted this; a challenger that has predicted better for long enough becomes the player."""
        errors = np.array(
            [(min(max(float(each._predicted(one)[action]), 0.0), 1.0) - loss) ** 2 for each in self._copies]
        )
        player = int(self.clock[1])
        self.leads += errors[player] - errors
        best = int(self.leads.argmax())
        if self.leads[best] > -0.5 * math.log(ALPHA):
            self.clock[1] = best
            self.leads[...] = 0.0

    def _due(self) -> list[int]:
        """Which copies begin again now."""
        rounds, player = int(self.clock[0]), int(self.clock[1])
        if isinstance(self.window, int):
            half = -(-self.window // 2)
            if rounds % half:
                return []
            self.clock[1] = rounds // half % 2  # the one that began half a window ago
            return [1 - int(self.clock[1])]
        others = [i for i in range(len(self.began)) if i != player]
        return [i for i, every in zip(others, BEGINS, strict=True) if rounds % every == 0]

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
        self.began[i], self.leads[i] = self.clock[0], 0.0
        journal.records = ()
        owner._state = State({**owner._state.parts, **self._named()}, journal)


def _copied(owner: Any) -> Any:
    """A learner of the same parameters, with the same journal and generator, that has no window."""
    twin = object.__new__(type(owner))
    vars(twin).update({name: value for name, value in vars(owner).items() if name not in ("_lock", "_state")})
    twin._forgetting = twin._state = None
    return twin
