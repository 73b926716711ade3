"""Reports as a reader sees them: nothing cut, nothing mixed up, nothing impossible, nothing fetched, nothing said."""

import dataclasses
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from marginbandits.experiments.claims import chosen
from marginbandits.experiments.reproduce import Programme, write_page
from marginbandits.experiments.report import text_table, write_report
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Failure, Outcome, Store
from marginbandits.experiments.summary import Summary
from tests.browser import Browser

HOSTILE = (
    "<script>console.log('in')</script>",
    "\"quoted\" & 'so' </style></td>{}",
    "HingeLMC(features=fourier, temperature=0.25, margin=learnt, n_particles=64, forget=0.001)",
    "A" * 70,
    "Supervised",
    "LinUCB",
)
METRICS = (
    *("loss", "uniform_loss", "best_action_loss", "linear_policy_loss", "smallest_probability"),
    *("effective_sample_share", "rounds_per_second", "state_bytes", "peak_bytes"),
)


def stored(store: Store, n_learners: int, n_data: int, n_seeds: int, rounds: int = 120) -> None:
    """Outcomes of learners from nearly perfect to hopeless, on sets of every difficulty."""
    rng = np.random.default_rng(0)
    names = [*HOSTILE, *(f"Learner{i}(alpha={i / 7:.3f}, features=fourier)" for i in range(n_learners))][:n_learners]
    sets = ["<i>set</i> & more", "a_data_set_with_a_name_of_its_own_" * 2, *(f"set {i}" for i in range(n_data))][:n_data]
    metrics = {**dict.fromkeys(METRICS, 0.123456), "uniform_loss": 0.9, "rounds_per_second": 123456.0, "state_bytes": 3e9}
    for (i, name), (j, data), seed in itertools.product(enumerate(names), enumerate(sets), range(n_seeds)):
        chance = min(0.98, 0.005 + i / n_learners * (0.4 + 0.6 * j / n_data)) + (0.02 * seed if i else 0.0)
        losses = (rng.random(rounds) < chance).astype(float)
        store.put(Outcome(f"{i} {j} {seed}", name, data, 5, seed, losses, metrics))
    store.put(Outcome("half", names[0], "an unfinished set, " * 6, 5, 0, np.zeros(9), metrics))
    store.put_failure(Failure("failed", names[0], sets[0], 0, "Traceback\n  " + "x" * 300 + "\n<b>ValueError</b>: no"))
    store.set_fact("plan", {"rounds": rounds, "command": "marginbandits bakeoff --learners " + ",".join(names)})


def bakeoff(path: Path, n_learners: int, n_data: int, n_seeds: int) -> Summary:
    with Store(":memory:") as store:
        stored(store, n_learners, n_data, n_seeds)
        return write_report(store, path)


def paper(path: Path) -> None:
    """The paper's page with every kind of figure it has, from its cheapest experiments."""
    claims = []
    for claim in chosen("calibration,figure-1,margin-adaptation,price-of-k"):
        units = [{**one, "T": 50} if "T" in one else one for one in claim.units(True) if one.get("seed", 0) < 2]
        claims.append(dataclasses.replace(claim, units=lambda _, units=units: units))
    with Store(":memory:") as store:
        run_plan(Programme(claims, quick=True), store, locally(1))
        write_page(Programme(claims, quick=True), store, path)
