"""What the bake-off costs beside the learners themselves.

    python benchmarks/bakeoff_overhead.py [--seeds 200] [--stored 10000]

First the runner: milliseconds a task beyond the learner's own time, over two short tasks a seed, in this process and in
two (their start included). Then the store: seconds to list and to report finished tasks of 3,000 rounds.
"""

import argparse
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


def runner(folder: Path, seeds: int) -> None:
    plan = Plan.of(data=["iris"], learners=["Uniform", "LinUCB"], rounds=100, seeds=seeds)
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


def store(folder: Path, stored: int) -> None:
    outcome = run_task(next(iter(Plan.of(data=["iris"], learners=["Uniform"], rounds=100, seeds=1).tasks())))
    assert isinstance(outcome, Outcome)
    rng = np.random.default_rng(0)
    with Store(folder / "many.sqlite") as many:
        many._db.execute("PRAGMA synchronous = OFF")  # writing is not what is measured
        every = itertools.product(range(50), range(20), range(10))  # data, learner, seed
        for data, learner, seed in itertools.islice(every, stored):
            losses = (rng.random(3000) < 0.3 + 0.01 * learner).astype(float)
            many.put(Outcome(f"{data} {learner} {seed}", 2, losses, outcome.metrics))
        learners = [{"name": f"learner {i}", "class": f"learner {i}", "role": "rival"} for i in range(20)]
        many.set_facts(
            {
                "run": "bakeoff",
                "plan": {"rounds": 3000, "seeds": 10, "shuffle": True, "learners": learners},
                "tasks": [
                    [f"learner {learner}", f"data {data}", seed, f"{data} {learner} {seed}"]
                    for data, learner, seed in itertools.islice(
                        itertools.product(range(50), range(20), range(10)), stored
                    )
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="of the runner's tasks, two each")
    parser.add_argument("--stored", type=int, default=10_000, help="tasks in the store, at most 10,000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        runner(Path(name), options.seeds)
        store(Path(name), options.stored)


if __name__ == "__main__":
    main()
