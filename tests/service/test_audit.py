"""The running test of draws: unfair drawers alarm it, fair ones do not, and who is forgotten does not move it."""

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from marginbandits.service.audit import ALARM, Audit
from tests.marks import at_length

Law = Sequence[float]
NAMES = ["a", "b", "c", "d", "e", "f"]


def drawn(rng: random.Random, law: Law) -> int:
    return rng.choices(range(len(law)), law)[0]


def alarms(law: Callable[[int], Law], drawer: Callable[[int, Law], int], n: int, names: Sequence[str] = NAMES) -> bool:
    audit = Audit()
    for k in range(n):
        told = law(k)
        audit.observe(told, drawer(k, told), names[: len(told)])
        if audit.alarmed:
            return True
    return False


RNG = random.Random(1)
UNFAIR: dict[str, tuple[Callable[[int], Law], Callable[[int, Law], int], int]] = {
    "one is told 0.2 and never drawn": (lambda k: [0.5, 0.3, 0.2], lambda k, p: int(RNG.random() >= 0.5), 300),
    "the third of three alike is never drawn": (lambda k: [1 / 3] * 3, lambda k, p: int(RNG.random() >= 1 / 3), 300),
    "too often and too rarely in turn": (lambda k: [0.6, 0.4], lambda k, p: int(k % 2 and RNG.random() >= 0.2), 300),
    "a little too often": (lambda k: [0.55, 0.45], lambda k, p: drawn(RNG, [0.6, 0.4]), 10_000),
    "by a pattern of four": (lambda k: [0.5, 0.5], lambda k, p: k // 2 % 2 ^ k % 2, 300),
    "after ten thousand true ones": (
        lambda k: [0.5, 0.3, 0.2],
        lambda k, p: drawn(RNG, p if k < 10_000 else [0.5, 0.5, 0.0]),
        11_000,
    ),
    "the likely too often and the very likely too rarely": (
        lambda k: [(0.6, 0.8)[k // 2 % 2], (0.4, 0.2)[k // 2 % 2]],
        lambda k, p: drawn(RNG, [1.4 - p[0], p[0] - 0.4]),
        1_000,
    ),
}


@pytest.mark.parametrize("name", UNFAIR)
def test_unfair_drawers_alarm(name: str) -> None:
    law, drawer, n = UNFAIR[name]
    RNG.seed(1)
    assert alarms(law, drawer, n)


def test_a_name_that_is_never_drawn_alarms_wherever_it_is() -> None:
    """Places are shuffled in every round."""
    rng, audit = random.Random(2), Audit()
    for _ in range(2_000):
        names = rng.sample(NAMES, 4)
        others = [k for k, name in enumerate(names) if name != "c"]
        audit.observe([0.25] * 4, rng.choice(others), names)
    assert audit.alarmed


def various(rng: random.Random) -> Callable[[int], Law]:
    def law(k: int) -> Law:
        weights = [rng.random() ** 3 for _ in range(2 + k % 5)]
        return [one / sum(weights) for one in weights]

    return law


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [10_000, *at_length([100_000])])
def test_fair_drawers_do_not(seed: int, n: int) -> None:
    """Each with probability 1 - 1e-6, whatever the laws are."""
    rng = random.Random(seed)
    even = seed % 2 and (lambda k: [0.5, 0.3, 0.2])
    assert not alarms(even or various(rng), lambda k, law: drawn(rng, law), n)


def test_it_is_a_martingale_to_the_last_digit() -> None:
    """Over everything that may be drawn next, wealth is on average what it is; after any past."""
    rng = random.Random(3)
    law, audit = various(rng), Audit()
    for k in range(50):
        p = law(k)
        before, mean = math.exp(audit._log_total), 0.0
        for place, chance in enumerate(p):
            after = Audit.loads(audit.dumps())
            after.observe(p, place, NAMES[: len(p)])
            mean += chance * math.exp(after._log_total)
        assert mean == pytest.approx(before, rel=1e-9)
        audit.observe(p, k % len(p), NAMES[: len(p)])


def test_it_exceeds_what_it_may_no_more_often_than_it_may() -> None:
    """Of 2,000 fair services 40 may ever have evidence of 50, 20 of 100: no more have, but for four deviations."""
    most = []
    for seed in range(2_000):
        rng, audit = random.Random(seed), Audit()
        for _ in range(40):
            audit.observe([0.6, 0.3, 0.1], drawn(rng, [0.6, 0.3, 0.1]), NAMES[:3])
        most.append(audit.evidence)
    for level in (50.0, 100.0):
        assert np.mean(np.array(most) >= level) <= 1 / level + 4 * (1 / level / 2_000) ** 0.5


def test_what_cannot_happen_alarms_at_once_and_for_good() -> None:
    audit = Audit()
    audit.observe([1.0, 0.0], 0, NAMES[:2])
    assert audit.evidence == 1.0
    audit.observe([1.0, 0.0], 1, NAMES[:2])
    assert audit.evidence > ALARM
    again = Audit.loads(audit.dumps())
    again.observe([0.5, 0.5], 0, NAMES[:2])
    assert again.alarmed
