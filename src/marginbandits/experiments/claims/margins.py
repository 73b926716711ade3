"""Where margins earn, and where they do not: learners with a margin and without, in the settings of `settings`.

Every line has a learner that has to lose, or the line fails: a setting in which all do well shows nothing. Its control
is a game in which all know all.
"""

from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.claims.claim import Claim, Control, Dots, Finding, Line, Results, shown, verdict
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
    known,
    measure,
    units,
)
from marginbandits.experiments.marks import Mark

__all__ = ["CLAIM"]

CONTROLS = {RARE: "constant", HEAVY: "LinUCB, not scaled", GROWING: "LinUCB, scaled once"}


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

    def __getitem__(self, learner: str) -> float:
        return float(self._each[learner].mean())

    def said(self, *learners: str) -> str:
        """Their means."""
        return ", ".join(f"{one} {self[one]:.3f}" for one in learners)

    def stuck(self, learner: str, above: float) -> str:
        """In how many runs it lost more."""
        each = self._each[learner]
        return f"{int((each > above).sum())} of {len(each)} runs"

    def over(self, learner: str, other: str) -> Interval:
        """How much more it loses."""
        return interval(self._each[learner] - self._each[other])

    def best_but(self, learner: str) -> float:
        """The least mean of the others; the best constant does not count."""
        return min(self[one] for one in self._each if one not in (learner, "constant"))

    def chart(self, world: str) -> Dots:
        """A row for each learner."""
        ends, names = (0.0, float(self._T)), [name for name in self._each if name != "constant"]
        found = [interval(self._T * self._each[name], within=ends) for name in names]
        rows = [(name, one, Mark.of(place)) for place, (name, one) in enumerate(zip(names, found, strict=True))]
        return Dots(f"Loss of {self._T:,} rounds, {world}", rows, "mean, with its 95% interval")


def _separable(found: Losses) -> list[Line]:
    bare = "HingeLMC, no bias", "LinUCB, no bias"
    return [
        Line(
            "A margin separates and regression is misspecified: the margin earns",
            "on the rows as they are HingeLMC loses at most 0.01 and LinUCB (control) more than 0.05",
            found.said(*bare),
            verdict(found[bare[0]] <= 0.01 and found[bare[1]] > 0.05),
        ),
        Line(
            "It earns there with a bias too",
            "on raw features HingeLMC loses at most 0.01 and LinUCB (control) more than 0.05 on average",
            f"{found.said(*USUAL[:4])}; LinUCB lost more than 0.05 in {found.stuck('LinUCB', 0.05)}, HingeLMC in "
            f"{found.stuck('HingeLMC', 0.05)}: whoever starts well sees rewards only, which a bias explains",
            verdict(found["HingeLMC"] <= 0.01 and found["LinUCB"] > 0.05),
        ),
        _mixed("where a margin separates", found, "LinUCB, no bias"),
    ]


def _far(found: Losses) -> list[Line]:
    return [
        Line(
            "Labels are wrong far from the border: the ramp does not believe them",
            "as analysed, the ramp loses at most 0.29 (the best line 0.24) and the hinge (control) more",
            found.said("as analysed, ramp", "as analysed, hinge"),
            verdict(found["as analysed, ramp"] <= 0.29 < found["as analysed, hinge"]),
        ),
        Line(
            "The practical margin does not earn there",
            "HingeLMC, with either hinge, and LinUCB (control) lose more than 0.29",
            found.said("HingeLMC", "HingeLMC(hinge)", "LinUCB"),
            verdict(min(found[one] for one in ("HingeLMC", "HingeLMC(hinge)", "LinUCB")) > 0.29),
        ),
        Line(
            "Nor is doubt needed where curves and trees are allowed",
            "Mixture loses less than the best line's 0.24, LinUCB (control) more",
            found.said("Mixture", "LinUCB(fourier)", "LinUCB"),
            verdict(found["Mixture"] < 0.24 < found["LinUCB"]),
        ),
        _mixed("where far labels are wrong", found, "LinUCB"),
    ]


def _mixed(where: str, found: Losses, control: str) -> Line:
    best = found.best_but("Mixture")
    return Line(
        f"A mixture need not know which it is, {where}",
        f"Mixture within 0.02 of the best other learner, {control} (control) not",
        f"{found.said('Mixture', control)}; the best other {best:.3f}",
        verdict(found["Mixture"] <= best + 0.02 < found[control]),
    )


def _adversary(found: Losses) -> Line:
    greedy = "HingeLMC", "LinUCB", "Mixture"
    return Line(
        "An adversary charges the favourite of two: only play at random by design stands",
        "as analysed, Hinge-LMC loses at most 0.60 and whoever plays the best (control) 0.95 or more",
        f"{found.said('as analysed, wide hinge', *greedy)}; the margin is not why: {found.said('Uniform')}",
        verdict(found["as analysed, wide hinge"] <= 0.60 and min(found[one] for one in greedy) >= 0.95),
    )


def _lines(found: Losses) -> list[Line]:
    raw, curved = found["LinUCB"], found["LinUCB(fourier)"]
    best = max(min(raw, curved), 1e-9)
    ratio = found["Mixture"] / best
    more = found.over("HingeLMC", "LinUCB")
    return [
        Line(
            "Lines and nothing else: a mixture does not pay for its curves and trees",
            "Mixture loses at most 1.02 of LinUCB's, raw or fourier, whichever is better; the other (control) more",
            f"{ratio:.3f} of it; {found.said('Mixture', 'LinUCB', 'LinUCB(fourier)')}",
            verdict(ratio <= 1.02 < max(raw, curved) / best),
        ),
        Line(
            "The margin does not earn on them",
            "HingeLMC does not lose less than LinUCB, beyond the interval; LinUCB(fourier) (control) loses more",
            f"{shown(more)} more than LinUCB; {found.said('HingeLMC', 'LinUCB(fourier)')}",
            verdict(more.high >= 0.0 and curved > max(raw, found["HingeLMC"])),
            1,
        ),
    ]


def _raw(world: str, found: Losses, control: str) -> Line:
    more, margin = found.over("Mixture", "LinUCB"), found.over("HingeLMC", "LinUCB")
    name = "the best constant action" if control == "constant" else control
    return Line(
        f"A mixture stands what data are like: {world}",
        f"Mixture does not lose more than LinUCB, beyond the interval; {name} (control) loses 0.01 more than either",
        f"{shown(more)} more than LinUCB's {found['LinUCB']:.3f}; {name} {found[control]:.3f}; with a margin, HingeLMC "
        f"loses {shown(margin)} more",
        verdict(more.low <= 0.0 and found[control] >= max(found["Mixture"], found["LinUCB"]) + 0.01),
        1,
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
    controls=(Control(KNOWN, known),),
)
