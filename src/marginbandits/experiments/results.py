"""A bake-off as it stands: the last plan's names, joined with what the store has by their keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marginbandits.experiments.measure import METRICS
from marginbandits.experiments.specs import Role
from marginbandits.experiments.store import Outcome, Store
from marginbandits.validation import quoted

__all__ = ["BakeOff", "Entrant", "Run", "bake_off"]


@dataclass(frozen=True, slots=True)
class Entrant:
    """A learner by the name it goes by."""

    name: str
    family: str  # the class
    role: Role


@dataclass(frozen=True, slots=True)
class Run:
    """One learner on one data set with one seed: an outcome, the reason why there is none, or neither yet."""

    learner: str
    data: str
    seed: int
    outcome: Outcome | None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class BakeOff:
    """Every run of a plan, in the plan's order."""

    entrants: list[Entrant]
    runs: list[Run]
    shuffle: bool
    settings: Mapping[str, Any]  # the plan, for people

    @property
    def failures(self) -> list[tuple[str, str]]:
        """What failed, in words, and why."""
        return [
            (f"{run.learner} on {run.data}, seed {run.seed}", run.failure)
            for run in self.runs
            if run.failure is not None
        ]

    @property
    def reasons(self) -> list[str]:
        """Why tasks failed, in a line each, with the first task of which it is true and how many more there are."""
        tasks: dict[str, list[str]] = {}
        for what, why in self.failures:
            lines = why.strip().splitlines() or ["no reason is known"]
            tasks.setdefault(lines[-1 if lines[0].startswith("Traceback") else 0].strip(), []).append(what)
        return [f"{own[0]}{f' and {len(own) - 1} more' * (len(own) > 1)}: {why}" for why, own in tasks.items()]


def bake_off(store: Store) -> BakeOff:
    """The last one in the store."""
    if store.fact("run") != "bakeoff":
        raise ValueError(f"{store.path} holds no bake-off")
    plan: Any = store.fact("plan")
    tasks: Any = store.fact("tasks")
    try:
        entrants = [Entrant(str(one["name"]), str(one["class"]), one["role"]) for one in plan["learners"]]
        named = [(str(learner), str(data), int(seed), str(key)) for learner, data, seed, key in tasks]
        shuffle, _ = bool(plan["shuffle"]), int(plan["rounds"])
        strangers = {learner for learner, *_ in named} - {one.name for one in entrants}
        if strangers:
            raise ValueError(f"{quoted(min(strangers))} is no learner of the plan")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{store.path} is damaged at its plan ({error!r}): take a new folder") from error
    keys = {key for *_, key in named}
    outcomes, failures = store.outcomes(keys), store.failures(keys)
    for key, outcome in outcomes.items():
        if not outcome.metrics.keys() >= set(METRICS) or not len(outcome.losses):
            raise ValueError(f"{store.path} is damaged at {key!r} (numbers are missing): take a new folder")
    runs = [Run(learner, data, seed, outcomes.get(key), failures.get(key)) for learner, data, seed, key in named]
    return BakeOff(entrants, runs, shuffle, plan)
