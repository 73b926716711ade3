"""Digest A5-A6, C3, C4: moments of the loss estimates, with their exact constants, and the claims that are false."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from marginbandits.policies import explore, proportional
from marginbandits.surrogates import Hinge, Ramp, RelativeMargin
from marginbandits.types import Array
from marginbandits.weighting import (
    geometric_moments,
    geometric_weight,
    loss_side,
    mixed,
    rao_blackwell_weight,
    reward_side,
    thresholded,
)
from tests.properties.cases import Problem, at_most, holds_for, problems

N = 6  # regressors in a problem's posterior: its first rows
CHECKED = 4  # played rounds checked per problem, each over all K actions


def posterior(p: Problem) -> tuple[Array, Array]:
    """Scores of N regressors on one context, and their posterior weights."""
    return p.scores[:N], p.rng.dirichlet(np.full(N, 10.0 ** p.rng.uniform(-1, 1)))


def law(values: Array, weights: Array, mu: float) -> Array:
    """P^μ: the average of the normalised vectors, then smoothed."""
    return explore(weights @ proportional(values), mu)


def smoothing(p: Problem) -> float:
    return float(p.rng.choice([0.0, p.rng.uniform(0, 1 / p.K), 1 / p.K]))


def second_moment(estimates: Array, P: Array, values: Array, weights: Array) -> float:
    """E_a E_s <s, l̂_a>², for estimates given as one row per played action."""
    return float((P[:, None] * (estimates @ values.T) ** 2 * weights).sum())


def loss_estimates(P: Array, losses: Array) -> Array:
    K = len(P)
    return np.array([loss_side(K, a, losses[a], P[a]) if P[a] > 0 else np.zeros(K) for a in range(K)])


def reward_estimates(P: Array, losses: Array) -> Array:
    return np.array([reward_side(len(P), a, losses[a], P[a]) for a in range(len(P))])


# A5


@holds_for(problems(), rows=CHECKED)
def test_inverse_propensity_moments(p: Problem) -> None:
    for losses in p.losses[:CHECKED]:
        scores, weights = posterior(p)
        mu = p.rng.uniform(1e-3, 1 / p.K)
        P = law(Hinge(p.margin)(scores), weights, mu)
        estimates = loss_estimates(P, losses)
        size = estimates.sum(1)
        assert np.allclose(P @ estimates, losses)
        assert np.isclose(P @ size, losses.sum())
        assert at_most(losses.sum(), float(p.K))
        assert np.isclose(P @ size**2, (losses**2 / P).sum())
        assert at_most(P @ size**2, p.K / mu)


# A6


@holds_for(problems(), rows=CHECKED)
def test_variance_lemma(p: Problem) -> None:
    for losses in p.losses[:CHECKED]:
        scores, weights = posterior(p)
        ratio = 1 + np.abs(scores).max() / p.margin
        mu = smoothing(p)
        hinge = p.K**2 * ratio**2
        sharp = p.K**2 * ratio * max(1.0, ratio / 2)
        simplex = p.rng.dirichlet(np.full(p.K, 0.3), size=N)
        for values, bounds in (
            (simplex, (p.K,)),
            (Ramp(p.margin)(scores), (p.K**2,)),
            (RelativeMargin(p.margin)(scores), (p.K**2,)),
            (Hinge(p.margin)(scores), (hinge, sharp)),
        ):
            P = law(values, weights, mu)
            moment = second_moment(loss_estimates(P, losses), P, values, weights)
            for bound in bounds:
                assert at_most(moment, float(bound))


def test_variance_lemma_is_tight_at_zero_scores() -> None:
    K, weights = 4, np.ones(1)
    for surrogate in (Hinge(1.0), Ramp(1.0)):
        values = surrogate(np.zeros((1, K)))
        P = law(values, weights, 0.0)
        assert second_moment(loss_estimates(P, np.ones(K)), P, values, weights) == pytest.approx(K**2)


def test_sharp_hinge_constant_is_attained() -> None:
    """Two actions, scores ±B: K²(1+B/γ)max(1,(1+B/γ)/2) is reached, half of the paper's constant."""
    values, weights = Hinge(1.0)(np.array([[9.0, -9.0], [-9.0, 9.0]])), np.full(2, 0.5)
    P = law(values, weights, 0.0)
    moment = second_moment(loss_estimates(P, np.ones(2)), P, values, weights)
    assert moment == pytest.approx(2**2 * 10 * 5)
    assert moment == pytest.approx(0.5 * 2**2 * 10**2)


@holds_for(problems(), rows=CHECKED)
def test_alternative_law_has_its_own_lemma(p: Problem) -> None:
    """P'(a) = E s(a)/E Σs is calibrated too, with second moment at most K S_max E Z."""
    for losses in p.losses[:CHECKED]:
        scores, weights = posterior(p)
        values = Hinge(p.margin)(scores)
        mean = weights @ values
        P = explore(mean / mean.sum(), smoothing(p))
        moment = second_moment(loss_estimates(P, losses), P, values, weights)
        assert at_most(moment, p.K * values.max() * mean.sum())
        assert at_most(mean @ losses / mean.sum(), mean @ losses / p.K)


def test_own_propensity_weights_break_the_lemma() -> None:
    """Weighting by the sampled regressor's own probability: 13505 against a bound of 81 that the marginal keeps."""
    K, mu = 3, 1e-3 / 3
    values, weights = Hinge(1.0)(np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0]])), np.full(2, 0.5)
    own = explore(proportional(values), mu)
    bound = K**2 * (1 + 2.0) ** 2
    by_own = float(((weights @ values**2) * (weights @ (1 / own))).sum())
    P = weights @ own
    assert by_own == pytest.approx(13505, abs=1)
    assert bound == 81
    assert second_moment(loss_estimates(P, np.ones(K)), P, values, weights) == pytest.approx(18, abs=0.1)


# C3


@holds_for(problems(), rows=1)
def test_truncated_geometric_moments(p: Problem) -> None:
    q = 10.0 ** p.rng.uniform(-3, 0) * 0.999
    cap = int(p.rng.integers(1, 200))
    k = np.arange(1, cap + 1)
    mass = q * (1 - q) ** (k - 1)
    mass[-1] = (1 - q) ** (cap - 1)
    mean, second = geometric_moments(q, cap)
    assert mass.sum() == pytest.approx(1)
    assert mean == pytest.approx(mass @ k, rel=1e-9)
    assert second == pytest.approx(mass @ k**2, rel=1e-6)
    assert at_most(second, 2 / q**2)
    assert at_most(mean, 1 / q)


@pytest.mark.parametrize("q", [1e-300, 1e-17, 1e-10, 1e-8, 1e-3, 0.5, 1.0])
def test_geometric_moments_lose_no_digits(q: float) -> None:
    """Against exact rational arithmetic."""
    r, cap = 1 - Fraction(q), 30
    mean = sum(r**k for k in range(cap))
    second = sum((2 * k + 1) * r**k for k in range(cap))
    assert geometric_moments(q, cap) == pytest.approx((float(mean), float(second)), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: mixed(3, 1, 0.5, 0.5, share=2.0), "share"),
        (lambda: loss_side(3, -1, 0.5, 0.5), "action"),
        (lambda: loss_side(3, 3, 0.5, 0.5), "action"),
        (lambda: loss_side(3, True, 0.5, 0.5), "action"),
        (lambda: reward_side(3, 1, 5.0, 0.5), "loss"),
        (lambda: loss_side(3, 1, 0.5, 7.0), "probability"),
        (lambda: loss_side(3, 1, 0.5, 0.0), "probability"),
        (lambda: loss_side(1, 0, 0.5, 0.5), "n_actions"),
        (lambda: thresholded([0.5, 0.5], 2, 0.5), "action"),
        (lambda: geometric_weight(lambda: 0, 0, -3), "cap"),
        (lambda: geometric_moments(0.5, 0), "cap"),
        (lambda: geometric_moments(1.5, 3), "probability"),
        (lambda: rao_blackwell_weight([]), "probabilities"),
        (lambda: rao_blackwell_weight([0.5, 2.0]), "probabilities"),
    ],
)
def test_bad_values_are_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        call()


def test_geometric_weight_has_that_law() -> None:
    """20,000 weights of cap 5 at q = 0.3: frequencies within 5 standard errors of the law (error rate 1e-5)."""
    rng = np.random.default_rng(0)
    weights = np.array([geometric_weight(lambda: int(rng.random() >= 0.3), 0, 5) for _ in range(20_000)])
    mass = 0.3 * 0.7 ** np.arange(5)
    mass[-1] = 0.7**4
    share = np.bincount(weights, minlength=6)[1:] / len(weights)
    assert (np.abs(share - mass) < 5 * np.sqrt(mass * (1 - mass) / len(weights))).all()
    wrong = 0.4 * 0.6 ** np.arange(5)  # negative control: another q is told apart
    assert not (np.abs(share - wrong) < 5 * np.sqrt(wrong * (1 - wrong) / len(weights))).all()


@holds_for(problems(), rows=CHECKED)
def test_corrected_resampling_bias_and_calls(p: Problem) -> None:
    """Σ ℓ(a) E ψ_a (1-q_a)^M <= K Z_max/(eM(1-Kμ)), and at most K expected draws a round, whatever M."""
    for _ in range(CHECKED):
        scores, weights = posterior(p)
        values = Hinge(p.margin)(scores)
        cap = int(p.rng.integers(2, 80))
        mu = p.rng.uniform(0, 0.9 / p.K)
        q = law(values, weights, mu)
        largest = p.K * max(1.0, (1 + np.abs(scores).max() / p.margin) / 2)
        bias = ((weights @ values) * (1 - q) ** cap).sum()
        assert at_most(bias, p.K * largest / (math.e * cap * (1 - p.K * mu)))
        mean, _ = geometric_moments(q, cap)
        assert at_most((q * mean).sum(), float(p.K))


def test_the_printed_resampling_bias_is_false() -> None:
    """K = 10, T = 1000: 0.98 a round against a claimed (1+B/γ)/(eM) = 0.087."""
    K, T = 10, 1000
    cap, mu = int(math.sqrt(T)), 1 / (K * math.sqrt(T))
    play = np.full(K, 0.03)
    play[0] = 1 - 9 * 0.03
    psi = K * play  # all scores above -γ, so ψ = Kπ
    q = explore(play, mu)
    losses = np.ones(K)
    losses[0] = 0.0
    bias = (losses * psi * (1 - q) ** cap).sum()
    claimed = (1 + np.abs(psi - 1).max()) / (math.e * cap)
    assert bias == pytest.approx(0.98, abs=0.01)
    assert claimed == pytest.approx(0.087, abs=0.002)


@holds_for(problems(), rows=CHECKED)
def test_rao_blackwell_weight_is_the_expectation_of_the_geometric_one(p: Problem) -> None:
    """Given p_1…p_M, enumerating first matches: equal mean; and its truncation error has the same sign."""
    for _ in range(CHECKED):
        q = p.rng.uniform(0.02, 1.0, int(p.rng.integers(1, 12)))
        survive = np.concatenate([[1.0], np.cumprod(1 - q)[:-1]])
        mass = q * survive
        mass[-1] = survive[-1]
        assert rao_blackwell_weight(q) == pytest.approx(mass @ np.arange(1, len(q) + 1))
        same = np.full(len(q), q.mean())
        assert rao_blackwell_weight(same) == pytest.approx(geometric_moments(q.mean(), len(q))[0])


def test_rao_blackwell_reduces_variance_and_the_plug_in_is_biased_up() -> None:
    """100,000 draws of 10 probabilities; the digest's setting. Standard errors are below 0.01."""
    rng = np.random.default_rng(0)
    q = rng.beta(0.6, 2, (100_000, 10)) * 0.94 + 0.02
    truth = 1 / q.mean()
    matched = rng.random(q.shape) < q
    first = np.where(matched[:, :-1].any(1), matched[:, :-1].argmax(1) + 1, 10)
    blackwell = rao_blackwell_weight(q)
    assert blackwell.mean() == pytest.approx(first.mean(), abs=0.05)
    assert blackwell.var() < 0.3 * first.var()
    assert blackwell.mean() < truth
    assert (1 / q.mean(1)).mean() > truth + 0.1


@holds_for(problems(), rows=CHECKED)
def test_mixture_play_is_exactly_unbiased(p: Problem) -> None:
    for losses in p.losses[:CHECKED]:
        particles = proportional(Hinge(p.margin)(p.scores[:N]))
        P = explore(particles, 0.5 / p.K).mean(0)
        estimates = loss_estimates(P, losses)
        assert np.allclose(P @ estimates, losses)
        # The variance lemma holds exactly for the particles' own law.
        values, ratio = Hinge(p.margin)(p.scores[:N]), 1 + np.abs(p.scores[:N]).max() / p.margin
        moment = second_moment(estimates, P, values, np.full(N, 1 / N))
        assert at_most(moment, 2 * p.K**2 * ratio * max(1.0, ratio / 2))  # smoothing by 1/(2K) costs at most a factor 2


def test_enough_particles_keep_every_probability_within_a_factor_of_two() -> None:
    """J >= 8 ln(K/δ)/μ draws: p̄ >= P/2 for all actions, but for a share δ of 400 repetitions; 10 draws do not do it."""
    rng = np.random.default_rng(0)
    K, mu, delta = 5, 0.02, 0.05
    regressors = np.concatenate([10.0 * np.eye(K), np.zeros((1, K))])
    weights = np.array([0.9, 0.04, 0.03, 0.02, 0.005, 0.005])
    laws = explore(proportional(Hinge(1.0)(regressors - regressors.mean(1, keepdims=True))), mu)
    P = weights @ laws

    def misses(particles: int) -> float:
        drawn = rng.choice(len(weights), (400, particles), p=weights)
        return float((laws[drawn].mean(1) < P / 2).any(1).mean())

    assert misses(math.ceil(8 * math.log(K / delta) / mu)) <= delta
    assert misses(10) > delta


# C4


@holds_for(problems(), rows=CHECKED)
def test_two_sided_estimates(p: Problem) -> None:
    for losses in p.losses[:CHECKED]:
        scores, weights = posterior(p)
        r = 1 - losses
        mu, share = p.rng.uniform(1e-3, 1 / p.K), p.rng.random()
        ratio = 1 + np.abs(scores).max() / p.margin
        for values, s_max, z_max in (
            (Ramp(p.margin)(scores), 1.0, float(p.K)),
            (Hinge(p.margin)(scores), ratio, p.K * max(1.0, ratio / 2)),
        ):
            P = law(values, weights, mu)
            loss, reward = loss_estimates(P, losses), reward_estimates(P, losses)
            both = np.array([mixed(p.K, a, losses[a], P[a], share=share) for a in range(p.K)])
            split = np.array([thresholded(P, a, losses[a]) for a in range(p.K)])
            for estimate in (loss, reward, both, split):
                assert (estimate >= 0).all()
            c = r.sum() - 1
            assert -1 - 1e-12 <= c <= p.K - 1 + 1e-12
            assert np.allclose(P @ reward, losses + c)
            assert np.allclose(P @ both, losses + (1 - share) * c)
            assert np.allclose(P @ split, losses + (r * (P > 0.5)).sum())
            moments = [second_moment(e, P, values, weights) for e in (loss, reward, both, split)]
            assert at_most(moments[1], z_max**2 * (r**2 / P).sum())
            assert at_most((r**2 / P).sum(), (r**2).sum() / mu)
            assert at_most(moments[2], share * moments[0] + (1 - share) * moments[1])
            assert at_most(moments[3], 2 * p.K * s_max * z_max + 2 * s_max**2 + 4 * z_max**2)
            shifted = values @ (P @ reward)
            assert np.allclose(shifted, values @ losses + c * values.sum(1))


def test_in_bandit_multiclass_both_sides_have_the_same_mean() -> None:
    P, losses = np.array([0.2, 0.5, 0.3]), np.array([1.0, 0.0, 1.0])
    assert np.allclose(P @ reward_estimates(P, losses), P @ loss_estimates(P, losses))


def test_the_reward_side_has_no_bound_without_smoothing() -> None:
    """90000 against the loss side's 81."""
    K, mu, weights = 3, 1e-4, np.ones(1)
    values = Hinge(1.0)(np.array([[2.0, -1.0, -1.0]]))
    P, losses = law(values, weights, mu), np.array([1.0, 0.0, 1.0])
    moment = second_moment(reward_estimates(P, losses), P, values, weights)
    assert moment == pytest.approx(90_000, rel=0.01)
    assert moment > K**2 * 9


def test_the_reward_side_wins_exactly_when_the_label_is_likely() -> None:
    for label_share in np.linspace(0.05, 0.95, 19):
        P, losses = np.array([label_share, 1 - label_share]), np.array([0.0, 1.0])
        values, weights = 2 * P[None], np.ones(1)
        loss = second_moment(loss_estimates(P, losses), P, values, weights)
        reward = second_moment(reward_estimates(P, losses), P, values, weights)
        assert loss == pytest.approx(4 * (1 - label_share))
        assert reward == pytest.approx(4 * (1 - label_share) ** 2 / label_share)
        assert (reward < loss - 1e-9) == (label_share > 0.5 + 1e-9)


def hedge_gap(costs: Array, eta: float) -> float:
    """Hedge's regret minus its second-order bound η/2 Σ<p, c²> + ln N/η."""
    total, loss, square = np.zeros(costs.shape[1]), 0.0, 0.0
    for c in costs:
        p = np.exp(-eta * (total - total.min()))
        p /= p.sum()
        loss, square, total = loss + p @ c, square + p @ c**2, total + c
    return float(loss - total.min() - (eta / 2 * square + math.log(costs.shape[1]) / eta))


@holds_for(problems(), rows=1)
def test_hedge_bound_holds_for_non_negative_losses_at_any_rate(p: Problem) -> None:
    costs = p.losses * 10.0 ** p.rng.uniform(-1, 1.5)
    assert hedge_gap(costs, 10.0 ** p.rng.uniform(-2, 1.5)) < 1e-9 * (1 + costs.sum())


def test_hedge_bound_is_false_for_signed_losses() -> None:
    """Regret 7.70 against a bound of 0.82."""
    costs = np.array([[0.0, 0.1]] * 70 + [[0.0, -14.0]])
    assert hedge_gap(costs, 1.0) == pytest.approx(7.70 - 0.82, abs=0.02)
