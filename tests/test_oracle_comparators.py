"""The claim about the oracle-based comparators can fail: a wrong learner, a wrong constant, an empty bound."""

from collections.abc import Mapping
from typing import Any

import pytest

import marginbandits as mb
from marginbandits.experiments.claims.claim import Finding, Measured, Results, Verdict
from marginbandits.experiments.claims.measuring import NOTHING, OPPOSITE
from marginbandits.experiments.claims.oracle_comparators import CLAIM, SYSTEMS, measure


def judged(system: str, values: Mapping[str, float]) -> Finding:
    """Made-up numbers of one system, in every run of a quick look; regret is that of a round."""
    units = [one for one in CLAIM.units(True) if one["system"] == system]
    return CLAIM.judge(
        Results(Measured(one, {"useful": 1e3, **values, "regret": values["regret"] * one["T"]}) for one in units)
    )


def test_every_system_is_held_against_its_bound_in_a_hundred_runs() -> None:
    for name, one in SYSTEMS.items():
        runs = [u for u in CLAIM.units(False) if u["system"] == name and u["T"] == one.rounds[1]]
        assert len(runs) == (10 if "printed" in name else 100)


@pytest.mark.parametrize("system", [name for name in SYSTEMS if "ILOVE" not in name])
def test_verdicts_follow_the_numbers(system: str) -> None:
    bites: dict[str, Any] = {"regret": 0.1, "bound": 1e6, "uniform": 1e7}
    assert judged(system, bites).lines[0].verdict is Verdict.HOLDS
    assert judged(system, {**bites, "bound": 1.0}).lines[0].verdict is Verdict.FAILS
    assert judged(system, {**bites, "uniform": 1e5}).lines[0].verdict is Verdict.VACUOUS
    assert judged(system, bites).lines[1].verdict is Verdict.UNSEEN  # linear in T


@pytest.mark.parametrize("system", [name for name in SYSTEMS if "ILOVE" in name])
def test_an_order_is_never_said_to_hold(system: str) -> None:
    numbers = {"regret": 0.0, "bound": 1e6, "uniform": 1e7}
    assert judged(system, numbers).lines[0].verdict is Verdict.UNDECIDED
    assert judged(system, {**numbers, "regret": 1.0, "bound": 1.0}).lines[0].verdict is Verdict.UNSEEN
    assert judged(system, {**numbers, "uniform": 1e5}).lines[0].verdict is Verdict.VACUOUS


@pytest.mark.parametrize("system", ["BISTRO+", "perturbed leader", "regressor elimination, sharp"])
def test_runs_are_under_the_bound_and_the_control_is_not(system: str) -> None:
    T = SYSTEMS[system].rounds[0]
    for seed in range(2):
        well = measure(system, "one law", T, seed)
        assert well["regret"] < well["bound"] < well["uniform"]
        for broken in (NOTHING, OPPOSITE):
            told = measure(system, "one law", T, seed, broken)
            assert told["regret"] > told["bound"]


def test_a_learner_that_charges_the_wrong_way_is_over_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    charge = mb.ContextualFTPL._charge
    monkeypatch.setattr(
        mb.ContextualFTPL, "_charge", lambda self, column, a, loss, p: charge(self, column, a, 1.0 - loss, p)
    )
    found = measure("perturbed leader", "one law", 1000, 0)
    assert found["regret"] > found["bound"]


def test_a_tenth_of_the_bound_is_too_small() -> None:
    found = measure("BISTRO+", "one law", 2000, 0)
    assert found["regret"] > found["bound"] / 10
