"""Whether the propensities of a log tell how its actions were chosen: by the contexts that each action met.

    E z (1{a taken}/p - 1{a there}) = 0        for every action a and any number z made of the context

Weighted by 1/p, the rounds of each action have the contexts that all rounds have. They do not where p leaves out what
the choice was made by ("it was random, I think"), nor where z is no context at all but came after the action: a visit,
in a log of purchases. Both make estimates wrong, and nothing else in the log shows it.

Numbers are columns, and each word is one, of the first 256 (`WIDEST`) and of the first 65,536 rounds of each file
(`LONGEST`); each part of them is centred, over its deviation, and cut at 3. All columns and actions together are one
test, of those with 20 rounds on either side of the middle. It fails where p is below one in a million (`FAR`): so many
tests of skewed sums are far out in tails that no approximation knows.

>>> rng = np.random.default_rng(0)
>>> X, random = rng.standard_normal((4000, 2)), rng.integers(0, 2, 4000)
>>> chosen = (rng.random(4000) < np.where(X[:, 1] > 0, 0.6, 0.4)).astype(int)
>>> for actions in (random, chosen):
...     balance = Balance(2)
...     balance.add(Rounds(X, actions, np.zeros(4000), np.full(4000, 0.5), labels=("a", "b"), columns=("age", "sum")))
...     print(balance.finding(("a", "b")).text)
contexts are alike whatever was done, by the propensities (smallest p = 1)
'sum' differs by whether 'a' was done, beyond what the propensities say (p = 1.4e-19)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginbandits.contexts import LARGEST
from marginbandits.evaluation.off_policy.diagnostics import DIGITS, FEW, Finding, chance
from marginbandits.rounds import Rounds
from marginbandits.types import Array

__all__ = ["Balance"]

WIDEST = 256
LONGEST = 2**16
FAR = 1e-6
_ADVICE = (
    "Either the propensities leave out what actions were chosen by, and no number from this log is right; or that "
    "column came after the action, and is no context: leave it out"
)


class Balance:
    """Sums over the rounds of a log, for each column and action."""

    def __init__(self, n_actions: int) -> None:
        self.n = 0
        self.places: dict[str, int] = {}
        self._sums = np.zeros((5, 0, n_actions))  # of x, x², x³, and of rounds on either side of the middle

    def add(self, rounds: Rounds) -> None:
        """The next rounds, until there are enough."""
        rounds = rounds.take(slice(0, LONGEST - self.n))
        if not len(rounds) or rounds.probabilities is None:
            return
        columns = _columns(rounds, self.places)
        if columns is None:
            return
        self.n += len(rounds)
        self._grow()
        taken = np.zeros((len(rounds), rounds.n_actions))
        taken[rounds.at] = 1.0
        there = 1.0 if rounds.available is None else rounds.available
        surplus = taken / rounds.probabilities[:, None] - there
        z = columns - columns.mean(0)
        spread = z.std(0)
        z = np.clip(z / np.where(spread > 0.0, spread, 1.0), -3.0, 3.0)
        for k in range(3):
            self._sums[k] += (z ** (k + 1)).T @ surplus ** (k + 1)
        self._sums[3] += (z > 0.0).T.astype(float) @ taken
        self._sums[4] += (z < 0.0).T.astype(float) @ taken

    def join(self, other: "Balance") -> None:
        """The rounds of another file."""
        for name in other.places:
            if len(self.places) < WIDEST:
                self.places.setdefault(name, len(self.places))
        self._grow()
        for name, place in other.places.items():
            if name in self.places:
                self._sums[:, self.places[name]] += other._sums[:, place]
        self.n += other.n

    def _grow(self) -> None:
        more = len(self.places) - self._sums.shape[1]
        self._sums = np.pad(self._sums, ((0, 0), (0, more), (0, 0)))

    def finding(self, labels: Sequence[object]) -> Finding:
        """What is to be said."""
        tested = (self._sums[3:] >= FEW).all(0)
        if not tested.any():
            return Finding("balance", 1.0, True, "no context to compare actions by")
        mean, square, cube = self._sums[:3, tested] / self.n
        p = chance(mean, square, cube, self.n, DIGITS)
        worst = int(np.argmin(p))
        adjusted = min(float(p[worst]) * len(p), 1.0)
        if adjusted >= FAR:
            text = f"contexts are alike whatever was done, by the propensities (smallest p = {adjusted:.2g})"
            return Finding("balance", adjusted, True, text)
        column, action = np.argwhere(tested)[worst].tolist()
        name = list(self.places)[column]
        text = f"{name!r} differs by whether {labels[action]!r} was done, beyond what the propensities say"
        return Finding("balance", adjusted, False, f"{text} (p = {adjusted:.2g})", _ADVICE)


def _columns(rounds: Rounds, places: dict[str, int]) -> Array | None:
    """Numbers and words of contexts, a column each; None where there are none, or too many. New names are added."""
    contexts: Any = rounds.contexts
    if isinstance(contexts, list):
        return _named(contexts, places)
    if not isinstance(contexts, np.ndarray) or contexts.ndim != 2 or not 0 < contexts.shape[1] <= WIDEST:
        return None
    for j, name in enumerate(rounds.columns or (f"column {j}" for j in range(contexts.shape[1]))):
        places.setdefault(name, j)
    return np.asarray(contexts, float)


def _named(contexts: list[Any], places: dict[str, int]) -> Array:
    out = np.zeros((len(contexts), WIDEST))
    for i, context in enumerate(contexts):
        for name, value in (context or {}).items():
            word = isinstance(value, str)
            if not word and not (isinstance(value, int | float) and abs(value) <= LARGEST):  # NaN is a gap
                continue
            key = f"{name}={value}" if word else str(name)
            if key not in places and len(places) < WIDEST:
                places[key] = len(places)
            if key in places:
                out[i, places[key]] = 1.0 if word else value
    return out[:, : len(places)]
