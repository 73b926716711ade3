"""Every bound: against the digest's figures, against numeric integration and search, and in what it grows with."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from marginbandits import theory
from marginbandits.theory import Bound, Entropy, FiniteSize, Game, Parametric, Power
from marginbandits.theory.promises import Known

GAME = Game(n_actions=3, horizon=10**6, margin=0.5)
ENTROPIES = [
    FiniteSize(40),
    Parametric(5.0, scale=2.0, radius=1.5),
    Power(0.7),
    Power(2.0, constant=3.0),
    Power(3.5, radius=2.0),
]
games = st.builds(Game, st.integers(2, 12), st.integers(10, 10**8), st.floats(0.05, 2.0), st.floats(0.5, 5.0))


# Entropy.


@pytest.mark.parametrize("entropy", ENTROPIES, ids=repr)
@pytest.mark.parametrize(("low", "high"), [(1e-3, 0.5), (0.2, 0.9), (0.01, 5.0), (0.3, 0.3)])
def test_integrals_agree_with_quadrature(entropy: Entropy, low: float, high: float) -> None:
    def root(u: float) -> float:
        e = math.exp(u)
        return e * math.sqrt(entropy.at(e)) if e < entropy.radius else 0.0

    edges = sorted({math.log(e) for e in (low, high, entropy.radius) if low <= e <= high})
    numeric = sum(integrate.quad(root, a, b - 1e-13)[0] for a, b in itertools.pairwise(edges))
    assert entropy.integral(low, high) == pytest.approx(numeric, rel=1e-7, abs=1e-12)


def test_integrals_near_p_2_and_from_0() -> None:
    for p in (2 - 1e-6, 2 - 1e-10, 2.0, 2 + 1e-10, 2 + 1e-6):
        assert Power(p).integral(0.1, 0.9) == pytest.approx(math.log(9), rel=1e-5)
    assert Power(1.0).integral(0.0, 1.0) == pytest.approx(2.0)
    assert Power(2.0).integral(0.0, 1.0) == math.inf
    assert Parametric(4.0).integral(0.0, 1.0) == pytest.approx(2 * math.gamma(1.5))


@given(st.floats(1e-3, 50.0))
def test_scale_at_inverts_entropy(h: float) -> None:
    for entropy in ENTROPIES[1:]:
        scale = entropy.scale_at(h)
        assert entropy.at(scale * 1.0001) <= h * (1 + 1e-9)
        if scale < entropy.radius:
            assert entropy.at(scale * 0.999) > h * (1 - 1e-9)


# Full information.


FULL: dict[str, Any] = {"second_moment": 50.0, "total": 300.0, "squares": 900.0, "largest_loss": 4.0}


@pytest.mark.parametrize("entropy", ENTROPIES, ids=repr)
@pytest.mark.parametrize("largest_value", [0.01, 1.0, 30.0])
def test_full_information_is_tuned_by_its_eta_and_lambda(entropy: Entropy, largest_value: float) -> None:
    given = {**FULL, "largest_value": largest_value, "alpha": 0.1, "beta": 0.6}
    tuned = theory.full_information(entropy, 100, **given)
    stated = theory.full_information_tuned(entropy, 100, **given)
    assert tuned.value <= stated.value * (1 + 1e-12)

    def at(log_eta: float, log_lam: float) -> float:
        return theory.full_information(entropy, 100, eta=math.exp(log_eta), lam=math.exp(log_lam), **given).value

    found = optimize.minimize(lambda v: at(min(v[0], 0.0), v[1]), [-1.0, 0.0], method="Nelder-Mead")
    assert tuned.value <= found.fun * (1 + 1e-6)
    if tuned.parameters["eta"] < 1.0:
        assert tuned.terms["variance"] + tuned.terms["class"] == pytest.approx(stated.terms["variance"])
    assert tuned.terms["chaining"] == pytest.approx(stated.terms["chaining"])


def test_full_information_refuses_what_has_no_sense() -> None:
    given = {**FULL, "largest_value": 1.0}
    with pytest.raises(ValueError, match="alpha must be at most beta"):
        theory.full_information(Power(1.0), 100, alpha=0.5, beta=0.1, **given)
    with pytest.raises(ValueError, match="horizon must be"):
        theory.full_information(Power(1.0), 0, alpha=0.1, beta=0.5, **given)
    assert not theory.full_information(Power(1.0), 100, alpha=0.1, beta=0.5, eta=2.0, **given).holds


# Margin bounds.


@pytest.mark.parametrize("bound", [theory.margin_ramp, theory.chain_hinge], ids=lambda b: b.__name__)
@pytest.mark.parametrize("entropy", ENTROPIES, ids=repr)
@pytest.mark.parametrize("horizon", [100, 10**6, 10**10])
def test_margin_bounds_choose_the_best_parameters(bound: Any, entropy: Entropy, horizon: int) -> None:
    game = dataclasses.replace(GAME, horizon=horizon)
    best = bound(entropy, game)
    assert best.holds
    K, radius = game.n_actions, entropy.radius
    rng = np.random.default_rng(0)
    for _ in range(300):
        mu = math.exp(rng.uniform(-12, 0)) / K
        beta = 2 * radius * math.exp(rng.uniform(-15, 0)) if rng.random() < 0.9 else 2 * radius
        alpha = beta * math.exp(rng.uniform(-15, 0))
        assert best.value <= bound(entropy, game, mu=mu, alpha=alpha, beta=beta).value * (1 + 1e-4)


def test_margin_bounds_term_by_term() -> None:
    """The formulas of the digest, written out again with a numeric integral."""
    K, T, g, B, mu, a, b = 4, 5000, 0.3, 1.5, 0.05, 0.02, 0.7
    game, entropy = Game(K, T, g, B), Power(1.3, constant=2.0, radius=B)
    H = 2.0 * (b / 2) ** -1.3
    area = integrate.quad(lambda e: math.sqrt(2.0 * e**-1.3), a, b)[0]
    rest = (3 * math.e**2 * a * K * T + 24 * math.e * math.sqrt(K * T / mu) * area) / g
    ramp = 4 * math.sqrt(2 * K**2 * T * H) + mu * K * T + 8 / mu * H + rest
    assert theory.margin_ramp(entropy, game, mu=mu, alpha=a, beta=b).value == pytest.approx(ramp)
    S = 1 + B / g
    hinge = mu * K * T + (4 * math.sqrt(2) * S * K * math.sqrt(T * H) + 8 * S * H / mu + rest) / K
    assert theory.chain_hinge(entropy, game, mu=mu, alpha=a, beta=b).value == pytest.approx(hinge)


@settings(max_examples=60, deadline=None)
@given(games, st.sampled_from([FiniteSize(9), Parametric(3.0), Power(0.8), Power(2.0), Power(4.0)]))
def test_the_propositions_parameters_are_legal_and_no_better_than_the_best(game: Game, entropy: Entropy) -> None:
    stated = theory.entropy_growth(entropy, game)
    assert stated.parameters["mu"] <= (1 + 1e-9) / game.n_actions
    assert theory.margin_ramp(entropy, game).value <= stated.value * (1 + 1e-4)
    if not stated.holds:
        assert stated.vacuous


@pytest.mark.parametrize("p", [0.5, 1.0, 1.7, 2.5, 3.0, 5.0])
def test_the_propositions_parameters_attain_the_rate(p: float) -> None:
    """Far out, the slope in T is that of Figure 1."""
    values = [theory.entropy_growth(Power(p), Game(2, T, 0.5)).value for T in (10**40, 10**42)]
    assert math.log(values[1] / values[0]) / math.log(100) == pytest.approx(theory.exponents(p)["margin"], abs=0.01)
    for game in (Game(2, 10**9, 0.5), Game(7, 10**9, 0.5), Game(2, 10**9, 0.2)):
        ratio = theory.entropy_growth(Power(p), game).value / theory.growth_rate(Power(p), game).value
        assert 1.0 < ratio < 2000.0  # the constants, which do not run away with K or γ


@pytest.mark.parametrize("p", [0.25, 0.5, 1.0, 1.5, 2.5, 4.0])
def test_the_rate_grows_with_every_letter_as_the_best_bound_does(p: float) -> None:
    """E20: far out their ratio is constant in K, T and γ; times the printed power of K, the control, it is not."""
    T, K = (10**60, 10**10) if p < 2.0 else (10**24, 10)
    ratios = [
        theory.margin_ramp(Power(p), game).value / theory.growth_rate(Power(p), game).value
        for game in (Game(K, T, 1.0), Game(10 * K, T, 1.0), Game(K, 1000 * T, 1.0), Game(K, T, 0.1))
    ]
    assert max(ratios) / min(ratios) < 1.03
    if p < 2.0:
        printed = 10.0 ** (4 / (p + 4) - (p + 2) / (p + 4))
        assert printed * ratios[1] / ratios[0] > 1.15


def test_figure_1() -> None:
    table = {
        "margin": [0.5, 0.6, 0.6667, 0.75, 0.8, 0.8571, 0.8889],
        "full": [0.5, 0.5, 0.5, 0.6667, 0.75, 0.8333, 0.875],
        "square": [0.5, 0.6667, 0.75, 0.8, 0.8333, 0.875, 0.9],
    }
    for name, row in table.items():
        assert [theory.exponents(p)[name] for p in (0, 1, 2, 3, 4, 6, 8)] == pytest.approx(row, abs=5e-5)
    assert theory.exponents(2.0)["margin"] == pytest.approx(2 / 3)


@given(st.floats(0.0, 20.0))
def test_margin_regret_lies_between_full_information_and_square_loss(p: float) -> None:
    at = theory.exponents(p)
    assert at["full"] <= at["margin"] <= at["square"] < 1.0


# Finite classes.


def test_the_table_of_finite_classes() -> None:
    K, T, N, g, B = 5, 3000, 70, 0.4, 1.3
    game, log = Game(K, T, g, B), math.log(N)
    ew = theory.exponential_weights
    assert ew(N, game, surrogate="ramp").value == pytest.approx(K * math.sqrt(2 * T * log))
    assert ew(N, game, surrogate="relative").value == pytest.approx(K * math.sqrt(2 * T * log))
    assert ew(N, game, surrogate="hinge", sharp=False).value == pytest.approx((1 + B / g) * math.sqrt(2 * T * log))
    assert ew(N, game, surrogate="policy").value == pytest.approx(math.sqrt(2 * K * T * log))
    for surrogate in ("ramp", "hinge", "relative", "policy"):
        fixed, anytime = (ew(N, game, surrogate=surrogate, anytime=a) for a in (False, True))
        assert anytime.value == pytest.approx(math.sqrt(2) * fixed.value)
        V, eta = fixed.parameters["V1"], fixed.parameters["eta"]
        assert eta == pytest.approx(math.sqrt(2 * log / (V * T)))
        scale = K if surrogate == "hinge" else 1
        best = optimize.minimize_scalar(lambda e, V=V: e / 2 * V * T + log / e, bounds=(1e-6, 1), method="bounded")
        assert fixed.value == pytest.approx(best.fun / scale, rel=1e-6)
        steps = np.sqrt(log / (V * np.arange(1, T + 1)))
        assert (V / 2 * steps.sum() + log / steps[-1]) / scale <= anytime.value
        assert ew(N, game, surrogate=surrogate, mu=0.01).value == pytest.approx(fixed.value + 0.01 * K * T)


@given(games, st.integers(2, 10**6), st.integers(1, 50))
def test_margins_cost_a_logarithm(game: Game, size: int, n_margins: int) -> None:
    many = theory.exponential_weights(size, game, n_margins=n_margins)
    assert many.value == pytest.approx(theory.exponential_weights(size * n_margins, game).value)
    one = theory.exponential_weights(size, game)
    assert many.value**2 - one.value**2 == pytest.approx(
        2 * game.n_actions**2 * game.horizon * math.log(n_margins), rel=1e-6, abs=1e-3
    )


# Rademacher, follow-the-leader, Lipschitz.


@given(games, st.floats(1.0, 1e4))
def test_rademacher_rates(game: Game, rad: float) -> None:
    K, T, g = game.n_actions, game.horizon, game.margin
    bound = theory.rademacher(rad, game)
    assert bound.value == pytest.approx(K * (rad / g) ** (2 / 3) * T ** (1 / 3))
    price = theory.price_of_bandit_feedback(rad, dataclasses.replace(game, margin=1.0))
    assert theory.rademacher(rad, dataclasses.replace(game, margin=1.0)).value / rad == pytest.approx(price)
    assert theory.linear_type_2(game).value == pytest.approx(K * (T / g) ** (2 / 3))
    for named in (theory.networks, theory.decision_trees):
        assert named(game, 2.0).value == pytest.approx(K * (2.0 * T / g) ** (2 / 3))
    two = theory.lp_linear(2.0, 10**9, game)
    assert two.value == pytest.approx(theory.linear_type_2(game).value)
    assert theory.lp_linear(1.5, 3, game).value <= two.value * (T / g) ** 0.1 + 1e-9


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, 6.0])
def test_rademacher_rates_are_those_of_entropy_at_p_2_and_worse_elsewhere(p: float) -> None:
    """Complexity T^max(1/2, 1 - 1/p), as entropy ε^-p allows: T^{2/3} or more, where entropy itself gives less."""
    rates = [theory.rademacher(T ** max(0.5, 1 - 1 / p), Game(2, T, 1.0)).value for T in (10**8, 10**9)]
    behind = math.log10(rates[1] / rates[0]) - theory.exponents(p)["margin"]
    assert behind == pytest.approx(0.0) if p == 2.0 else behind > 0.01


def test_realizability_costs_a_factor_of_k() -> None:
    """It needs B >= (K - 1)γ (E23), and a bound of (B/γ)√(dT) then has a K in it; the best rate for policies has √K."""
    values = [
        theory.hinge_ew_ideal(theory.Setting(10, K, 10**6, 0.01, bound=(K - 1) * 0.01)).value for K in (4, 16, 64)
    ]
    policies = [theory.exponential_weights(100, Game(K, 10**6, 1.0), surrogate="policy").value for K in (4, 16, 64)]
    for found, power in ((values, 1.0), (policies, 0.5)):
        assert np.diff(np.log(found)) / math.log(4) == pytest.approx([power, power], abs=0.05)


@pytest.mark.parametrize("entropy", ENTROPIES, ids=repr)
@pytest.mark.parametrize("version", ["printed", "proof"])
@pytest.mark.parametrize("n", [1, 64, 10**7])
def test_deviations_agree_with_search_and_simpson(entropy: Entropy, version: str, n: int) -> None:
    K, B, g, mu = 3, entropy.radius, 0.5, 0.1
    line, area = (2, 12) if version == "printed" else (8, 24)
    e = 2 * B * np.exp(np.linspace(-25, 0, 20_001))
    size = (math.log(n) + np.array([entropy.at(float(one)) for one in e])) / (n * mu)
    integrand = e * (np.sqrt(2 * K * size) + 3 * size)
    steps = 0.5 * (integrand[1:] + integrand[:-1]) * np.diff(np.log(e))
    right = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    numeric = (line * K * e + area * right).min() / g
    value = theory.ftl_deviation(entropy, Game(K, 1000, g, B), n=n, mu=mu, version=version)
    assert value == pytest.approx(numeric, rel=2e-3)


def test_follow_the_leader_sums_its_epochs() -> None:
    game = Game(3, 1000, 0.5)
    bound = theory.ftl(Power(2.5), game)
    mu = bound.parameters["mu"]
    assert mu == pytest.approx(0.5 ** (-2.5 / 3.5) * 1000 ** (-1 / 3.5) / 3)
    dev = sum(2 ** (m + 1) * theory.ftl_deviation(Power(2.5), game, n=2 ** (m - 1), mu=mu) for m in range(1, 10)) / 3
    assert bound.value == pytest.approx(1 + mu * 3 * 1000 + dev)
    assert theory.ftl(Power(2.5), game, version="printed").value < bound.value
    assert theory.ftl_rate(1.0, game).value == pytest.approx((1000 / 0.5) ** (2 / 3))


@pytest.mark.parametrize("p", [2.5, 3.0, 6.0])
def test_follow_the_leader_does_not_pay_for_k(p: float) -> None:
    """With all constants; the margin bound of the same class, which is the proposition's, does."""
    ftl, margin = (
        [bound(Power(p), Game(K, 10**18, 0.5)).value for K in (2, 8, 32)] for bound in (theory.ftl, theory.margin_ramp)
    )
    assert ftl == pytest.approx([ftl[0]] * 3, rel=1e-6)
    assert np.diff(np.log(margin)).min() > math.log(4) * p / (p + 1) - 0.05


@pytest.mark.parametrize("p", [1.0, 3.0, 4.0])
def test_follow_the_leader_attains_its_rate(p: float) -> None:
    values = [theory.ftl(Power(p), Game(2, 2**k, 0.5)).value for k in (60, 70)]
    slope = math.log2(values[1] / values[0]) / 10
    assert slope == pytest.approx(theory.ftl_rate(p, GAME).parameters["exponent"], abs=0.03)


@given(st.floats(2.0, 10.0), st.floats(0.01, 3.0), st.integers(2, 10**9))
def test_lipschitz_actions(p: float, q: float, horizon: int) -> None:
    bound = theory.lipschitz_actions(p, q, horizon)
    at, fineness = bound.parameters, bound.parameters["epsilon"]
    assert at["K"] == pytest.approx(fineness**-q)
    # The net costs Tε, follow-the-leader on it (KT)^{p/(p+1)}: the chosen ε makes them equal.
    assert bound.value == pytest.approx((at["K"] * horizon) ** (p / (p + 1)), rel=1e-6)
    assert bound.value == pytest.approx(horizon * fineness, rel=1e-6)
    assert bound.holds  # whether or not binning is better, which is another matter
    assert at["exponent of binning"] == theory.lipschitz_references(p, q)["binning"]
    if abs(q - 1 / (p - 1)) > 1e-6:
        assert (at["exponent"] < at["exponent of binning"]) == (q < 1 / (p - 1))


def test_lipschitz_rates() -> None:
    game = Game(2, 5000, 1.0)
    assert theory.lipschitz_ftl(3.0, game).value == pytest.approx(1000)
    assert theory.lipschitz_ftl(1.0, game).value == pytest.approx(10_000 ** (2 / 3))
    assert theory.lipschitz_references(3.0) == {"binning": 0.8, "lower bound": pytest.approx(2 / 3)}
    assert theory.bistro(10.0, game) == pytest.approx(math.sqrt(2 * 5000 * 10))


# What all have in common.


def everything(game: Game) -> list[Bound]:
    kinds: list[Known] = [FiniteSize(9), Parametric(3.0), Power(1.0), Power(3.0)]
    others: list[Known] = [theory.LipschitzPolicies(2.0), theory.RademacherRoot(1.0), theory.LpLinear(1.5, 4)]
    others += [theory.Networks(2.0), theory.DecisionTrees(1.0)]
    return [bound for known in [*kinds, *others] for bound in theory.promises(known, game)]


@settings(max_examples=15, deadline=None)
@given(games)
def test_bounds_grow_with_rounds_and_complexity_and_fall_with_the_margin(game: Game) -> None:
    game = dataclasses.replace(game, bound=max(1.0, game.margin))
    longer = everything(dataclasses.replace(game, horizon=4 * game.horizon))
    easier = everything(dataclasses.replace(game, margin=2 * game.margin, bound=2 * game.bound))
    for here, later, wider in zip(everything(game), longer, easier, strict=True):
        assert math.isfinite(here.value)
        assert here.value == pytest.approx(math.fsum(here.terms.values()))
        assert here.value <= later.value * (1 + 1e-6), here.name
        assert here.vacuous == (here.per_round >= 1.0)
        assert here.reference
        if "Hinge-LMC" not in here.name and "chain" not in here.name:
            assert wider.value <= here.value * (1 + 1e-6) or wider.name.startswith("smoothed"), here.name


def test_useful_from_is_the_first_horizon_that_says_something() -> None:
    for one in theory.promises_in_time(FiniteSize(9), Game(3, 1000, 0.5)):
        assert one.useful_from is not None
        for horizon, vacuous in ((one.useful_from, False), (one.useful_from - 1, True)):
            game = Game(3, horizon, 0.5)
            found = next(b for b in theory.promises(FiniteSize(9), game) if b.name == one.bound.name)
            assert found.vacuous == vacuous
    assert theory.useful_from(lambda T: Bound("linear", {"all": 2.0 * T}, T)) is None


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: Game(1, 10, 0.1), "n_actions"),
        (lambda: Game(2, 0, 0.1), "horizon"),
        (lambda: Game(2, 10, 0.0), "margin"),
        (lambda: Game(2, 10, -0.1), "margin"),
        (lambda: Game(2, 10, 0.1, bound=0.0), "bound"),
        (lambda: FiniteSize(0), "size"),
        (lambda: Parametric(0.0), "dimension"),
        (lambda: Power(-1.0), "p"),
        (lambda: Power(1.0, radius=0.0), "radius"),
        (lambda: theory.exponents(-0.5), "p"),
        (lambda: theory.exponential_weights(0, GAME), "size"),
        (lambda: theory.exponential_weights(3, GAME, mu=0.5), "mu"),
        (lambda: theory.exponential_weights(3, GAME, surrogate="square"), "surrogate"),
        (lambda: theory.exponential_weights(3, GAME, surrogate="hinge", n_margins=2), "n_margins"),
        (lambda: theory.margin_ramp(Power(1.0), GAME, mu=0.5), "mu"),
        (lambda: theory.margin_ramp(Power(1.0), GAME, alpha=0.5, beta=0.1), "alpha"),
        (lambda: theory.growth_rate(Parametric(2.0), Game(2, 10, 30.0)), "margin"),
        (lambda: theory.rademacher(0.0, GAME), "complexity"),
        (lambda: theory.lp_linear(1.0, 3, GAME), "q"),
        (lambda: theory.lp_linear(2.5, 3, GAME), "q"),
        (lambda: theory.ftl_rate(-1.0, GAME), "p"),
        (lambda: theory.ftl(Power(3.0), GAME, mu=0.9), "mu"),
        (lambda: theory.lipschitz_ftl(0.0, GAME), "p"),
        (lambda: theory.lipschitz_actions(1.0, 1.0, 100), "p"),
    ],
)
def test_senseless_inputs_are_refused_by_name(call: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
