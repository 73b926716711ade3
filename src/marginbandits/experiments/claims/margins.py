"""Where margins earn, and where they do not: learners with a margin and without, in the settings of `settings`.

A line says of some losses, or of their differences seed by seed, that they are at most, or at least, so much: it holds
if the whole 95% interval is, and is undecided if only the mean is. Two that are to lose alike must do so within
`ALIKE`: few seeds, and so wide intervals, do not help. Every line has a learner that has to lose, or the line fails: a
setting in which all do well shows nothing. Controls are games in which all know all, and in which all are told nothing.
"""

from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.claims.claim import Claim, Dots, Finding, Line, Results, Verdict, shown
from marginbandits.experiments.claims.judging import above, under, worst_of
from marginbandits.experiments.claims.measuring import NOTHING, control
from marginbandits.experiments.claims.settings import (
    ADVERSARY,
    FAR,
    GROWING,
    HEAVY,
    KNOWN,
    LINES,
    RARE,
    SEPARABLE,
    USUAL,
    measure,
    units,
)
from marginbandits.experiments.marks import Mark

__all__ = ["CLAIM"]

CONTROLS = {RARE: "constant", HEAVY: "LinUCB, not scaled", GROWING: "LinUCB, scaled once"}

ALIKE = 0.01
"""Mean losses that differ by less are alike."""


def judge(results: Results) -> Finding:
    """Mean losses against what was expected of them; differences are taken seed by seed."""
    worlds = {world: Losses(mine) for world, mine in results.split("world")}
    lines = [
        *_separable(worlds[SEPARABLE]),
        *_far(worlds[FAR]),
        _adversary(worlds[ADVERSARY]),
        *_lines(worlds[LINES]),
        *(_raw(world, worlds[world], control) for world, control in CONTROLS.items()),
    ]
    return Finding(lines, [one.chart(world) for world, one in worlds.items()])


class Losses:
    """Those of one setting, by learner; the best constant action is one too."""

    def __init__(self, mine: Results) -> None:
        self._T = mine.each("T")[0]
        self._each = {learner: one.values("loss") for learner, one in mine.split("learner")}
        self._each["constant"] = mine.where(learner=USUAL[0]).values("constant")

    def __getitem__(self, learner: str) -> Interval:
        return interval(self._each[learner], within=(0.0, 1.0))

    def said(self, *learners: str) -> str:
        """Their means, with intervals."""
        return ", ".join(f"{one} {shown(self[one])}" for one in learners)

    def stuck(self, learner: str, above: float) -> str:
        """In how many runs it lost more."""
        each = self._each[learner]
        return f"{int((each > above).sum())} of {len(each)} runs"

    def over(self, learner: str, other: str, times: float = 1.0) -> Interval:
        """How much more it loses than `times` what the other does."""
        return interval(self._each[learner] - times * self._each[other])

    def best(self, *learners: str) -> str:
        """Whose mean is least."""
        return min(learners, key=lambda one: self._each[one].mean())

    def others(self, learner: str) -> list[str]:
        """All learners but one; the best constant does not count."""
        return [one for one in self._each if one not in (learner, "constant")]

    def chart(self, world: str) -> Dots:
        """A row for each learner."""
        ends, names = (0.0, float(self._T)), [name for name in self._each if name != "constant"]
        found = [interval(self._T * self._each[name], within=ends) for name in names]
        rows = [(name, one, Mark.of(place)) for place, (name, one) in enumerate(zip(names, found, strict=True))]
        return Dots(f"Loss of {self._T:,} rounds, {world}", rows, "mean, with its 95% interval")


def _line(claim: str, stated: str, measured: str, *verdicts: Verdict) -> Line:
    return Line(claim, stated, measured, worst_of(verdicts), len(verdicts))


def _separable(found: Losses) -> list[Line]:
    bare = "HingeLMC, no bias", "LinUCB, no bias"
    return [
        _line(
            "A margin separates and regression is misspecified: the margin earns",
            "on the rows as they are HingeLMC loses at most 0.01 and LinUCB (control) at least 0.05",
            found.said(*bare),
            under(found[bare[0]], 0.01),
            above(found[bare[1]], 0.05),
        ),
        _line(
            "It earns there with a bias too",
            "on raw features HingeLMC loses at most 0.01 and LinUCB (control) at least 0.05 on average",
            f"{found.said(*USUAL[:4])}; LinUCB lost more than 0.05 in {found.stuck('LinUCB', 0.05)}, HingeLMC in "
            f"{found.stuck('HingeLMC', 0.05)}: whoever starts well sees rewards only, which a bias explains",
            under(found["HingeLMC"], 0.01),
            above(found["LinUCB"], 0.05),
        ),
        _mixed("where a margin separates", found, "LinUCB, no bias"),
    ]


def _far(found: Losses) -> list[Line]:
    believers = "HingeLMC", "HingeLMC(hinge)", "LinUCB"
    return [
        _line(
            "Labels are wrong far from the border: the ramp does not believe them",
            "as analysed, the ramp loses at most 0.29 (the best line 0.24) and the hinge (control) more",
            found.said("as analysed, ramp", "as analysed, hinge"),
            under(found["as analysed, ramp"], 0.29),
            above(found["as analysed, hinge"], 0.29),
        ),
        _line(
            "The practical margin does not earn there",
            "HingeLMC, with either hinge, and LinUCB (control) lose at least 0.29",
            found.said(*believers),
            *(above(found[one], 0.29) for one in believers),
        ),
        _line(
            "Nor is doubt needed where curves and trees are allowed",
            "Mixture loses at most the best line's 0.24, LinUCB (control) more",
            found.said("Mixture", "LinUCB(fourier)", "LinUCB"),
            under(found["Mixture"], 0.24),
            above(found["LinUCB"], 0.24),
        ),
        _mixed("where far labels are wrong", found, "LinUCB"),
    ]


def _mixed(where: str, found: Losses, control: str) -> Line:
    best = found.best(*found.others("Mixture"))
    more, apart = found.over("Mixture", best), found.over(control, best)
    return _line(
        f"A mixture need not know which it is, {where}",
        f"Mixture within 0.02 of the best other learner, {control} (control) not",
        f"Mixture {shown(more)}, {control} {shown(apart)} more than {best}, the best other",
        under(more, 0.02),
        above(apart, 0.02),
    )


def _adversary(found: Losses) -> Line:
    greedy = "HingeLMC", "LinUCB", "Mixture"
    return _line(
        "An adversary charges the favourite of two: only play at random by design stands",
        "as analysed, Hinge-LMC loses at most 0.60 and whoever plays the best (control) 0.95 or more",
        f"{found.said('as analysed, wide hinge', *greedy)}; the margin is not why: {found.said('Uniform')}",
        under(found["as analysed, wide hinge"], 0.60),
        *(above(found[one], 0.95) for one in greedy),
    )


def _lines(found: Losses) -> list[Line]:
    kinds = "LinUCB", "LinUCB(fourier)"
    best = found.best(*kinds)
    other = kinds[1 - kinds.index(best)]
    more, less = found.over("Mixture", best, 1.02), found.over("LinUCB", "HingeLMC")
    return [
        _line(
            "Lines and nothing else: a mixture does not pay for its curves and trees",
            "Mixture loses at most 1.02 of LinUCB's, raw or fourier, whichever is better; the other (control) more",
            f"Mixture {shown(more)} more than 1.02 of {best}'s; {found.said('Mixture', *kinds)}",
            under(more, 0.0),
            above(found.over(other, best, 1.02), 1e-9),
        ),
        _line(
            "The margin does not earn on them",
            f"HingeLMC loses less than LinUCB by at most {ALIKE}; LinUCB(fourier) (control) {ALIKE} more than either",
            f"HingeLMC loses {shown(less)} less than LinUCB; {found.said('HingeLMC', *kinds)}",
            under(less, ALIKE),
            *(above(found.over("LinUCB(fourier)", one), ALIKE) for one in ("LinUCB", "HingeLMC")),
        ),
    ]


def _raw(world: str, found: Losses, control: str) -> Line:
    more, margin = found.over("Mixture", "LinUCB"), found.over("HingeLMC", "LinUCB")
    name = "the best constant action" if control == "constant" else control
    return _line(
        f"A mixture stands what data are like: {world}",
        f"Mixture loses more than LinUCB by at most {ALIKE}; {name} (control) loses {ALIKE} more than either",
        f"Mixture loses {shown(more)} more than LinUCB; {found.said('LinUCB')}, {name} {shown(found[control])}; with a "
        f"margin, HingeLMC loses {shown(margin)} more",
        under(more, ALIKE),
        *(above(found.over(control, one), ALIKE) for one in ("Mixture", "LinUCB")),
    )


CLAIM = Claim(
    "margins",
    "Where margins earn, and where they do not",
    "No theorem: what section 1 of the paper leads one to expect of surrogate losses in practice",
    "Support vector machines made margins worth having in classification. Here learners with a margin play beside "
    "learners without, in settings made for them and in settings that are not.",
    measure,
    units,
    judge,
    controls=(control(KNOWN, units), control(NOTHING, units)),
)
