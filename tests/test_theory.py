"""The paper's parameters and bounds: numbers at one setting, conditions by name, and what grows with what."""

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbandits.scores import Linear
from marginbandits.theory import (
    Bound,
    Setting,
    exponential_weights_rate,
    hinge_ew_ideal,
    hinge_lmc_corrected,
    hinge_lmc_printed,
    hinge_lmc_tuning,
)

EXAMPLE = Setting(dimension=10, n_actions=3, horizon=1000, margin=0.5)


def test_parameters_at_the_example() -> None:
    printed = hinge_lmc_tuning(EXAMPLE, version="printed")
    assert printed.eta == pytest.approx(0.0220, abs=5e-5)
    assert printed.mu == pytest.approx(0.0105, abs=5e-5)
    assert printed.cap == pytest.approx(31.6, abs=0.05)
    assert printed.accuracy == pytest.approx(0.0316, abs=5e-5)
    assert printed.ridge == pytest.approx(0.0040, abs=5e-5)
    assert printed.smoothing == pytest.approx(1.4e-5, rel=0.03)
    assert printed.log10_steps == pytest.approx(30, abs=0.01)
    assert printed.log10_step == -printed.log10_steps
    assert 10**printed.log10_draws == pytest.approx(4.4e12, rel=0.02)
    assert hinge_lmc_tuning(EXAMPLE, version="proof").log10_steps == pytest.approx(117, abs=0.5)
    corrected = hinge_lmc_tuning(EXAMPLE, version="corrected", cap=math.sqrt(1000))
    assert corrected.smoothing == pytest.approx(9.0e-7, rel=0.01)
    assert corrected.log10_steps == pytest.approx(139, abs=0.5)
    assert 10**corrected.log10_draws == pytest.approx(1.6e14, rel=0.02)
    assert hinge_lmc_tuning(EXAMPLE).cap == 95


def test_bounds_at_the_example() -> None:
    assert hinge_lmc_printed(EXAMPLE).value == pytest.approx(5339, abs=1)
    assert hinge_ew_ideal(EXAMPLE, sharp=False).value == pytest.approx(1301, abs=1)
    assert hinge_ew_ideal(EXAMPLE).value == pytest.approx(920, abs=1)
    t = hinge_lmc_tuning(EXAMPLE)
    corrected = hinge_lmc_corrected(EXAMPLE, eta=t.eta, mu=t.mu, cap=t.cap, accuracy=t.accuracy)
    assert sum(corrected.terms.values()) == pytest.approx(corrected.value)
    sharp = hinge_lmc_corrected(EXAMPLE, eta=t.eta, mu=t.mu, cap=t.cap, sharp=True)
    assert sharp.terms["variance"] == pytest.approx(t.eta / 3 * EXAMPLE.second_moment() * 1000)
    rough = hinge_lmc_corrected(EXAMPLE, eta=t.eta, mu=t.mu, cap=t.cap)
    assert rough.value - sharp.value == pytest.approx(0.5 * rough.terms["variance"])
    exact = hinge_lmc_corrected(EXAMPLE, eta=t.eta, mu=t.mu, cap=None)
    assert hinge_ew_ideal(EXAMPLE).value < exact.value < corrected.value


def test_the_proofs_steps_scale_as_the_digest_says() -> None:
    """T^36 d^18 up to the logarithm in η, which enters as its 12th power."""
    one = hinge_lmc_tuning(EXAMPLE, version="proof").log10_steps
    more = hinge_lmc_tuning(dataclasses.replace(EXAMPLE, horizon=10_000), version="proof").log10_steps
    logs = math.log(1e4 * 6) / math.log(1e3 * 6)
    assert more - one == pytest.approx(36 + 12 * math.log10(logs))


def test_parameters_stay_finite_far_out() -> None:
    far = Setting(dimension=10**6, n_actions=1000, horizon=10**12, margin=1e-6, radius=1e6, lipschitz=1e3, bound=1e9)
    for version in ("printed", "proof", "corrected"):
        assert all(map(math.isfinite, dataclasses.astuple(hinge_lmc_tuning(far, version=version))))


@settings(max_examples=200)
@given(
    st.integers(1, 50),
    st.integers(2, 20),
    st.integers(1, 10**6),
    st.floats(0.01, 1.0),
    st.floats(0.1, 10.0),
)
def test_the_ideal_rate_is_the_best_rate(d: int, K: int, T: int, margin: float, bound: float) -> None:
    setting = Setting(d, K, T, margin, bound=bound)
    sharp, plain = hinge_ew_ideal(setting), hinge_ew_ideal(setting, sharp=False)
    assert sharp.value <= plain.value * (1 + 1e-12)
    assert sharp.terms["class"] == pytest.approx(sharp.terms["variance"])
    assert exponential_weights_rate(setting) >= exponential_weights_rate(setting, sharp=False)
    exact = hinge_lmc_corrected(setting, eta=exponential_weights_rate(setting), mu=0.0, cap=None)
    assert exact.value >= sharp.value * (1 - 1e-12)
    capped = hinge_lmc_corrected(setting, eta=exponential_weights_rate(setting), mu=0.0, cap=10.0)
    assert capped.value > exact.value


def versions(setting: Setting) -> dict[str, Bound]:
    """Hinge-LMC's bound three times: as printed, as proved at the theorem's parameters, and with exact draws."""
    tuned = hinge_lmc_tuning(setting)
    corrected = hinge_lmc_corrected(setting, eta=tuned.eta, mu=tuned.mu, cap=tuned.cap, accuracy=tuned.accuracy)
    return {"printed": hinge_lmc_printed(setting), "corrected": corrected, "ideal": hinge_ew_ideal(setting)}


def class_and_variance(bound: Bound) -> float:
    return bound.terms["class"] + bound.terms["variance"]


@settings(max_examples=200)
@given(
    st.integers(1, 50),
    st.integers(2, 20),
    st.integers(4, 10**8),
    st.floats(0.01, 1.0),
    st.floats(1.0, 10.0),
    st.floats(1.01, 10.0),
)
def test_hinge_lmc_bounds_grow(d: int, K: int, T: int, margin: float, bound: float, more: float) -> None:
    here = Setting(d, K, T, margin, bound=bound)
    harder = {
        "d": dataclasses.replace(here, dimension=math.ceil(more * d)),
        "T": dataclasses.replace(here, horizon=math.ceil(more * T)),
        "1/γ": dataclasses.replace(here, margin=margin / more),
        "B": dataclasses.replace(here, bound=bound * more),
    }
    for name, setting in harder.items():
        for version, harder_bound in versions(setting).items():
            assert versions(here)[version].value <= harder_bound.value * (1 + 1e-9), (version, name)
    # K enters by its logarithm only: η falls as 1/K, and regret counts 1/K. What is left, 1/K, falls.
    for version, wider in versions(dataclasses.replace(here, n_actions=math.ceil(more * K))).items():
        assert class_and_variance(versions(here)[version]) <= class_and_variance(wider) * (1 + 1e-9), version


@settings(max_examples=100)
@given(st.integers(1, 50), st.integers(2, 20), st.integers(4, 10**8), st.floats(0.01, 1.0), st.floats(1.0, 10.0))
def test_hinge_lmc_bounds_scale_like_the_root_of_d_and_t(d: int, K: int, T: int, margin: float, bound: float) -> None:
    here, size = Setting(d, K, T, margin, bound=bound), 2 * T * K / margin
    four_d = hinge_ew_ideal(dataclasses.replace(here, dimension=4 * d))
    assert class_and_variance(four_d) == pytest.approx(2 * class_and_variance(hinge_ew_ideal(here)))
    four_t = hinge_ew_ideal(dataclasses.replace(here, horizon=4 * T))
    logs = math.sqrt(math.log(4 * size) / math.log(size))
    assert class_and_variance(four_t) == pytest.approx(2 * logs * class_and_variance(hinge_ew_ideal(here)))
    scaled = hinge_ew_ideal(dataclasses.replace(here, margin=3 * margin, bound=3 * bound, radius=3.0))
    assert scaled.value == pytest.approx(hinge_ew_ideal(here).value)  # nothing has a scale but B/γ and RL/γ


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"n_actions": 1}, "n_actions"),
        ({"margin": 0.0}, "margin"),
        ({"margin": -1.0}, "margin"),
        ({"horizon": 0}, "horizon"),
        ({"dimension": 0}, "dimension"),
        ({"radius": 0.5}, "radius"),
        ({"lipschitz": 0.0}, "lipschitz"),
        ({"bound": math.nan}, "bound"),
    ],
)
def test_senseless_settings_are_refused_by_name(change: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        dataclasses.replace(EXAMPLE, **change)  # type: ignore[arg-type]  # on purpose


def test_unmet_conditions_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="bound must be at least 1 and at least the margin"):
        hinge_lmc_printed(dataclasses.replace(EXAMPLE, bound=0.9))
    with pytest.raises(ValueError, match="bound must be at least 1 and at least the margin"):
        hinge_lmc_printed(dataclasses.replace(EXAMPLE, bound=1.5, margin=2.0))
    with pytest.raises(ValueError, match="margin must be below RLTK"):
        hinge_lmc_tuning(dataclasses.replace(EXAMPLE, margin=1e4))
    with pytest.raises(ValueError, match="mu must be below 1/K"):
        hinge_lmc_corrected(EXAMPLE, eta=0.1, mu=0.5, cap=None)
    with pytest.raises(ValueError, match="mu must be positive"):
        hinge_lmc_corrected(EXAMPLE, eta=0.1, mu=0.0, cap=None, accuracy=0.1)
    with pytest.raises(ValueError, match="version must be one of"):
        hinge_lmc_tuning(EXAMPLE, version="folklore")


def test_the_setting_of_a_score_class() -> None:
    scores = Linear(3, 4, radius=2.0)
    setting = Setting.of(scores, 100, 0.2)
    assert (setting.dimension, setting.bound, setting.radius) == (8, scores.bound, 2.0)
