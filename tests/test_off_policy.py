"""Off-policy estimators against exact arithmetic, intervals against what they promise, diagnostics against bad logs."""

import json
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from marginbandits.evaluation.off_policy import (
    METHODS,
    Evidence,
    Gatherer,
    Pair,
    difference,
    sequence,
    terms,
    value,
)
from marginbandits.evaluation.off_policy.intervals import bernstein, bootstrap, hall, normal
from marginbandits.evaluation.off_policy.likelihood import likely_interval, most_likely
from marginbandits.evaluation.off_policy.sequences import _wealth, boundary
from marginbandits.types import Array

Places = npt.NDArray[np.int64]

W = [Fraction(1, 2), Fraction(3), Fraction(0), Fraction(7, 4), Fraction(1, 8), Fraction(5, 2)]
Y = [Fraction(1), Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(1, 4)]
Q = [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(5, 8), Fraction(0), Fraction(3, 8)]
D = [Fraction(1, 2), Fraction(3, 8), Fraction(3, 4), Fraction(1, 8), Fraction(1, 2), Fraction(1)]


def of(*columns: list[Fraction]) -> Evidence:
    return Evidence(*([float(x) for x in column] for column in columns))  # type: ignore[arg-type]


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def shrunk(lam: Fraction) -> list[Fraction]:
    return [lam * w / (w * w + lam) for w in W]


EXACT: dict[tuple[str, float | None], Fraction] = {
    ("ips", None): mean([w * y for w, y in zip(W, Y, strict=True)]),
    ("clipped", 2.0): mean([min(w, Fraction(2)) * y for w, y in zip(W, Y, strict=True)]),
    ("snips", None): sum((w * y for w, y in zip(W, Y, strict=True)), Fraction(0)) / sum(W, Fraction(0)),
    ("dm", None): mean(D),
    ("dr", None): mean([d + w * (y - q) for w, y, q, d in zip(W, Y, Q, D, strict=True)]),
    ("switch", 2.5): mean([d + (w <= Fraction(5, 2)) * w * (y - q) for w, y, q, d in zip(W, Y, Q, D, strict=True)]),
    ("shrinkage", 3.0): mean(
        [d + s * (y - q) for s, y, q, d in zip(shrunk(Fraction(3)), Y, Q, D, strict=True)],
    ),
}


@pytest.mark.parametrize(("method", "parameter"), EXACT, ids=str)
def test_values_are_those_of_rational_arithmetic(method: str, parameter: float | None) -> None:
    found = value(of(W, Y, Q, D), method, parameter=parameter)
    assert found.value == pytest.approx(float(EXACT[method, parameter]), rel=1e-14)


def test_the_most_likely_value_meets_its_conditions_exactly() -> None:
    """β = 0 is no solution here; the multiplier that is found solves Σ (w - 1)/(1 + β(w - 1)) = 0 in rationals."""
    w, y = (np.array([float(x) for x in column]) for column in (W, Y))
    found, _ = most_likely(w * y, w)

    def probabilities(beta: Fraction) -> list[Fraction]:
        return [1 / (len(W) * (1 + beta * (x - 1))) for x in W]

    low, high = Fraction(0), Fraction(1) - Fraction(1, 10**9)  # 1 + β(0 - 1) stays positive
    for _ in range(60):
        middle = (low + high) / 2
        middle = middle.limit_denominator(10**15)
        total = sum(p * (x - 1) for p, x in zip(probabilities(middle), W, strict=True))
        low, high = (middle, high) if total > 0 else (low, middle)
    exact = sum(p * x * z for p, x, z in zip(probabilities(low), W, Y, strict=True))
    assert found == pytest.approx(float(exact), abs=1e-9)
    assert value(of(W, Y), "likelihood").value == pytest.approx(float(exact), abs=1e-9)


def test_weights_of_one_are_plain_means() -> None:
    rng = np.random.default_rng(0)
    y, q = rng.random(50), rng.random(50)
    for method in set(METHODS) - {"dm", "likelihood", "shrinkage"}:
        assert value(Evidence(np.ones(50), y, q, q), method).value == pytest.approx(y.mean())


def test_a_perfect_model_leaves_no_noise() -> None:
    rng = np.random.default_rng(0)
    w, q = rng.exponential(1.0, 100), rng.random(100)
    found = value(Evidence(w, q, q, np.full(100, 0.25)), "dr")
    assert found.value == 0.25
    assert (found.low, found.high) == (0.0, 1.0)  # terms that are all equal tell an asymptotic interval nothing


@pytest.mark.parametrize("method", ["clipped", "switch", "shrinkage"])
def test_what_is_cut_off_is_bounded(method: str) -> None:
    """Floor and ceiling hold the unbiased estimate between them, whatever the parameter; without a cut they meet."""
    rng = np.random.default_rng(0)
    w = rng.pareto(2.0, 2000)
    w /= w.mean()
    evidence = Evidence(w, rng.random(2000), rng.random(2000), rng.random(2000))
    plain = terms(evidence, "ips" if method == "clipped" else "dr").value
    for parameter in (0.1, 1.0, 10.0):
        found = terms(evidence, method, parameter)
        assert found.around is not None
        for low, high in ((found.floor, found.ceiling), found.around):
            assert low.mean() <= plain + 1e-12
            assert high.mean() >= plain - 1e-12
        for side, (least, most) in zip((found.floor, found.ceiling), found.bounds, strict=True):
            assert least <= side.min()
            assert side.max() <= most
        assert found.bias >= abs(found.value - plain) - 1e-12
    whole = terms(evidence, method, math.inf)
    assert whole.value == pytest.approx(plain)
    assert whole.bias == 0.0


def test_parameters_are_chosen_by_the_rule() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(500)
    tame = value(Evidence(np.ones(500), y), "clipped")
    wild = Evidence(np.where(np.arange(500) == 7, 400.0, 0.2), np.where(np.arange(500) == 7, 0.01, y))
    assert tame.parameter == math.inf
    found = value(wild, "clipped")
    assert found.parameter is not None
    assert found.parameter < 400.0

    def error(c: float) -> float:
        used = np.minimum(wild.w, c)
        return float((used * wild.y).var() / 500 + (((wild.w - used) * wild.y).mean()) ** 2)

    assert error(found.parameter) <= min(error(c) for c in np.unique(wild.w)) + 1e-15


# Intervals.


def test_the_likelihood_interval_of_a_share_is_the_closed_form() -> None:
    """For k of n, -2(k log(vn/k) + (n - k) log((1 - v)n/(n - k))) = the quantile at both ends."""
    for k, n in ((2, 6), (30, 100), (1, 1000)):
        for end in likely_interval(np.repeat([1.0, 0.0], [k, n - k]), None, 0.95):
            ratio = -2.0 * (k * math.log(end * n / k) + (n - k) * math.log((1.0 - end) * n / (n - k)))
            assert ratio == pytest.approx(3.841458820694124, rel=1e-5)


def test_a_side_condition_narrows_the_likelihood_interval() -> None:
    rng = np.random.default_rng(0)
    w = rng.exponential(1.0, 400)
    values = 0.8 * w + 0.02 * rng.standard_normal(400)
    low, high = likely_interval(values, w - 1.0, 0.95)
    assert low < most_likely(values, w)[0] < high
    assert high - low < 0.1 * np.subtract(*likely_interval(values, None, 0.95)[::-1])


def test_halls_interval_inverts_his_cubic() -> None:
    x = np.random.default_rng(0).exponential(1.0, 80)
    n, s = len(x), x.std(ddof=1)
    g = ((x - x.mean()) ** 3).mean() / x.std() ** 3
    for end, z in zip(hall(x, 0.9), (1.6448536, -1.6448536), strict=True):
        t = math.sqrt(n) * (x.mean() - end) / s
        assert t + g * t**2 / (3 * n**0.5) + g**2 * t**3 / (27 * n) + g / (6 * n**0.5) == pytest.approx(z, rel=1e-6)


def test_bernstein_is_its_formula_and_normal_is_its() -> None:
    x = np.random.default_rng(0).random(100)
    reach = math.sqrt(2 * x.var(ddof=1) * math.log(80) / 100) + 7 * 3.0 * math.log(80) / (3 * 99)
    assert bernstein(x, 0.95, 3.0) == pytest.approx((x.mean() - reach, x.mean() + reach))
    reach = 1.959963984540054 * x.std(ddof=1) / 10
    assert normal(x, 0.95) == pytest.approx((x.mean() - reach, x.mean() + reach))


def test_the_bootstrap_of_normal_terms_is_students_interval() -> None:
    x = np.random.default_rng(1).standard_normal(20)
    low, high = bootstrap(x, 0.95, np.random.default_rng(0))
    error = x.std(ddof=1) / math.sqrt(20)
    assert (high - low) / (2 * 2.093 * error) == pytest.approx(1.0, abs=0.25)
    assert bootstrap(x, 0.95, np.random.default_rng(0)) == (low, high)


def skewed(rng: np.random.Generator, runs: int) -> Array:
    """Runs of 100 rounds with terms of mean 2 and skewness 6.6."""
    return np.asarray(rng.exponential(1.0, (runs, 100)) ** 2)


def test_intervals_cover_skewed_terms_where_the_normal_one_does_not() -> None:
    """2,000 runs: a rate of 94% (what is left at 100 rounds) shows as 92.4 to 95.6 with probability 0.997."""
    rng = np.random.default_rng(0)
    many = skewed(rng, 2000)
    plain, corrected = ([low <= 2.0 <= high for low, high in (kind(x, 0.95) for x in many)] for kind in (normal, hall))
    assert np.mean(plain) < 0.915  # the control
    assert 0.924 <= np.mean(corrected) <= 0.956
    few = skewed(rng, 100)
    for interval in (lambda x: bootstrap(x, 0.95, rng), lambda x: likely_interval(x, None, 0.95)):
        assert np.mean([low <= 2.0 <= high for low, high in map(interval, few)]) >= 0.87


def test_the_boundary_is_where_the_mixture_is_worth_one_over_delta() -> None:
    """And the mixture is the integral over λ that it stands for, done by hand."""
    v = np.array([0.0, 1.0, 30.0, 1e4])
    assert _wealth(boundary(v, 0.025), v, 1.0) == pytest.approx(np.full(4, -math.log(0.025)), rel=1e-9)
    lam = np.linspace(0.0, 1.0, 400_001)[:-1]
    for s, spread in ((3.0, 1.0), (10.0, 30.0)):
        density = 1.0 / (1.0 - math.exp(-1.0))  # gamma with shape and rate 1 in -log(1 - λ) … on [0, 1)
        weight = density * np.exp(-(1.0 - lam)) / 1.0
        worth = np.exp(lam * s + (np.log1p(-lam) + lam) * spread) * weight
        assert _wealth(np.array(s), np.array(spread), 1.0) == pytest.approx(math.log(worth.mean()), rel=1e-3)


def test_a_confidence_sequence_holds_at_all_times_and_a_plain_interval_does_not() -> None:
    """200 logs that are looked at 200 times each; at most 5% may ever miss (10% has a chance of 0.3%)."""
    rng = np.random.default_rng(0)
    missed = looked = 0
    for _ in range(200):
        w = np.where(rng.random(1000) < 0.2, 5.0, 0.0)
        y = (rng.random(1000) < 0.5).astype(float)
        path = sequence(Evidence(w, y), 0.95)
        missed += not ((path.low <= 0.5) & (path.high >= 0.5)).all()
        x, t = w * y, np.arange(1, 1001)
        mean_, square = x.cumsum() / t, (x**2).cumsum() / t
        reach = 1.96 * np.sqrt(np.maximum(square - mean_**2, 1e-9) / t)
        looked += (np.abs(mean_ - 0.5) > reach)[20:].any()
    assert missed <= 20
    assert looked > 60  # the control


def test_a_confidence_sequence_is_its_formula() -> None:
    """Round by round, as the module says it; the level is shared by the two sides."""
    rng = np.random.default_rng(0)
    w, y = rng.choice([0.0, 0.5, 3.0], 60), rng.random(60)
    path = sequence(Evidence(w, y), 0.9)
    ends = []
    for x in (w * y, w * (1.0 - y)):
        total = spread = 0.0
        for t in range(60):
            spread += (x[t] - min((total + 0.5) / (t + 1), 1.0)) ** 2
            total += x[t]
        ends.append((total - float(boundary(np.array([spread]), 0.05)[0])) / 60)
    assert path.low[-1] == pytest.approx(ends[0])
    assert path.high[-1] == pytest.approx(1.0 - ends[1])
    assert 0.0 < path.low[-1] < path.high[-1] < 1.0


def test_where_means_move_the_interval_is_for_the_mean_so_far() -> None:
    """A policy that learns against one that does not, 200 logs: at most 5% may ever miss (10% has a chance of 0.3%)."""
    rng = np.random.default_rng(0)
    missed = intersected = 0
    for _ in range(200):
        moving = np.linspace(0.1, 0.9, 1000)
        w = np.where(rng.random(1000) < 0.5, 2.0, 0.0)
        y = (rng.random(1000) < moving).astype(float)
        path = sequence(Evidence(w, y), 0.95)
        truth = (moving.cumsum() / np.arange(1, 1001))[path.times - 1]
        missed += not ((path.low <= truth) & (truth <= path.high)).all()
        intersected += np.minimum.accumulate(path.high)[-1] < truth[-1]
    assert missed <= 20
    assert intersected > 190  # the control: what was true of the first rounds is not true of all


def test_two_policies_on_one_log() -> None:
    rng = np.random.default_rng(0)
    n, p = 4000, 0.25
    a, x = rng.integers(0, 4, n), rng.random(n)
    y = (rng.random(n) < np.where(a == 1, 0.3, 0.6)).astype(float)
    first, second = (a == 1) / p, np.where(x < 0.2, a == 2, a == 1) / p  # they differ in a fifth of rounds
    q = np.full(n, 0.5)
    pair = Pair(Evidence(first, y, q, q), Evidence(second, y, q, q), (x < 0.2).astype(float))
    for method in set(METHODS) - {"dm"}:
        both = [value(one, method).value for one in (pair.first, pair.second)]
        assert difference(pair, method).value == pytest.approx(both[0] - both[1])
    for kind in ("hall", "bootstrap", "likelihood", "bernstein", "sequence"):
        found = value(pair, "ips", interval=kind)
        apart = value(pair.first, "ips", interval=kind)
        assert found.low <= -0.06 <= found.high
        if kind not in ("bernstein", "sequence"):
            assert found.high < 0.0
            assert found.high - found.low < 1.2 * (apart.high - apart.low)
    same = value(Pair(pair.first, pair.first, np.zeros(n)), "dr")
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


# Records.


def test_an_estimate_says_all_there_is() -> None:
    rng = np.random.default_rng(0)
    evidence = Evidence(rng.exponential(1.0, 300), rng.random(300))
    found = value(
        evidence, "clipped", interval="bernstein", parameter=2.0, policy="always a", estimated_propensities=True
    )
    assert str(found).startswith("The mean loss of always a is 0.")
    assert "clipped (parameter 2) from 300 rounds, with estimated propensities." in str(found)
    assert "no weight could have been larger than" in found.describe()
    assert json.loads(json.dumps(found.to_dict()))["estimated_propensities"] is True
    path = value(evidence, "ips", interval="sequence")
    assert json.loads(json.dumps(path.to_dict()))["path"]["times"][-1] == 300
    for picture in (found.plot(), path.plot(), found.plot(path, names=["one", "two"])):
        assert len(picture.axes) == 1
    assert value(evidence, "ips", outcome="reward").ends.mean == pytest.approx((evidence.w * evidence.y).mean())


def test_chunks_are_joined() -> None:
    w, y = np.arange(6.0), np.linspace(0, 1, 6)
    gatherer = Gatherer()
    for part in (slice(0, 4), slice(4, 6)):
        gatherer.add(w[part], y[part])
    assert (gatherer.evidence().w == w).all()
    with pytest.raises(ValueError, match="every chunk, or with none"):
        gatherer.add(w, y, y, y)
    with pytest.raises(ValueError, match="without rounds"):
        Gatherer().evidence()


def test_bad_arguments_are_named() -> None:
    fine = Evidence([1.0, 2.0], [0.0, 1.0])
    for call, words in (
        (lambda: Evidence([1.0, -1.0], [0.0, 1.0]), "weights must be"),
        (lambda: Evidence([1.0], [2.0]), "outcomes must be"),
        (lambda: Evidence([1.0], [0.0, 1.0]), "outcomes must be one number for each of 1 weights"),
        (lambda: Evidence([1.0], [1.0], [1.0]), "taken and direct must be given together"),
        (lambda: value(fine, "drr"), "method must be one of"),
        (lambda: terms(fine, "drr"), "did you mean 'dr'"),
        (lambda: value(fine, "dr"), "needs what a model predicts"),
        (lambda: value(fine, "ips", parameter=2.0), "parameter must be above 0 and for one of clipped"),
        (lambda: value(fine, "ips", interval="exact"), "interval must be one of"),
        (lambda: value(fine, "ips", level=1.0), "level must be"),
        (lambda: value(fine, "clipped", interval="sequence"), "do not look ahead"),
        (lambda: value(Evidence([0.0, 0.0], [0.0, 1.0]), "snips"), "all weights are 0"),
        (lambda: Pair(fine, Evidence([1.0], [1.0]), np.zeros(2)), "the same rounds"),
        (lambda: Pair(fine, Evidence([1.0, 2.0], [1.0, 1.0]), np.zeros(2)), "the same outcomes"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
