"""A claim of the paper as data: experiments to run, and a judge that turns what they measured into verdicts.

    measure    one experiment: parameters in, numbers out; the parameters decide everything, the seed among them
    units      the parameters of all experiments, for a quick look and for a full one
    judge      numbers in, `Finding` out: lines of the table, charts, notes; data throughout, which a page may draw
    controls   the same with something broken, where lines of the table have to fall: no verdict that cannot fail

A verdict is computed from the numbers, never written down (`judging` has those of bounds, `growing` of exponents).

>>> verdict(True).value, verdict(False).value
('holds', 'fails')
>>> verdict(False, corrected=True).value
'fails as printed, holds as corrected'
>>> verdict(False, rate=True).value
'not seen at reachable T'
>>> [one.value for one in Verdict if one.falls]
['not seen at reachable T', 'fails']
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.fingerprint import code, fingerprint
from marginbandits.experiments.marks import Mark
from marginbandits.experiments.store import Experiment
from marginbandits.experiments.svg import Axis
from marginbandits.experiments.svg import Line as Curve
from marginbandits.types import Array

__all__ = [
    "Chart",
    "Claim",
    "Control",
    "Dots",
    "Finding",
    "Line",
    "Measured",
    "Parameters",
    "Results",
    "Unit",
    "Verdict",
    "bootstrapped",
    "shown",
    "slope",
    "slopes",
    "verdict",
]

Parameters: TypeAlias = Mapping[str, Any]
MANY = 10**8


class Verdict(StrEnum):
    """What the numbers say of a claim."""

    HOLDS = "holds"
    REACHED = "holds at reachable T"
    UPPER = "upper side holds"
    IDLE = "does not bite"
    VACUOUS = "vacuous"
    UNDECIDED = "undecided"
    UNSEEN = "not seen at reachable T"
    CORRECTED = "fails as printed, holds as corrected"
    FAILS = "fails"

    @property
    def falls(self) -> bool:
        """Whether the numbers speak against the claim: what a control must come to."""
        return self in (Verdict.UNSEEN, Verdict.FAILS)


def verdict(printed: bool, *, corrected: bool | None = None, rate: bool = False) -> Verdict:
    """Of a statement, of its correction if it has one; a `rate` is about T → ∞, which no experiment can refute."""
    if rate:
        return Verdict.REACHED if printed else Verdict.UNSEEN
    if printed:
        return Verdict.HOLDS
    return Verdict.CORRECTED if corrected else Verdict.FAILS


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; words and numbers, no HTML."""

    claim: str
    stated: str
    measured: str
    verdict: Verdict
    intervals: int = 0  # of 95% each, on which the verdict rests


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves on two axes; those of the `legend` are named under them."""

    title: str
    curves: Sequence[Curve]
    x: Axis
    y: Axis
    legend: Sequence[Curve]


@dataclass(frozen=True, slots=True)
class Dots:
    """Means with their intervals, a named row each."""

    title: str
    rows: Sequence[tuple[str, Interval, Mark]]
    label: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim came to: lines of the table, charts, and notes for the reader; the same of its controls, by name."""

    lines: Sequence[Line]
    charts: Sequence[Chart | Dots]
    notes: Sequence[str] = ()
    controls: "Mapping[str, Finding]" = field(default_factory=dict)

    def turned(self, line: Line) -> dict[str, Verdict]:
        """The controls in which this line falls, and to what."""
        same = ((name, one) for name, found in self.controls.items() for one in found.lines if one.claim == line.claim)
        return {name: one.verdict for name, one in same if one.verdict.falls}


@dataclass(frozen=True, slots=True)
class Measured:
    """One finished experiment."""

    parameters: Parameters
    values: Mapping[str, float]


class Results:
    """Finished experiments, to pick from by their parameters."""

    def __init__(self, measured: Iterable[Measured]) -> None:
        self._measured = list(measured)

    def __len__(self) -> int:
        return len(self._measured)

    def __iter__(self) -> Iterator[Measured]:
        return iter(self._measured)

    def where(self, **parameters: Any) -> "Results":
        """Those with these parameters."""
        return Results(
            one
            for one in self._measured
            if all(one.parameters.get(name) == value for name, value in parameters.items())
        )

    def each(self, name: str) -> list[Any]:
        """The values of a parameter, in the order they occur first."""
        return list(dict.fromkeys(one.parameters[name] for one in self._measured if name in one.parameters))

    def split(self, name: str) -> "Iterator[tuple[Any, Results]]":
        """For each value of a parameter, those that have it."""
        return ((value, self.where(**{name: value})) for value in self.each(name))

    def named(self, name: str, of: Callable[[Parameters], Any]) -> "Results":
        """The same with one more parameter, made of the others."""
        return Results(Measured({**one.parameters, name: of(one.parameters)}, one.values) for one in self)

    def values(self, name: str) -> Array:
        """A measured number, of every experiment."""
        return np.array([one.values[name] for one in self._measured])

    def interval(self, name: str) -> Interval:
        """Its mean with a 95% interval over experiments."""
        return interval(self.values(name))


@dataclass(frozen=True, slots=True)
class Control:
    """What is broken, and the experiments with it broken: parameters of the claim's own `measure`, judged as its own.

    Lines that are in no control's judgement as fallen are verdicts that cannot fail; the tests let none through.
    """

    name: str
    units: Callable[[bool], Sequence[Parameters]]  # of `quick`


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, how to test it, and how to judge what comes of it.

    `measure` must be a function of a module, so that processes can share it. An experiment is known by the code behind
    `measure` and by its parameters, defaults included: whoever changes one of them runs it anew, and nothing else.
    """

    name: str
    title: str
    reference: str
    explanation: str
    measure: Callable[..., Mapping[str, float]]
    units: Callable[[bool], Sequence[Parameters]]  # of `quick`
    judge: Callable[[Results], Finding]
    errata: tuple[int, ...] = ()
    controls: tuple[Control, ...] = ()

    def tasks(self, quick: bool) -> "list[Unit]":
        """All its experiments, those of its controls among them."""
        return [*self.own(quick), *(unit for units in self.broken(quick).values() for unit in units)]

    def own(self, quick: bool) -> "list[Unit]":
        """Its experiments proper."""
        return self._made(self.units(quick))

    def broken(self, quick: bool) -> "dict[str, list[Unit]]":
        """Those of each control."""
        return {control.name: self._made(control.units(quick)) for control in self.controls}

    def _made(self, units: Sequence[Parameters]) -> "list[Unit]":
        name = f"{self.measure.__module__}.{self.measure.__qualname__}"
        facts = {"measure": name, "code": code(self.measure)}
        signature = inspect.signature(self.measure)
        found = []
        for one in units:
            whole = signature.bind(**one)
            whole.apply_defaults()
            found.append(Unit(self.name, self.measure, dict(one), fingerprint({**facts, "of": whole.arguments})))
        return found


@dataclass(frozen=True, slots=True)
class Unit:
    """One experiment of a claim."""

    claim: str
    measure: Callable[..., Mapping[str, float]]
    parameters: dict[str, Any]
    key: str  # the fingerprint of everything that decides what is measured

    @property
    def kind(self) -> str:
        """The claim, and what of the parameters is no number."""
        return ", ".join([self.claim, *(str(one) for one in self.parameters.values() if isinstance(one, str))])

    @property
    def size(self) -> float:
        """Rounds or cases; how often rounds double where they are so many that none is played by itself."""
        number = self.parameters.get("T") or self.parameters.get("n") or 1
        return float(number if number <= MANY else math.log2(number))

    @property
    def words(self) -> str:
        """What it is called where it fails."""
        return f"{self.claim}: " + ", ".join(f"{name}={value}" for name, value in self.parameters.items())

    def run(self) -> Experiment:
        """Measure."""
        return Experiment(self.key, {name: float(value) for name, value in self.measure(**self.parameters).items()})


def slope(results: Results, over: str, of: str) -> Interval:
    """The exponent of growth, with a 95% interval over seeds."""
    return interval(slopes(results, over, of))


def slopes(results: Results, over: str, of: str) -> Array:
    """The exponent of growth for each seed: least squares of log `of` on log `over`."""
    seeds = [set(one.each("seed")) for _, one in results.split(over)]
    each = []
    for seed in sorted(set.intersection(*seeds)):
        mine = results.where(seed=seed)
        x = np.array([float(one.parameters[over]) for one in mine])
        each.append(np.polyfit(np.log(x), np.log(np.maximum(mine.values(of), 1e-9)), 1)[0])
    return np.array(each)


def bootstrapped(results: Results, over: str, of: str) -> Interval:
    """The exponent of growth of the mean of `of`, with a 95% interval by the bootstrap over seeds.

    For each value of `over` as many of its runs as there are are drawn with replacement, 20,000 times. Percentiles of
    few seeds are too narrow, and are taken further out, to where Student's t would have them (Hesterberg 2015, section
    4.3): fewer seeds never help.
    """
    each = [mine.values(of) for _, mine in results.split(over)]
    x = np.log([float(value) for value in results.each(over)])
    x -= x.mean()
    n, rng = min(map(len, each)), np.random.default_rng(0)

    def slope_of(means: Array) -> Array:
        return np.asarray(np.log(np.maximum(means, 1e-9)) @ x / (x @ x))

    mean = float(slope_of(np.array([one.mean() for one in each])))
    if n < 2:
        return Interval(mean, -np.inf, np.inf)
    drawn = [one[rng.integers(len(one), size=(20_000, len(one)))].mean(1) for one in each]
    tail = float(stats.norm.cdf(-np.sqrt(n / (n - 1.0)) * stats.t.ppf(0.975, n - 1)))
    low, high = np.quantile(slope_of(np.stack(drawn, 1)), [tail, 1.0 - tail])
    return Interval(mean, float(low), float(high))


def shown(found: Interval, digits: int = 3) -> str:
    """A mean and its interval, for the table.

    >>> shown(Interval(0.5, 0.44, 0.56), 2)
    '0.50 (0.44 to 0.56)'
    """
    mean, low, high = (f"{value:,.{digits}f}" for value in found)
    return f"{mean} ({low} to {high})"
