"""Verdicts of bounds and of exponents, in one place.

A bound is *vacuous* on rounds where nothing could exceed it: where it is above `most`, what the worst play would have
had as regret there. Only cells where it is below are judged; if there are none the verdict is "vacuous", with the T
from which the bound would say something. Bounds are on expected regret: the mean over seeds, its 95% interval included,
must lie below in every cell that is judged; where a claim says so, a share of single runs must, too.

An exponent is compared with that of the bound over the same T, not with a round number, and with a rival's: the
exponent that would make the claim worthless (linear growth, or the rate that the paper improves on). It is not seen if
its interval lies above the bound's, and undecided if it reaches from the bound's to the rival's; where a claim has two
sides ("grows like"), an interval below the bound's says that growth is slower.

>>> grown(Interval(0.52, 0.50, 0.54), 0.54, rival=2 / 3).value
'holds at reachable T'
>>> [grown(Interval(x, x - 0.02, x + 0.02), 0.54, rival=2 / 3, both=True).value for x in (0.63, 0.20)]
['not seen at reachable T', 'upper side holds, grows slower']
>>> grown(Interval(0.5, 0.3, 0.7), 0.54, rival=2 / 3).value  # too wide to tell
'undecided'
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from marginbandits.evaluation import Interval
from marginbandits.experiments.claims.claim import Line, Results, Verdict, shown, slope
from marginbandits.experiments.claims.measuring import FARTHEST

__all__ = ["bounded", "exponent", "grown", "grows", "under", "worst_of"]

_WORSE = [Verdict.HOLDS, Verdict.REACHED, Verdict.SLOWER, Verdict.UNDECIDED, Verdict.UNSEEN, Verdict.FAILS]


@dataclass(frozen=True, slots=True)
class _Cell:
    """Runs of one setting and horizon."""

    name: str
    T: int
    regret: Interval
    bound: float
    most: float
    useful: float
    under: int
    runs: int

    @classmethod
    def of(cls, name: str, runs: Results) -> "_Cell":
        bound, most, useful = (float(runs.values(one).mean()) for one in ("bound", "most", "useful"))
        under = int((runs.values("regret") <= runs.values("bound")).sum())
        T = int(runs.each("T")[0])
        return cls(f"{name}, T = {T:,}".lstrip(", "), T, runs.interval("regret"), bound, most, useful, under, len(runs))

    @property
    def bites(self) -> bool:
        return self.bound < self.most

    @property
    def share(self) -> float:
        """Of the bound, by the upper end of the interval."""
        return self.regret.high / self.bound


def under(found: Interval, limit: float) -> Verdict:
    """A mean at most `limit`: its whole interval is; undecided if only the mean is.

    >>> [under(Interval(1.0, 0.0, 2.0), limit).value for limit in (3.0, 1.5, 0.5)]
    ['holds', 'undecided', 'fails']
    """
    return Verdict.HOLDS if found.high <= limit else Verdict.UNDECIDED if found.mean <= limit else Verdict.FAILS


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """That of a line which says several things."""
    return max(verdicts, key=_WORSE.index)


def bounded(claim: str, stated: str, runs: Mapping[str, Results], digits: int = 0, *, share: float = 0.0) -> Line:
    """Regret against its bound, in cells: the runs of each name, split by T; they measured `regret` and `limits`.

    Of single runs in cells that are judged, at least `share` must lie below, too.
    """
    cells = [_Cell.of(name, of) for name, mine in runs.items() for _, of in mine.split("T")]
    biting = [one for one in cells if one.bites]
    per_round = sorted({f"{one.bound / one.T:.3f}" for one in biting or cells}, key=float)
    spread = f"bound/T {' to '.join(dict.fromkeys((per_round[0], per_round[-1])))}"
    if not biting:
        at = min(cells, key=lambda one: one.bound / one.most if one.most > 0 else math.inf)
        words = (
            f"{shown(at.regret, digits)} of {at.bound:,.{digits}f} ({at.name}), where no play could have had more than "
            f"{at.most:,.{digits}f}; {spread}; {_from(at.useful)}"
        )
        return Line(claim, stated, words, Verdict.VACUOUS)
    at = max(biting, key=lambda one: one.share)
    kept, total = sum(one.under for one in biting), sum(one.runs for one in biting)
    words = (
        f"closest ({at.name}): {shown(at.regret, digits)} of {at.bound:,.{digits}f}, where {at.most:,.{digits}f} could "
        f"be lost; {spread}; {kept / total:.1%} of {total:,} runs under it"
    )
    idle = [one for one in cells if not one.bites]
    if idle:
        first = min(idle, key=lambda one: one.useful)
        words += f"; vacuous in {len(idle)} of {len(cells)} cells ({first.name}: {_from(first.useful)})"
    found = worst_of(under(one.regret, one.bound) for one in biting)
    return Line(claim, stated, words, found if kept >= share * total else Verdict.FAILS)


def _from(useful: float) -> str:
    if useful >= FARTHEST:
        return f"it says nothing up to T = {_large(FARTHEST)}"
    return f"it says something from T = {_large(useful)} on"


def _large(number: float) -> str:
    return f"{number:,.0f}" if number < 1e9 else f"10^{math.log10(number):.1f}"


def exponent(runs: Results, over: str, of: str = "bound") -> float:
    """The exponent of a bound on the very grid that was played."""
    return slope(runs, over, of).mean


def grown(found: Interval, stated: float, *, rival: float, floor: float = -math.inf, both: bool = False) -> Verdict:
    """An exponent against the bound's and a rival's above it; below `floor` there is no growth to speak of."""
    if found.low > stated or found.high <= floor:
        return Verdict.UNSEEN
    if found.high >= rival or found.low <= floor:
        return Verdict.UNDECIDED
    return Verdict.SLOWER if both and found.high < stated else Verdict.REACHED


def grows(
    claim: str,
    stated: str,
    found: Mapping[str, tuple[Interval, float]],
    *,
    rival: float,
    where: str,
    floor: float = -math.inf,
    both: bool = False,
) -> Line:
    """Measured exponents, each with the exponent of its bound on the same grid; the worst verdict is the line's."""
    each = [grown(one, bound, rival=rival, floor=floor, both=both) for one, bound in found.values()]
    words = "; ".join(
        f"exponent {shown(one, 2)} where the bound has {bound:.2f}" + f" ({name})" * bool(name)
        for name, (one, bound) in found.items()
    )
    return Line(claim, f"{stated}; rival exponent {rival:.3g}", f"{words}, {where}", worst_of(each))
