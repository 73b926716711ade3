"""Claims that broken learners turn, in small and as they are: what falls in their controls holds here."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.evaluation import interval
from marginbandits.experiments.claims import (
    figure_1_learners,
    finite_classes,
    hinge_lmc,
    lipschitz,
    lipschitz_actions,
    many_cells,
    margins_infinite,
    norm_balls,
    policy_regret,
    ramp_ftl,
    separability,
    wasserstein,
)
from marginbandits.experiments.claims.claim import Claim, Line, Measured, Parameters, Results, Verdict
from marginbandits.experiments.claims.finite import (
    MARGIN,
    SURROGATES,
    K,
    N,
    Watching,
    environment,
    linear_class,
    surrogate_totals,
)
from marginbandits.experiments.claims.lipschitz import Uncoupled
from marginbandits.experiments.claims.measuring import limits, played
from marginbandits.experiments.claims.rounds import regret_of, two_sided
from marginbandits.learners import LipschitzFTL
from marginbandits.scores import Cube
from marginbandits.theory import Game, exponential_weights, exponents

GOOD = {Verdict.HOLDS, Verdict.REACHED, Verdict.UPPER}


def judged(claim: Claim, units: Iterable[Parameters]) -> set[Verdict]:
    return {line.verdict for line in claim.judge(Results(Measured(one, claim.measure(**one)) for one in units)).lines}


def lines(claim: Claim, units: Iterable[Parameters]) -> list[Line]:
    return list(claim.judge(Results(Measured(one, claim.measure(**one)) for one in units)).lines)


def said(line: Line) -> list[int]:
    """The T from which its bounds bite."""
    return [int(T.replace(",", "")) for T in re.findall(r"from T = ([\d,]+) on", line.measured)]


def test_the_t_of_a_bound_is_where_the_bound_falls_below_what_could_happen() -> None:
    """20 rounds, on which nothing bites: against the adversary by what uniform play loses there, on average."""
    units = [
        {"surrogate": surrogate, "world": world, "T": 20, "seed": seed}
        for surrogate in ("ramp", "policy")
        for world in finite_classes.WORLDS
        for seed in range(3)
    ]
    adaptive = [one for one in lines(finite_classes.CLAIM, units) if "reacts" in one.claim]
    for line, surrogate, verdict in zip(adaptive, ("ramp", "policy"), (Verdict.VACUOUS, Verdict.IDLE), strict=True):
        (first,) = said(line)
        assert line.verdict is verdict
        uniform = finite_classes.measure(surrogate, finite_classes.ADAPTIVE, 20, seed=0)["uniform"]
        for T, below in ((first, True), (first - 1, False)):
            bound = exponential_weights(N, Game(K, T, MARGIN), surrogate=surrogate).value
            assert (bound < uniform / 20 * T) is below


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_play_at_random_breaks_the_bounds_against_who_watches(surrogate: str) -> None:
    """Uniform play itself against that adversary: its regret over min_f E is what it is said to be, above the bound."""
    T, weights = 500, linear_class(0)
    runs = []
    for seed in range(40):
        world = environment(finite_classes.ADAPTIVE, T, 0)
        trace = played(mb.Uniform(K, seed=seed), world)
        losses, contexts = trace.all_losses, np.stack([one.context for one in world])
        assert losses is not None
        runs.append((float(trace.losses.sum()), surrogate_totals(weights, contexts, losses, surrogate, MARGIN)))
    totals = np.array([one for _, one in runs])
    regret = interval(np.array([lost for lost, _ in runs]) - totals[:, totals.mean(0).argmin()])
    found = finite_classes.measure(surrogate, finite_classes.ADAPTIVE, T, seed=0)
    assert abs(regret.mean - found["uniform"]) < 2.0 * (regret.high - regret.mean)
    assert regret.low > found["bound"]


def test_who_watches_charges_the_favourite_in_one_cell() -> None:
    env = environment(finite_classes.ADAPTIVE, 300, 0)
    assert isinstance(env, Watching)
    for one, watched, losses in zip(env, env.watched, env.stage.losses, strict=True):
        law = np.array([0.2, 0.5, 0.3])
        one.reveal(mb.Decision(action=0, probability=0.2, distribution=law))
        np.testing.assert_array_equal(one.losses, [0.0, 1.0, 0.0] if watched else losses)
    assert 60 < env.watched.sum() < 140


@pytest.mark.parametrize("learner", ["printed", "ideal", "algorithm 1"])
@pytest.mark.parametrize("problem", [hinge_lmc.TWO, hinge_lmc.THREE, hinge_lmc.WRONG])
def test_the_bound_of_every_learner_bites_at_some_t_that_is_played(problem: str, learner: str) -> None:
    """Uniform play's regret is known where the benchmark is: the least mean loss of a round."""
    n_actions, noise = hinge_lmc.PROBLEMS[problem]["K"], hinge_lmc.PROBLEMS[problem]["noise"]
    uniform = 1.0 - 1.0 / n_actions - noise
    runs = [
        one
        for one in hinge_lmc.units(False)
        if one["problem"] == problem and one["learner"] == learner and "features" not in one
    ]
    each = [hinge_lmc.promised(Results([Measured(one, {})]))(one["T"]).value / one["T"] for one in runs]
    assert bool(runs) is (learner != "algorithm 1" or problem == hinge_lmc.TWO)
    assert not runs or min(each) < uniform


def test_weights_attain_their_bound_on_the_cells_it_is_least_on_and_not_on_more() -> None:
    """P = 1, and many times as many cells."""

    def verdict(cells: dict[int, int]) -> Verdict:
        promised = figure_1_learners.promised(1)
        runs = [
            Measured(
                {"learner": "weights", "p": 1, "T": T, "seed": seed},
                {"regret": figure_1_learners.on_cells(k, 1, T, seed), **limits(promised, T, 0.1875 * T)},
            )
            for T, k in cells.items()
            for seed in range(5)
        ]
        return figure_1_learners.CLAIM.judge(Results(runs)).lines[1].verdict

    horizons = (1024, 4096, 16_384)
    assert verdict({T: figure_1_learners.cells_of(1, T) for T in horizons}) in GOOD
    assert verdict({T: max(1, T // 64) for T in horizons}) is Verdict.UNSEEN


def test_the_best_lipschitz_policy_of_figure_1_is_the_best_action_of_every_round() -> None:
    """Mean losses are 1-Lipschitz under 4 times the distance, and so is a policy that nothing is better than."""
    env, means = two_sided(1, 4000, 0, figure_1_learners.GAP, figure_1_learners.LIPSCHITZ)
    x = env.contexts[:, 0]
    order = np.argsort(x)
    assert (np.abs(np.diff(means[order, 0])) <= figure_1_learners.LIPSCHITZ * np.diff(x[order]) + 1e-12).all()
    assert means.min() == 0.0
    second = np.clip(2.0 * (x - 0.25), 0.0, 1.0)  # of which two contexts differ by 4 |x - x'| in sum at most
    assert regret_of(np.stack([1.0 - second, second], 1), means) == pytest.approx(0.0)
    jumps = two_sided(1, 4000, 0, figure_1_learners.GAP)[1]
    assert np.abs(np.diff(jumps[order, 0])).max() == 0.5
    assert regret_of(np.stack([1.0 - second, second], 1), jumps) == pytest.approx(0.0)


def test_figure_1_says_whether_its_law_tells_two_curves_apart() -> None:
    """Every learner just at the curve it claims, and all of them at the margin's."""

    def said(cells: str) -> str:
        found = []
        for one in figure_1_learners.units(False):
            curve = exponents(float(one["p"]))[cells if one["learner"] in figure_1_learners.ON_CELLS else "margin"]
            regret = one["T"] ** curve * math.exp(np.random.default_rng(one["seed"]).normal(0.0, 1e-3))
            found.append(Measured(one, {"regret": regret, "bound": 1.0, "uniform": 2.0, "useful": 1.0}))
        return str(figure_1_learners.CLAIM.judge(Results(found)).notes[1])

    assert "tells the margin's curve from the square loss': of 6" in said("square")
    assert "does not tell the margin's curve from the square loss': of 6" in said("margin")


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
            for T in (1000, 4000, 16_000)
            for seed in range(4)
        ]
        return many_cells.CLAIM.judge(Results(runs)).lines[1].verdict

    assert growth("1/2", "1/2") is Verdict.REACHED
    assert growth("1/5", "1/2") is Verdict.UPPER
    assert growth("3/5", "1/3") is Verdict.UNSEEN


def test_the_bound_in_every_norm() -> None:
    assert judged(norm_balls.CLAIM, norm_balls.units(True)) <= {*GOOD, Verdict.UNDECIDED}


def test_the_margin_of_a_linear_class_is_learnt() -> None:
    """With twice the seeds of a quick look, which leaves the practical learner undecided."""
    units = [{"true": true, "T": 1000, "seed": seed} for true in margins_infinite.TRUE for seed in range(6)]
    assert judged(margins_infinite.CLAIM, units) == {Verdict.HOLDS}


@pytest.mark.parametrize("p", [1, 2])
def test_cells_without_constraints_lose_less_at_their_own_radius(p: int) -> None:
    """The opponent is not held back: at the leader's radius it would lose more."""
    env, means = two_sided(p, 4096, 0, lipschitz.GAP)
    space = Cube([0.0] * p, [1.0] * p, lipschitz=4.0)
    leaders = LipschitzFTL.from_theory(space=space, n_actions=2, horizon=4096, oracle=Uncoupled(), seed=0)
    own = lipschitz.measure("uncoupled", p, 4096, 0)["regret"]
    assert own < 0.95 * regret_of(played(leaders, env).laws, means)


DIFFERENCES: dict[str, tuple[Claim, Sequence[Parameters], str, str]] = {
    "lipschitz": (lipschitz.CLAIM, lipschitz.CLAIM.units(False), "leader", r"it grows slower|it needs"),
    "policy-regret": (policy_regret.CLAIM, policy_regret.units(False), "elimination", "rates are better"),
    "lipschitz-actions": (lipschitz_actions.CLAIM, lipschitz_actions.units(False), "net", "It needs a net"),
}
"""Claims with lines about differences of exponents, at full length; who grows more slowly there."""


@pytest.mark.parametrize("claim", DIFFERENCES)
@pytest.mark.parametrize(
    ("slower", "noise", "expected"),
    [
        (0.5, 0.01, {Verdict.REACHED}),
        (0.5, 3.0, {Verdict.UNDECIDED}),
        (0.0, 0.01, {Verdict.UNSEEN}),
        (0.0, 0.3, {Verdict.UNDECIDED, Verdict.UNSEEN}),
    ],
)
def test_differences_of_exponents_hold_fall_or_are_open(
    claim: str, slower: float, noise: float, expected: set[Verdict]
) -> None:
    """Regret T^0.9, and T^(0.9 - slower) of who is to be better, each times the exponential of some noise."""
    of, planned, best, names = DIFFERENCES[claim]
    rng, found = np.random.default_rng(1), []
    for one in planned:
        power = 0.9 - slower * (one["learner"] == best)
        regret = 100.0 * one["T"] ** power * math.exp(rng.normal(0.0, noise))
        values = {"regret": regret, "bound": one["T"], "uniform": one["T"], "useful": 1.0, "rate": 1.0, "points": 2.0}
        found.append(Measured(one, values))
    judged_ones = [line for line in of.judge(Results(found)).lines if re.search(names, line.claim)]
    assert len(judged_ones) == {"lipschitz": 5}.get(claim, 1)
    assert {line.verdict for line in judged_ones} <= expected


@pytest.mark.parametrize(
    ("power", "noise", "expected"),
    [(1.0, 0.01, Verdict.REACHED), (1.0, 1.0, Verdict.UNDECIDED), (0.5, 0.01, Verdict.UNSEEN)],
)
def test_linear_growth_of_the_benchmark_is_seen_or_is_not(power: float, noise: float, expected: Verdict) -> None:
    rng = np.random.default_rng(0)
    values = {"cases": 1.0, "implied": 0.0, "converse": 1.0, "falls": 0.0, "falls where the label leads": 0.0}
    found = [
        Measured(
            one,
            {
                **values,
                "multiclass": 0.0,
                "mistakes": 1.0,
                "cost-sensitive": one.get("T", 1) ** power * math.exp(rng.normal(0.0, noise)),
            },
        )
        for one in separability.CLAIM.units(False)
    ]
    linear = [line for line in separability.CLAIM.judge(Results(found)).lines if "linear in T" in line.claim]
    assert [line.verdict for line in linear] == [expected] * 2


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
