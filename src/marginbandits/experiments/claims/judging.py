"""Verdicts of bounds and of exponents, in one place.

A bound *bites* on rounds where uniform play would break it: where it is below `uniform`, the regret that play at random
would have had there (or, if an adversary reacts to it, whoever is certain of an action). Only cells where it bites are
judged. A setting that has none is named with the T from which its bound would bite, which is looked for in the bound
itself, against the mean over seeds. If no setting has one, the verdict is "does not bite", or "vacuous" where the bound
is T or more in all of them, which nothing could exceed. Bounds are on expected regret: the 95% interval of the mean
over seeds must lie below in every cell that is judged; all of it above *fails*, and anything else is *undecided*. Where
a claim says so, a share of single runs must lie below, too, by the same rule for the interval of that share. Outside
its theorem a bound promises nothing: where one of its conditions is not met, the line names it, and is *undecided* at
best.

An exponent is compared with that of the bound over the same T, not with a round number. That it is at most that *holds*
if its whole interval is, up to a tolerance; it is *not seen* if its whole interval is above, and *undecided* otherwise,
so that fewer seeds never help. The tolerance is `TOLERANCE`, or half of the distance to a rival's exponent where that
is less: the exponent that would make the claim worthless (linear growth, or the rate that the paper improves on).
Where a claim has two sides ("grows like"), an interval that reaches further below says that the upper side holds. That
one thing grows faster than another, and that something grows at least so fast, is judged by the same tolerance:
`apart` and `at_least`.

A verdict that could not have fallen is none. An exponent is undecided at best where the grid spans less than a factor
of `SHORTEST`, where the interval is so wide that growth like the rival's would have reached down to the bound's, and
where what is measured falls: regret that is gone, or negative, has no exponent of growth.

>>> [grown(Interval(x, x - 0.02, x + 0.02), 0.5, rival=2 / 3).value for x in (0.52, 0.51 + TOLERANCE, 0.63)]
['holds at reachable T', 'not seen at reachable T', 'not seen at reachable T']
>>> grown(Interval(0.5, 0.4, 0.6), 0.5, rival=2 / 3).value  # too wide to tell
'undecided'
>>> [grown(Interval(x, x - 0.02, x + 0.02), 0.5, rival=2 / 3, both=True).value for x in (0.5, 0.2)]
['holds at reachable T', 'upper side holds']
>>> grown(Interval(-2.0, -2.5, -1.5), 0.5, rival=1.0).value  # regret that is gone
'undecided'
>>> grown(Interval(0.5, 0.49, 0.51), 0.5, rival=1.0, span=2.0).value  # T was doubled, and no more
'undecided'
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from scipy import stats

from marginbandits.evaluation import Interval
from marginbandits.experiments.claims.claim import Line, Results, Verdict, shown, slope
from marginbandits.experiments.claims.measuring import FARTHEST, NEEDS, first_useful
from marginbandits.theory import Bound

__all__ = [
    "BANDITRON",
    "SHORTEST",
    "TOLERANCE",
    "above",
    "apart",
    "at_least",
    "bounded",
    "exponent",
    "grown",
    "grows",
    "learns",
    "reach",
    "share_of",
    "under",
    "worst_of",
]

TOLERANCE = 1.0 / 24.0
"""Half of 3/4 - 2/3, the least that rates of the paper with their own learners differ by: no exponent is within it of
both."""

SHORTEST = 4.0
"""By so much a grid must grow for an exponent to be shown on it."""

BANDITRON = 2.0 / 3.0
"""The exponent that √T is to beat: of Banditron, and of the bounds without dimensions."""

LEARNS = 0.9
"""Of uniform play's regret: whoever has less has learnt something."""

Promised = Callable[[Results], Callable[[int], Bound]]
"""For the runs of a cell, what their bound would be for other T."""

_WORSE = [Verdict.HOLDS, Verdict.REACHED, Verdict.UPPER, Verdict.UNDECIDED, Verdict.UNSEEN, Verdict.FAILS]


@dataclass(frozen=True, slots=True)
class _Cell:
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
    def of(cls, setting: str, runs: Results, promised: Promised | None) -> "_Cell":
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
    rival: str = "uniform play",
    promised: Promised | None = None,
) -> Line:
    """Regret against its bound, in cells: the runs of each name, split by T; they measured `regret` and `limits`.

    Of single runs in cells that are judged, at least `share` must lie below, too (`share_of`). `rival` is whose regret
    `uniform` is. Where that differs from run to run, `promised` is asked for the T from which the bound bites.
    """
    cells = [_Cell.of(name, of, promised) for name, mine in runs.items() for _, of in mine.split("T")]
    biting = [one for one in cells if one.bites]
    per_round = sorted({f"{one.bound / one.T:.3f}" for one in biting or cells}, key=float)
    spread = f"bound/T {' to '.join(dict.fromkeys((per_round[0], per_round[-1])))}"
    unmet = next((one.unmet for one in biting or cells if one.unmet), "")
    outside = f"; outside its theorem, which needs {unmet}" * bool(unmet)
    if not biting:
        at = min(cells, key=lambda one: one.bound / one.uniform if one.uniform > 0 else math.inf)
        words = (
            f"{shown(at.regret, digits)} of {at.bound:,.{digits}f} ({at.name}), under which {rival} is too, with "
            f"{at.uniform:,.{digits}f}; {spread}; {_from(at.useful)}{outside}"
        )
        found = Verdict.IDLE if any(one.bound < one.T for one in cells) else Verdict.VACUOUS
        return Line(claim, stated, words, found, len(cells))
    at = max(biting, key=lambda one: one.share)
    kept, total = sum(one.under for one in biting), sum(one.runs for one in biting)
    words = (
        f"closest ({at.name}): {shown(at.regret, digits)} of {at.bound:,.{digits}f}, where {rival} has "
        f"{at.uniform:,.{digits}f}; {spread}; {kept / total:.1%} of {total:,} runs under it{_idle(cells)}{outside}"
    )
    levels = [under(one.regret, one.bound) for one in biting]
    levels += [share_of(kept, total, share)] * (share > 0.0)
    return Line(claim, stated, words, worst_of([*levels, *[Verdict.UNDECIDED] * bool(unmet)]), len(levels))


def _idle(cells: list[_Cell]) -> str:
    """In which cells the bound does not bite, and in which settings at no T that was played."""
    idle = [one for one in cells if not one.bites]
    if not idle:
        return ""
    first = min(idle, key=lambda one: one.useful)
    words = f"; does not bite in {len(idle)} of {len(cells)} cells ({first.name}: {_from(first.useful)})"
    told = {one.setting for one in cells if one.bites}
    never = {one.setting: one for one in sorted(idle, key=lambda one: one.T) if one.setting not in told}
    each = [f"{name}, where {_from(one.useful)}" for name, one in never.items()]
    return words + "; at none of these T in " * bool(each) + "; ".join(each)


def _from(useful: float) -> str:
    if useful >= FARTHEST:
        return f"it bites nowhere up to T = {_large(FARTHEST)}"
    return f"it bites from T = {_large(useful)} on"


def _large(number: float) -> str:
    return f"{number:,.0f}" if number < 1e9 else f"10^{math.log10(number):.1f}"


def reach(runs: Results, over: str = "T") -> str:
    """From where to where a grid goes."""
    return f"{over} from {min(runs.each(over)):,} to {max(runs.each(over)):,}"


def exponent(runs: Results, over: str, of: str = "bound") -> float:
    """The exponent of a bound on the very grid that was played."""
    return slope(runs, over, of).mean


def grown(
    found: Interval,
    stated: float,
    *,
    rival: float,
    floor: float = -math.inf,
    both: bool = False,
    span: float = math.inf,
) -> Verdict:
    """An exponent against the bound's and a rival's above it; below `floor` there is no growth to speak of.

    `span` is the factor by which the grid grew.
    """
    near = min(TOLERANCE, max(0.5 * (rival - stated), 0.0))
    if found.high <= floor:
        return Verdict.UNSEEN
    if found.high > stated + near or found.low <= floor:
        return Verdict.UNSEEN if found.low > stated else Verdict.UNDECIDED
    if _empty(found, stated, rival, span):
        return Verdict.UNDECIDED
    return Verdict.UPPER if both and found.low < stated - near else Verdict.REACHED


def _empty(found: Interval, stated: float, rival: float, span: float) -> str:
    """Why the exponent could not have been seen to be too large; nothing if it could."""
    if found.high < 0.0:
        return "what falls has no exponent of growth"
    if span < SHORTEST:
        return f"a grid that grows by {span:.2g} shows none"
    return "too wide to tell from the rival's" if found.mean - found.low >= rival - stated else ""


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


def grows(
    claim: str,
    stated: str,
    found: Mapping[str, tuple[Interval, float]],
    *,
    rival: float,
    where: str,
    floor: float = -math.inf,
    both: bool = False,
    learnt: Iterable[Verdict] = (),
    span: float = math.inf,
) -> Line:
    """Measured exponents, each with the exponent of its bound on the same grid; the worst verdict is the line's.

    Who learns nothing has regret that grows like T, but not with anything else: `learnt` is what `learns` says there.
    """
    each = [grown(one, bound, rival=rival, floor=floor, both=both, span=span) for one, bound in found.values()]
    words = "; ".join(
        f"exponent {shown(one, 2)} where the bound has {bound:.2f}" + f" ({name})" * bool(name)
        for name, (one, bound) in found.items()
    )
    levels = list(learnt)
    if levels:
        less = worst_of(levels) is Verdict.REACHED
        where += f"; regret is {'' if less else 'not '}a tenth less than uniform play's all along"
    verdict = worst_of([*each, *levels])
    if verdict is Verdict.UNDECIDED:
        whys = dict.fromkeys(_empty(one, bound, rival, span) for one, bound in found.values())
        where += "".join(f"; {why}" for why in whys if why)
    return Line(claim, f"{stated}; rival exponent {rival:.3g}", f"{words}, {where}", verdict, len(each))
