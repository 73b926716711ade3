import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from marginbandits.policies import explore, greedy, largest_of_normals, proportional, sample, sharpened, uniform
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.types import Array
from tests import naive

values = arrays(float, st.integers(2, 8), elements=st.floats(0, 1e6, allow_subnormal=False))


@given(values, st.floats(0.1, 200), st.integers(0, 2**32 - 1))
def test_sharpened_agrees_with_its_twin(v: Array, q: float, seed: int) -> None:
    mask = np.random.default_rng(seed).random(len(v)) < 0.7
    mask[v.argmax()] = True
    if v.max() > 1e-200:
        assert np.allclose(sharpened(v, q, mask), naive.sharpened(v, q, mask))


@given(values, st.floats(0, 1, exclude_max=True))
def test_sample_agrees_with_its_twin_and_never_picks_the_impossible(v: Array, draw: float) -> None:
    p = proportional(v)
    action = sample(p, draw)
    assert p[action] > 0
    twin = naive.sample(p, draw)
    # The two accumulate in different order: they may differ only where the draw sits on a border.
    assert action == twin or abs(np.cumsum(p)[min(action, twin)] - draw) < 1e-9


def test_sample_inverts_the_distribution() -> None:
    p = np.array([0.2, 0.0, 0.5, 0.3, 0.0])
    draws = (np.arange(1000) + 0.5) / 1000
    share = np.bincount([sample(p, draw) for draw in draws], minlength=5) / 1000
    assert np.allclose(share, p, atol=1.1e-3)


def test_sample_does_not_need_a_normalised_distribution() -> None:
    assert [sample(np.array([2.0, 6.0]), draw) for draw in (0.2, 0.3, 0.9)] == [0, 1, 1]


def test_limits_of_sharpening() -> None:
    v = Hinge(1.0)([0.5, 0.25, -0.75])
    assert np.allclose(sharpened(v, 1.0), proportional(v))
    assert np.allclose(sharpened(v, 1e4), greedy(v))
    assert np.allclose(sharpened([1e300, 1e-300, 0.0], 1e6), [1, 0, 0])


def test_all_zero_values_play_uniformly_over_what_is_available() -> None:
    assert np.allclose(proportional(np.zeros(4), [True, False, True, False]), [0.5, 0, 0.5, 0])


def test_ties_are_shared() -> None:
    assert np.allclose(greedy([1.0, 3.0, 3.0]), [0, 0.5, 0.5])
    assert np.allclose(uniform(4), 0.25)


def test_rows_and_masks_broadcast() -> None:
    rows = Ramp(1.0)(np.random.default_rng(0).standard_normal((2, 3, 4)))
    assert np.array_equal(proportional(rows)[1, 2], proportional(rows[1, 2]))
    masks = np.ones((6, 4), bool)
    masks[:, 1] = False
    assert (proportional(rows, masks)[..., 1] == 0).all()
    assert np.allclose(explore(proportional(rows, masks), 0.1, masks).sum(-1), 1)


def test_explore_gives_every_available_action_its_floor() -> None:
    assert np.allclose(explore([1.0, 0.0, 0.0], 0.1), [0.8, 0.1, 0.1])
    assert np.allclose(explore([1.0, 0.0, 0.0], 0.5, [True, False, True]), [0.5, 0, 0.5])
    assert np.allclose(explore([0.3, 0.7], 0.5), 0.5)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: sharpened([1.0, 2.0], 0.0), "q"),
        (lambda: sharpened([1.0, -2.0], 1.0), "values"),
        (lambda: sharpened([1.0, np.nan], 1.0), "values"),
        (lambda: sharpened([1.0, np.inf], 1.0), "values"),
        (lambda: greedy([1.0, np.nan]), "scores"),
        (lambda: explore([0.5, 0.5], 0.6), "mu"),
        (lambda: explore([0.5, 0.5], -0.1), "mu"),
        (lambda: explore([0.5, 0.5], np.nan), "mu"),
        (lambda: greedy([1.0, 2.0], [False, False]), "available"),
        (lambda: greedy(np.zeros((3, 2)), np.ones((2, 2), bool)), "available"),
        (lambda: greedy(np.zeros((2, 2)), np.ones(4, bool)), "available"),
        (lambda: greedy(np.zeros(2), np.ones(3, bool)), "available"),
        (lambda: uniform(3, [0, 1, 2]), "available"),
        (lambda: greedy([1.0, np.nan], [True, False]), "scores"),
        (lambda: sharpened([1.0, -1.0], 1.0, [True, False]), "values"),
        (lambda: explore([0.5, 0.5], 0.505), "mu"),
        (lambda: explore([0.5, 0.5], 0.1, [True, False]), "distribution"),
        (lambda: explore([1.5, -0.5], 0.1), "distribution"),
        (lambda: explore([0.5, 0.4], 0.1), "distribution"),
        (lambda: sample(np.ones(2), 1.0), "draw"),
        (lambda: sample(np.ones(2), -0.1), "draw"),
        (lambda: sample(np.ones(2), np.nan), "draw"),
        (lambda: sample(np.zeros(3), 0.5), "distribution"),
    ],
)
def test_bad_values_are_refused_by_name(call: object, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        call()  # type: ignore[operator]  # any callable


def test_two_actions_have_a_closed_form() -> None:
    law = largest_of_normals(np.array([0.3, -0.2]), np.array([0.5, 0.4]), np.ones(2, bool))
    assert law[0] == pytest.approx(stats.norm.cdf(0.5 / math.hypot(0.5, 0.4)), abs=1e-12)


def test_hopeless_and_certain_actions() -> None:
    law = largest_of_normals(np.array([0.0, 100.0, 0.0]), np.ones(3), np.ones(3, bool))
    assert np.array_equal(law, [0, 1, 0])
    certain = largest_of_normals(np.array([0.0, 1.0, 1.0]), np.zeros(3), np.ones(3, bool))
    assert np.array_equal(certain, [0, 0.5, 0.5])


def test_one_certain_action_among_uncertain_ones() -> None:
    law = largest_of_normals(np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.ones(3, bool))
    assert law.sum() == pytest.approx(1)
    assert law[1] == pytest.approx(stats.norm.cdf(1.0), abs=0.05)


@pytest.mark.parametrize(("ratio", "error"), [(4.0, 1e-13), (20.0, 1e-13), (100.0, 1e-13), (1e5, 1e-13)])
def test_uneven_deviations_stay_accurate(ratio: float, error: float) -> None:
    for gap in np.linspace(-3, 3, 25):
        law = largest_of_normals(np.array([gap, 0.0]), np.array([1.0, 1 / ratio]), np.ones(2, bool))
        assert abs(law[0] - stats.norm.cdf(gap / math.hypot(1.0, 1 / ratio))) < error


def test_many_uneven_deviations_agree_with_a_fine_quadrature() -> None:
    deviation = np.array([1.0, 1 / 60, 1 / 60, 1e-5])
    law = largest_of_normals(np.zeros(4), deviation, np.ones(4, bool))
    grid = np.unique(np.concatenate([np.linspace(-9, 9, 40_001) * scale for scale in deviation]))
    below = stats.norm.cdf(grid[:, None] / deviation)
    for a, scale in enumerate(deviation):
        others = np.prod(np.delete(below, a, axis=1), axis=1)
        exact = np.trapezoid(others * stats.norm.pdf(grid / scale) / scale, grid)
        assert abs(law[a] - exact) < 1e-6
