"""Random problems for the property tests: hypothesis draws the shape and a seed, NumPy fills a batch of rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbandits.surrogates import centred
from marginbandits.types import Array

ROWS = 100
EXAMPLES = 300
COUNTED: list[int] = []
"""Random cases of every property declared so far, so that a test can state the total."""

SCORE_KINDS = ("normal", "heavy", "ties", "one big", "zero", "at the kink")


@dataclass
class Problem:
    K: int
    margin: float
    scores: Array  # ROWS x K, each row sums to zero
    losses: Array  # ROWS x K, in [0, 1]
    rng: np.random.Generator

    @property
    def bound(self) -> Array:
        """B of each row alone: the sharpest the constants allow."""
        return np.asarray(np.abs(self.scores).max(1))


@st.composite
def problems(draw: st.DrawFn, least_actions: int = 2) -> Problem:
    K = draw(st.integers(least_actions, 8))
    margin = 10.0 ** draw(st.floats(-1.5, 1.0))
    scale = 10.0 ** draw(st.floats(-1.5, 1.5))
    kind = draw(st.sampled_from(SCORE_KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    raw = np.zeros((ROWS, K))
    if kind in ("normal", "at the kink"):
        raw = rng.standard_normal((ROWS, K))
    elif kind == "heavy":
        raw = rng.standard_cauchy((ROWS, K))
    elif kind == "ties":
        raw = rng.integers(-1, 2, (ROWS, K)).astype(float)
    elif kind == "one big":
        raw = np.eye(K)[rng.integers(K, size=ROWS)]
    scores = centred(margin * scale * raw)
    if kind == "at the kink":
        least = np.maximum(-scores.min(1, keepdims=True), 1e-12)
        scores *= margin / least
    losses = rng.random((ROWS, K)) * (rng.random((ROWS, K)) < draw(st.floats(0.1, 1.0)))
    if draw(st.booleans()):
        losses = (losses > 0.5).astype(float)
    return Problem(K, margin, scores, losses, rng)


def holds_for(
    strategy: st.SearchStrategy[Problem], rows: int = ROWS
) -> Callable[[Callable[[Problem], None]], Callable[[], None]]:
    """A property of `EXAMPLES` drawn problems, each a batch of `rows` random cases."""

    def decorate(test: Callable[[Problem], None]) -> Callable[[], None]:
        COUNTED.append(EXAMPLES * rows)
        return settings(max_examples=EXAMPLES)(given(strategy)(test))

    return decorate


def at_most(left: Array | float, right: Array | float) -> bool:
    """Left <= right up to rounding relative to the sizes involved."""
    slack = 1e-9 * (1.0 + np.abs(left) + np.abs(right))
    return bool((np.asarray(left) <= np.asarray(right) + slack).all())
