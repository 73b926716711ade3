"""Verdicts of bounds, and what other verdicts are made of; those of exponents are in `growing`.

A bound *bites* on rounds where uniform play would break it: where it is below `uniform`, the regret that play at random
would have had there. Only cells where it bites are judged. A setting that has none is named with the T from which its
bound would bite, which is looked for in the bound itself, against the mean over seeds. If no setting has one, the
verdict is "does not bite", or "vacuous" where the bound is T or more in all of them, which nothing could exceed. Bounds
are on expected regret: the 95% interval of the mean over seeds must lie below in every cell that is judged; all of it
above *fails*, and anything else is *undecided*. Where a claim says so, a share of single runs must lie below, too, by
the same rule for the interval of that share. How much a bound could be off before it was seen stands beside it: the
factor between it and the upper end of the interval that comes closest. Outside its theorem a bound promises nothing:
where one of its conditions is not met, the line names it, and is *undecided* at best.

That one thing grows faster than another, and that something grows at least so fast, is judged by the tolerance that
exponents have: `apart` and `at_least`.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from scipy import stats

from marginbandits.evaluation import Interval
from marginbandits.experiments.claims.claim import Line, Results, Verdict, shown
from marginbandits.experiments.claims.measuring import FARTHEST, NEEDS, first_useful
from marginbandits.theory import Bound

__all__ = [
    "TOLERANCE",
    "Cell",
    "above",
    "apart",
    "at_least",
    "bounded",
    "learns",
    "outside",
    "share_of",
    "since",
    "under",
    "worst_of",
]

TOLERANCE = 1.0 / 24.0
"""Half of 3/4 - 2/3, the least that rates of the paper with their own learners differ by: no exponent is within it of
both."""

LEARNS = 0.9
"""Of uniform play's regret: whoever has less has learnt something."""

Promised = Callable[[Results], Callable[[int], Bound]]
"""For the runs of a cell, what their bound would be for other T."""

_WORSE = [Verdict.HOLDS, Verdict.REACHED, Verdict.UPPER, Verdict.UNDECIDED, Verdict.UNSEEN, Verdict.FAILS]


@dataclass(frozen=True, slots=True)
class Cell:
    """Runs of one setting and horizon."""

    setting: str
    T: int
    regret: Interval
    bound: float
    uniform: float
    useful: float
    under: int
    runs: int
    unmet: str  # the first condition of the bound that is not met

    @classmethod
    def of(cls, setting: str, runs: Results, promised: Promised | None = None) -> "Cell":
        """Means over runs; the T from which the bound bites is looked for in what is `promised`, if that is given."""
        bound, uniform, useful = (float(runs.values(one).mean()) for one in ("bound", "uniform", "useful"))
        under = int((runs.values("regret") <= runs.values("bound")).sum())
        T = int(runs.each("T")[0])
        if promised is not None:  # the mean of T is not the T of the mean
            useful = first_useful(promised(runs), uniform / T)
        told = (pair for one in runs for pair in one.values.items())
        unmet = next((name.removeprefix(NEEDS) for name, met in told if name.startswith(NEEDS) and not met), "")
        return cls(setting, T, runs.interval("regret"), bound, uniform, useful, under, len(runs), unmet)

    @property
    def name(self) -> str:
        """The setting and T."""
        return f"{self.setting}, T = {self.T:,}".lstrip(", ")

    @property
    def bites(self) -> bool:
        """Whether uniform play would break it."""
        return self.bound < self.uniform

    @property
    def share(self) -> float:
        """Of the bound, by the upper end of the interval."""
        return self.regret.high / self.bound


def under(found: Interval, limit: float) -> Verdict:
    """A mean at most `limit`: its whole interval is; it fails if its whole interval is above.

    >>> [under(Interval(1.0, 0.0, 2.0), limit).value for limit in (3.0, 1.5, 0.5, -0.5)]
    ['holds', 'undecided', 'undecided', 'fails']
    """
    return Verdict.HOLDS if found.high <= limit else Verdict.FAILS if found.low > limit else Verdict.UNDECIDED


def above(found: Interval, limit: float) -> Verdict:
    """A mean at least `limit`, as `under` has it."""
    return under(Interval(-found.mean, -found.high, -found.low), -limit)


def share_of(kept: int, total: int, least: float) -> Verdict:
    """A share of runs at least `least`, by its exact interval (Clopper & Pearson 1934): few runs do not help.

    >>> [share_of(n, n, 0.95).value for n in (4, 100)]
    ['undecided', 'holds']
    """
    low = float(stats.beta.ppf(0.025, kept, total - kept + 1)) if kept else 0.0
    high = float(stats.beta.ppf(0.975, kept + 1, total - kept)) if kept < total else 1.0
    return above(Interval(kept / total, low, high), least)


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """That of a line which says several things."""
    return max(verdicts, key=_WORSE.index)


def bounded(
    claim: str,
    stated: str,
    runs: Mapping[str, Results],
    digits: int = 0,
    *,
    share: float = 0.0,
    promised: Promised | None = None,
) -> Line:
    """Regret against its bound, in cells: the runs of each name, split by T; they measured `regret` and `limits`.

    Of single runs in cells that are judged, at least `share` must lie below, too (`share_of`). Where
    uniform play's regret differs from run to run, `promised` is asked for the T from which the bound bites.
    """
    cells = [Cell.of(name, of, promised) for name, mine in runs.items() for _, of in mine.split("T")]
    biting = [one for one in cells if one.bites]
    per_round = sorted({f"{one.bound / one.T:.3f}" for one in biting or cells}, key=float)
    spread = f"bound/T {' to '.join(dict.fromkeys((per_round[0], per_round[-1])))}"
    if not biting:
        at = min(cells, key=lambda one: one.bound / one.uniform if one.uniform > 0 else math.inf)
        words = (
            f"{shown(at.regret, digits)} of {at.bound:,.{digits}f} ({at.name}), under which uniform play is too, with "
            f"{at.uniform:,.{digits}f}; {spread}; {since(at.useful)}{outside(biting or cells)}"
        )
        found = Verdict.IDLE if any(one.bound < one.T for one in cells) else Verdict.VACUOUS
        return Line(claim, stated, words, found, len(cells))
    at = max(biting, key=lambda one: one.share)
    kept, total = sum(one.under for one in biting), sum(one.runs for one in biting)
    words = (
        f"closest ({at.name}): {shown(at.regret, digits)} of {at.bound:,.{digits}f}, where uniform play has "
        f"{at.uniform:,.{digits}f}; {spread}; {kept / total:.1%} of {total:,} runs under it; {_seen(at)}{_idle(cells)}"
        f"{outside(biting)}"
    )
    levels = [under(one.regret, one.bound) for one in biting]
    levels += [share_of(kept, total, share)] * (share > 0.0)
    return Line(claim, stated, words, worst_of([*levels, *[Verdict.UNDECIDED] * bool(outside(biting))]), len(levels))


def outside(cells: Iterable[Cell]) -> str:
    """Which condition of a bound is not met; nothing if all are."""
    unmet = next((one.unmet for one in cells if one.unmet), "")
    return f"; outside its theorem, which needs {unmet}" * bool(unmet)


def _seen(closest: Cell) -> str:
    """By how much the bound could be off before that was seen."""
    if closest.regret.high <= 0.0:
        return "any bound above 0 would hold"
    factor = closest.bound / closest.regret.high
    if factor < 1.0:
        return f"a bound {1.0 / factor:.3g} times larger would hold"
    return f"a bound more than {factor:.3g} times smaller would not hold"


def _idle(cells: list[Cell]) -> str:
    """In which cells the bound does not bite, and in which settings at no T that was played."""
    idle = [one for one in cells if not one.bites]
    if not idle:
        return ""
    first = min(idle, key=lambda one: one.useful)
    words = f"; does not bite in {len(idle)} of {len(cells)} cells ({first.name}: {since(first.useful)})"
    told = {one.setting for one in cells if one.bites}
    never = {one.setting: one for one in sorted(idle, key=lambda one: one.T) if one.setting not in told}
    each = [f"{name}, where {since(one.useful)}" for name, one in never.items()]
    return words + "; at none of these T in " * bool(each) + "; ".join(each)


def since(useful: float) -> str:
    """In words, the T from which a bound bites."""
    if useful >= FARTHEST:
        return f"it bites nowhere up to T = {_large(FARTHEST)}"
    return f"it bites from T = {_large(useful)} on"


def _large(number: float) -> str:
    return f"{number:,.0f}" if number < 1e9 else f"10^{math.log10(number):.1f}"


def at_least(found: Interval, stated: float, *, rival: float) -> Verdict:
    """An exponent that is to be `stated` or more, where the rival's is below it; the tolerance is that of `grown`.

    >>> [at_least(Interval(x, x - 0.02, x + 0.02), 1.0, rival=0.5).value for x in (1.0, 0.96, 0.9)]
    ['holds at reachable T', 'undecided', 'not seen at reachable T']
    """
    return _of_rates(above(found, stated - min(TOLERANCE, 0.5 * (stated - rival))))


def apart(more: Interval, stated: float) -> Verdict:
    """By how much one exponent is larger than another, as they are stated to differ: by half of that, or `TOLERANCE`.

    A difference that noise could give is undecided; where all of the interval is less, none is seen.

    >>> [apart(Interval(x, x - 0.05, x + 0.05), 1 / 12).value for x in (0.10, 0.05, -0.02)]
    ['holds at reachable T', 'undecided', 'not seen at reachable T']
    """
    return _of_rates(above(more, min(TOLERANCE, 0.5 * stated)))


def learns(runs: Results, over: str) -> Verdict:
    """Whether regret is a tenth less than uniform play's all along: where it is not, slow growth is no merit."""
    cells = [(one.interval("regret"), LEARNS * float(one.values("uniform").mean())) for _, one in runs.split(over)]
    return _of_rates(worst_of(under(regret, limit) for regret, limit in cells))


def _of_rates(found: Verdict) -> Verdict:
    """The same in the words for what is about T → ∞."""
    return {Verdict.HOLDS: Verdict.REACHED, Verdict.FAILS: Verdict.UNSEEN}.get(found, found)
