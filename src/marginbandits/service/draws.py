"""Chance that can be audited: two numbers for each event, by a secret of the loop, the event's id and the last erasure.

The first says whether the event is held back, the second which action is drawn. The same event in the same loop has the
same numbers, so that a repeated request cannot try its luck; without the secret nobody can foresee them. An id that is
used again once its event is forgotten is another event's: by the erasure, which each decision says, it has others.

With the learner's law q, a share e of exploration among n actions and a share h held back, an action is chosen with

    P(a) = (1 - h) ((1 - e) q(a) + e/n) + h 1{a is the baseline}

In Apprentice and LoggingOnly it is the baseline, with probability 1, and the *shadow* is what q alone would draw.

`audit` is a running test that what was chosen follows the probabilities that were written down.

>>> draws(b"secret", "an event", 0) == draws(b"secret", "an event", 0) != draws(b"other", "an event", 0)
True
>>> draws(b"secret", "an event", 7) == draws(b"secret", "an event", 0)
False
"""

import hashlib
import struct
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Drawn", "chosen", "draw", "draws"]

_HALVES = struct.Struct("<QQ")


def draws(secret: bytes, event: str, erasure: int) -> tuple[float, float]:
    """Two even numbers in [0, 1)."""
    told, salt = event.encode("utf-8", "surrogatepass"), erasure.to_bytes(8, "little")
    digest = hashlib.blake2b(told, digest_size=16, key=secret, salt=salt).digest()
    one, other = _HALVES.unpack(digest)
    return (one >> 11) / 2**53, (other >> 11) / 2**53


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
