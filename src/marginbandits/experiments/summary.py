"""What a store of outcomes says: one record that tables, reports and exports are written from."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from marginbandits.evaluation import Interval, interval, progressive_loss
from marginbandits.evaluation.comparison import paired, ranks
from marginbandits.experiments.plan import played_rows
from marginbandits.experiments.store import Outcome
from marginbandits.types import Array

__all__ = ["Standing", "Summary", "summarise"]

LEVEL = 0.05
"""Of each paired test, two-sided."""

LEARNABLE = 0.01
"""A data set counts for the normalised loss if somebody beats uniform play by this much: else it would divide by 0."""

SKYLINE = "Supervised"


@dataclass(frozen=True, slots=True)
class Standing:
    """One learner over all data sets."""

    learner: str
    loss: Interval
    normalised: float
    rank: Interval  # over data sets
    wins: int
    losses: int
    diagnostics: dict[str, float]


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


def summarise(outcomes: Iterable[Outcome], *, shuffle: bool = True, hindsight: bool = False) -> Summary:
    """Compare the learners on every data set where all of them finished the same seeds.

    `hindsight` adds, for each class that ran with several settings, the best of them on each data set, labelled so:
    what a tuner who knew the outcome would have got.
    """
    by_data: dict[str, dict[str, dict[int, Outcome]]] = defaultdict(lambda: defaultdict(dict))
    for outcome in outcomes:
        by_data[outcome.data][outcome.learner][outcome.seed] = outcome
    names = sorted({learner for runs in by_data.values() for learner in runs})
    seeds = {seed for runs in by_data.values() for one in runs.values() for seed in one}
    whole = {
        data: runs
        for data, runs in sorted(by_data.items())
        if all(runs.get(name, {}).keys() == seeds for name in names)
    }
    incomplete = sorted(by_data.keys() - whole.keys())
    if not whole:
        raise ValueError("no data set has been finished by every learner yet")
    if hindsight:
        names += _add_hindsight(whole, names)
    order = sorted(seeds)
    played = {
        data: np.array([[runs[name][seed].losses for seed in order] for name in names]) for data, runs in whole.items()
    }
    table = np.array([losses.mean((1, 2)) for losses in played.values()])
    best_first = np.argsort(table.mean(0), kind="stable")
    wins = np.zeros((len(names), len(names)), int)
    for losses in played.values():
        difference, p = paired(_aligned(losses, order, shuffle))
        wins += (difference < 0) & (p < LEVEL)
    by_seed = np.array([losses.mean(2) for losses in played.values()])
    floor, ceiling = _scale(table, names, whole)
    some = (ceiling - floor)[:, 0] > LEARNABLE  # where nobody learns there is no scale to speak of
    normalised = ((table - floor) / (ceiling - floor))[some].mean(0) if some.any() else np.full(len(names), np.nan)
    place = ranks(table)
    standings = [
        Standing(
            names[i],
            interval(by_seed[:, i].mean(0), within=(0.0, 1.0)),
            float(normalised[i]),
            interval(place[:, i], within=(1.0, float(len(names)))),
            int(wins[i].sum()),
            int(wins[:, i].sum()),
            _diagnostics([runs[names[i]] for runs in whole.values()]),
        )
        for i in best_first
    ]
    curves = {data: {names[i]: progressive_loss(losses[i]) for i in best_first} for data, losses in played.items()}
    return Summary(
        [names[i] for i in best_first],
        list(whole),
        table[:, best_first],
        wins[np.ix_(best_first, best_first)],
        standings,
        curves,
        len(order),
        incomplete,
    )


def _add_hindsight(whole: dict[str, dict[str, dict[int, Outcome]]], names: list[str]) -> list[str]:
    groups = defaultdict(list)
    for name in names:
        groups[name.split("(")[0]].append(name)
    added = []
    for group, variants in groups.items():
        if len(variants) > 1:
            added.append(f"{group}, best of {len(variants)} in hindsight")
            for runs in whole.values():
                runs[added[-1]] = min((runs[one] for one in variants), key=_mean_loss)
    return added


def _mean_loss(runs: dict[int, Outcome]) -> float:
    return float(np.mean([outcome.losses.mean() for outcome in runs.values()]))


def _aligned(losses: Array, seeds: list[int], shuffle: bool) -> Array:
    """Undo each seed's order, so that position i is row i for all."""
    out = np.empty_like(losses)
    for s, seed in enumerate(seeds):
        out[:, s, played_rows(losses.shape[2], seed, shuffle)] = losses[:, s]
    return out


def _scale(table: Array, names: list[str], whole: dict[str, dict[str, dict[int, Outcome]]]) -> tuple[Array, Array]:
    """Loss 0 and loss 1 of the normalised scale: the supervised skyline (else the best learner), and uniform play."""
    floor = table[:, names.index(SKYLINE)] if SKYLINE in names else table.min(1)
    first = [next(iter(next(iter(runs.values())).values())) for runs in whole.values()]
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
        "state, MB": max(m["state_bytes"] for m in metrics) / 1e6,
        "process peak, MB": max(m["peak_bytes"] for m in metrics) / 1e6,
    }
