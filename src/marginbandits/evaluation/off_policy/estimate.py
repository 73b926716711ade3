"""One number from a log, with everything that must be said along with it.

>>> from marginbandits.evaluation.off_policy import Evidence, value
>>> rng = np.random.default_rng(0)
>>> w, loss = 2.0 * rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
>>> print(value(Evidence(w, loss), "snips"))
The mean loss is 0.490 (95% interval 0.448 to 0.532), by self-normalised inverse propensity weighting from 1,000 rounds.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from marginbandits.evaluation.off_policy.diagnostics import Finding
from marginbandits.evaluation.off_policy.estimators import METHODS
from marginbandits.evaluation.off_policy.sequences import Sequence as Path
from marginbandits.evaluation.regret import Interval
from marginbandits.pictures import figure

__all__ = ["Estimate"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a log says of a policy's mean outcome, or of the difference of two policies.

    `low` and `high` end the interval of that `level`, and `bias` is how much of its width is for what the estimator cut
    off. `assumptions` are sentences; `findings` are the diagnostics of the log (see `warnings`). `path` has the
    interval after every number of rounds, where it is a confidence sequence.
    """

    value: float
    low: float
    high: float
    method: str
    interval: str
    level: float
    n: int
    outcome: str = "loss"
    error: float = float("nan")  # the standard error
    bias: float = 0.0
    parameter: float | None = None
    assumptions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    estimated_propensities: bool = False
    policy: str = ""
    against: str = ""
    path: Path | None = None
    within: tuple[float, float] | None = None
    """The range that outcomes are shares of, where it is not 0 to 1."""

    @property
    def given(self) -> Interval:
        """Mean, low and high in the numbers of the log."""
        low, high = self.within or (0.0, 1.0)
        start = 0.0 if self.against else low
        return Interval(*(start + (high - low) * one for one in (self.value, self.low, self.high)))

    @property
    def warnings(self) -> list[str]:
        """What of the diagnostics is not as it should be, and what to do about it."""
        return [str(one) for one in self.findings if not one.good]

    @property
    def ends(self) -> Interval:
        """Mean, low, high, as other intervals have them."""
        return Interval(self.value, self.low, self.high)

    def __str__(self) -> str:
        what = f"The mean {self.outcome}" + (f" of {self.policy}" if self.policy else "")
        if self.against:
            what = f"The mean {self.outcome} of {self.policy or 'the first'} minus that of {self.against}"
        digits = 3 if self.high - self.low > 0.02 else 4 if self.high - self.low > 0.002 else 6
        span = f"{100 * self.level:g}% interval {self.low:.{digits}f} to {self.high:.{digits}f}"
        tuned = "" if self.parameter is None else f" (parameter {self.parameter:.4g})"
        guessed = ", with estimated propensities" if self.estimated_propensities else ""
        how = f"by {METHODS[self.method]}{tuned} from {self.n:,} rounds{guessed}"
        told = f"{what} is {self.value:.{digits}f} ({span}), {how}."
        if self.within is not None:
            a, b = self.within
            own = self.given
            told += f" Between {a:g} and {b:g} that is {own.mean:.4g} ({own.low:.4g} to {own.high:.4g})."
        return "\n".join([told, *(f"Beware: {one}." for one in self.warnings)])

    def describe(self) -> str:
        """The sentence, what it assumes, and every diagnostic, a line each."""
        return "\n".join(
            [str(self), *(f"Assumes: {one}" for one in self.assumptions), *(f"Log: {one}" for one in self.findings)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers, words and lists, as JSON takes them."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("path", "findings")}
        found["assumptions"] = list(self.assumptions)
        found["findings"] = [asdict(one) for one in self.findings]
        if self.path is not None:
            found["path"] = {name: getattr(self.path, name).tolist() for name in ("times", "low", "high")}
        return found

    def plot(self, *others: "Estimate", names: Sequence[str] = ()) -> Any:
        """A figure: this interval above others', or a confidence sequence as it went on (needs matplotlib)."""
        picture = figure(6.0, 3.2 if self.path is not None and not others else 1.2 + 0.35 * (1 + len(others)))
        axes = picture.add_subplot()
        label = f"mean {self.outcome}" + (" (difference)" if self.against else "")
        if self.path is not None and not others:
            axes.fill_between(self.path.times, self.path.low, self.path.high, alpha=0.25, step="post")
            axes.axhline(self.value, lw=1.0)
            axes.set(xscale="log", xlabel="rounds", ylabel=label)
            return picture
        every = (self, *others)
        shown = [*names, *(one.policy or METHODS[one.method] for one in every[len(names) :])]
        at = np.arange(len(every))[::-1]
        middle = np.array([one.value for one in every])
        reach = np.array([[one.value - one.low, one.high - one.value] for one in every]).T
        axes.errorbar(middle, at, xerr=np.maximum(reach, 0.0), fmt="o", capsize=3)
        axes.set_yticks(at, shown)
        axes.set(xlabel=label, ylim=(-0.6, len(every) - 0.4))
        if self.against:
            axes.axvline(0.0, lw=0.8, color="0.5")
        return picture
