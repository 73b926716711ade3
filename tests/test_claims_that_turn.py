"""Claims that broken learners turn, in small and as they are: what falls in their controls holds here."""

from collections.abc import Iterable

import pytest

from marginbandits.experiments.claims import (
    lipschitz_actions,
    many_cells,
    margins_infinite,
    norm_balls,
    policy_regret,
    ramp_ftl,
    wasserstein,
)
from marginbandits.experiments.claims.claim import Claim, Measured, Parameters, Results, Verdict

GOOD = {Verdict.HOLDS, Verdict.REACHED, Verdict.UPPER}


def judged(claim: Claim, units: Iterable[Parameters]) -> set[Verdict]:
    return {line.verdict for line in claim.judge(Results(Measured(one, claim.measure(**one)) for one in units)).lines}


def test_policy_regret_under_realizability() -> None:
    assert judged(policy_regret.CLAIM, policy_regret.units(True)) <= GOOD


def test_the_law_is_within_tau() -> None:
    units = [{"d": d, "steps": steps, "seed": seed} for d in (1, 2, 3) for steps in (10, 200) for seed in range(6)]
    assert judged(wasserstein.CLAIM, units) == {Verdict.HOLDS}


@pytest.mark.parametrize(("moved", "expected"), [(1.0, {Verdict.UNDECIDED, Verdict.FAILS}), (2.0, {Verdict.FAILS})])
def test_a_law_at_tau_does_not_hold_and_one_at_twice_tau_fails(moved: float, expected: set[Verdict]) -> None:
    broken = {shift: name for name, shift in wasserstein.MOVED.items()}[moved]
    units = [{"d": d, "steps": 1, "seed": seed, "broken": broken} for d in (1, 2, 3) for seed in range(4)]
    assert judged(wasserstein.CLAIM, units) <= expected


def test_exp4s_bound_is_attained_over_its_own_cells_and_not_over_others() -> None:
    """The class of one number of cells, judged by the bound of another: fewer do not attain it, more break it."""

    def growth(of: str, judged_as: str) -> Verdict:
        runs = [
            Measured(
                {"power": judged_as, "T": T, "seed": seed},
                {**many_cells.measure(judged_as, T, seed), "regret": many_cells.measure(of, T, seed)["regret"]},
            )
            for T in (1000, 16_000)
            for seed in range(4)
        ]
        return many_cells.CLAIM.judge(Results(runs)).lines[1].verdict

    assert growth("1/2", "1/2") is Verdict.REACHED
    assert growth("1/5", "1/2") is Verdict.UPPER
    assert growth("3/5", "1/3") is Verdict.UNSEEN


def test_the_bound_in_every_norm() -> None:
    assert judged(norm_balls.CLAIM, norm_balls.units(True)) <= {*GOOD, Verdict.UNDECIDED}


def test_the_margin_of_a_linear_class_is_learnt() -> None:
    assert judged(margins_infinite.CLAIM, margins_infinite.units(True)) == {Verdict.HOLDS}


@pytest.mark.parametrize(("claim", "best"), [(lipschitz_actions.CLAIM, "net"), (ramp_ftl.CLAIM, "ramp")])
def test_rates_are_not_seen_of_what_grows_linearly(claim: Claim, best: str) -> None:
    """The judge is given regrets that grow like T, and like a power below the stated one."""

    def verdicts(power: float) -> set[Verdict]:
        found = [
            Measured(
                one,
                {
                    "regret": one["T"] ** (power if one["learner"] == best else 1.0),
                    "rate": one["T"] ** 0.65,
                    "points": 3.0,
                },
            )
            for one in claim.units(True)
        ]
        return {line.verdict for line in claim.judge(Results(found)).lines}

    assert verdicts(0.6) <= GOOD
    assert not verdicts(1.0) & GOOD
