"""Chance that can be audited: two numbers for each event, by a secret of the loop and the event's id.

The first says whether the event is held back, the second which action is drawn. The same event in the same loop has the
same numbers, so that a repeated request cannot try its luck; without the secret nobody can foresee them.

With the learner's law q, a share e of exploration among n actions and a share h held back, an action is chosen with

    P(a) = (1 - h) ((1 - e) q(a) + e/n) + h 1{a is the baseline}

In Apprentice and LoggingOnly it is the baseline, with probability 1, and the *shadow* is what q alone would draw.

`Audit` is a running test that what was chosen follows the probabilities that were written down. With X = 1 if the
likeliest action was drawn and p its probability, for every |λ| < 1

    Π (1 + λ (X_i - p_i) / max(p_i, 1 - p_i))

is a martingale that starts at 1, if probabilities are true, and so is the mean over several λ: it exceeds 1/δ at any
time with probability at most δ. It is looked at as often as one likes.

>>> draws(b"secret", "an event") == draws(b"secret", "an event") != draws(b"other", "an event")
True
"""

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Audit", "Drawn", "chosen", "draw", "draws"]

_STAKES = (-0.5, -0.2, -0.05, -0.01, 0.01, 0.05, 0.2, 0.5)
ALARM = 1e6
"""A fair draw reaches it, ever, once in so many services."""


def draws(secret: bytes, event: str) -> tuple[float, float]:
    """Two even numbers in [0, 1)."""
    digest = hashlib.blake2b(event.encode("utf-8", "surrogatepass"), digest_size=16, key=secret).digest()
    one, other = (int.from_bytes(half, "little") >> 11 for half in (digest[:8], digest[8:]))
    return one / 2**53, other / 2**53


def chosen(law: Sequence[float], draw: float) -> int:
    """The place where the running sum of probabilities passes the draw; never one of probability 0."""
    total, last = 0.0, 0
    for place, probability in enumerate(law):
        if probability > 0.0:
            total, last = total + probability, place
            if draw < total:
                return place
    return last


class Drawn(NamedTuple):
    """Of all actions the probabilities; what was chosen, whether it was held back; the shadow, -1 if there is none."""

    probabilities: list[float]
    chosen: int
    held: bool
    shadow: int


def draw(
    numbers: tuple[float, float],
    law: Sequence[float],
    kept: Sequence[int],
    baseline: int,
    n: int,
    mode: str,
    exploration: float,
    holdback: float,
) -> Drawn:
    """By the formula above; `law` is of those of n places that are `kept`."""
    by_holding, by_law = numbers
    probabilities = [0.0] * n
    if mode != "Online":
        probabilities[baseline] = 1.0
        return Drawn(probabilities, baseline, False, kept[chosen(law, by_law)])
    explored = [(1.0 - exploration) * q + exploration / len(kept) for q in law]
    for place, share in zip(kept, explored, strict=True):
        probabilities[place] = (1.0 - holdback) * share + holdback * (place == baseline)
    held = by_holding < holdback
    return Drawn(probabilities, baseline if held else kept[chosen(explored, by_law)], held, -1)


class Audit:
    """Wealth of one who bets against the probabilities: logarithms, one for each stake."""

    def __init__(self, wealth: Sequence[float] | None = None) -> None:
        self.wealth = list(wealth) if wealth is not None else [0.0] * len(_STAKES)

    def observe(self, law: Sequence[float], place: int) -> None:
        """One decision."""
        likely = max(range(len(law)), key=law.__getitem__)
        p, hit = law[likely], place == likely
        if p >= 1.0 - 1e-12:
            if not hit:
                self.wealth = [math.inf] * len(_STAKES)  # what cannot happen did
            return
        gain = (hit - p) / max(p, 1.0 - p)
        self.wealth = [one + math.log1p(stake * gain) for one, stake in zip(self.wealth, _STAKES, strict=True)]

    @property
    def evidence(self) -> float:
        """Against the probabilities: alarming from `ALARM` on."""
        top = max(self.wealth)
        if math.isinf(top):
            return top
        mean = sum(math.exp(one - top) for one in self.wealth) / len(self.wealth)
        return math.exp(min(top + math.log(mean), 700.0))

    @property
    def alarmed(self) -> bool:
        """Whether it is beyond what chance explains."""
        return self.evidence >= ALARM
