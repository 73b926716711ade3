"""The first rounds of a run, learnt anew once their scale is known better.

Features are scaled by what has been seen so far, so the first rounds of any run enter in scales that later ones do not
share, and a learner that forgets nothing keeps them so. Therefore those that ask for it (`early`) keep the first rounds
as they came; after 8, 16, ..., `early` rounds they begin again, and learn all of them once more in the scales of that
moment. So all that is learnt twice or more is less than three times `early` rounds; then the rounds kept are given up.

>>> import numpy as np
>>> from marginbandits.contexts import per_action
>>> kept = Early(most=16, together=False, n_actions=2, width=1)
>>> for i in range(7):
...     _ = kept.put(per_action(np.array([[float(i)]]), 2), 1, 0.5, 1.0)
>>> kept.due()  # with the eighth
True
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from marginbandits.contexts import LARGEST, Batch, dense, per_action, shared
from marginbandits.features import FeatureMap
from marginbandits.learners.inputs import RAREST
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["Early", "Round"]

Round = tuple[Batch, int, float, float]
"""What `_update` takes."""

FIRST = 8
"""Rounds before anything is learnt anew."""
_ROOM = 2**23
"""Numbers that rows may take."""
_AT_ONCE = 16
"""Rounds whose features are made at once."""


class Early(Record):
    """Up to `most` rounds, as far as their rows take no more than 64 MiB: rows, action, loss and probability."""

    def __init__(self, most: int, together: bool, n_actions: int, width: int) -> None:
        self.together, self.n_actions = together, n_actions
        self.rows = zeros((min(most * (n_actions if together else 1), max(_ROOM // width, 1)), width))
        self.starts = zeros((most + 1,), np.int64)
        self.actions = zeros((most,), np.int64)
        self.results: Array = zeros((most, 2))  # loss and probability
        self.rounds = np.zeros(1, np.int64)
        self.attach(Journal())

    @property
    def over(self) -> bool:
        """Whether nothing is learnt anew any more."""
        return int(self.rounds[0]) == len(self.actions)

    def due(self) -> bool:
        """Whether, with the next round, it is time to learn all of them anew."""
        n = int(self.rounds[0])
        return FIRST <= n + 1 <= len(self.actions) and (n + 1) & n == 0

    def put(self, one: Batch, action: int, loss: float, probability: float) -> bool:
        """Keep a round as it came, if it is among the first and there is room; whether it was."""
        n = int(self.rounds[0])
        if n >= len(self.actions):
            return False
        rows = dense(one.rows)
        start, keep = int(self.starts[n]), self.journal.keep
        end = start + len(rows)
        if end > len(self.rows):
            self.give_up()
            return False
        keep(self.rounds)
        keep(self.rows, slice(start, end))
        keep(self.starts, n + 1)
        keep(self.actions, n)
        keep(self.results, n)
        self.rows[start:end], self.starts[n + 1], self.actions[n] = rows, end, action
        self.results[n] = loss, probability
        self.rounds[0] = n + 1
        return True

    def again(self, features: FeatureMap) -> Iterator[Round]:
        """All rounds kept, in order, in today's scales."""
        n, usual = int(self.rounds[0]), per_action(self.rows[:1], self.n_actions)
        for first in range(0, n, _AT_ONCE):
            last = min(first + _AT_ONCE, n)
            start = self.starts[first]
            rows = features.transform(self.rows[start : self.starts[last]])
            for i in range(first, last):
                own = rows[self.starts[i] - start : self.starts[i + 1] - start]
                one = shared([own]) if self.together else Batch(own, False, usual.starts, usual.mask)
                yield one, int(self.actions[i]), float(self.results[i, 0]), float(self.results[i, 1])

    def give_up(self) -> None:
        """Nothing will be learnt anew any more."""
        self.journal.keep(self.rounds)
        for array in (self.rows, self.starts, self.actions, self.results):
            self.journal.keep(array)
            array[...] = 0
        self.rounds[0] = len(self.actions)

    def _adopt(self, before: "Early", places: Any) -> None:
        """The same rounds, where actions have moved to other places; none if one that was played is gone."""
        n, where = int(before.rounds[0]), {int(old): new for new, old in enumerate(places) if old >= 0}
        gone = not self.together and any(int(action) not in where for action in before.actions[:n])
        if before.over or gone:
            self.rounds[0] = len(self.actions)
            return
        for i in range(n):
            rows, action = before.rows[before.starts[i] : before.starts[i + 1]], int(before.actions[i])
            one = shared([rows]) if self.together else per_action(rows, self.n_actions)
            if not self.put(one, action if self.together else where[action], *before.results[i].tolist()):
                return

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "rows": Field(self.rows, -LARGEST, LARGEST),
            "starts": Field(self.starts, 0, len(self.rows)),
            "actions": Field(self.actions, 0, COUNT),
            "results": Field(self.results, 0.0, 1.0),
            "rounds": Field(self.rounds, 0, len(self.actions)),
        }

    def check(self) -> None:
        """Every round has the rows it can have, an action among them, and a probability."""
        n = int(self.rounds[0])
        if self.over:
            return
        sizes = np.diff(self.starts[: n + 1])
        if (sizes < 1).any() or not (self.together or (sizes == 1).all()):
            raise ValueError("starts must leave every round its rows")
        if (self.actions[:n] >= (sizes if self.together else self.n_actions)).any():
            raise ValueError("actions must be among those of their rounds")
        if not (self.results[:n, 1] >= RAREST).all():
            raise ValueError(f"results must have probabilities of at least {RAREST:g}")
