"""Twins of the kernels of exponential weights: all regressors at once, in double precision, without stretches."""

import numpy as np

from marginbandits.learners import finite_class, hedge
from marginbandits.learners.hinge_lmc import diagnostics
from marginbandits.projections import ball
from marginbandits.types import Array, Mask
from tests.naive.twin import Places, mask_of, pick, some, twin

Table = finite_class.Table
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


@twin(finite_class.linear_scores, _products, tolerance=SINGLE)
def linear(table: Table, rows: Table, shared: bool, scores: Table) -> None:
    for a in range(len(scores)):
        scores[a] = rows[a if shared else 0].astype(float) @ table[0 if shared else a]


def _rows(rng: np.random.Generator) -> tuple[Array, bool]:
    scale = pick(rng, 0.0, 1e-200, 0.3, 1.0, 1e3, 1e200)
    return scale * some(rng, pick(rng, 1, 3), pick(rng, 1, 4)), pick(rng, True, False)


@twin(finite_class._shortened, _rows, tolerance=SINGLE)
def shortened(rows: Array, centred: bool) -> Array:
    short = ball(rows, 1.0)
    return np.asarray(short - short.mean(0) * centred)


def values_of(scores: Table, kind: int, margin: float, mask: Mask) -> Array:
    """Every action's value under every regressor, in the game of available actions."""
    raw = scores.astype(float)
    gap, s = raw - raw[mask].max(0), raw - (0.0 if mask.all() else raw[mask].mean(0))
    return np.asarray(
        [
            np.clip(1 + s / margin, 0, 1),
            np.maximum(1 + s / margin, 0),
            np.maximum(1 + gap / margin, 0),
            gap == 0,
            np.maximum(raw + 1 / len(s), 0),
        ][kind],
        float,
    )


def levels_of(scores: Table, kind: int, mask: Mask) -> Table:
    """What the scores of every regressor count from."""
    available = scores[mask].astype(float)
    if kind in (2, 3):
        return np.asarray(available.max(0), np.float32)
    return np.asarray(available.mean(0) * (kind != 4 and not mask.all()), np.float32)


def _masked(rng: np.random.Generator) -> tuple[Table, int, int, Mask, Table]:
    scores = _scores(rng)
    start = int(rng.integers(scores.shape[1]))
    size = int(rng.integers(1, scores.shape[1] - start + 1))
    return scores, start, pick(rng, 0, 1, 2, 3, 4), mask_of(rng, len(scores)), np.empty(size, np.float32)


@twin(hedge._levels, _masked, tolerance=SINGLE)
def levels(scores: Table, start: int, kind: int, mask: Mask, level: Table) -> None:
    level[:] = levels_of(scores[:, start : start + len(level)], kind, mask)


def _to_fill(rng: np.random.Generator) -> tuple[Table, int, int, float, Mask, Table, Table, Table]:
    scores, start, kind, mask, level = _masked(rng)
    levels(scores, start, kind, mask, level)
    room = np.zeros((len(scores) + 2, scores.shape[1]), np.float32)
    return scores, start, kind, pick(rng, 1.0, 2.5), mask, level, room, np.empty_like(level)


@twin(hedge._fill, _to_fill, tolerance=SINGLE)
def fill(
    scores: Table, start: int, kind: int, inverse: float, mask: Mask, level: Table, room: Table, total: Table
) -> None:
    values = values_of(scores[:, start : start + len(total)], kind, 1 / inverse, mask)
    room[: len(scores), : len(total)][mask] = values[mask]
    total[:] = values[mask].sum(0)


def _stretch(rng: np.random.Generator) -> tuple[Table, int, int, int, float, Table, Table]:
    scores, start, kind, inverse, _, level, _, out = _to_fill(rng)
    levels(scores, start, kind, np.ones(len(scores), bool), level)
    return scores, int(rng.integers(len(scores))), start, kind, inverse, level, out


@twin(hedge._surrogate, _stretch, tolerance=SINGLE)
def surrogate(scores: Table, a: int, start: int, kind: int, inverse: float, level: Table, out: Table) -> None:
    stretch = scores[:, start : start + len(out)]
    out[:] = values_of(stretch, kind, 1 / inverse, np.ones(len(scores), bool))[a]


def _mixture(rng: np.random.Generator) -> tuple[Table, Array, Table, int, Mask, Table, Array]:
    scores, margins = _scores(rng), pick(rng, np.array([0.5]), np.array([0.3, 1.25])).astype(np.float32)
    K, N = scores.shape
    q = rng.dirichlet(np.ones(len(margins) * N)).reshape(len(margins), N)
    kind, mask = pick(rng, 0, 1, 2, 3, 4), mask_of(rng, K)
    return scores, q, margins, kind, mask, np.empty((K + 2, N), np.float32), np.zeros(K)


@twin(hedge.average, _mixture, tolerance=SINGLE, scratch=["room"])
def average(scores: Table, q: Array, margins: Table, kind: int, mask: Mask, room: Table, law: Array) -> None:
    for share, margin in zip(q, margins.tolist(), strict=True):
        values = values_of(scores, kind, margin, mask) * mask[:, None]
        values[:, ~values.any(0)] = mask[:, None]
        law += (values / values.sum(0)) @ share


def _charged(rng: np.random.Generator) -> tuple[Table, Table, int, Mask, int, float, float, Table, Array]:
    scores, q, margins, kind, mask, room, _ = _mixture(rng)
    action, estimate = int(rng.choice(np.flatnonzero(mask))), pick(rng, 0.0, 0.4, 90.0)
    return scores, margins, kind, mask, action, estimate, pick(rng, 50.0, 1e9), room, np.abs(some(rng, *q.shape))


@twin(hedge.charge, _charged, tolerance=SINGLE, scratch=["room"])
def charge(
    scores: Table,
    margins: Table,
    kind: int,
    mask: Mask,
    action: int,
    estimate: float,
    farthest: float,
    room: Table,
    cost: Array,
) -> None:
    for own, margin in zip(cost, margins.tolist(), strict=True):
        values = values_of(scores, kind, margin, mask)
        if kind in (3, 4):
            values[:, ~values[mask].any(0)] = 1.0
            values /= values[mask].sum(0)
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
