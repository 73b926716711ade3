"""The running-time formula against operations counted where Algorithms 1 and 2 can be run, and its powers."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory
from marginbandits.learners.hinge_lmc import faithful, from_theory
from marginbandits.samplers import projected_langevin
from marginbandits.types import Array

TOY: dict[str, Any] = {"n_features": 1, "n_actions": 2, "horizon": 4, "margin": 0.5}


def counted(monkeypatch: pytest.MonkeyPatch, seed: int, **more: Any) -> tuple[int, int]:
    """Draws of the sampler, and gradients computed for them, in T rounds that all cost 1."""
    calls, points = 0, 0

    def spy(gradient: Any, *args: Any, **given: Any) -> Array:
        nonlocal calls
        calls += 1

        def seen(rows: Array) -> Array:
            nonlocal points
            points += len(rows)
            return np.asarray(gradient(rows))

        return projected_langevin(seen, *args, **given)

    monkeypatch.setattr(faithful, "projected_langevin", spy)
    agent = from_theory(**TOY, weighting="geometric", sampler="langevin", cap="printed", seed=seed, **more)
    for _ in range(TOY["horizon"]):
        agent.learn([1.0], agent.act([1.0]), 1.0)
    return calls, points


def test_the_worst_case_is_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """N·m gradients for every draw exactly; M + 1 draws a round at most, and K + 1 on average, within 3 errors."""
    setting = dataclasses.replace(theory.Setting.of(mb.Linear(2, 1), 4, 0.5), bound=1.0)
    spent = theory.hinge_lmc_running_time(setting, version="printed")
    draws = []
    for seed in range(12):
        calls, points = counted(monkeypatch, seed)
        assert points == calls * round(10**spent.log10_draw)  # d = 1
        assert math.log10(points) <= spent.log10_worst
        draws.append(calls)
    error = float(np.std(draws, ddof=1)) / math.sqrt(len(draws))
    assert np.mean(draws) <= 4 * (2 + 1) + 3 * error
    few = counted(monkeypatch, 0, steps=32, outside_theory=True)  # the control: half the steps are not N of them
    assert few[1] != few[0] * round(10**spent.log10_draw)


@pytest.mark.parametrize(("version", "power"), [("printed", 10.5), ("corrected", None)])
def test_the_printed_power_of_t_is_half_short(version: str, power: float | None) -> None:
    """E11: T^{3/2} draws of T^9 gradients are T^{10.5}; with M fixed the printed formula has T^10."""

    def times(T: int) -> theory.RunningTime:
        return theory.hinge_lmc_running_time(theory.Setting(5, 3, T, 0.5), version=version)

    low, high = times(10**40), times(10**42)
    cap = 1.0  # M² is T, so the printed formula grows by one power more than it shows
    assert (high.log10_printed - low.log10_printed) / 2 == pytest.approx(10 + cap, abs=0.01)
    if power is not None:
        assert (high.log10_worst - low.log10_worst) / 2 == pytest.approx(power + cap, abs=0.01)
    assert high.log10_expected < high.log10_worst
