"""A claim of the paper as data: experiments to run, and a judge that turns what they measured into verdicts.

    measure    one experiment: parameters in, numbers out; the parameters decide everything, the seed among them
    units      the parameters of all experiments, for a quick look and for a full one
    judge      numbers in, `Finding` out: lines of the table, figures, notes

A verdict is computed from the numbers, never written down.

>>> verdict(True).value, verdict(False).value
('holds', 'fails')
>>> verdict(False, corrected=True).value
'fails as printed, holds as corrected'
>>> verdict(False, rate=True).value
'not seen at reachable T'
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

from marginbandits import __version__
from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.store import Failure, Outcome
from marginbandits.types import Array

__all__ = [
    "Claim",
    "Finding",
    "Line",
    "Measured",
    "Parameters",
    "Results",
    "Unit",
    "Verdict",
    "shown",
    "slope",
    "slopes",
    "verdict",
]

Parameters: TypeAlias = Mapping[str, Any]


class Verdict(StrEnum):
    """What the numbers say of a claim."""

    HOLDS = "holds"
    REACHED = "holds at reachable T"
    UNSEEN = "not seen at reachable T"
    CORRECTED = "fails as printed, holds as corrected"
    FAILS = "fails"


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


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim came to: lines of the table, figures as HTML, and notes for the reader."""

    lines: Sequence[Line]
    figures: Sequence[str]
    notes: Sequence[str] = ()


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

    def values(self, name: str) -> Array:
        """A measured number, of every experiment."""
        return np.array([one.values[name] for one in self._measured])

    def interval(self, name: str) -> Interval:
        """Its mean with a 95% interval over experiments."""
        return interval(self.values(name))


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, how to test it, and how to judge what comes of it.

    `measure` must be a function of a module, so that processes can share it. An experiment is known by its parameters
    and by that module's text: whoever changes the module runs its experiments anew.
    """

    name: str
    title: str
    reference: str
    explanation: str
    measure: Callable[..., Mapping[str, float]]
    units: Callable[[bool], Sequence[Parameters]]  # of `quick`
    judge: Callable[[Results], Finding]
    errata: tuple[int, ...] = ()

    def tasks(self, quick: bool) -> "list[Unit]":
        """All its experiments."""
        text = inspect.getsource(inspect.getmodule(self.measure) or self.measure)
        code = hashlib.sha256(text.encode()).hexdigest()
        return [Unit(self.name, self.measure, dict(one), code) for one in self.units(quick)]


@dataclass(frozen=True, slots=True)
class Unit:
    """One experiment of a claim."""

    claim: str
    measure: Callable[..., Mapping[str, float]]
    parameters: dict[str, Any]
    code: str  # a hash of the module that measures

    @property
    def key(self) -> str:
        """A hash of the version, the measuring module and the parameters; a change elsewhere needs a fresh folder."""
        facts = [__version__, self.claim, self.measure.__qualname__, self.code, self.parameters]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    def outcome(self) -> Outcome:
        """Run it; only numbers are kept, no losses of rounds."""
        found = {name: float(value) for name, value in self.measure(**self.parameters).items()}
        n_actions = int(self.parameters.get("K", 0))
        return Outcome(self.key, self._label, self.claim, n_actions, self._seed, np.zeros(0), found)

    def failure(self, reason: str) -> Failure:
        """It could not be run."""
        return Failure(self.key, self._label, self.claim, self._seed, reason)

    @property
    def _seed(self) -> int:
        return int(self.parameters.get("seed", 0))

    @property
    def _label(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items() if name != "seed")


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


def shown(found: Interval, digits: int = 3) -> str:
    """A mean and its interval, for the table.

    >>> shown(Interval(0.5, 0.44, 0.56), 2)
    '0.50 (0.44 to 0.56)'
    """
    mean, low, high = (f"{value:,.{digits}f}" for value in found)
    return f"{mean} ({low} to {high})"
