"""What a prediction adds up from: where all is as usual, and what each entry adds to that.

`Explanation` says how far a prediction moves without one entry. Entries that act together, such as a country and the
action in it, are then counted by each of them, and such effects do not add up. Here they do, whatever the learner:

    predicted = start + Σ parts

What is usual of a category is any other of its name, as often as it was learnt, drawn anew in each of some rounds; of a
number its mean; of a word that it is not there. An entry's part is what the prediction moves when it takes the place
of what is usual, in the mean of two orders, each the other's reverse. Where at most two entries act together, that is
the Shapley value: each has half of what they do together.

>>> from marginbandits.learners import RegCB
>>> agent = RegCB(2, reward_range=(0, 1), seed=0)
>>> for k in range(200):
...     actions = {"hat": {"red": k % 2}, "shoe": {"red": 1 - k % 2}}
...     decision = agent.act({"hour": k % 24}, actions=actions)
...     agent.learn({"hour": k % 24}, decision, reward=float(actions[decision.action]["red"]), actions=actions)
>>> first = added(agent, {"hour": 3}, {"hat": {"red": 1}, "shoe": {"red": 0}})[0]
>>> abs(first.start + sum(part for _, part in first.parts) - first.predicted) < 1e-9, first.parts[0].entry
(True, 'action.red=1')
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from marginbandits.learners.explaining import predicted
from marginbandits.learners.explanation import Effect, left, without
from marginbandits.learners.inputs import Scale
from marginbandits.types import Action

__all__ = ["Added", "added"]

PARTED, ROUNDS, MOST = 20, 32, 20_000
"""Entries that have parts, those of the largest effects; rounds of what is usual; predictions of short rows, about."""


class Added(NamedTuple):
    """One action: what is predicted of it, what would be where all is as usual, and what each entry adds."""

    action: Action
    predicted: float
    start: float
    parts: list[Effect]  # the largest first


class _Row:
    """What is said of one action, and what is usual in the place of each entry, round by round."""

    def __init__(self, learner: Any, row: Mapping[str, Any], entries: list[str], rounds: int) -> None:
        self.learner, self.row, self.table = learner, row, learner._reader.table
        owned = {label: own for label, _, own in without(row, self.table)}
        self.others = {label: self._drawn(owned[label], rounds) for label in entries}
        self._less: dict[frozenset[str], dict[str, Any]] = {}

    def _drawn(self, own: Any, rounds: int) -> tuple[int, list[int]] | None:
        """A category's code, and others of its name: of each as many as it was learnt, in some order."""
        code = None if own is None else self.table._codes([own]).columns
        if code is None or len(code) != 1 or code[0] & 1:
            return None
        others, counts = self.learner._names._others(int(code[0]))
        if not len(others) or not counts.sum():
            return None
        at = np.searchsorted(np.cumsum(counts) / counts.sum(), (np.arange(rounds) + 0.5) / rounds)
        chosen = others[np.minimum(at, len(others) - 1)]
        mixed = np.random.default_rng(int(code[0]) >> 33).permutation(chosen)  # by name: of all actions the same
        return int(code[0]), [int(one) for one in mixed]

    def predicted(self, usual: list[str], each: int) -> float:
        """Where these are as usual, as they are in this round, and all else is as it is."""
        swapped = [other for label in usual if (other := self.others[label]) is not None]
        out = frozenset(label for label in usual if self.others[label] is None)
        if out not in self._less:
            self._less[out] = left(self.row, self.table, out)
        codes = self.table._codes([self._less[out]], {code: several[each] for code, several in swapped})
        batch, _ = self.learner._one(codes, True, None)
        return float(predicted(self.learner, batch)[0])


def added(learner: Any, context: Any, actions: Any) -> list[Added]:
    """Of each action that is offered, the likeliest first."""
    explanation = learner.explain(context, actions=actions)
    with learner._lock:
        given, _, names = learner._offered(context, None, actions)
        rows = dict(zip(names.names, given.rows(), strict=True))
        scale = learner._scale or Scale(rewards=False, low=0.0, high=1.0)
        cost = sum(min(len(one.effects), PARTED) * (1 + len(one.effects) / 50) for one in explanation.actions)
        rounds = min(ROUNDS, max(int(MOST / max(2 * cost, 1.0)), 2))
        found = []
        for one in explanation.actions:
            entries = [entry for entry, _ in one.effects[:PARTED]]
            row = _Row(learner, rows[one.action], entries, rounds)
            start, parts = _parts(row, entries, rounds)
            moved = [Effect(entry, scale.slope * part) for entry, part in zip(entries, parts, strict=True)]
            moved.sort(key=lambda part: -abs(part.effect))
            found.append(Added(one.action, one.predicted, scale.given(start), moved))
    return found


def _parts(row: _Row, entries: list[str], rounds: int) -> tuple[float, list[float]]:
    """What is predicted where all of these are as usual, and what each adds, in the mean of rounds and both orders."""
    full, n = row.predicted([], 0), len(entries)
    start, total = 0.0, np.zeros(n)
    for each in range(rounds):
        usual = row.predicted(entries, each)
        start += usual / rounds
        for order in (range(n), range(n - 1, -1, -1)):
            now, rest = usual, list(entries)
            for k in order:
                rest.remove(entries[k])
                then = row.predicted(rest, each) if rest else full
                total[k] += (then - now) / (2 * rounds)
                now = then
    return start, total.tolist()
