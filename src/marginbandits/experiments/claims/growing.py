"""Verdicts of exponents: how regret grows over a grid, against the exponent of its bound and a rival's above it.

`grows` asks, in this order, and the first answer is the verdict:

1. Does the bound bite? Where it is a bound that was evaluated on the grid, only those points count at which uniform
   play would break it; both exponents are of these. Fewer than `FEWEST` of them, or less than a factor of `SHORTEST`:
   "does not bite", with the T from which it would. A stated order has no constants, so that nothing is left out.
2. Is it above? Its interval reaches further than the tolerance above the bound's exponent: *not seen* if all of it is
   above, *undecided* otherwise, so that fewer seeds never help. The tolerance is `TOLERANCE`, or half of the distance
   to a rival's exponent where that is less: the exponent that would make the claim worthless (linear growth, or the
   rate that the paper improves on).
3. Could it have been seen? It is *undecided* where what is measured falls (regret that is gone, or negative, has no
   exponent of growth), where the grid is short, and where the interval is so wide that growth like the rival's would
   have reached down to the bound's.
4. It *holds*: its whole interval is at most the bound's exponent, up to the tolerance, and the line says so where all
   of it is above within the tolerance. Where a claim has two sides ("grows like"), an interval that reaches further
   below says that the *upper side holds*.
5. Are the bound's conditions met? Outside its theorem it promises nothing: the line names one that is not, and is
   *undecided* at best.
6. Would the rival hold? Where the rival's exponent is below 1, the same regrets are made to grow like the rival's, and
   judged. If they held, the line is *undecided*.

Of growth with anything but T it is asked, too, that regret is less than uniform play's (`learns`): who learns nothing
has regret that grows like T, but not with anything else.

>>> [grown(Interval(x, x - 0.02, x + 0.02), 0.5, rival=2 / 3).value for x in (0.52, 0.51 + TOLERANCE, 0.63)]
['holds at reachable T', 'not seen at reachable T', 'not seen at reachable T']
>>> grown(Interval(0.52, 0.515, 0.525), 0.5, rival=2 / 3).value  # all of it above, within the tolerance
'holds at reachable T'
>>> grown(Interval(0.5, 0.4, 0.6), 0.5, rival=2 / 3).value  # too wide to tell
'undecided'
>>> [grown(Interval(x, x - 0.02, x + 0.02), 0.5, rival=2 / 3, both=True).value for x in (0.5, 0.2)]
['holds at reachable T', 'upper side holds']
>>> grown(Interval(-2.0, -2.5, -1.5), 0.5, rival=1.0).value  # regret that is gone
'undecided'
>>> grown(Interval(0.5, 0.49, 0.51), 0.5, rival=1.0, grid=(1000, 1500, 2000)).value  # T was doubled, and no more
'undecided'
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.claims.claim import Line, Measured, Results, Verdict, shown, slope, slopes
from marginbandits.experiments.claims.judging import TOLERANCE, Cell, learns, outside, since, worst_of

__all__ = ["BANDITRON", "FEWEST", "SHORTEST", "grown", "grows"]

SHORTEST, FEWEST = 4.0, 3
"""By so much a grid must grow, and so many points it must have, for an exponent to be shown on it."""

BANDITRON = 2.0 / 3.0
"""The exponent that √T is to beat: of Banditron, and of the bounds without dimensions."""

ROUNDING = 1e-9
"""A slope that is nearer to 0 is of what stays as it is."""

Slope: TypeAlias = Callable[[Results, str, str], Interval]
"""Of results, over which parameter, of which number."""

_GOOD = (Verdict.REACHED, Verdict.UPPER)


def grown(
    found: Interval,
    stated: float,
    *,
    rival: float,
    floor: float = -math.inf,
    both: bool = False,
    grid: Sequence[float] = (),
) -> Verdict:
    """An exponent against the bound's and a rival's above it; below `floor` there is no growth to speak of.

    Nothing is asked of a `grid` that is not given.
    """
    near = min(TOLERANCE, max(0.5 * (rival - stated), 0.0))
    if found.high <= floor:
        return Verdict.UNSEEN
    if found.high > stated + near or found.low <= floor:
        return Verdict.UNSEEN if found.low > stated else Verdict.UNDECIDED
    if _empty(found, stated, rival, grid):
        return Verdict.UNDECIDED
    return Verdict.UPPER if both and found.low < stated - near else Verdict.REACHED


def _empty(found: Interval, stated: float, rival: float, grid: Sequence[float]) -> str:
    """Why the exponent could not have been seen to be too large; nothing if it could."""
    if found.high < -ROUNDING:
        return "what falls has no exponent of growth"
    if grid and _short(grid):
        return f"a grid of {len(grid)} that grows by {max(grid) / min(grid):.2g} shows none"
    return "too wide to tell from the rival's" if found.mean - found.low >= rival - stated else ""


def _short(grid: Sequence[float]) -> bool:
    return len(grid) < FEWEST or max(grid) / min(grid) < SHORTEST


@dataclass(frozen=True, slots=True)
class _Growth:
    """Runs on the part of their grid that counts; of two, how much faster the first's regret grows than the other's."""

    runs: tuple[Results, ...]
    over: str
    of: str
    against: str | float
    slope: Slope
    idle: tuple[Cell, ...] = ()
    outside: str = ""

    def where_it_bites(self) -> "_Growth":
        """Without the points of the grid at which a bound says nothing of learning."""
        if self.against != "bound":
            return self
        cells = [(at, Cell.of(f"{self.over} = {at:,}", of)) for one in self.runs for at, of in one.split(self.over)]
        out = {at for at, one in cells if not one.bites}
        kept = [Results(one for one in mine if one.parameters[self.over] not in out) for mine in self.runs]
        unmet = outside(one for _, one in cells if one.bites)
        return replace(self, runs=tuple(kept), idle=tuple(one for _, one in cells if not one.bites), outside=unmet)

    @property
    def grid(self) -> list[float]:
        """The points that count."""
        return sorted(self.runs[0].each(self.over))

    @property
    def bites(self) -> bool:
        """Whether enough points are left for an exponent."""
        return not (self.idle and _short(self.grid))

    @property
    def found(self) -> Interval:
        """The measured exponent."""
        if len(self.runs) == 1:
            return self.slope(self.runs[0], self.over, self.of)
        more, less = (slopes(one, self.over, self.of) for one in self.runs)
        return interval(more - less)

    @property
    def stated(self) -> float:
        """The exponent of the bound, or of the order, at the same points."""
        if isinstance(self.against, float):
            return self.against
        first, *others = (slope(one, self.over, self.against).mean for one in self.runs)
        return first - sum(others)

    def sped(self, by: float) -> "_Growth":
        """The same regrets with an exponent that is larger by so much."""

        def faster(one: Measured) -> Measured:
            return Measured(one.parameters, {self.of: one.values[self.of] * (one.parameters[self.over] / least) ** by})

        least, (first, *others) = self.grid[0], self.runs
        return replace(self, runs=(Results(map(faster, first)), *others))


def grows(
    claim: str,
    stated: str,
    runs: Mapping[str, Results | tuple[Results, Results]],
    *,
    rival: float,
    over: str = "T",
    of: str = "regret",
    against: str | float = "bound",
    slope: Slope = slope,
    both: bool = False,
    where: str = "",
) -> Line:
    """How fast the regret of each name grows; the worst verdict of those whose bound bites is the line's.

    `against` is the measured number whose exponent is the limit, or that exponent; what is called "bound" was measured
    by `limits`. Of a pair it is asked by how much faster the first's regret grows.
    """
    found: list[tuple[Verdict, str]] = []
    for name, one in runs.items():
        growth = _Growth(one if isinstance(one, tuple) else (one,), over, of, against, slope).where_it_bites()
        verdict, said = _judged(growth, rival, both) if growth.bites else (Verdict.IDLE, _idle(growth))
        found.append((verdict, said + f" ({name})" * bool(name)))
    told: list[Verdict] = [one for one, _ in found if one is not Verdict.IDLE]
    words = "; ".join(words for _, words in found) + f"; {where}" * bool(where)
    if told and over != "T":
        levels = [learns(part, over) for one in runs.values() for part in (one if isinstance(one, tuple) else (one,))]
        less = worst_of(levels) is Verdict.REACHED
        words += f"; regret is {'' if less else 'not '}a tenth less than uniform play's all along"
        told += levels
    worst = worst_of(told) if told else Verdict.IDLE
    return Line(claim, f"{stated}; rival exponent {rival:.3g}", words, worst, len(found))


def _judged(growth: _Growth, rival: float, both: bool) -> tuple[Verdict, str]:
    """The verdict of what bites, and the numbers it is made of."""
    measured, stated, grid = growth.found, growth.stated, growth.grid
    floor = -math.inf if len(growth.runs) == 1 else 0.0

    def of(one: Interval) -> Verdict:
        return grown(one, stated, rival=rival, floor=floor, both=both, grid=grid)

    verdict, whose = of(measured), "the bound" if growth.against == "bound" else "its order"
    words = f"exponent {shown(measured, 2)} where {whose} has {stated:z.2f}, {growth.over} from {grid[0]:,.12g} "
    words += f"to {grid[-1]:,.12g}" + ", where it bites" * bool(growth.idle)
    if verdict is Verdict.UNDECIDED:
        words += f", {why}" if (why := _empty(measured, stated, rival, grid)) else ""
    words += ", above it, within the tolerance" * (verdict in _GOOD and measured.low > stated)
    if rival < 1.0:
        fast = of(growth.sped(rival - measured.mean).found)
        words += f", at the rival's rate {fast.value}"
        verdict = Verdict.UNDECIDED if verdict in _GOOD and fast in _GOOD else verdict
    if growth.outside:
        return Verdict.UNDECIDED if verdict in _GOOD else verdict, words + growth.outside
    return verdict, words


def _idle(growth: _Growth) -> str:
    """At how few points the bound bites, and from which T on."""
    last = max(growth.idle, key=lambda one: (one.T, one.useful))
    many = len({one.setting for one in growth.idle})
    at = "" if growth.over == "T" else f"at {last.setting} "
    return f"bites at {len(growth.grid)} of {len(growth.grid) + many} {growth.over}; {at}{since(last.useful)}"
