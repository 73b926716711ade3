"""The claim about systems on metric spaces and for labels, broken."""

from typing import Any

import numpy as np
import pytest

from marginbandits.experiments.claims import comparators_metric
from marginbandits.experiments.claims.claim import Measured, Results, Verdict
from marginbandits.experiments.claims.comparators_metric import CLAIM, HALVES, SYSTEMS
from marginbandits.experiments.claims.measuring import OPPOSITE


def test_a_broken_learner_a_broken_constant_and_a_bound_that_uniform_play_keeps_turn_the_verdict() -> None:
    """On one system, measured; then told 1 - ℓ, with a hundredth of the bound, and where uniform play is under it."""
    system = "policy weights on a cover, p = 2"
    runs: list[dict[str, Any]] = [
        {"system": system, "T": T, "seed": seed} for T in (1000, 2000, 4000) for seed in range(4)
    ]
    found = [Measured(one, CLAIM.measure(**one)) for one in runs]
    told = [Measured(one, CLAIM.measure(**one, broken=OPPOSITE)) for one in runs]

    def judged(runs: list[Measured], **changed: Any) -> list[Verdict]:
        """Twenty times over, so that 95% of runs can be told from fewer."""
        made = [
            Measured({**one.parameters, "seed": 20 * one.parameters["seed"] + copy}, {**one.values, **changed})
            for one in runs
            for copy in range(20)
        ]
        return [line.verdict for line in CLAIM.judge(Results(made)).lines]

    assert judged(found)[0] is Verdict.HOLDS
    assert judged(found, **{"at least 1": 5.0})[1] is Verdict.REACHED
    assert judged(told) == [Verdict.FAILS, Verdict.UNSEEN]
    assert judged(found, bound=0.01 * found[0].values["bound"])[0] is Verdict.FAILS
    assert judged(found, uniform=0.5 * found[0].values["bound"])[0] is Verdict.IDLE


@pytest.mark.parametrize("system", [name for name in SYSTEMS if "cover" in name])
def test_who_sees_no_context_is_over_the_bound_of_a_cover(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best function of the cover, and of all, has to turn: constant ones lose every other round."""
    seen = CLAIM.measure(system=system, T=1000, seed=0)
    as_it_is = comparators_metric._played
    monkeypatch.setattr(
        comparators_metric, "_played", lambda agent, x, *more: as_it_is(agent, np.full_like(x, x.mean()), *more)
    )
    blind = CLAIM.measure(system=system, T=1000, seed=0)
    assert seen["regret"] < seen["bound"] < min(blind["regret"], seen["uniform"])


def test_a_tree_needs_more_than_halves_where_the_right_action_changes_by_quarters() -> None:
    """Each half has as many contexts of either kind, so that one level is as good as uniform play."""
    tuned, halves = (CLAIM.measure("hierarchical weights", 8000, 0, broken) for broken in ("", HALVES))
    assert tuned["uniform"] == halves["uniform"]
    assert tuned["regret"] < 0.5 * halves["regret"]
    assert halves["regret"] > 0.95 * halves["uniform"]


def test_every_system_has_a_hundred_runs_at_one_horizon() -> None:
    for system, one in SYSTEMS.items():
        runs = [unit for unit in CLAIM.units(False) if unit["system"] == system and unit["T"] == one.horizons[0]]
        assert len(runs) == 100
