"""What every surrogate promises: non-negative, calibrated, with the slope it says it has."""

from collections.abc import Callable
from typing import Any

import numpy as np

from marginbandits.checks.common import check_parameters, expect
from marginbandits.types import Surrogate
from marginbandits.validation import validated

__all__ = ["check_surrogate"]


@validated
def check_surrogate(surrogate: Callable[..., Any], **arguments: Any) -> None:
    """Check a surrogate class, built with `arguments` (a margin at least)."""
    check_parameters(surrogate, arguments)
    f = surrogate(**arguments)
    expect(isinstance(f, Surrogate), "it must have a margin, values and a slope")
    rng = np.random.default_rng(0)
    for k in (2, 3, 7):
        s = f.margin * rng.standard_normal((400, k)) * 10.0 ** rng.uniform(-1, 1, (400, 1))
        s -= s.mean(1, keepdims=True)
        losses = rng.random((400, k)) * (rng.random((400, k)) < 0.7)
        values = f(s)
        expect(values.shape == s.shape and (values >= 0).all(), "values must be non-negative, one per score")
        expect(np.array_equal(values, [f(row) for row in s]), "rows must give what the batch gives")
        paid = (losses * values).sum(1)
        played = (losses * values).sum(1) / values.sum(1)
        expect((played <= paid + 1e-12).all(), "calibration: playing in proportion must cost at most <loss, value>")
        best = losses[np.arange(400), s.argmax(1)]
        expect((best <= paid + 1e-12).all(), "calibration: the best-scored action must cost at most <loss, value>")
        _check_slope(f, s)
    expect(np.isnan(f(np.array([np.nan, 0.0]))).any(), "a NaN score must give a NaN value")
    expect(np.isnan(f.slope(np.array([np.nan, 0.0]))).any(), "a NaN score must give a NaN slope")


def _check_slope(f: Any, s: Any) -> None:
    """The slope is the numeric one from the flatter side, also at the kinks -γ and 0 (the largest score held fixed)."""
    s = s[np.abs(s).max(1) > 1e-3 * f.margin].copy()
    s[::3, 0] = -f.margin
    s[1::3] -= s[1::3, 1:].max(1, keepdims=True)  # the largest score is now exactly 0, so the relative kink is exact
    s[1::3, 0] = -f.margin
    s[2::3, 0] = 0.0
    top = s.max(1, keepdims=True)
    h = 1e-6 * f.margin
    for column in range(s.shape[1]):
        inner = top[:, 0] - s[:, column] > 2 * h
        up, down = s.copy(), s.copy()
        up[:, column] += h
        down[:, column] -= h
        right = (f(up) - f(s))[:, column] / h
        left = (f(s) - f(down))[:, column] / h
        flat = np.where(np.abs(left) < np.abs(right), left, right)
        gap = np.abs(f.slope(s)[:, column] - flat)[inner] * f.margin
        expect((gap < 1e-4).all(), f"the slope differs from the numeric one by {gap.max(initial=0.0)}/γ")
