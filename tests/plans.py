"""Small plans, and what of their results must not depend on where or when they ran."""

import marginbandits as mb
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.results import BakeOff, bake_off
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.specs import LearnerSpec
from marginbandits.experiments.store import Store
from tests import doubles

LASTING = (
    *("loss", "uniform_loss", "best_action_loss", "linear_policy_loss"),
    *("smallest_probability", "effective_sample_share"),
)
"""Metrics that must not depend on where or when a task ran."""


def small_plan(*extra: LearnerSpec, seeds: int = 2) -> Plan:
    learners: list[str | LearnerSpec] = ["LinUCB", "LinTS(scale=0.3)", "EpsilonGreedy(features=fourier)", *extra]
    return Plan.of(data=["iris", "wine"], learners=learners, rounds=60, seeds=seeds)


def special(cls: type[mb.Learner]) -> LearnerSpec:
    return LearnerSpec(cls.__name__, cls)


def contents(store: Store) -> list[tuple[object, ...]]:
    """Everything that must not depend on where or when a task ran."""
    return [
        (o.key, run.learner, run.data, run.seed, o.losses.tobytes(), *(o.metrics[name] for name in LASTING))
        for run in bake_off(store).runs
        if (o := run.outcome) is not None
    ]


def played(plan: Plan) -> BakeOff:
    with Store(":memory:") as store:
        run_plan(plan, store, locally(1))
        return bake_off(store)


def slow_plan() -> Plan:
    return Plan.of(data=["iris"], learners=[special(doubles.Slow), "LinUCB"], rounds=50, seeds=8)
