"""What every score class promises: scores that sum to zero, and exact constants L, B, R."""

from typing import Annotated, Any

import numpy as np

from marginbandits.checks.common import expect
from marginbandits.types import ParametricScores, Scores
from marginbandits.validation import Integer, ListOf, validated

__all__ = ["check_scores"]


@validated
def check_scores(scores: Any, context_shape: Annotated[tuple[int, ...], ListOf(Integer(1, 10**6))]) -> None:
    """Check a score class on contexts of the given shape, (d,) or (K, d), whose rows have norm at most 1."""
    expect(isinstance(scores, Scores), "it must have n_actions and a bound")
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.standard_normal(context_shape)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        if isinstance(scores, ParametricScores):
            _check_parametric(scores, x, rng)
        else:
            _check_values(scores, scores.values(x))


def _check_values(scores: Any, values: Any) -> None:
    expect(values.shape[-1] == scores.n_actions, f"there must be {scores.n_actions} scores, got {values.shape}")
    expect(np.abs(values.sum(-1)).max() < 1e-9 * (1 + scores.bound), "scores must sum to zero")
    expect(np.abs(values).max() <= scores.bound * (1 + 1e-9), f"scores must not exceed B = {scores.bound}")


def _check_parametric(scores: Any, x: Any, rng: np.random.Generator) -> None:
    raw = scores.radius * rng.standard_normal((2, scores.dimension)) / np.sqrt(scores.dimension)
    raw *= rng.choice([0.1, 3.0], (2, 1))
    inside = scores.project(raw)
    expect((np.linalg.norm(inside, axis=1) <= scores.radius * (1 + 1e-12)).all(), "a projection must lie within R")
    expect(np.allclose(scores.project(inside), inside, rtol=1e-12, atol=0), "projecting twice must change nothing")
    moved = np.linalg.norm(inside[0] - inside[1])
    expect(moved <= np.linalg.norm(raw[0] - raw[1]) * (1 + 1e-12), "a projection must not move points apart")
    values = scores.values(inside, x)
    _check_values(scores, values)
    expect(np.allclose(values, [scores.values(one, x) for one in inside]), "particles together as one by one")
    gap = np.abs(values[0] - values[1]).max()
    expect(gap <= scores.lipschitz * moved * (1 + 1e-9), f"scores must be L = {scores.lipschitz}-Lipschitz")
    for action in range(scores.n_actions):
        linear = inside @ scores.gradient(x, action)
        expect(np.allclose(linear, values[:, action]), "the gradient must be that of the (linear) score")
