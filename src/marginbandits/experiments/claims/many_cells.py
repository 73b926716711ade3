"""Exp4 where the class grows with T: √(2KT ln N) is attained, over all N = 2^m policies on m cells.

With m = T^{2e-1} the bound is T^e, whatever the learner does: that is arithmetic. What is measured is whether regret
reaches it, on the hardest of several problems: in every cell one action is better by a gap, of order √(m/T) or larger,
and regret is that at the worst of the gaps. The e are exponents of Figure 1 (3/5 and 2/3: margins at p = 1 and 2; 2/3,
3/4 and 4/5: covers without chaining at p = 1, 2, 3), but they are put in: nothing here tests that figure.

Weights over all 2^m policies are a product over cells, so each cell has its own, with the class's η.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from marginbandits.experiments.claims.claim import Claim, Control, Finding, Parameters, Results
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, limits, with_broken
from marginbandits.experiments.claims.rounds import product_weights
from marginbandits.theory import Bound

__all__ = ["CLAIM", "cells_of"]

POWERS = ("1/5", "1/3", "1/2", "3/5")
"""Of T: the numbers of cells."""

GAPS = (1.0, 3.0, 10.0, 30.0)
"""In units of √(m/T), no gap above 1; with the largest that there is, 1."""

MORE = "T^0.3 times as many cells as the claim counts"


def cells_of(power: str, T: int) -> int:
    """How many there are: T^power."""
    return max(1, round(math.pow(T, Fraction(power))))


def measure(power: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Regret of one run against the policy that has every cell right, and the bound of the claim's number of cells."""
    played = round(cells_of(power, T) * (T**0.3 if broken == MORE else 1.0))
    gaps = {min(1.0, gap * math.sqrt(played / T)) for gap in GAPS} | {1.0}
    regret = max(_regret(played, T, gap, seed, broken == NOTHING) for gap in gaps)

    def bound(T: int) -> Bound:
        return Bound("Exp4 over cells", {"all": math.sqrt(4.0 * T * cells_of(power, T) * math.log(2.0))}, T)

    return {"regret": regret, **limits(bound, T, 0.5 * T)}


def _regret(m: int, T: int, gap: float, seed: int, untold: bool) -> float:
    """`gap` times how often the other action was likely."""
    rng = np.random.default_rng([seed, m, T])
    cells, best = rng.integers(m, size=T), rng.integers(2, size=m)
    losses = rng.random((T, 2)) < 0.5 - 0.5 * gap * np.where(best[cells][:, None] == np.arange(2), 1.0, -1.0)
    second = product_weights(cells, losses * (not untold), m, rng.random(T))
    return gap * float(np.where(best[cells] == 1, 1.0 - second, second).sum())


def units(quick: bool) -> list[Parameters]:
    """T is raised sixteenfold, in full sixty-fourfold."""
    return _planned((1000, 4000, 16_000) if quick else (1000, 8000, 64_000), 6 if quick else 12)


def _planned(horizons: Iterable[int], seeds: int) -> list[Parameters]:
    return [{"power": power, "T": T, "seed": seed} for power in POWERS for T in horizons for seed in range(seeds)]


def judge(results: Results) -> Finding:
    """All under the bound, and growing like it: below, too, it would not be attained."""
    groups = {f"T^{{{power}}} cells": mine for power, mine in results.split("power")}
    lines = [bounded("Regret of Exp4 over a growing number of cells", "at most √(2KT ln N), ln N = m ln 2", groups)]
    for name, mine in groups.items():
        most = max(mine.each("T"))
        at = mine.where(T=most)
        share = at.interval("regret").mean / float(at.values("bound").mean())
        lines.append(
            grows(
                f"Exp4 over m = {name}: √(2KT ln N) is attained",
                "like √(2KT ln N)",
                {"": mine},
                rival=1.0,
                both=True,
                where=f"{share:.2f} of the bound at the last",
            )
        )
    note = (
        "The number of cells is chosen, and the bound's exponent follows from it: that regret has it, too, says that "
        "Exp4's bound cannot be much better on such classes. Of Figure 1, whose theorem is not constructive, no "
        "learner runs the margin curve below p = 2; those that claim its other exponents are under their own names."
    )
    return Finding(lines, [growth("Regret over a growing number of cells", groups, over="T")], [note])


CLAIM = Claim(
    "many-cells",
    "Exp4 over a growing number of cells",
    "Example 'finite_cb', section 2, with a class that grows with T",
    "Over a finite class regret is at most √(2KT ln N). Classes of all policies on m cells are as hard as that, up to "
    "a constant, while m grows like a power of T.",
    measure,
    units,
    judge,
    controls=tuple(
        Control(broken, lambda _, broken=broken: with_broken(_planned((512, 8192), 4), broken))  # type: ignore[misc]
        for broken in (NOTHING, MORE)
    ),
)
