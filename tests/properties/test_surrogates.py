"""Digest A1-A4, A7-A9, C1: the surrogates' inequalities with exact constants, and the claims that are false."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from marginbandits.policies import proportional
from marginbandits.surrogates import (
    Hinge,
    Ramp,
    RelativeMargin,
    SmoothedHinge,
    centred,
    cost_sensitive_hinge,
    margin_loss,
    multiclass_hinge,
    multiclass_margin,
    realizable_scores,
)
from tests.properties.cases import ROWS, Problem, at_most, holds_for, problems


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a * b).sum(-1))


# A1


@holds_for(problems())
def test_ramp_sums_to_one_or_more_and_hinge_to_k_or_more(p: Problem) -> None:
    assert at_most(1.0, Ramp(p.margin)(p.scores).sum(1))
    assert at_most(float(p.K), Hinge(p.margin)(p.scores).sum(1))


@holds_for(problems())
def test_hinge_sums_to_k_exactly_when_no_score_is_below_the_margin(p: Problem) -> None:
    total = Hinge(p.margin)(p.scores).sum(1)
    below = (p.scores < -p.margin * (1 + 1e-6)).any(1)
    above = (p.scores >= -p.margin).all(1)
    assert (total[below] > p.K).all()
    assert np.allclose(total[above], p.K)
    affine = (1 + p.scores / p.margin) / p.K
    assert np.allclose(proportional(Hinge(p.margin)(p.scores))[above], affine[above])


# A2


@holds_for(problems())
def test_ramp_calibration(p: Problem) -> None:
    ramp = Ramp(p.margin)(p.scores)
    assert at_most(dot(proportional(ramp), p.losses), dot(ramp, p.losses))
    assert at_most(dot(ramp, p.losses), margin_loss(p.scores, p.losses, p.margin))


@holds_for(problems())
def test_hinge_calibration(p: Problem) -> None:
    hinge = Hinge(p.margin)(p.scores)
    assert at_most(dot(proportional(hinge), p.losses), dot(hinge, p.losses) / p.K)


def test_calibration_is_false_for_signed_losses() -> None:
    s, signed = np.array([2.0, -1.0, -1.0]), np.array([-1.0, 0.0, 0.0])
    hinge = Hinge(0.5)(s)
    assert proportional(hinge) @ signed > hinge @ signed / 3

    mild = np.array([-0.6, 0.4, 0.2])  # φ of this sums to 2.4 > 1, so normalising shrinks a negative loss's share
    ramp = Ramp(1.0)(mild)
    assert proportional(ramp) @ np.array([0.0, -1.0, 0.0]) > ramp @ np.array([0.0, -1.0, 0.0])


def test_calibration_is_false_for_uncentred_scores() -> None:
    assert Hinge(1.0)([-5.0, -5.0]).sum() == 0.0  # nothing to normalise by


# A3


@holds_for(problems())
def test_ordering_of_the_surrogates(p: Problem) -> None:
    relative, ramp, hinge = (f(p.margin)(p.scores) for f in (RelativeMargin, Ramp, Hinge))
    assert at_most(relative, ramp)
    assert at_most(ramp, hinge)
    best = p.losses[np.arange(ROWS), p.scores.argmax(1)]
    assert at_most(best, dot(p.losses, relative))


@holds_for(problems())
def test_relative_margin_calibration(p: Problem) -> None:
    relative = RelativeMargin(p.margin)(p.scores)
    near_top = p.scores >= p.scores.max(1, keepdims=True) - p.margin
    assert at_most(dot(proportional(relative), p.losses), dot(relative, p.losses))
    assert at_most(dot(relative, p.losses), dot(p.losses, near_top))


@holds_for(problems())
def test_lipschitz_constants(p: Problem) -> None:
    moved = p.scores + centred(p.rng.standard_normal(p.scores.shape)) * p.margin
    distance = np.abs(moved - p.scores).max(1)
    for surrogate, constant in ((Hinge, 1.0), (Ramp, 1.0), (RelativeMargin, 2.0)):
        f = surrogate(p.margin)
        assert at_most(np.abs(f(moved) - f(p.scores)).max(1), constant * distance / p.margin)


def test_relative_margin_attains_two_over_gamma() -> None:
    f, s, step = RelativeMargin(2.0), np.array([0.5, -0.5]), np.array([-0.1, 0.1])
    assert np.abs(f(s + step) - f(s)).max() / 0.1 == pytest.approx(2 / 2.0)
    for one_sided in (Hinge(2.0), Ramp(2.0)):
        assert np.abs(one_sided(s + step) - one_sided(s)).max() / 0.1 == pytest.approx(1 / 2.0)


def test_relative_margin_slope_at_the_top_is_that_of_the_flat_side() -> None:
    assert RelativeMargin(0.5).slope([1.0, 0.75, 0.5]).tolist() == [0.0, 2.0, 0.0]


def test_margin_loss_counts_the_border() -> None:
    assert margin_loss([-1.0, 1.0, 0.0], [0.5, 0.25, 0.0], 1.0) == 0.75


def test_cost_sensitive_hinge_centres_raw_scores() -> None:
    assert cost_sensitive_hinge([5.0, 4.0, 3.0], 0, 1.0) == cost_sensitive_hinge([1.0, 0.0, -1.0], 0, 1.0) == 1.0


@pytest.mark.parametrize("label", [-1, 3, 1.7])
def test_labels_must_exist(label: float) -> None:
    for loss in (cost_sensitive_hinge, multiclass_hinge):
        with pytest.raises(ValueError, match="label"):
            loss([0.0, 0.0, 0.0], label, 1.0)


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan])
def test_margins_must_be_positive(margin: float) -> None:
    for call in (margin_loss, cost_sensitive_hinge, multiclass_hinge):
        with pytest.raises(ValueError, match="margin"):
            call([0.0, 0.0], 0 if call is not margin_loss else [0.0, 0.0], margin)
    with pytest.raises(ValueError, match="margin"):
        realizable_scores([0.0, 1.0], margin)
    with pytest.raises(ValueError, match="margin"):
        multiclass_margin(3, margin)


# A4


@holds_for(problems())
def test_upper_normaliser(p: Problem) -> None:
    largest = p.K * np.maximum(1.0, (1 + p.bound / p.margin) / 2)
    assert at_most(Hinge(p.margin)(p.scores).sum(1), largest)


def test_upper_normaliser_is_attained() -> None:
    assert Hinge(1.0)([3.0, -3.0]).sum() == 2 * (1 + 3.0) / 2


# A7


@holds_for(problems())
def test_realizable_scores(p: Problem) -> None:
    losses = np.round(p.losses, 1)  # makes ties
    s = realizable_scores(losses, p.margin)
    hinge = Hinge(p.margin)(s)
    least = losses.min(1)
    assert np.abs(s.sum(1)).max() < 1e-9 * p.margin * p.K
    assert np.allclose(dot(losses, hinge), p.K * least)
    assert np.allclose(p.K * dot(losses, proportional(hinge)), p.K * least)
    assert at_most(np.abs(s).max(1), (p.K - 1) * p.margin)


def test_realizable_scores_reach_k_minus_one_margins() -> None:
    assert np.abs(realizable_scores([0.0, 1.0, 1.0, 1.0], 0.5)).max() == (4 - 1) * 0.5


def test_the_printed_realizable_scores_are_false_under_ties() -> None:
    losses, margin = np.array([0.0, 0.0, 1.0]), 1.0
    printed = 3 * margin * (losses <= losses.min()) - margin
    assert printed.sum() != 0.0


# A8, A9


@holds_for(problems())
def test_zero_cost_sensitive_hinge_implies_zero_multiclass_hinge(p: Problem) -> None:
    label = p.rng.integers(p.K, size=ROWS)
    scores = p.scores.copy()
    scores[np.arange(ROWS), label] += p.K * (p.margin + p.scores.max(1) - p.scores.min(1)) * p.rng.uniform(0.5, 2, ROWS)
    zero = cost_sensitive_hinge(scores, label, p.margin) == 0
    assert (multiclass_hinge(scores, label, multiclass_margin(p.K, p.margin))[zero] < 1e-9).all()


def test_the_implication_has_cases() -> None:
    scores = np.array([[3.0, -1.5, -1.5]])
    assert cost_sensitive_hinge(scores, [0], 1.0) == 0.0
    assert multiclass_hinge(scores, [0], 3.0) == 0.0


@given(st.integers(3, 8), st.floats(-2, 2), st.floats(-2, 2))
def test_the_converse_is_false_from_three_actions(k: int, log_margin: float, log_other: float) -> None:
    c = 10.0**log_margin
    scores = np.zeros(k)
    scores[0], scores[2] = c, -c
    assert multiclass_hinge(scores, 0, c) == 0.0
    assert cost_sensitive_hinge(scores, 0, 10.0**log_other) >= 1.0 - 1e-9


@holds_for(problems())
def test_for_two_actions_the_two_hinges_agree(p: Problem) -> None:
    s = centred(p.scores[:, :2])
    label = p.rng.integers(2, size=ROWS)
    assert np.allclose(cost_sensitive_hinge(s, label, p.margin), multiclass_hinge(s, label, 2 * p.margin))


@holds_for(problems(2))
def test_for_two_actions_the_converse_counterexample_fails(p: Problem) -> None:
    s = centred(p.scores[:, :2])
    zero = multiclass_hinge(s, np.zeros(ROWS, int), p.margin) == 0
    other = p.margin * 10.0 ** p.rng.uniform(-2, 2)
    assert (cost_sensitive_hinge(s, np.zeros(ROWS, int), other)[zero] < 1.0).all()


@holds_for(problems())
def test_multiclass_hinge_grows_with_the_margin_where_the_label_wins(p: Problem) -> None:
    label = p.scores.argmax(1)
    small, large = (multiclass_hinge(p.scores, label, g) for g in (p.margin, 3 * p.margin))
    assert at_most(small, large)


def test_multiclass_hinge_does_not_grow_with_the_margin_where_the_label_loses() -> None:
    assert multiclass_hinge([-0.5, 0.5], 0, 2.0) == 1.5
    assert multiclass_hinge([-0.5, 0.5], 0, 1.0) == 2.0


# C1


@holds_for(problems())
def test_smoothed_hinge_bounds_and_derivatives(p: Problem) -> None:
    width = p.margin * 10.0 ** p.rng.uniform(-3, 1)
    smooth, hinge = SmoothedHinge(p.margin, width), Hinge(p.margin)
    s = np.clip(p.scores, -30 * p.margin, 30 * p.margin)
    assert at_most(hinge(s), smooth(s))
    assert at_most(smooth(s) - hinge(s), width / (p.margin * math.sqrt(2 * math.pi)))
    assert at_most(smooth.curvature(s), 1 / (width * p.margin * math.sqrt(2 * math.pi)))
    h = 1e-4 * width
    assert np.allclose((smooth(s + h) - smooth(s - h)) / (2 * h), smooth.slope(s), rtol=1e-5, atol=1e-7 / p.margin)
    numeric = (smooth.slope(s + h) - smooth.slope(s - h)) / (2 * h)
    assert np.allclose(numeric, smooth.curvature(s), rtol=1e-4, atol=1e-6 / (width * p.margin))


@pytest.mark.parametrize("score", [-3.0, -1.0, -0.4, 0.0, 2.0])
@pytest.mark.parametrize("width", [0.05, 0.5, 3.0])
def test_smoothed_hinge_is_the_gaussian_average_of_the_hinge(score: float, width: float) -> None:
    margin = 0.7
    low = max(-margin - score, -12 * width)  # the hinge is 0 below
    value, error = (
        integrate.quad(
            lambda z: float(Hinge(margin)(score + z)) * stats.norm.pdf(z, scale=width), low, 12 * width, epsabs=1e-12
        )
        if low < 12 * width
        else (0.0, 0.0)
    )
    assert SmoothedHinge(margin, width)(score) == pytest.approx(value, abs=1e-8 + error)


def test_smoothed_hinge_of_linear_scores_has_that_gradient_and_hessian() -> None:
    """∇ E ψ(<x, θ+Z>/·) = N(v/s) x/γ and ∇² = n(v/s)/s x xᵀ/γ², with s = u‖x‖/γ, by finite differences in θ."""
    rng = np.random.default_rng(0)
    x, theta, u, margin = rng.standard_normal(4), rng.standard_normal(4), 0.3, 0.5
    f = SmoothedHinge(margin, u * float(np.linalg.norm(x)))
    steps = 1e-4 * np.eye(4)
    gradient = np.array([(f(x @ (theta + h)) - f(x @ (theta - h))) / 2e-4 for h in steps])
    assert np.allclose(gradient, f.slope(x @ theta) * x, atol=1e-6)
    hessian = np.array([(f.slope(x @ (theta + h)) - f.slope(x @ (theta - h))) / 2e-4 * x for h in steps])
    assert np.allclose(hessian, f.curvature(x @ theta) * np.outer(x, x), atol=1e-5)
    largest = np.linalg.eigvalsh(f.curvature(x @ theta) * np.outer(x, x)).max()
    assert largest <= np.linalg.norm(x) / (u * margin * math.sqrt(2 * math.pi)) + 1e-12


def test_smoothed_hinge_vanishes_at_minus_infinity() -> None:
    assert SmoothedHinge(0.5, 0.1)(-np.inf) == 0.0


def test_smoothing_the_parameters_is_smoothing_the_score() -> None:
    """E ψ(<x, θ + Z>) with Z ~ N(0, u² I) is the smoothed hinge of width u‖x‖; 400,000 draws, error rate 1e-6."""
    rng = np.random.default_rng(0)
    x, theta, u, margin = rng.standard_normal(6), 0.5 * rng.standard_normal(6), 0.3, 0.5
    draws = Hinge(margin)((theta + u * rng.standard_normal((400_000, 6))) @ x)
    closed = SmoothedHinge(margin, u * float(np.linalg.norm(x)))(x @ theta)
    standard_error = draws.std() / math.sqrt(len(draws))
    assert abs(draws.mean() - closed) < 5 * standard_error
    without_norm = SmoothedHinge(margin, u)(x @ theta)  # negative control: the wrong width is caught
    assert abs(draws.mean() - without_norm) > 5 * standard_error
