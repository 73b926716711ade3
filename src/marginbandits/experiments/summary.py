"""What a bake-off says: one record that tables, reports and exports are written from."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from marginbandits.evaluation import Interval, interval, progressive_loss
from marginbandits.evaluation.comparison import paired, ranks
from marginbandits.experiments.results import BakeOff, Entrant
from marginbandits.experiments.sources import played_rows
from marginbandits.experiments.specs import Role
from marginbandits.experiments.store import Outcome
from marginbandits.types import Array

__all__ = ["Absent", "Standing", "Summary", "summarise"]

LEVEL = 0.05
"""Of each paired test, two-sided."""

LEARNABLE = 0.01
"""A data set counts for the normalised loss if somebody beats uniform play by this much: else it would divide by 0."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One learner over all data sets that are compared."""

    learner: str
    role: Role
    loss: Interval
    normalised: float
    rank: Interval  # over data sets
    wins: int
    losses: int
    diagnostics: dict[str, float]


@dataclass(frozen=True, slots=True)
class Absent:
    """A learner that has finished no data set, so that it cannot be compared: it failed, or has not run yet."""

    learner: str
    role: Role
    failed: int  # tasks
    tasks: int

    def __str__(self) -> str:
        return f"failed, {self.failed} of {self.tasks} tasks" if self.failed else "not finished yet"


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """All learners over all data sets they all finished; learners in order of mean loss, best first."""

    learners: list[str]
    data: list[str]
    table: Array  # data x learners: mean loss
    wins: Array  # learners x learners: data sets on which the row is better than the column, significantly
    standings: list[Standing]
    curves: dict[str, dict[str, Array]]  # data -> learner -> seeds x rounds, progressive loss
    n_seeds: int
    incomplete: list[str]  # data sets left out because some learner has not finished there
    absent: list[Absent]  # learners left out because they have finished nowhere

    @property
    def has_skyline(self) -> bool:
        """Whether some learner sees every loss."""
        return any(one.role == "skyline" for one in self.standings)


_Runs = dict[str, dict[str, dict[int, Outcome]]]  # data -> learner -> seed


def summarise(bake_off: BakeOff, *, hindsight: bool = False) -> Summary:
    """Compare the learners on every data set where all of them finished all seeds.

    A learner that has finished no data set is left out of the comparison and named. `hindsight` adds, for each class
    that ran with several settings, the best of them on each data set: what a tuner who knew the outcome would have got.
    """
    done: _Runs = defaultdict(lambda: defaultdict(dict))
    for run in bake_off.runs:
        if run.outcome is not None:
            done[run.data][run.learner][run.seed] = run.outcome
    seeds = sorted({run.seed for run in bake_off.runs})
    data = list(dict.fromkeys(run.data for run in bake_off.runs))
    there = [one for one in bake_off.entrants if any(len(done[d][one.name]) == len(seeds) for d in data)]
    absent = [_absent(one, bake_off) for one in bake_off.entrants if one not in there]
    whole = {d: done[d] for d in data if there and all(len(done[d][one.name]) == len(seeds) for one in there)}
    incomplete = [one for one in data if one not in whole]
    if not whole:
        nothing = np.zeros((0, 0))
        return Summary([], [], nothing, nothing.astype(int), [], {}, len(seeds), incomplete, absent)
    if hindsight:
        there = there + _add_hindsight(whole, there)
    names = [one.name for one in there]
    played = {d: np.array([[runs[name][seed].losses for seed in seeds] for name in names]) for d, runs in whole.items()}
    table = np.array([losses.mean((1, 2)) for losses in played.values()])
    best_first = np.argsort(table.mean(0), kind="stable")
    wins = np.zeros((len(names), len(names)), int)
    for losses in played.values():
        difference, p = paired(_aligned(losses, seeds, bake_off.shuffle))
        wins += (difference < 0) & (p < LEVEL)
    by_seed = np.array([losses.mean(2) for losses in played.values()])
    floor, ceiling = _scale(table, there, whole)
    some = (ceiling - floor)[:, 0] > LEARNABLE  # where nobody learns there is no scale to speak of
    normalised = ((table - floor) / (ceiling - floor))[some].mean(0) if some.any() else np.full(len(names), np.nan)
    place = ranks(table)
    standings = [
        Standing(
            names[i],
            there[i].role,
            interval(by_seed[:, i].mean(0), within=(0.0, 1.0)),
            float(normalised[i]),
            interval(place[:, i], within=(1.0, float(len(names)))),
            int(wins[i].sum()),
            int(wins[:, i].sum()),
            _diagnostics([runs[names[i]] for runs in whole.values()]),
        )
        for i in best_first
    ]
    return Summary(
        [names[i] for i in best_first],
        list(whole),
        table[:, best_first],
        wins[np.ix_(best_first, best_first)],
        standings,
        {d: {names[i]: progressive_loss(losses[i]) for i in best_first} for d, losses in played.items()},
        len(seeds),
        incomplete,
        absent,
    )


def _absent(one: Entrant, bake_off: BakeOff) -> Absent:
    mine = [run for run in bake_off.runs if run.learner == one.name]
    return Absent(one.name, one.role, sum(run.failure is not None for run in mine), len(mine))


def _add_hindsight(whole: _Runs, entrants: list[Entrant]) -> list[Entrant]:
    families = defaultdict(list)
    for one in entrants:
        families[one.family].append(one.name)
    added = []
    for family, variants in families.items():
        if len(variants) > 1:
            added.append(Entrant(f"{family}, best of {len(variants)} in hindsight", family, "hindsight"))
            for runs in whole.values():
                runs[added[-1].name] = min((runs[one] for one in variants), key=_mean_loss)
    return added


def _mean_loss(runs: dict[int, Outcome]) -> float:
    return float(np.mean([outcome.losses.mean() for outcome in runs.values()]))


def _aligned(losses: Array, seeds: list[int], shuffle: bool) -> Array:
    """Undo each seed's order, so that position i is row i for all."""
    out = np.empty_like(losses)
    for s, seed in enumerate(seeds):
        out[:, s, played_rows(losses.shape[2], seed, shuffle)] = losses[:, s]
    return out


def _scale(table: Array, entrants: list[Entrant], whole: _Runs) -> tuple[Array, Array]:
    """Loss 0 and loss 1 of the normalised scale: the best skyline (else the best learner), and uniform play."""
    sky = [i for i, one in enumerate(entrants) if one.role == "skyline"]
    floor = table[:, sky or slice(None)].min(1)
    first = [next(iter(runs[entrants[0].name].values())) for runs in whole.values()]
    uniform = np.array([outcome.metrics["uniform_loss"] for outcome in first])
    return floor[:, None], np.maximum(uniform, floor + 1e-9)[:, None]


def _diagnostics(runs: list[dict[int, Outcome]]) -> dict[str, float]:
    metrics = [outcome.metrics for one in runs for outcome in one.values()]
    return {
        "loss above the best single action": float(np.mean([m["loss"] - m["best_action_loss"] for m in metrics])),
        "loss above a linear policy fitted in hindsight": float(
            np.mean([m["loss"] - m["linear_policy_loss"] for m in metrics])
        ),
        "smallest probability": min(m["smallest_probability"] for m in metrics),
        "effective sample share for uniform": float(np.mean([m["effective_sample_share"] for m in metrics])),
        "rounds per second": float(np.median([m["rounds_per_second"] for m in metrics])),
        "state at the end, MB": max(m["state_bytes"] for m in metrics) / 1e6,
    }
