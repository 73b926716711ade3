"""Twins of ridge regression and its factor, and of learners that update in place."""

import numpy as np
from scipy.special import logsumexp

from marginbandits import factors
from marginbandits.experts import linear
from marginbandits.learners.baselines import linucb
from marginbandits.oracles import ridge
from marginbandits.types import Array, Mask
from tests.naive.laws import greedy_each
from tests.naive.twin import Places, layout, pick, places, row_of, some, spans, twin


def _width(rng: np.random.Generator) -> int:
    return int(pick(rng, 1, 2, 3, 4, 5, 9))


def _pair(rng: np.random.Generator) -> tuple[Array, Array]:
    d = pick(rng, 0, _width(rng))
    return some(rng, d), some(rng, d)


@twin(factors.dot, _pair)
def dot(weights: Array, row: Array) -> float:
    return float(weights @ row)


def _factor(rng: np.random.Generator, d: int) -> Array:
    return np.tril(some(rng, d, d), -1) + np.diag(rng.uniform(0.5, 2.0, d))


def _factor_and_row(rng: np.random.Generator) -> tuple[Array, Array]:
    d = _width(rng)
    return _factor(rng, d), some(rng, d)


@twin(factors.square_norm, _factor_and_row)
def square_norm(block: Array, row: Array) -> float:
    return float(((block @ row) ** 2).sum())


def _widened(rows: Array) -> Array:
    """Rows that go on in zeros up to a multiple of eight."""
    return np.pad(rows, [*[(0, 0)] * (rows.ndim - 1), (0, -rows.shape[-1] % 8)])


def _to_update(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    d = pick(rng, _width(rng), 12, 21)
    factor, row = _factor(rng, d) / d, some(rng, d)
    if rng.random() < 0.5:
        factor, row = _widened(factor), _widened(row)
    return factor, row, np.zeros(len(row)), np.zeros(factor.shape)


@twin(factors.carlson, _to_update, tolerance=1e-7)
def carlson(factor: Array, row: Array, gain: Array, kept: Array) -> float:
    """By Sherman-Morrison; the lower C with CᵀC = S is Cholesky's factor of S read backwards."""
    d = len(factor)
    kept[:d] = factor
    S = factor[:, :d].T @ factor[:, :d]
    variance = float(row[:d] @ S @ row[:d])
    S = S - np.outer(S @ row[:d], S @ row[:d]) / (1 + variance)
    gain[:d] = S @ row[:d]
    factor[:, :d] = np.linalg.cholesky(S[::-1, ::-1])[::-1, ::-1].T
    return variance


def _four_rows(rng: np.random.Generator) -> tuple[Array, int, Array]:
    factor, row, _, _ = _to_update(rng)
    while len(factor) < 4:
        factor, row, _, _ = _to_update(rng)
    return factor, int(rng.integers(len(factor) - 3)), row


@twin(factors._four, _four_rows)
def four(factor: Array, i: int, row: Array) -> Array:
    return factor[i : i + 4] @ row


def _models(rng: np.random.Generator) -> tuple[Array, Array, bool, Places, Mask]:
    """Factors with θ below each, rows and the layout of a batch."""
    shared, d = pick(rng, True, False), _width(rng)
    starts, mask = layout(rng, shared)
    blocks = 1 if shared else 4
    factor = np.stack([_factor(rng, d) for _ in range(blocks)])
    models = np.concatenate([factor, some(rng, blocks, 1, d)], axis=1)
    return models, some(rng, len(mask) if shared else len(starts) - 1, d), shared, starts, mask


def _predictions(rng: np.random.Generator) -> tuple[Array, Array, bool, Places, Array]:
    models, rows, shared, starts, mask = _models(rng)
    return models, rows, shared, starts, np.empty(len(mask))


@twin(ridge.predict, _predictions)
def predict(models: Array, rows: Array, shared: bool, starts: Places, out: Array) -> None:
    for i, place, block in places(starts, shared):
        out[place] = models[block, -1] @ row_of(rows, shared, i, place)


@twin(ridge._variance, _predictions)
def variance(models: Array, rows: Array, shared: bool, starts: Places, out: Array) -> None:
    for i, place, block in places(starts, shared):
        out[place] = square_norm(models[block, :-1], row_of(rows, shared, i, place))


Observed = tuple[Array, Array, int, float, Array, Places, Array, int]


def _blocks(rng: np.random.Generator) -> tuple[Array, Array, Places, Array]:
    """Models, and what is kept of an observation: blocks as they were, which they are, and room to work in."""
    d, blocks = _width(rng), pick(rng, 1, 3)
    factor = np.stack([_factor(rng, d) for _ in range(blocks)])
    models = np.concatenate([factor, some(rng, blocks, 1, d)], axis=1)
    models = pick(rng, models, _widened(models))
    return models, np.zeros(models.shape), np.zeros(blocks + 2, np.int64), np.zeros(2 * models.shape[2] + 1)


def _one_block(rng: np.random.Generator) -> tuple[Array, Array, int, float, float, Array, Places, Array]:
    models, kept, changed, room = _blocks(rng)
    block, weight, pull = int(rng.integers(len(models))), pick(rng, 1.0, 0.3), float(rng.standard_normal())
    return models, some(rng, models.shape[1] - 1), block, weight, pull, kept, changed, room


@twin(ridge._step, _one_block, tolerance=1e-7)
def step(
    models: Array, row: Array, block: int, weight: float, pull: float, kept: Array, changed: Places, room: Array
) -> None:
    """One observation of √w z, whose residual moves θ by A⁻¹z times the pull."""
    model = models[block]
    gain, scaled = np.zeros((2, model.shape[1]))
    scaled[: len(row)] = weight**0.5 * row
    n = int(changed[1])
    kept[n, -1] = model[-1]
    changed[1], changed[2 + n] = n + 1, block
    spread = carlson(model[:-1], scaled, gain, kept[n] if changed[0] >= 0 else np.zeros(model.shape))
    model[-1] += gain * pull / weight**0.5
    room[:] = [*gain, *scaled, spread]


def _one_model(rng: np.random.Generator) -> tuple[Array, Array, float, float, Array, Array]:
    models, row, block, weight, pull, kept, _, room = _one_block(rng)
    return models[block], row, weight, pull, room, pick(rng, kept[0], np.zeros((0, 0)))


@twin(ridge.observe, _one_model, tolerance=1e-7)
def observe_row(model: Array, row: Array, weight: float, pull: float, room: Array, kept: Array) -> None:
    before = np.zeros((1, *model.shape))
    step(model[None], row, 0, weight, pull, before, np.zeros(3, np.int64), room)
    if len(kept):
        kept[:-1] = before[0, :-1]


def _observation(rng: np.random.Generator) -> Observed:
    models, kept, changed, room = _blocks(rng)
    row, block = some(rng, models.shape[1] - 1), int(rng.integers(len(models)))
    return models, row, block, float(rng.standard_normal()), kept, changed, room, 17


@twin(ridge.learn_row, _observation, tolerance=1e-7)
def observe(
    models: Array, row: Array, block: int, target: float, kept: Array, changed: Places, room: Array, stamp: int
) -> None:
    changed[:2] = stamp, 0
    step(models, row, block, 1.0, target - models[block, -1, : len(row)] @ row, kept, changed, room)


def _several(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Array, Places, Array, int]:
    models, kept, changed, room = _blocks(rng)
    weights = rng.random(len(models)) * (rng.random(len(models)) < 0.7)
    return models, some(rng, models.shape[1] - 1), weights, some(rng, len(models)), kept, changed, room, 17


@twin(ridge._step_each, _several, tolerance=1e-7)
def step_each(
    models: Array, row: Array, weights: Array, pulls: Array, kept: Array, changed: Places, room: Array, stamp: int
) -> None:
    changed[:2] = stamp, 0
    for block in np.flatnonzero(weights):
        step(models, row, int(block), float(weights[block]), float(pulls[block]), kept, changed, room)


def _scores(rng: np.random.Generator) -> tuple[Array, Places]:
    starts = layout(rng, shared=True)[0]
    return 30.0 * some(rng, int(starts[-1])), starts


@twin(linear._softmax, _scores)
def softmax(scores: Array, starts: Places) -> None:
    for span in spans(starts):
        scores[span] = np.exp(scores[span] - logsumexp(scores[span]))


def _ucb(rng: np.random.Generator) -> tuple[Array, Array, bool, Places, float, Mask, Array]:
    models, rows, shared, starts, mask = _models(rng)
    if rng.random() < 0.2:
        models[0, -1, 0] = np.nan
    return models, rows, shared, starts, pick(rng, 0.0, 0.7), mask, np.empty(len(mask))


@twin(linucb._play, _ucb)
def play(models: Array, rows: Array, shared: bool, starts: Places, alpha: float, mask: Mask, laws: Array) -> bool:
    bounds, width = np.empty(len(mask)), np.empty(len(mask))
    predict(models, rows, shared, starts, bounds)
    variance(models, rows, shared, starts, width)
    # Equal rows tie exactly in the kernel; here only up to the order of their sums.
    return bool(greedy_each(np.round(bounds + alpha * np.sqrt(width), 9), starts, mask, laws))
