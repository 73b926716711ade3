"""A sweep is data: learners x data sets x seeds, checked whole before anything runs.

As TOML:

    rounds = 3000
    seeds = 3
    data = ["digits", "folder/of/tables"]

    [[learners]]
    class = "LinUCB"
    features = "fourier"

Or as words: `Plan.of(data=["digits"], learners=["LinUCB", "LinUCB(features=fourier)"], rounds=3000, seeds=3)`.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits import learners, saving
from marginbandits.environments.classification import BUNDLED, Classification
from marginbandits.environments.tables import SUFFIXES, read_table
from marginbandits.evaluation import linear_policy_losses
from marginbandits.experiments.measure import measure
from marginbandits.experiments.store import Failure, Outcome
from marginbandits.learners.base import Learner
from marginbandits.learners.vowpal_wabbit import VowpalWabbit
from marginbandits.types import Array
from marginbandits.validation import suggestion

__all__ = ["Data", "LearnerSpec", "Plan", "Task", "known_learners", "nameable_learners", "played_rows"]

VERSION = 3
"""Of the results: raised when a change makes old outcomes incomparable with new ones."""


@dataclass(frozen=True, slots=True)
class LearnerSpec:
    """A learner class with its parameters, and the label it goes by in tables."""

    label: str
    cls: type[Learner]
    parameters: dict[str, Any]

    def build(self, n_actions: int, seed: int | np.random.Generator) -> Learner:
        """A fresh learner."""
        return self.cls(n_actions=n_actions, seed=seed, **self.parameters)


@dataclass(frozen=True, slots=True)
class Data:
    """Where a table comes from; the digest of its content makes a changed file a different task."""

    name: str
    source: str
    digest: str
    label: str | None = None

    def environment(self, rounds: int, seed: int, shuffle: bool) -> Classification:
        """The first `rounds` rows, in the order `played_rows` says."""
        X, y = _first_rows(self, rounds)
        order = played_rows(len(y), seed, shuffle)
        return Classification(X[order], y[order])

    def linear_policy_loss(self, rounds: int) -> float:
        """Mean loss of a linear policy fitted to the first `rounds` rows in hindsight; their order does not matter."""
        return _linear_policy_loss(self, rounds)

    def width(self, rounds: int) -> int:
        """Features of a row."""
        return _shape(self, rounds)[1]

    def n_rounds(self, rounds: int) -> int:
        """Rounds it really has, of so many asked for."""
        return _shape(self, rounds)[0]


@dataclass(frozen=True, slots=True)
class Task:
    """One run of one learner on one data set with one seed."""

    learner: LearnerSpec
    data: Data
    rounds: int
    seed: int
    shuffle: bool

    @property
    def key(self) -> str:
        """A hash of everything that decides the outcome."""
        facts = {
            "version": VERSION,
            "class": f"{self.learner.cls.__module__}.{self.learner.cls.__qualname__}",
            "parameters": saving.describe(sorted(self.learner.parameters.items())),
            "data": self.data.digest,
            "rounds": self.rounds,
            "seed": self.seed,
            "shuffle": self.shuffle,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    def outcome(self) -> Outcome:
        """Run it."""
        environment = self.data.environment(self.rounds, self.seed, self.shuffle)
        learner = self.learner.build(environment.n_actions, np.random.default_rng([self.seed, 1]))
        losses, metrics = measure(learner, environment)
        metrics["linear_policy_loss"] = self.data.linear_policy_loss(self.rounds)
        return Outcome(self.key, self.learner.label, self.data.name, environment.n_actions, self.seed, losses, metrics)

    def failure(self, reason: str) -> Failure:
        """It could not be run."""
        return Failure(self.key, self.learner.label, self.data.name, self.seed, reason)


@dataclass(frozen=True, slots=True)
class Plan:
    """Learners x data x seeds."""

    learners: tuple[LearnerSpec, ...]
    data: tuple[Data, ...]
    rounds: int
    seeds: int
    shuffle: bool = True

    def tasks(self) -> Iterator[Task]:
        """Every task, data set by data set, so that a worker loads each table once."""
        for data in self.data:
            for seed in range(self.seeds):
                for learner in self.learners:
                    yield Task(learner, data, self.rounds, seed, self.shuffle)

    def __len__(self) -> int:
        return len(self.learners) * len(self.data) * self.seeds

    @classmethod
    def of(
        cls,
        *,
        data: Sequence[str],
        learners: Sequence[str | LearnerSpec],
        rounds: int = 3000,
        seeds: int = 3,
        shuffle: bool = True,
        label: str | None = None,
    ) -> "Plan":
        """The plan of names, files and folders; everything is looked up and read once, so mistakes show now."""
        specs = [one if isinstance(one, LearnerSpec) else learner_spec(one) for one in learners]
        sets = [one for source in data for one in find_data(source, label)]
        for what, values in (("learners", [s.label for s in specs]), ("data", [d.name for d in sets])):
            if not values:
                raise ValueError(f"the plan has no {what}")
            twice = sorted({one for one in values if values.count(one) > 1})
            if twice:
                raise ValueError(f"{what} must differ in name; {', '.join(twice)} occurs twice")
        for name, number in (("rounds", rounds), ("seeds", seeds)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}")
        plan = cls(tuple(specs), tuple(sets), rounds, seeds, shuffle)
        for one in sets:
            _shape(one, rounds)
        for spec in specs:
            spec.build(2, 0)
        return plan

    @classmethod
    def from_toml(cls, path: Path) -> "Plan":
        """A plan file; relative data paths are relative to it."""
        try:
            table = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not TOML: {error}") from error
        known = {"rounds", "seeds", "shuffle", "data", "label", "learners"}
        for name in table.keys() - known:
            raise ValueError(f"{path}: unknown entry {name!r}{suggestion(name, known)}")
        if not isinstance(table.get("data"), list) or not isinstance(table.get("learners"), list):
            raise ValueError(f"{path} must have a list of data and at least one [[learners]] table")
        specs = []
        for entry in table.pop("learners"):
            if not isinstance(entry, dict) or "class" not in entry:
                raise ValueError(f"{path}: a learner needs a class, got {entry!r}")
            parameters = {name: value for name, value in entry.items() if name not in ("class", "name")}
            specs.append(_spec(entry.get("name"), entry["class"], parameters))
        data = [one if _is_name(one) else str(path.parent / one) for one in table.pop("data")]
        return cls.of(data=data, learners=specs, **table)


def played_rows(n_rows: int, seed: int, shuffle: bool) -> npt.NDArray[np.int64]:
    """The order in which every learner meets the rows: one shuffle per seed, or the order of the file."""
    rows = np.arange(n_rows)
    return np.random.default_rng([seed, 0]).permutation(rows) if shuffle else rows


def known_learners() -> dict[str, type[Learner]]:
    """Every exported learner by name, but for those that need a horizon or a class: they play where it is given."""
    return {name: cls for name, cls in nameable_learners(peers=False).items() if cls.competes}


def nameable_learners(*, peers: bool = True) -> dict[str, type[Learner]]:
    """The exported ones, and the peers that are installed."""
    found = {name: getattr(learners, name) for name in learners.__all__}
    if peers and importlib.util.find_spec("vowpalwabbit"):
        found["VowpalWabbit"] = VowpalWabbit
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) and issubclass(thing, Learner) and not inspect.isabstract(thing)
    }


def learner_spec(text: str) -> LearnerSpec:
    """`LinUCB`, or with parameters `LinUCB(features=fourier, alpha=0.1)`.

    >>> learner_spec("LinUCB(features=fourier, alpha=0.1)").parameters
    {'features': 'fourier', 'alpha': 0.1}
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if not match:
        raise ValueError(f"a learner is written Name or Name(parameter=value, …), got {text!r}")
    parameters = {}
    for part in filter(None, (piece.strip() for piece in (match[2] or "").split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"a parameter is written name=value, got {part!r} in {text!r}")
        parameters[name] = _value(value)
    return _spec(None, match[1], parameters)


def find_data(source: str, label: str | None) -> list[Data]:
    """The tables a word stands for: a bundled name, `openml:NUMBER`, a file, or a folder.

    Of a folder, every `.npz`; if there is none, every `.csv` and `.parquet`.
    """
    if _is_name(source):
        return [Data(source, source, f"name:{source}")]
    path = Path(source)
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES)
        # Beside archives a .csv is more likely an index of them than a table of its own.
        files = [one for one in files if one.suffix == ".npz"] or files
        if not files:
            raise ValueError(f"the folder {source} holds no {', '.join(SUFFIXES)} file")
        return [found for one in files for found in find_data(str(one), label)]
    if not path.exists():
        raise ValueError(f"no data called {source!r}: no such file or folder{suggestion(source, BUNDLED)}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return [Data(path.stem, str(path.resolve()), f"{digest}:{label}", label)]


@functools.lru_cache(maxsize=4)
def _first_rows(data: Data, rounds: int) -> tuple[Array, npt.NDArray[Any]]:
    X, y = read_table(data.source, label=data.label)
    if len(np.unique(y[:rounds])) < 2:
        raise ValueError(f"the first {len(y[:rounds])} rows of {data.name} hold one class only; shuffle the file")
    return X[:rounds], y[:rounds]


@functools.cache
def _linear_policy_loss(data: Data, rounds: int) -> float:
    X, y = _first_rows(data, rounds)
    return float(linear_policy_losses(X, Classification(X, y).losses).mean())


@functools.cache
def _shape(data: Data, rounds: int) -> tuple[int, int]:
    X, _ = _first_rows(data, rounds)
    return X.shape[0], X.shape[1]


def _spec(label: str | None, name: str, parameters: dict[str, Any]) -> LearnerSpec:
    known = nameable_learners()
    if name not in known:
        raise ValueError(f"no learner is called {name!r}{suggestion(name, known)}")
    cls = known[name]
    allowed = [one for one in inspect.signature(cls).parameters if one not in ("n_actions", "seed")]
    for parameter in parameters:
        if parameter not in allowed:
            raise ValueError(f"{name} has no parameter {parameter!r}{suggestion(parameter, allowed)}")
    shown = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return LearnerSpec(label or (f"{name}({shown})" if shown else name), cls, parameters)


def _is_name(source: str) -> bool:
    return source in BUNDLED or source.startswith("openml:")


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
