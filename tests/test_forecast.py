"""The wait that finished tasks make likely."""

import numpy as np
import pytest

from marginbandits.experiments.forecast import Forecast


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_finds_power_and_scale_and_the_number_of_workers() -> None:
    """Two kinds, seconds c·size^1.5, two workers: what is left takes half the work."""
    sizes, scale = [10.0, 100.0, 1000.0], {"slow": 0.01, "fast": 0.001}
    tasks = [(kind, size) for size in sizes for _ in range(3) for kind in scale]
    clock = Clock()
    forecast = Forecast(tasks, clock=clock)
    for kind, size in tasks[:12]:
        seconds = scale[kind] * size**1.5
        clock.now += seconds / 2
        forecast.ended(kind, size, seconds)
    truth = sum(scale[kind] * size**1.5 for kind, size in tasks[12:]) / 2
    assert forecast.seconds_left() == pytest.approx(truth)
    assert (forecast.done, forecast.total) == (12, 18)


def test_compiling_once_does_not_spoil_it() -> None:
    clock = Clock()
    forecast = Forecast([("a", 1.0)] * 40, clock=clock)
    for seconds in (20.0, 1.0, 1.0, 1.0):
        clock.now += seconds
        forecast.ended("a", 1.0, seconds)
    assert forecast.seconds_left() == pytest.approx(36.0)


def test_who_fails_is_left_out_and_who_has_not_run_is_an_average_one() -> None:
    clock = Clock()
    forecast = Forecast([("bad", 1.0), ("good", 1.0), ("new", 1.0), ("bad", 1.0)], clock=clock)
    forecast.ended("bad", 1.0, None)
    assert forecast.seconds_left() is None
    clock.now = 4.0
    forecast.ended("good", 1.0, 4.0)
    assert forecast.seconds_left() == pytest.approx(4.0)


def test_a_resumed_run_knows_what_was_measured_before() -> None:
    clock = Clock()
    forecast = Forecast([("a", 2.0), ("b", 2.0)], [("a", 1.0, 1.0), ("a", 2.0, 4.0), ("b", 1.0, 3.0)], clock=clock)
    clock.now = 4.0
    forecast.ended("a", 2.0, 4.0)
    left = forecast.seconds_left()
    assert left is not None
    assert np.isclose(left, 12.0)
