"""What to know of a log before any number taken from it: does it cover the policy, and are its propensities true.

    weights       Ew = 1                                whatever the policy, if it takes only what the log could take
    propensities  E 1/p = the number of actions         if the log could take each of those available
                  E 1{a taken}/p = 1 for each action    the same, action by action
                  Σ 1{a taken} = Σ p(a)                 where the log has whole laws: by action, and by size of p

Each is tested by a t statistic freed of its skewness (`intervals.hall`), as one test at an error rate of 1%: of a
hundred sound logs about one fails it (the last two are many tests, with their rate divided among them). The others are
facts with rules of thumb: an effective sample size (Σw)²/Σw² below 100, one round that counts for more than 5%, fewer
than 20 rounds of the rarer outcome, more than 1% of the policy where the log never was. What fails says what to do
about it.

>>> watch = Watch(2)
>>> a = np.tile([0, 1], 500)
>>> watch.add(a, np.full(1000, 0.5), target=np.tile([0.9, 0.1], (1000, 1)))
>>> for one in watch.findings(np.where(a == 0, 1.8, 0.2), a.astype(float)):
...     print(one)
effective sample size: 610 of 1,000 rounds
largest share: one round counts for 0.18% of the weight
smallest propensity: 0.5
actions never taken: none
overlap: 0% of the policy is on actions the log never took
mean weight: 1 (1 expected, p = 1)
propensities: 1/p is 2 on average (2 expected, p = 1)
frequencies: agree with the propensities, action by action (smallest p = 1)
rarer outcome: 500 rounds that count
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from marginbandits.types import Array, Mask

__all__ = ["RATE", "Finding", "Watch", "chance"]

RATE = 0.01
"""The share of sound logs that fail each test."""

BINS = np.array([0.0, 0.01, 0.03, 0.1, 0.3])
"""Where sizes of propensities begin that are tested together."""

DIGITS = 1e-3
"""What is as near as this to what it should be, relative to it, is as it should be: probabilities are rounded."""

FEW = 20
"""Fewer events than this are too few for a test, or for an interval that needs many rounds."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about a log: a number, whether it is as it should be, in words, and what to do if not."""

    name: str
    value: float
    good: bool
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" + (f". {self.advice}" if not self.good else "")


def chance(mean: Any, square: Any, cube: Any, n: int, slack: float = 0.0) -> Any:
    """The p-value of Ex = 0, from the means of x, x² and x³: two-sided, by Hall's transformation of the t statistic.

    A mean within `slack` of 0 is 0: logs are written in few digits. Of arrays, one for each.
    """
    variance = np.maximum(square - mean**2, 0.0)
    sure = (n < 2) | (variance <= 1e-15 * square)
    safe = np.where(sure, 1.0, variance)
    skew = (cube - 3.0 * mean * square + 2.0 * mean**3) / safe**1.5
    t, root = mean / np.sqrt(safe / max(n - 1, 1)), math.sqrt(n)
    a = skew / (3.0 * root)
    p = 2.0 * special.ndtr(-np.abs(t + a * t**2 + a**2 * t**3 / 3.0 + skew / (6.0 * root)))
    return np.where(np.abs(mean) <= slack, 1.0, np.where(sure, 0.0, p))


class Watch:
    """Sums over the rounds of a log that tell whether it can be believed, O(K) numbers in all."""

    def __init__(self, n_actions: int, labels: Sequence[object] | None = None, *, offers: bool = False) -> None:
        self.n, self.n_actions, self.labels, self.offers = 0, n_actions, labels, offers
        self.smallest = math.inf
        self.counts, self.offered = np.zeros(n_actions), np.zeros(n_actions)
        self.inverse = np.zeros((3, n_actions))  # Σ (1{a taken}/p)^k
        self.surplus = np.zeros(3)  # Σ (1/p - actions there are)^k
        self.mass = np.zeros(n_actions)  # Σ π(a)
        self.impossible = 0.0  # Σ π(a) 1{p(a) = 0}
        self.with_laws = 0
        self.gaps, self.spreads = np.zeros(len(BINS) + n_actions), np.zeros(len(BINS) + n_actions)

    def join(self, other: "Watch") -> None:
        """The rounds of another."""
        self._grow(other.n_actions)
        other._grow(self.n_actions)
        self.smallest = min(self.smallest, other.smallest)
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def _grow(self, n_actions: int) -> None:
        """Room for rounds that offer more than those before."""
        more = n_actions - self.n_actions
        if more > 0:
            self.n_actions = n_actions
            for name in ("counts", "offered", "mass", "gaps", "spreads"):
                setattr(self, name, np.pad(getattr(self, name), (0, more)))
            self.inverse = np.pad(self.inverse, ((0, 0), (0, more)))

    def add(
        self,
        actions: npt.NDArray[np.int64],
        probabilities: Array,
        *,
        target: Array,
        available: Mask | None = None,
        laws: Array | None = None,
    ) -> None:
        """The next rounds: what was taken and with which probability, the policy's laws, and the log's where known."""
        n = len(actions)
        self._grow(target.shape[1])
        K = target.shape[1]
        if self.n_actions > K:
            wide = ((0, 0), (0, self.n_actions - K))
            target, K = np.pad(target, wide), self.n_actions
            available = None if available is None else np.pad(available, wide)
            laws = None if laws is None else np.pad(laws, wide)
        self.n += n
        self.smallest = min(self.smallest, float(probabilities.min()))
        self.counts += np.bincount(actions, minlength=K)
        self.offered += n if available is None else available.sum(0)
        for k in range(3):
            self.inverse[k] += np.bincount(actions, probabilities ** -(k + 1.0), minlength=K)
        there = K if available is None else available.sum(1)
        if laws is not None:
            there = (laws > 0.0).sum(1)
        x = 1.0 / probabilities - there
        self.surplus += (x.sum(), (x**2).sum(), (x**3).sum())
        self.mass += target.sum(0)
        if laws is not None:
            self._compare(actions, laws, target)

    def _compare(self, actions: npt.NDArray[np.int64], laws: Array, target: Array) -> None:
        K, n, B = self.n_actions, len(actions), len(BINS)
        self.with_laws += n
        self.impossible += float(target[laws == 0.0].sum())
        self.gaps[B:] += np.bincount(actions, minlength=K) - laws.sum(0)
        self.spreads[B:] += (laws * (1.0 - laws)).sum(0)
        size = np.searchsorted(BINS, laws, side="right") - 1
        for b in range(B):
            inside = size == b
            share = (laws * inside).sum(1)
            self.gaps[b] += inside[np.arange(n), actions].sum() - share.sum()
            self.spreads[b] += (share * (1.0 - share)).sum()

    def findings(self, weights: Array, outcomes: Array) -> list[Finding]:
        """All that is to be said, given the weights and outcomes of the same rounds."""
        total, n = float(weights.sum()), self.n
        squares = float((weights**2).sum())
        ess = total**2 / squares if squares else 0.0
        share = float(weights.max()) / total if total else 1.0
        never = np.flatnonzero((self.counts == 0) & (not self.offers))  # a place is no action where rounds offer theirs
        uncovered = float(self.mass[never].sum()) / n
        found = [
            Finding(
                "effective sample size",
                ess,
                ess >= 100.0,
                f"{ess:,.0f} of {n:,} rounds",
                "The value rests on few rounds: gather more, judge a policy nearer to the log's, or use 'sequence'",
            ),
            Finding(
                "largest share",
                share,
                share <= 0.05,
                f"one round counts for {100 * share:.2g}% of the weight",
                "One round can move the value: look at it, and use 'shrinkage' or 'clipped'",
            ),
            Finding("smallest propensity", self.smallest, self.smallest >= 1e-4, f"{self.smallest:.3g}", _TINY),
            Finding(
                "actions never taken",
                float(len(never)),
                not len(never) or uncovered <= RATE,
                self._named(never),
                "Nothing is known of them: a policy that takes them cannot be judged by this log",
            ),
            self._overlap(uncovered),
            self._weights(weights),
            self._inverse(),
            self._frequencies(),
        ]
        counted = weights > 0.0
        events = min(int((counted & (outcomes > 0.0)).sum()), int((counted & (outcomes < 1.0)).sum()))
        text = f"{events:,} rounds that count"
        found.append(Finding("rarer outcome", float(events), events >= FEW, text, _FEW_EVENTS))
        return found

    def _named(self, places: npt.NDArray[np.int64]) -> str:
        if not len(places):
            return "none"
        names = [str(place if self.labels is None else self.labels[place]) for place in places[:5]]
        return ", ".join(names) + (f" and {len(places) - 5} more" if len(places) > 5 else "")

    def _overlap(self, uncovered: float) -> Finding:
        beyond, what = uncovered, "the log never took"
        if self.with_laws == self.n and self.impossible / self.n >= uncovered:
            beyond, what = self.impossible / self.n, "the log could not take"
        text = f"{100 * beyond:.2g}% of the policy is on actions {what}"
        advice = "That part of its value is a guess: the interval does not cover it, however wide it is"
        return Finding("overlap", beyond, beyond <= RATE, text, advice)

    def _weights(self, weights: Array) -> Finding:
        x = weights - 1.0
        p = float(chance(x.mean(), (x**2).mean(), (x**3).mean(), len(x), DIGITS))
        mean = float(weights.mean())
        advice = (
            "Propensities are too small for what was taken, or not those of the log"
            if mean > 1.0
            else "The policy takes what the log could not, or propensities are too large"
        )
        return Finding("mean weight", mean, p >= RATE, f"{mean:.4g} (1 expected, p = {p:.2g})", advice)

    def _inverse(self) -> Finding:
        x = self.surplus / self.n
        there = float(self.inverse[0].sum()) / self.n - float(x[0])
        p = float(chance(x[0], x[1], x[2], self.n, DIGITS * there))
        mean = there + float(x[0])
        advice = (
            "They are too small: propensities of another policy, or of an action within a slate?"
            if x[0] > 0.0
            else "They are too large, or some actions could not be taken: say which by `available`"
        )
        text = f"1/p is {mean:.4g} on average ({there:.4g} expected, p = {p:.2g})"
        return Finding("propensities", mean, p >= RATE, text, advice)

    def _frequencies(self) -> Finding:
        """The smallest p-value of all actions (and sizes of p, where there are laws), times how many were tested."""
        if self.with_laws == self.n:
            tested = np.flatnonzero(self.spreads >= FEW)
            z = np.abs(self.gaps[tested]) / np.sqrt(self.spreads[tested])
            p = 2.0 * special.ndtr(-z)
        else:
            tested = np.flatnonzero((self.counts >= FEW) & (self.offered == self.n))
            p = np.array([self._chance_of(a) for a in tested.tolist()])
        if not len(tested):
            return Finding("frequencies", 1.0, True, "too few rounds to compare them with the propensities")
        worst = int(np.argmin(p))
        adjusted = min(float(p[worst]) * len(tested), 1.0)
        if adjusted >= RATE:
            text = f"agree with the propensities, action by action (smallest p = {adjusted:.2g})"
            return Finding("frequencies", adjusted, True, text)
        at = int(tested[worst])
        if self.with_laws == self.n and at < len(BINS):
            where = f"of propensities from {BINS[at]:g}"
        else:
            place = at - len(BINS) if self.with_laws == self.n else at
            where = f"of {'place' if self.offers else 'action'} {self._named(np.array([place]))}"
        text = f"contradict the propensities {where} (p = {adjusted:.2g})"
        return Finding("frequencies", adjusted, False, text, "The log's propensities are not those it was drawn with")

    def _chance_of(self, action: int) -> float:
        n = self.n
        a, b, c = (float(one) / n for one in self.inverse[:, action])
        return float(chance(a - 1.0, b - 2.0 * a + 1.0, c - 3.0 * b + 3.0 * a - 1.0, n, DIGITS))


_SUMS = ("n", "counts", "offered", "inverse", "surplus", "mass", "impossible", "with_laws", "gaps", "spreads")
_TINY = (
    "So small a number is often an error of rounding or of simulation: clip, shrink, or leave such rounds to a model"
)
_FEW_EVENTS = "Intervals other than 'bernstein' and 'sequence' need about 20 of either outcome, with weight"
