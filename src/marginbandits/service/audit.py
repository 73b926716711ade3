"""A running test that what is chosen follows the probabilities that were told, which may be looked at at any time.

Somebody bets against them. Actions are put into groups g; let w_g > 0 say how often, so far, group g was drawn for each
time that it should have been. If the next draw is from p, then whatever the weights,

    w_{g(chosen)} / Σ_a p(a) w_{g(a)}

has mean 1, so that the product of such factors is a martingale that starts at 1; where groups are drawn otherwise than
told, it grows. Many bet at once, each by

    groups       an action's place among those offered, its rank by probability, its probability, its name
    conditions   always; by whether the decision's number is odd; by which of the last three were the likeliest
    memory       of all draws, and of the last thousand or so

and one keeps his money. A part 1/(t + 1) of what they have together is shared anew in each round, by all alike, so that
who has lost for long may win when something changes. It is one martingale still: if probabilities are true, it ever
exceeds 1/δ with probability at most δ, and `evidence` is the most there ever was. (G. Shafer, Testing by betting, 2021;
sharing as in M. Herbster and M. Warmuth, Tracking the best expert, 1998.)

What it cannot see: draws that are untrue only by what it does not group by, such as a context, or that even out within
every group; patterns over more than four draws; what is told with probability 1, unless another thing happens; and what
is too little for so few draws. Half the departure takes some four times as many:

>>> from marginbandits.service.draws import chosen, draws
>>> for true in [0.7, 0.3], [0.6, 0.4], [0.55, 0.45]:
...     audit, n = Audit(), 0
...     while not audit.alarmed:
...         audit.observe([0.5, 0.5], chosen(true, draws(b"", str(n), 0)[1]), ["a", "b"])
...         n += 1
...     print(n)
181
979
5557
"""

import math
import zlib
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.types import Array

__all__ = ["ALARM", "Audit"]

Places = npt.NDArray[np.int64]

ALARM = 1e6
"""True probabilities reach it, ever, once in so many services."""
_GROUPS, _PASTS = 16, 8
_LEVELS = np.array([0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
_KINDS, _CONDITIONS, _MEMORIES = 4, 1 + 2 + _PASTS, 2
_FORGOTTEN = 0.999
_SHAPE = (_KINDS, _CONDITIONS, _MEMORIES, 2, _GROUPS)
_BETTORS = 1 + _KINDS * 3 * _MEMORIES
_CERTAIN = 1.0 - 1e-12


class _Kept(msgspec.Struct, array_like=True):
    n: int
    log_total: float
    most: float
    before: int
    shares: bytes
    counts: bytes


@lru_cache(maxsize=4096)
def _named(action: str) -> int:
    return zlib.crc32(action.encode("utf-8", "surrogatepass")) % _GROUPS


class Audit:
    """What the bettors have, as shares of a total whose logarithm is kept; and what was drawn, and should have been."""

    def __init__(self) -> None:
        self._n, self._log_total, self._most, self._before = 0, 0.0, 0.0, 0
        self._shares = np.full(_BETTORS, 1.0 / _BETTORS)
        self._counts = np.zeros(_SHAPE)

    def observe(self, law: Sequence[float], place: int, names: Sequence[str]) -> None:
        """One decision: its probabilities, what was chosen, and what the actions are called."""
        if law[place] <= 0.0:
            self._log_total = self._most = math.inf  # what cannot happen did
        if max(law) >= _CERTAIN or math.isinf(self._most):
            return
        self._n += 1
        p, hashes, odd, past = np.array(law), np.array([*map(_named, names)]), 1 + self._n % 2, 3 + self._before
        total, likeliest = _bet(p, hashes, place, odd, past, 1.0 / (self._n + 1), self._counts, self._shares)
        self._before = (2 * self._before + likeliest) % _PASTS
        self._log_total += math.log(total)
        self._most = max(self._most, self._log_total)

    @property
    def evidence(self) -> float:
        """Against the probabilities, the most there ever was: alarming from `ALARM` on."""
        return math.inf if math.isinf(self._most) else math.exp(min(self._most, 700.0))

    @property
    def alarmed(self) -> bool:
        """Whether it is beyond what chance explains."""
        return self.evidence >= ALARM

    def dumps(self) -> bytes:
        """All of it."""
        shares, counts = self._shares.tobytes(), self._counts.tobytes()
        return msgspec.msgpack.encode(_Kept(self._n, self._log_total, self._most, self._before, shares, counts))

    @classmethod
    def loads(cls, kept: bytes) -> "Audit":
        """As it was."""
        found, made = msgspec.msgpack.decode(kept, type=_Kept), cls()
        made._n, made._log_total, made._most, made._before = found.n, found.log_total, found.most, found.before
        made._shares = np.frombuffer(found.shares).reshape(_BETTORS).copy()
        made._counts = np.frombuffer(found.counts).reshape(_SHAPE).copy()
        return made


@kernel
def _grouped(p: Array, hashes: Places) -> Places:
    """Of each kind, and each action, its group."""
    groups = np.empty((_KINDS, len(p)), np.int64)
    order = np.argsort(-p, kind="mergesort")
    for k in range(len(p)):
        groups[0, k] = groups[1, order[k]] = min(k, _GROUPS - 1)
        groups[2, k] = np.searchsorted(_LEVELS, p[k], side="right")
        groups[3, k] = hashes[k]
    return groups


@kernel
def _bet(
    p: Array, hashes: Places, place: int, odd: int, past: int, shared: float, counts: Array, shares: Array
) -> tuple[float, int]:
    """Everybody bets once, remembers what was drawn and should have been, and shares.

    What becomes of one coin, and whether the likeliest was drawn.
    """
    groups = _grouped(p, hashes)
    bettor, scale, told, some = 1, 0.0, np.empty(_GROUPS), np.empty(_GROUPS, np.int64)
    for action in range(len(p)):
        scale += p[action]
    for kind in range(_KINDS):
        told[:], n = 0.0, 0
        for action in range(len(p)):
            group = groups[kind, action]
            if told[group] == 0.0 and p[action] > 0.0:
                some[n], n = group, n + 1
            told[group] += p[action] / scale
        own = groups[kind, place]
        for condition in (0, odd, past):
            for memory in range(_MEMORIES):
                drawn, due = counts[kind, condition, memory, 0], counts[kind, condition, memory, 1]
                mean = 0.0
                for group in some[:n]:
                    mean += told[group] * (drawn[group] + 1.0) / (due[group] + 1.0)
                shares[bettor] *= (drawn[own] + 1.0) / (due[own] + 1.0) / mean
                bettor += 1
                if memory:
                    drawn *= _FORGOTTEN
                    due *= _FORGOTTEN
                for group in some[:n]:
                    due[group] += told[group]
                drawn[own] += 1.0
    total = 0.0
    for one in range(len(shares)):
        total += shares[one]
    shares *= (1.0 - shared) / total
    shares += shared / len(shares)
    return total, int(groups[1, place] == 0)
