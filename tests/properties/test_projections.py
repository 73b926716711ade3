"""Projections are nearest points: inside, idempotent, non-expansive, at an obtuse angle to every other point."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbandits.projections import ball, box, simplex
from marginbandits.types import Array

SETS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Any]]] = {
    "ball": (lambda v: ball(v, 1.5), lambda p: np.linalg.norm(p, axis=-1) <= 1.5 * (1 + 1e-12)),
    "box": (lambda v: box(v, -0.5, 1.0), lambda p: ((p >= -0.5) & (p <= 1.0)).all(-1)),
    "simplex": (simplex, lambda p: (p >= 0).all(-1) & (np.abs(p.sum(-1) - 1) < 1e-9)),
}


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(-3, 3))
def test_projections_are_nearest_points(name: str, seed: int, d: int, scale: float) -> None:
    project, inside = SETS[name]
    v, w = 10.0**scale * np.random.default_rng(seed).standard_normal((2, 20, d))
    p, q = project(v), project(w)
    size = 1e-9 * (1 + np.abs(v).max() + np.abs(w).max())
    assert inside(p).all()
    assert np.allclose(project(p), p, atol=1e-12)
    assert (np.linalg.norm(p - q, axis=1) <= np.linalg.norm(v - w, axis=1) + size).all()
    assert (((v - p) * (q - p)).sum(1) <= size).all()


def test_huge_vectors_and_senseless_boxes() -> None:
    assert np.allclose(ball(np.full(4, 1e200), 1.0), 0.5)
    assert np.allclose(simplex([1e200, 0.0]), [1, 0])
    with pytest.raises(ValueError, match="low must not exceed high"):
        box([0.0], 1.0, 0.0)
