"""Twins of the kernels of exponential weights: all regressors at once, in double precision, without stretches."""

import numpy as np

from marginbandits.learners import exponential_weights as weights
from marginbandits.learners.hinge_lmc import diagnostics
from marginbandits.types import Array, Mask
from tests.naive.twin import Places, mask_of, pick, some, twin

Table = weights.Table
SINGLE = 2e-5
"""How near single precision comes to double, for numbers near 1."""


def _size(rng: np.random.Generator) -> int:
    return int(pick(rng, 1, 3, 40, 700))  # stretches have 512


def _scores(rng: np.random.Generator) -> Table:
    return some(rng, pick(rng, 1, 2, 4), _size(rng)).astype(np.float32)


def _products(rng: np.random.Generator) -> tuple[Table, Table, bool, Table]:
    shared, K, d, N = pick(rng, True, False), pick(rng, 1, 3), pick(rng, 1, 4), _size(rng)
    table, rows = some(rng, 1 if shared else K, d, N), some(rng, K if shared else 1, d)
    return table.astype(np.float32), rows.astype(np.float32), shared, np.empty((K, N), np.float32)


@twin(weights._linear, _products, tolerance=SINGLE)
def linear(table: Table, rows: Table, shared: bool, scores: Table) -> None:
    for a in range(len(scores)):
        scores[a] = rows[a if shared else 0].astype(float) @ table[0 if shared else a]


def values_of(scores: Table, kind: int, margin: float, mask: Mask) -> Array:
    """Every action's value under every regressor; what is relative is so to the best available action."""
    s = scores.astype(float)
    gap = s - s[mask].max(0)
    return np.asarray(
        [
            np.clip(1 + s / margin, 0, 1),
            np.maximum(1 + s / margin, 0),
            np.maximum(1 + gap / margin, 0),
            gap == 0,
            np.maximum(s + 1 / len(s), 0),
        ][kind],
        float,
    )


def _stretch(rng: np.random.Generator) -> tuple[Table, int, int, int, float, Table, Table]:
    scores = _scores(rng)
    K, N = scores.shape
    start = int(rng.integers(N))
    top = scores[:, start:].max(0)
    return scores, int(rng.integers(K)), start, pick(rng, 0, 1, 2, 3, 4), pick(rng, 1.0, 2.5), top, np.empty_like(top)


@twin(weights._surrogate, _stretch, tolerance=SINGLE)
def surrogate(scores: Table, a: int, start: int, kind: int, inverse: float, top: Table, out: Table) -> None:
    out[:] = values_of(scores[:, start:], kind, 1 / inverse, np.ones(len(scores), bool))[a]


def _masked(rng: np.random.Generator) -> tuple[Table, int, Mask, Table]:
    scores = _scores(rng)
    start = int(rng.integers(scores.shape[1]))
    size = int(rng.integers(1, scores.shape[1] - start + 1))
    return scores, start, mask_of(rng, len(scores)), np.empty(size, np.float32)


@twin(weights._largest, _masked)
def largest(scores: Table, start: int, mask: Mask, top: Table) -> None:
    top[:] = scores[mask, start : start + len(top)].max(0)


def _tied(rng: np.random.Generator) -> tuple[Table, int, Table, Table, Table]:
    scores, start, _, top = _masked(rng)
    largest(scores, start, np.ones(len(scores), bool), top)
    return scores, start, top, np.empty_like(top), rng.random(len(top)).astype(np.float32)


@twin(weights._share_ties, _tied, tolerance=SINGLE)
def share_ties(scores: Table, start: int, top: Table, ties: Table, values: Table) -> None:
    ties[:] = (scores[:, start : start + len(top)] == top).sum(0)
    values /= ties


def _mixture(rng: np.random.Generator) -> tuple[Table, Array, Table, int, Mask, Table, Array]:
    scores, margins = _scores(rng), pick(rng, np.array([0.5]), np.array([0.3, 1.25])).astype(np.float32)
    K, N = scores.shape
    q = rng.dirichlet(np.ones(len(margins) * N)).reshape(len(margins), N)
    kind, mask = pick(rng, 0, 1, 2, 3, 4), mask_of(rng, K)
    return scores, q, margins, kind, mask, np.empty((K + 2, N), np.float32), np.zeros(K)


@twin(weights._average, _mixture, tolerance=SINGLE, scratch=["room"])
def average(scores: Table, q: Array, margins: Table, kind: int, mask: Mask, room: Table, law: Array) -> None:
    for share, margin in zip(q, margins.tolist(), strict=True):
        values = values_of(scores, kind, margin, mask) * mask[:, None]
        values[:, ~values.any(0)] = mask[:, None]
        law += (values / values.sum(0)) @ share


def _charged(rng: np.random.Generator) -> tuple[Table, Table, int, int, float, float, Table, Array]:
    scores, q, margins, kind, _, room, _ = _mixture(rng)
    action, estimate = int(rng.integers(len(scores))), pick(rng, 0.0, 0.4, 90.0)
    return scores, margins, kind, action, estimate, pick(rng, 50.0, 1e9), room, np.abs(some(rng, *q.shape))


@twin(weights._charge, _charged, tolerance=SINGLE, scratch=["room"])
def charge(
    scores: Table, margins: Table, kind: int, action: int, estimate: float, farthest: float, room: Table, cost: Array
) -> None:
    for own, margin in zip(cost, margins.tolist(), strict=True):
        values = values_of(scores, kind, margin, np.ones(len(scores), bool))
        if kind == 3:
            values /= values.sum(0)
        own[:] = np.minimum(own + estimate * values[action], farthest)
    cost -= cost.min()


def _monitored(rng: np.random.Generator) -> tuple[object, ...]:
    n, width = 4, int(pick(rng, 1, 2, 4))
    at = int(pick(rng, 0, 1, 3, n))
    bins = np.zeros((n, 3))
    bins[:at] = some(rng, at, 3)
    bins[:at, 0] = width
    if at < n:
        bins[at, 0] = int(rng.integers(width))
    state, weights = np.array([at, width]), np.abs(some(rng, 5))
    return bins, state, weights, 0.5, 0.7, pick(rng, 1.0, 2.0, 9.0), np.zeros(3 * n + 8), 17


@twin(diagnostics.count, _monitored)
def monitored(
    bins: Array,
    state: Places,
    weights: Array,
    agreement: float,
    potential: float,
    weight: float,
    last: Array,
    stamp: int,
) -> None:
    last[:] = [*bins.ravel(), *state, *weights, stamp]
    at, width = state.tolist()
    if at == len(bins):
        merged = bins[0::2] + bins[1::2]
        bins[:] = [*merged, *np.zeros_like(merged)]
        at, width = len(merged), 2 * width
    bins[at] += 1.0, agreement, potential
    state[:] = at + (bins[at, 0] == width), width
    weights += 1.0, weight, weight**2, 0.0, weight > 2.0
    weights[3] = max(weights[3], weight)
