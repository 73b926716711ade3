"""The claim about the oracle-based comparators can fail: a wrong learner, a wrong constant, an empty bound."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.claims.claim import Finding, Measured, Results, Verdict
from marginbandits.experiments.claims.measuring import NOTHING, OPPOSITE, played
from marginbandits.experiments.claims.oracle_comparators import CLAIM, ONE, SYSTEMS, laws_of, measure
from tests.marks import at_length


def judged(system: str, values: Mapping[str, float]) -> Finding:
    """Made-up numbers of one system, in every run of a full one; regret is that of a round."""
    units = [one for one in CLAIM.units(False) if one["system"] == system]
    return CLAIM.judge(
        Results(Measured(one, {"useful": 1e3, **values, "regret": values["regret"] * one["T"]}) for one in units)
    )


def test_every_system_is_held_against_its_bound_in_a_hundred_runs() -> None:
    for name, one in SYSTEMS.items():
        runs = [u for u in CLAIM.units(False) if u["system"] == name and u["T"] == one.rounds[1]]
        assert len(runs) == 100
        lost = 0.48 if one.worlds == (ONE,) else 0.36  # by uniform play, in each of its worlds
        assert one.bound(one.rounds[1]).value < lost * one.rounds[1]


@pytest.mark.parametrize("system", SYSTEMS)
def test_verdicts_follow_the_numbers(system: str) -> None:
    bites: dict[str, Any] = {"regret": 0.1, "bound": 1e12, "uniform": 1e13}
    assert judged(system, bites).lines[0].verdict is Verdict.HOLDS
    assert judged(system, {**bites, "bound": 1.0}).lines[0].verdict is Verdict.FAILS
    assert judged(system, {**bites, "uniform": 1e11}).lines[0].verdict in (Verdict.IDLE, Verdict.VACUOUS)
    grown = [line.verdict for line in judged(system, bites).lines[1:]]
    assert grown == [Verdict.UNSEEN] * bool(SYSTEMS[system].grid)  # linear in T


def test_with_another_psi_its_bound_is_no_theorem() -> None:
    """Its conditions as they are measured; the number is that of this ψ, too."""
    found = {psi: measure(f"ILOVETOCONBANDITS, ψ = {psi}", ONE, 2**34, 0) for psi in (100, 1)}
    assert found[1]["bound"] < 0.7 * found[100]["bound"]
    for psi, expected in ((100, Verdict.HOLDS), (1, Verdict.UNDECIDED)):
        kept = {**found[psi], "regret": 0.1, "bound": 1e12, "uniform": 1e13}
        held, growing = judged(f"ILOVETOCONBANDITS, ψ = {psi}", kept).lines
        assert held.verdict is expected
        assert ("needs ψ = 100" in held.measured) is ("outside its theorem" in growing.measured) is (psi == 1)


RUNS = {"BISTRO+": 2, "perturbed leader": 2, "regressor elimination, sharp": 2, "ILOVETOCONBANDITS, ψ = 100": 10}


@pytest.mark.parametrize("system", [*RUNS, *at_length(["BISTRO"])])
def test_runs_are_under_the_bound_and_the_control_is_not(system: str) -> None:
    T = SYSTEMS[system].rounds[0]
    for seed in range(RUNS.get(system, 1)):
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


def test_what_is_settled_need_not_be_played() -> None:
    """The same laws with all rounds played."""
    cells, T = np.random.default_rng(0).integers(2, size=4400), 4400
    losses = (cells[:, None] != np.arange(2)).astype(float)
    agent, same = (SYSTEMS["regressor elimination, printed"].build(T, 3) for _ in range(2))
    short = laws_of(agent, cells, losses)
    np.testing.assert_array_equal(short, played(same, mb.Oblivious.of(np.eye(2)[cells], losses)).laws)
    assert [int(one.state()["rounds"][0]) for one in (agent, same)] == [4096, T]


def test_a_tenth_of_the_bound_is_too_small() -> None:
    found = measure("BISTRO+", "one law", 2000, 0)
    assert found["regret"] > found["bound"] / 10
