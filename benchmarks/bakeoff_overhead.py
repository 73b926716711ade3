"""What the bake-off costs beside the learners themselves.

    python benchmarks/bakeoff_overhead.py

First the runner: milliseconds a task beyond the learner's own time, over 400 short tasks, in this process and in two
(their start included). Then the store: seconds to list and to report 10,000 finished tasks of 3,000 rounds.
"""

import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

import marginbandits as mb
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.report import write_report
from marginbandits.experiments.runner import locally, run_plan, run_task
from marginbandits.experiments.store import Outcome, Store


def runner(folder: Path) -> None:
    plan = Plan.of(data=["iris"], learners=["Uniform", "LinUCB"], rounds=100, seeds=200)
    environment = plan.data[0].environment(0, True)
    for spec in plan.learners:
        mb.simulate(spec.build(3, 0), environment)  # compile
    start = time.perf_counter()
    for seed in range(plan.seeds):
        for spec in plan.learners:
            mb.simulate(spec.build(3, seed), environment)
    own = time.perf_counter() - start
    for workers in (1, 2):
        with Store(folder / f"{workers}.sqlite") as store:
            start = time.perf_counter()
            run_plan(plan, store, locally(workers))
            elapsed = time.perf_counter() - start
        beside = (elapsed - own / workers) / len(plan) * 1e3
        print(
            f"runner, {workers} at a time: {beside:.1f} ms a task beside the learner's {own / len(plan) * 1e3:.1f} ms"
        )


def store(folder: Path) -> None:
    outcome = run_task(next(iter(Plan.of(data=["iris"], learners=["Uniform"], rounds=100, seeds=1).tasks())))
    assert isinstance(outcome, Outcome)
    rng = np.random.default_rng(0)
    with Store(folder / "many.sqlite") as many:
        many._db.execute("PRAGMA synchronous = OFF")  # writing is not what is measured
        for data, learner, seed in itertools.product(range(50), range(20), range(10)):
            losses = (rng.random(3000) < 0.3 + 0.01 * learner).astype(float)
            many.put(Outcome(f"{data} {learner} {seed}", 2, losses, outcome.metrics))
        learners = [{"name": f"learner {i}", "class": f"learner {i}", "role": "rival"} for i in range(20)]
        many.set_facts(
            {
                "run": "bakeoff",
                "plan": {"rounds": 3000, "seeds": 10, "shuffle": True, "learners": learners},
                "tasks": [
                    [f"learner {learner}", f"data {data}", seed, f"{data} {learner} {seed}"]
                    for data, learner, seed in itertools.product(range(50), range(20), range(10))
                ],
            }
        )
    with Store(folder / "many.sqlite") as many:
        start = time.perf_counter()
        found = len(many.finished())
        listed = time.perf_counter()
        write_report(many, folder / "report.html")
        print(
            f"store: {found:,} tasks listed in {listed - start:.2f} s, reported in {time.perf_counter() - listed:.1f} s"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        runner(Path(name))
        store(Path(name))
