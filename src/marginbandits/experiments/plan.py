"""A sweep is data: learners x data sets x seeds, checked whole before anything runs.

As TOML:

    rounds = 3000
    seeds = 3
    data = ["digits", "folder/of/tables"]

    [[learners]]
    class = "LinUCB"
    features = "fourier"

Or as words: `Plan.of(data=["digits"], learners=["LinUCB", "LinUCB(features=fourier)"], rounds=3000, seeds=3)`.

On a `device`, learners of networks are played many at once (`batches`), all others as ever.

A task is known by a fingerprint of the code that plays it, the learner's parameters as they take effect, the rows, the
seed and their order. Names are labels beside it: two names for one thing are two lines in a report and one task to run,
and another name for a finished one shows at once.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from marginbandits.environments.examples import MISSING, Missing, Reading
from marginbandits.experiments.arguments import learner_spec, plan_entries
from marginbandits.experiments.batches import play_together
from marginbandits.experiments.fingerprint import code, fingerprint
from marginbandits.experiments.measure import play
from marginbandits.experiments.sources import Data, find_data, refuse_idle
from marginbandits.experiments.specs import LearnerSpec, known_learners
from marginbandits.experiments.store import Outcome
from marginbandits.learners.hinge_lmc.together import alike
from marginbandits.scores.devices import NAMES
from marginbandits.validation import Choice, Instance, Integer, OneOf, quoted, validated

__all__ = ["Plan", "Task"]

Count = Annotated[int, Integer(1)]


@dataclass(frozen=True, slots=True)
class Task:
    """One run of one learner on one data set with one seed."""

    learner: LearnerSpec
    data: Data
    seed: int
    shuffle: bool
    key: str  # the fingerprint of everything that decides the outcome
    kind: str  # the learner's: tasks of one kind and size take about as long
    batch: tuple[object, ...] | None = None  # those of one may be played at once

    @property
    def size(self) -> float:
        """How much there is to do, but for a power that depends on the learner."""
        return float(self.data.n_rounds * self.data.width * self.data.n_actions)

    def run(self) -> Outcome:
        """Play."""
        losses, metrics = play(self.learner.build, self.data, self.seed, self.shuffle)
        return Outcome(self.key, self.data.n_actions, losses, metrics)


@dataclass(frozen=True, slots=True)
class Plan:
    """Learners x data x seeds."""

    learners: tuple[LearnerSpec, ...]
    data: tuple[Data, ...]
    rounds: int
    seeds: int
    shuffle: bool = True
    notes: tuple[str, ...] = ()  # what is left out
    device: str | None = None  # of networks
    identities: tuple[str, ...] = field(init=False)  # of the learners
    batches: tuple[tuple[object, ...] | None, ...] = field(init=False)  # likewise; None of those that play alone

    def __post_init__(self) -> None:
        K, one_by_one, many = self.data[0].n_actions, code(play), code(play_together)
        if self.device is not None:
            object.__setattr__(self, "learners", tuple(one.on(self.device) for one in self.learners))
        own = [one.identity(K) for one in self.learners]
        batches = tuple(None if self.device is None else alike(one.build(K, 0)) for one in self.learners)
        if self.device is not None and not any(batches):
            raise ValueError(
                f"device={self.device!r} has no effect: no learner is one that is played with others at once, as "
                "HingeLMC(scores=Networks) is, with its bootstrap, and features that scale their rows"
            )
        pairs = zip(own, batches, strict=True)
        found = tuple(fingerprint({**facts, "by": many if batch else one_by_one}) for facts, batch in pairs)
        object.__setattr__(self, "identities", found)
        object.__setattr__(self, "batches", batches)

    def tasks(self) -> Iterator[Task]:
        """Every task, data set by data set, so that a worker loads each table once."""
        for data in self.data:
            for seed in range(self.seeds):
                for learner, kind, batch in zip(self.learners, self.identities, self.batches, strict=True):
                    facts = {"learner": kind, "data": data.digest, "seed": seed, "shuffle": self.shuffle}
                    many = (*batch, data.digest) if batch and not data.named else None
                    yield Task(learner, data, seed, self.shuffle, fingerprint(facts), kind, many)

    def __len__(self) -> int:
        return len(self.learners) * len(self.data) * self.seeds

    def facts(self) -> dict[str, object]:
        """What the store remembers of the plan: names, and the key that each learner, data set and seed stands for."""
        learners = [
            {"name": one.label, "class": one.cls.__name__, "role": one.role, "parameters": self._shown(one)}
            for one in self.learners
        ]
        data = [{"name": one.name, "source": one.source} for one in self.data]
        settings = {"rounds": self.rounds, "seeds": self.seeds, "shuffle": self.shuffle, "device": self.device}
        tasks = [[task.learner.label, task.data.name, task.seed, task.key] for task in self.tasks()]
        return {"run": "bakeoff", "plan": {**settings, "learners": learners, "data": data}, "tasks": tasks}

    def _shown(self, learner: LearnerSpec) -> dict[str, str]:
        return {name: quoted(value) for name, value in learner.effective(self.data[0].n_actions).items()}

    @classmethod
    @validated
    def of(
        cls,
        *,
        data: Sequence[str],
        learners: Sequence[str | LearnerSpec] | None = None,
        rounds: Count = 3000,
        seeds: Count = 3,
        shuffle: Annotated[bool, Instance(bool)] = True,
        label: Annotated[str | None, Instance(str, type(None))] = None,
        drop: Sequence[str] = (),
        missing: Annotated[Missing, Choice(*MISSING)] = "refuse",
        device: Annotated[str | None, OneOf(Choice(*NAMES), Instance(type(None)))] = None,
    ) -> "Plan":
        """The plan of names, files and folders; everything is looked up and read once, so mistakes show now.

        `learners` are all that take the data, if they are not given.
        """
        _refuse_no_list("data", data, str)
        _refuse_no_list("drop", drop, str)
        everyone = learners is None
        chosen: Sequence[Any] = sorted(known_learners()) if learners is None else learners
        _refuse_no_list("learners", chosen, str, LearnerSpec)
        specs = [one if isinstance(one, LearnerSpec) else learner_spec(one) for one in chosen]
        reading = Reading(label, tuple(drop), missing)
        sets = [one for source in data for one in find_data(source, reading, rounds=rounds)]
        refuse_idle(reading, sets)
        for what, values in (("learners", [s.label for s in specs]), ("data", [d.name for d in sets])):
            if not values:
                raise ValueError(f"the plan has no {what}")
            twice = sorted({one for one in values if values.count(one) > 1})
            if twice:
                raise ValueError(f"{what} must differ in name; {', '.join(twice)} occurs twice")
        notes = [f"{d.name}: {d.left_out:,} rows with an empty cell are left out" for d in sets if d.left_out]
        named = next((d.name for d in sets if d.named), None)
        if named is not None and (numeric := [s for s in specs if not s.cls.takes_names]):
            words = f"{', '.join(s.label for s in numeric)}: only for numbers, and {named} has names and values"
            if not everyone:
                raise ValueError(f"{words}; leave out the learner, or the data")
            notes.append(f"{words}; left out")
            specs = [s for s in specs if s.cls.takes_names]
        return cls(tuple(specs), tuple(sets), rounds, seeds, shuffle, tuple(notes), device)

    @classmethod
    def from_toml(cls, path: Path) -> "Plan":
        """A plan file; whatever is wrong with it is said with its name."""
        try:
            return cls.of(**plan_entries(path))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def _refuse_no_list(name: str, given: Any, *kinds: type) -> None:
    listed = isinstance(given, Collection) and not isinstance(given, str | Mapping)
    if not listed or not all(isinstance(one, kinds) for one in given):
        raise ValueError(f"{name} must be a list of names{' or LearnerSpecs' * (len(kinds) > 1)}, got {quoted(given)}")
