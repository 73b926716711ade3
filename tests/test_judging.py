"""How numbers become verdicts: bounds, shares, exponents, and what has nothing to say."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.claims.claim import (
    Measured,
    Results,
    Verdict,
    bootstrapped,
    slope,
    verdict,
)
from marginbandits.experiments.claims.growing import FEWEST, SHORTEST, grown, grows
from marginbandits.experiments.claims.judging import TOLERANCE, apart, at_least, bounded, learns
from marginbandits.experiments.claims.measuring import FARTHEST, NOTHING, OPPOSITE, limits, played
from marginbandits.experiments.claims.rounds import product_weights
from marginbandits.theory import Bound


def runs(regret: float, bound: float, uniform: float, useful: float = 5000.0) -> Results:
    values = [{"regret": regret + x, "bound": bound, "uniform": uniform, "useful": useful} for x in (-1.0, 0.0, 1.0)]
    return Results(Measured({"T": 1000, "seed": seed}, one) for seed, one in enumerate(values))


@pytest.mark.parametrize(
    ("regret", "bound", "uniform", "expected"),
    [
        (100.0, 200.0, 500.0, Verdict.HOLDS),
        (300.0, 200.0, 500.0, Verdict.FAILS),
        (199.0, 200.0, 500.0, Verdict.UNDECIDED),
        (201.0, 200.0, 500.0, Verdict.UNDECIDED),  # noise may have put it there
        (100.0, 501.0, 500.0, Verdict.IDLE),  # uniform play keeps it, too
        (900.0, 501.0, 500.0, Verdict.IDLE),  # and was better than this
        (-100.0, 200.0, -50.0, Verdict.IDLE),
        (900.0, 1000.0, 500.0, Verdict.VACUOUS),  # T = 1000: nothing exceeds it
    ],
)
def test_bounds_are_judged_where_uniform_play_would_break_them(
    regret: float, bound: float, uniform: float, expected: Verdict
) -> None:
    line = bounded("c", "s", {"": runs(regret, bound, uniform)})
    assert line.verdict is expected
    assert ("under which uniform play is too" in line.measured) is (expected in (Verdict.IDLE, Verdict.VACUOUS))
    assert "bound/T" in line.measured
    assert ("from T = 5,000 on" in line.measured) is (expected in (Verdict.IDLE, Verdict.VACUOUS))


def test_single_runs_over_the_bound_count_where_a_share_is_asked() -> None:
    each = {"bound": 200.0, "uniform": 500.0, "useful": 1.0}

    def lucky(over: int, runs: int) -> Results:
        values = ({"regret": 250.0 if s < over else 0.0, **each} for s in range(runs))
        return Results(Measured({"T": 1000, "seed": s}, one) for s, one in enumerate(values))

    assert bounded("c", "s", {"": lucky(2, 20)}).verdict is Verdict.HOLDS
    for over, runs, expected in (
        (2, 20, Verdict.UNDECIDED),
        (0, 20, Verdict.UNDECIDED),  # too few to tell
        (0, 100, Verdict.HOLDS),
        (12, 100, Verdict.FAILS),
    ):
        assert bounded("c", "s", {"": lucky(over, runs)}, share=0.95).verdict is expected


def test_one_cell_over_its_bound_fails_and_one_that_does_not_bite_is_named() -> None:
    good, bad, idle = runs(1.0, 200.0, 500.0), runs(300.0, 200.0, 500.0), runs(900.0, 600.0, 500.0)
    assert bounded("c", "s", {"good": good, "idle": idle}).verdict is Verdict.HOLDS
    assert "does not bite in 1 of 2 cells (idle, T = 1,000" in bounded("c", "s", {"good": good, "idle": idle}).measured
    assert bounded("c", "s", {"good": good, "bad": bad, "idle": idle}).verdict is Verdict.FAILS


def test_outside_its_theorem_a_bound_is_undecided_at_best_and_the_condition_is_named() -> None:
    """Conditions go with what `limits` measured; only those of cells that are judged count."""

    def limited(regret: float, met: bool, T: int = 1000) -> Results:
        def promised(T: int) -> Bound:
            return Bound("root", {"all": 10.0 * T**0.5}, T, conditions={"a horizon": True, "ψ = 100": met})

        values = {"regret": regret, **limits(promised, T, 0.5 * T)}
        return Results(Measured({"T": T, "seed": seed}, values) for seed in range(3))

    named = "; outside its theorem, which needs ψ = 100"
    for met, regret, expected in (
        (True, 1.0, Verdict.HOLDS),
        (False, 1.0, Verdict.UNDECIDED),
        (False, 400.0, Verdict.FAILS),
    ):
        line = bounded("c", "s", {"": limited(regret, met)})
        assert (line.verdict, line.measured.endswith(named)) == (expected, not met)
    idle = limited(1.0, False, T=300)
    assert bounded("c", "s", {"idle": idle}).verdict is Verdict.IDLE
    assert named in bounded("c", "s", {"idle": idle}).measured
    assert bounded("c", "s", {"idle": idle, "good": limited(1.0, True)}).verdict is Verdict.HOLDS


def test_limits_name_the_first_t_that_says_something() -> None:
    def root(T: int) -> Bound:
        return Bound("root", {"all": 10.0 * T**0.5}, T)

    for uniform in (900.0, 90.0):
        useful = int(limits(root, 1000, uniform)["useful"])
        assert root(useful).value < uniform / 1000 * useful
        assert root(useful - 1).value >= uniform / 1000 * (useful - 1)
    assert limits(lambda T: Bound("line", {"all": float(T)}, T), 1000, 900.0)["useful"] == FARTHEST


def test_the_first_t_is_that_of_the_mean_and_not_the_mean_of_each() -> None:
    """Uniform play loses 100, 500 or 900: the bound bites on the mean from where it is below 0.5 T."""

    def promised(_: Results) -> Callable[[int], Bound]:
        return lambda T: Bound("root", {"all": 20.0 * T**0.5}, T)

    lots = [(100.0, 40_000.0), (500.0, 1600.0), (900.0, 494.0)]
    values = [{"regret": 1.0, "bound": 632.0, "uniform": one, "useful": useful} for one, useful in lots]
    uneven = Results(Measured({"T": 1000, "seed": seed}, one) for seed, one in enumerate(values))
    words = bounded("c", "s", {"": uneven}, promised=promised).measured
    said = int(re.findall(r"from T = ([\d,]+) on", words)[0].replace(",", ""))
    assert promised(uneven)(said).value < 0.5 * said
    assert promised(uneven)(said - 1).value >= 0.5 * (said - 1)


def test_a_setting_that_never_bites_is_named_with_its_t() -> None:
    good, idle = runs(1.0, 200.0, 500.0), runs(900.0, 600.0, 500.0, useful=7000.0)
    words = bounded("c", "s", {"good": good, "idle": idle}).measured
    assert "at none of these T in idle, where it bites from T = 7,000 on" in words
    biting = (Measured({**one.parameters, "T": 4000}, {**one.values, "uniform": 900.0}) for one in idle)
    later = Results([*idle, *biting])
    assert "at none of these T" not in bounded("c", "s", {"good": good, "idle": later}).measured


def over(grid: Iterable[int], power: float, *, bites: float = 1.0, seeds: int = 4) -> Results:
    """Regret T^power with a hundredth of noise, under a bound 10 √T that uniform play breaks from some T on."""
    rng = np.random.default_rng(0)

    def values(T: int) -> dict[str, float]:
        bound = 10.0 * T**0.5
        uniform = bound * (1.1 if bites <= T else 0.9)
        return {"regret": T**power * rng.normal(1.0, 0.01), "bound": bound, "uniform": uniform, "useful": bites}

    return Results(Measured({"T": T, "seed": s}, values(T)) for T in grid for s in range(seeds))


GRID = (1000, 4000, 16_000, 64_000, 256_000)


@pytest.mark.parametrize(
    ("bites", "expected"),
    [
        (1, Verdict.REACHED),
        (16_000, Verdict.REACHED),  # three T, a factor of 16
        (64_000, Verdict.IDLE),  # two of them
        (10**6, Verdict.IDLE),
    ],
)
def test_an_exponent_is_that_of_where_the_bound_bites(bites: int, expected: Verdict) -> None:
    """Regret of T^0.9 is judged only if the bound bites, too: who has finished learning, and who has not."""
    line = grows("c", "s", {"": over(GRID, 0.5, bites=bites)}, rival=1.0)
    assert line.verdict is expected
    assert (f"it bites from T = {bites:,} on" in line.measured) is (expected is Verdict.IDLE)
    assert (f"T from {bites:,} to 256,000, where it bites" in line.measured) is (bites == 16_000)
    steep = grows("c", "s", {"": over(GRID, 0.9, bites=bites)}, rival=1.0)
    assert steep.verdict is (Verdict.IDLE if expected is Verdict.IDLE else Verdict.UNSEEN)


def test_both_exponents_are_of_the_same_points() -> None:
    """Regret grows like √T where the bound bites, and like T before."""

    def bent(one: Measured) -> Measured:
        early = min(one.parameters["T"] / 16_000, 1.0) ** 0.5
        return Measured(one.parameters, {**one.values, "regret": one.values["regret"] * early})

    each = {"": Results(map(bent, over(GRID, 0.5, bites=16_000)))}
    assert "exponent 0.50 (" in grows("c", "s", each, rival=1.0).measured
    assert "exponent 0.7" in grows("c", "s", each, rival=1.0, against=0.5).measured  # an order bites everywhere


def test_points_close_to_each_other_do_not_bite_enough() -> None:
    near = (1000, 30_000, 40_000, int(30_000 * 0.99 * SHORTEST))
    assert grows("c", "s", {"": over(near, 0.5, bites=30_000)}, rival=1.0).verdict is Verdict.IDLE
    assert grows("c", "s", {"": over((*near, 120_000), 0.5, bites=30_000)}, rival=1.0).verdict is Verdict.REACHED


def test_a_line_of_several_is_judged_by_those_that_bite() -> None:
    good, idle, bad = over(GRID, 0.5), over(GRID, 0.9, bites=10**6), over(GRID, 0.9)
    line = grows("c", "s", {"good": good, "idle": idle}, rival=1.0)
    assert line.verdict is Verdict.REACHED
    assert "bites at 0 of 5 T; it bites from T = 1,000,000 on (idle)" in line.measured
    assert grows("c", "s", {"good": good, "bad": bad, "idle": idle}, rival=1.0).verdict is Verdict.UNSEEN


def test_a_pair_is_judged_where_both_bounds_bite() -> None:
    """By how much faster one grows than the other, against the difference of the bounds, here 0."""

    def verdict(power: float, bites: int) -> Verdict:
        pair = (over(GRID, power, bites=bites), over(GRID, 0.5))
        return grows("c", "s", {"": pair}, rival=1.0, against="bound", both=False).verdict

    assert verdict(0.54, 1) is Verdict.REACHED
    assert verdict(0.9, 1) is Verdict.UNSEEN
    assert verdict(0.54, 64_000) is Verdict.IDLE


def test_a_line_that_the_rival_would_keep_does_not_hold() -> None:
    """Regret that is gone but for one T: what is 0 is so at every rate."""
    fine = grows("c", "s", {"": over(GRID, 0.5)}, rival=2.0 / 3.0)
    assert fine.verdict is Verdict.REACHED
    assert "at the rival's rate not seen" in fine.measured
    nothing = Results(
        Measured(one.parameters, {**one.values, "regret": 1.01e-9 if one.parameters["T"] == GRID[3] else -5.0})
        for one in over(GRID, 0.5)
    )
    gone = grows("c", "s", {"": nothing}, rival=2.0 / 3.0)
    assert gone.verdict is Verdict.UNDECIDED
    assert "at the rival's rate holds" in gone.measured


def test_what_is_above_within_the_tolerance_is_said_to_be() -> None:
    for power, said in ((0.52, True), (0.48, False)):
        line = grows("c", "s", {"": over(GRID, power)}, rival=1.0)
        assert line.verdict is Verdict.REACHED
        assert ("above it, within the tolerance" in line.measured) is said


@pytest.mark.parametrize(("regret", "words"), [(49.0, "smaller would not hold"), (300.0, "larger would hold")])
def test_a_bound_says_how_much_it_could_be_off(regret: float, words: str) -> None:
    said = bounded("c", "s", {"": runs(regret, 200.0, 500.0), "far": runs(-500.0, 200.0, 500.0)}).measured
    factor = float(re.findall(rf"a bound (?:more than )?([\d.]+) times {words}", said)[0])
    limit = 200.0 * factor if "larger" in words else 200.0 / factor
    for more, expected in ((1.01, Verdict.HOLDS), (0.99, Verdict.UNDECIDED)):
        assert bounded("c", "s", {"": runs(regret, more * limit, 500.0)}).verdict is expected


def test_whoever_has_no_regret_keeps_any_bound() -> None:
    assert "any bound above 0 would hold" in bounded("c", "s", {"": runs(-100.0, 200.0, 500.0)}).measured


def test_an_exponent_that_could_not_have_been_too_large_is_undecided() -> None:
    """It falls; its grid is short; or its interval is as wide as the way to the rival."""
    assert grown(Interval(-2.0, -2.5, -1.5), 0.5, rival=1.0) is Verdict.UNDECIDED
    narrow = Interval(0.5, 0.49, 0.51)
    grids = ((1.0, 2.0, 0.99 * SHORTEST), tuple(np.linspace(1.0, SHORTEST, FEWEST - 1)), (1.0, 2.0, SHORTEST))
    assert [grown(narrow, 0.5, rival=1.0, grid=grid) for grid in grids] == [
        Verdict.UNDECIDED,
        Verdict.UNDECIDED,
        Verdict.REACHED,
    ]
    assert grown(Interval(0.9, 0.88, 0.92), 0.5, rival=1.0, grid=(1.0, 2.0)) is Verdict.UNSEEN  # it fell nevertheless
    for half, expected in ((0.09, Verdict.UNDECIDED), (0.07, Verdict.REACHED)):
        assert grown(Interval(0.50, 0.50 - half, 0.50 + half), 0.67, rival=0.75) is expected
    line = grows("c", "s", {"": over((8000, 16_000, 64_000), -2.0)}, rival=1.0)
    assert line.verdict is Verdict.UNDECIDED
    assert "what falls has no exponent of growth" in line.measured


def test_a_bootstrap_covers_the_exponent() -> None:
    """Regret T^0.7 with a tenth of noise, five seeds: 95% intervals cover in 95% of 200 draws, up to four errors."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        noisy = Results(
            Measured({"T": T, "seed": s}, {"y": T**0.7 * rng.normal(1.0, 0.1)})
            for T in (1000, 4000, 16_000)
            for s in range(5)
        )
        low, high = bootstrapped(noisy, "T", "y")[1:]
        covered += low <= 0.7 <= high
    assert covered >= 200 * 0.95 - 4.0 * (200 * 0.95 * 0.05) ** 0.5
    assert bootstrapped(noisy.where(seed=0), "T", "y")[1:] == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.70, 0.80, Verdict.REACHED),
        (0.70, 0.80 + TOLERANCE, Verdict.REACHED),
        (0.79, 0.81 + TOLERANCE, Verdict.UNDECIDED),
        (0.60, 0.95, Verdict.UNDECIDED),  # too few seeds: below the rival, and nothing is shown
        (0.81, 0.81 + TOLERANCE, Verdict.UNSEEN),
    ],
)
def test_an_exponent_is_at_most_the_bounds_if_its_whole_interval_is(low: float, high: float, expected: Verdict) -> None:
    assert grown(Interval(0.5 * (low + high), low, high), 0.80, rival=1.0) is expected


def test_the_tolerance_never_reaches_the_rival() -> None:
    assert grown(Interval(0.77, 0.74, 0.79), 0.75, rival=0.80) is Verdict.UNDECIDED
    assert grown(Interval(0.76, 0.74, 0.775), 0.75, rival=0.80) is Verdict.REACHED


def test_fewer_seeds_do_not_help_an_exponent() -> None:
    """A true exponent 0.04 above the bound's, with a spread of 0.06 over seeds: 2,000 draws of 5 and of 20 seeds."""
    rng = np.random.default_rng(0)

    def held(n: int) -> float:
        each = [grown(interval(rng.normal(0.84, 0.06, n)), 0.80, rival=1.0) for _ in range(2000)]
        return each.count(Verdict.REACHED) / len(each)

    assert held(5) < held(20) + 0.02 < 0.1
    assert grown(interval(rng.normal(0.80, 0.03, 20)), 0.80, rival=1.0) is Verdict.REACHED


@pytest.mark.parametrize("stated", [1.0 / 12.0, 0.5])
def test_a_difference_that_noise_gives_is_none(stated: float) -> None:
    """The same exponent and half a tolerance more, with a spread of 0.1: 2,000 draws of 4 and of 40 seeds each."""
    rng = np.random.default_rng(0)

    def shares(more: float, n: int) -> dict[Verdict, float]:
        each = Counter(apart(interval(rng.normal(more, 0.1, n)), stated) for _ in range(2000))
        return {one: found / 2000.0 for one, found in each.items()}

    for more in (0.0, 0.5 * TOLERANCE, TOLERANCE):
        assert shares(more, 4).get(Verdict.REACHED, 0.0) < 0.04  # a 40th, up to four errors
    assert shares(0.0, 4)[Verdict.UNDECIDED] > 0.5
    assert shares(0.0, 40)[Verdict.UNSEEN] > 0.5
    assert shares(0.5, 40)[Verdict.REACHED] > 0.99


def test_at_least_is_three_sided() -> None:
    for low, high, expected in (
        (0.97, 1.03, Verdict.REACHED),
        (0.90, 1.10, Verdict.UNDECIDED),
        (0.90, 0.95, Verdict.UNSEEN),
    ):
        assert at_least(Interval(0.5 * (low + high), low, high), 1.0, rival=0.5) is expected
    assert at_least(Interval(0.66, 0.64, 0.68), 2.0 / 3.0, rival=0.65) is Verdict.UNDECIDED  # nearer to the rival


def test_slow_growth_is_no_merit_of_who_does_not_learn() -> None:
    def over_d(share: float) -> Results:
        rng = np.random.default_rng(0)
        return Results(
            Measured({"d": d, "seed": s}, {"regret": 100.0 * share + rng.normal(), "uniform": 100.0})
            for d in (2, 4, 8)
            for s in range(4)
        )

    assert learns(over_d(0.5), "d") is Verdict.REACHED
    assert learns(over_d(1.0), "d") is Verdict.UNSEEN
    lines = [grows("c", "s", {"": over_d(one)}, rival=1.0, over="d", against=0.5) for one in (0.5, 1.0)]
    assert [line.verdict for line in lines] == [Verdict.REACHED, Verdict.UNSEEN]


@pytest.mark.parametrize("told", [NOTHING, OPPOSITE])
def test_who_is_told_something_else_loses_by_the_truth(told: str) -> None:
    env = mb.environments.HingeRealizable(2, 2, 300, seed=0)
    broken = played(mb.SquareCB(2, seed=0), env, told)
    assert broken.all_losses is not None
    np.testing.assert_array_equal(broken.losses, broken.all_losses[np.arange(300), broken.actions])
    assert broken.losses.mean() > 0.3 > 0.1 > played(mb.SquareCB(2, seed=0), env).losses.mean()


def test_weights_of_cells_are_those_over_all_policies() -> None:
    """Exponential weights over all 2^m policies on m cells, in one learner and as a product."""
    m, T = 3, 60
    rng = np.random.default_rng(0)
    cells, losses = rng.integers(m, size=T), (rng.random((T, 2)) < 0.4).astype(float)
    policies = np.array(list(itertools.product((0, 1), repeat=m)))
    weights = np.stack([1.0 - 2.0 * policies, 2.0 * policies - 1.0], 1)  # N x K x m: ±1 on the cell's column
    agent = mb.ExponentialWeights(2, regressors=weights, surrogate="policy", horizon=T, seed=0)
    laws, draws = [], np.empty(T)
    for t, context in enumerate(np.eye(m)[cells]):
        decision = agent.act(context)
        assert decision.distribution is not None
        laws.append(decision.distribution[1])
        draws[t] = 0.0 if decision.action == 1 else 1.0 - 1e-12
        agent.learn(context, decision, loss=losses[t, decision.action])
    np.testing.assert_allclose(product_weights(cells, losses, m, draws), laws, atol=1e-5)


def test_verdicts() -> None:
    assert verdict(True, corrected=False) is Verdict.HOLDS
    assert verdict(False, corrected=False) is Verdict.FAILS
    assert verdict(True, rate=True) is Verdict.REACHED


def test_slopes_are_exponents() -> None:
    results = Results(Measured({"T": T, "seed": s}, {"y": (s + 1) * T**0.7}) for T in (10, 100, 1000) for s in range(3))
    assert slope(results, "T", "y").mean == pytest.approx(0.7)
