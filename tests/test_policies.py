import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from marginbandits.policies import explore, greedy, proportional, sample, sharpened, uniform
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
