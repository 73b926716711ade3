"""Twins of online regression: predictions, steps and the ranges they allow."""

import itertools
from typing import Any

import numpy as np
from scipy.optimize import brentq

from marginbandits.lanes import across
from marginbandits.oracles import every_regression, loss_ranges, online_regression
from marginbandits.types import Array
from tests.naive.regression import _width, predict
from tests.naive.twin import Places, layout, pick, places, some, twin


def _row(rng: np.random.Generator, d: int) -> tuple[Places, Array]:
    """A dense row, which may be shorter than there is room for, a sparse one, or one with nothing in it."""
    if rng.random() < 0.4:
        return np.empty(0, np.int64), _dense_row(rng, d)
    return _sparse_row(rng, d)


def _dense_row(rng: np.random.Generator, d: int) -> Array:
    return some(rng, int(rng.integers(1, d + 1)))


def _sparse_row(rng: np.random.Generator, d: int) -> tuple[Places, Array]:
    columns = np.flatnonzero(rng.random(d) < 0.6)
    return columns, some(rng, len(columns))


def _filled(columns: Places, values: Array, d: int) -> Array:
    x = np.zeros(d)
    x[columns if len(columns) else slice(len(values))] = values
    return x


def _weights_and_row(rng: np.random.Generator) -> tuple[Array, Places, Array]:
    d = _width(rng)
    return some(rng, d), *_row(rng, d)


@twin(online_regression.predict_row, _weights_and_row)
def predict_row(weights: Array, columns: Places, values: Array) -> float:
    return float(weights @ _filled(columns, values, len(weights)))


def _states(rng: np.random.Generator, *shape: int) -> Array:
    """Weights; squares and largest inputs are not negative, and 0 together; a multiple of eight columns."""
    shape = *shape[:-1], shape[-1] + -shape[-1] % 8
    state = some(rng, *shape)
    squares, largest = np.abs(some(rng, *shape[:-2], shape[-1])), rng.uniform(0.2, 2.0, (*shape[:-2], shape[-1]))
    state[..., 1, :], state[..., 2, :] = squares, largest * (squares > 0)
    state[..., 0, :] *= squares > 0
    return state


def _dense_batch(rng: np.random.Generator) -> tuple[Array, Array, bool, Places, Array]:
    shared, d = pick(rng, True, False), _width(rng)
    starts, mask = layout(rng, shared)
    rows = some(rng, len(mask) if shared else len(starts) - 1, d)
    return _states(rng, 1 if shared else 4, 3, d), rows, shared, starts, np.empty(len(mask))


def _compressed(rows: Array) -> tuple[Places, Array, Places]:
    ends = np.concatenate([[0], np.cumsum((rows != 0).sum(1))]).astype(np.int64)
    return np.nonzero(rows)[1], rows[rows != 0], ends


def _flat_batch(rng: np.random.Generator) -> tuple[Array, Places, Array, Places, bool, Places, Array]:
    states, rows, shared, starts, out = _dense_batch(rng)
    dense = np.empty(0, np.int64), rows.ravel(), np.arange(len(rows) + 1) * rows.shape[1]
    return states, *(dense if rng.random() < 0.5 else _compressed(rows)), shared, starts, out


@twin(online_regression.predict_all, _flat_batch)
def predict_all(
    states: Array, columns: Places, values: Array, ends: Places, shared: bool, starts: Places, out: Array
) -> None:
    whole = [_filled(columns[i:j], values[i:j], states.shape[2]) for i, j in itertools.pairwise(ends.tolist())]
    predict(states[:, :1], np.array(whole).reshape(-1, states.shape[2]), shared, starts, out)


def _flat_row(rng: np.random.Generator) -> tuple[Array, Places, Array, Array]:
    d = _width(rng)
    return _states(rng, 4, 3, d), *_row(rng, d), np.empty(4)


@twin(online_regression.predict_one, _flat_row)
def predict_one(states: Array, columns: Places, values: Array, out: Array) -> None:
    out[:] = states[:, 0] @ _filled(columns, values, states.shape[2])


def _move(rng: np.random.Generator) -> tuple[Array, float, float, float, float, float]:
    return rng.uniform(0.5, 9.0, 2), pick(rng, -1.0, 0.3), pick(rng, 0.3, 1.0, 50.0), *rng.uniform(0.1, 3.0, 2), 0.5


@twin(online_regression._step, _move)
def step_of(totals: Array, error: float, h: float, length: float, moved: float, rate: float) -> float:
    totals += [h, h * length]
    c = np.sqrt(totals[0] / totals[1])
    return float(error * (1 - np.exp(-2 * rate * h * c * moved)) / moved)


def _larger(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    state = _states(rng, 3, _width(rng))
    return state[0], state[1], state[2], pick(rng, 0.5, 3.0) * some(rng, state.shape[1])


@twin(online_regression._grow, _larger)
def grow(weights: Array, squares: Array, largest: Array, values: Array) -> None:
    grown = (np.abs(values) > largest) & (squares > 0)
    weights[grown] *= largest[grown] / np.abs(values[grown])
    largest[grown] = np.abs(values[grown])


def _lesson(rng: np.random.Generator) -> tuple[Array, Array, Array, Places, Array, float, float, float]:
    d = _width(rng)
    totals = pick(rng, np.zeros(2), rng.uniform(1.0, 9.0, 2))
    target, importance = pick(rng, 0.0, 0.4, 1.0, -2.0, 3.0), pick(rng, 0.0, 0.3, 1.0, 50.0)
    return _states(rng, 3, d), totals, np.array([0.0, 1.5]), *_sparse_row(rng, d), target, importance, 0.5


@twin(online_regression._learn_sparse, _lesson)
def learn(
    state: Array, totals: Array, span: Array, columns: Places, values: Array, target: float, h: float, rate: float
) -> None:
    x, (w, G, N) = _filled(columns, values, state.shape[1]), state
    span[:] = min(span[0], target), max(span[1], target)
    error = target - np.clip(w @ x, *span)
    if error == 0 or h == 0 or not x.any():
        return
    seen = x != 0
    G += 4 * h * error**2 * x**2
    w[seen] *= (N / np.maximum(N, np.abs(x), where=seen, out=np.ones_like(x)))[seen]
    N[seen] = np.maximum(N, np.abs(x))[seen]
    totals += [h, h * ((x[seen] / N[seen]) ** 2).sum()]
    s = np.sqrt(totals[0] / totals[1]) / (N[seen] * np.sqrt(G[seen]))
    q = (x[seen] ** 2 * s).sum()
    w[seen] += error * (1 - np.exp(-2 * rate * h * q)) / q * x[seen] * s


def _one_step(rng: np.random.Generator) -> tuple[object, ...]:
    d, blocks = _width(rng), pick(rng, 1, 3)
    states = np.stack([_states(rng, 3, d) for _ in range(blocks)])
    at, block, wide = int(rng.integers(2)), int(rng.integers(blocks)), states.shape[2]
    totals, span, rows = rng.uniform(1.0, 9.0, 2), np.array([0.0, 1.0]), some(rng, 2, d)
    target, importance = pick(rng, 0.0, 0.4, 1.0, 1.7), pick(rng, 1.0, 3.0)
    return (
        states,
        totals,
        span,
        rows,
        at,
        block,
        target,
        importance,
        0.5,
        np.zeros(2 * wide),
        np.zeros(3 * wide + 6),
        17,
    )


def _row_and_room(rng: np.random.Generator) -> tuple[Array, Array]:
    return _dense_row(rng, 16), some(rng, 32)


@twin(online_regression.widened, _row_and_room)
def widened(values: Array, work: Array) -> Array:
    n = len(values)
    if n % 8:
        work[: n + -n % 8] = [*values, *np.zeros(-n % 8)]
    return np.pad(values, (0, -n % 8))


def _dense_lesson(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, float, float, float, Array]:
    state, totals, span, _, _, target, importance, rate = _lesson(rng)
    return state, totals, span, _dense_row(rng, state.shape[1]), target, importance, rate, np.zeros(2 * state.shape[1])


@twin(online_regression._learn_dense, _dense_lesson)
def learn_dense(
    state: Array, totals: Array, span: Array, values: Array, target: float, h: float, rate: float, work: Array
) -> None:
    x = widened(values, work)
    near, wide = state[:, : len(x)], len(x)
    before = near[0] @ x
    learn(near, totals, span, np.empty(0, np.int64), x, target, h, rate)
    if h > 0 and target != np.clip(before, *span):
        work[wide : 2 * wide] = np.where(x != 0, 1.0 / (near[2] * np.sqrt(near[1])), 0.0)


def _any_lesson(rng: np.random.Generator) -> tuple[object, ...]:
    state, totals, span, _, _, target, importance, rate = _lesson(rng)
    return state, totals, span, *_row(rng, state.shape[1]), target, importance, rate, np.zeros(2 * state.shape[1])


@twin(online_regression.learn_row, _any_lesson)
def learn_row(
    state: Array,
    totals: Array,
    span: Array,
    columns: Places,
    values: Array,
    target: float,
    h: float,
    rate: float,
    work: Array,
) -> None:
    if len(values) > len(columns):
        learn_dense(state, totals, span, values, target, h, rate, work)
    else:
        learn(state, totals, span, columns, values, target, h, rate)


@twin(online_regression._learn_one, _one_step, tolerance=1e-7)
def learn_one(
    states: Array,
    totals: Array,
    span: Array,
    rows: Array,
    at: int,
    block: int,
    target: float,
    h: float,
    rate: float,
    work: Array,
    last: Array,
    stamp: int,
) -> None:
    last[:] = [*states[block].ravel(), *totals, *span, stamp, block]
    learn_dense(states[block], totals, span, rows[at], target, h, rate, work)


def together(states: Array) -> Array:
    """States of policies x actions, column by column."""
    P, blocks, planes, d = states.shape
    out = np.zeros((d, planes, across(P * blocks)))
    out[..., : P * blocks] = states.transpose(3, 2, 0, 1).reshape(d, planes, -1)
    return out


def apart(by_column: Array, P: int, blocks: int) -> Array:
    """The same, policy by policy; a view."""
    return by_column[..., : P * blocks].reshape(*by_column.shape[:2], P, blocks).transpose(2, 3, 1, 0)


def _policies(rng: np.random.Generator) -> tuple[Any, ...]:
    d = _width(rng)
    return together(_states(rng, pick(rng, 1, 2, 3), pick(rng, 1, 4, 5), 3, d)), *_sparse_row(rng, d)


def _predicting(rng: np.random.Generator) -> tuple[Any, ...]:
    by_column, *row = _policies(rng)
    return by_column, *row, np.empty(by_column.shape[2])


@twin(every_regression.predict_every, _predicting)
def predict_every(by_column: Array, columns: Places, values: Array, out: Array) -> None:
    out[:] = values @ by_column[columns, 0]


@twin(every_regression._planes, lambda rng: (_policies(rng)[0], 0))
def planes(by_column: Array, column: int) -> tuple[Array, Array, Array]:
    weights, squares, largest = by_column[column]
    return weights, squares, largest


def _growing(rng: np.random.Generator) -> tuple[Array, Places, Array, Array]:
    by_column, columns, values = _policies(rng)
    return by_column, columns, pick(rng, 0.5, 3.0) * values, np.abs(some(rng, by_column.shape[2]))


@twin(every_regression._grow_every, _growing)
def grow_every(by_column: Array, columns: Places, values: Array, gradients: Array) -> None:
    for column, x in zip(columns, np.abs(values), strict=True):
        weights, squares, largest = by_column[column]
        grown = (x > largest) & (gradients > 0) & (squares + gradients * x**2 > 0)
        weights[grown] *= largest[grown] / x
        largest[grown] = x


def _many_lessons(rng: np.random.Generator) -> tuple[Any, ...]:
    P, blocks, d = pick(rng, 1, 2, 3), pick(rng, 1, 4, 5), _width(rng)
    by_column, row = together(_states(rng, P, blocks, 3, d)), _sparse_row(rng, d)
    predicted = np.empty(by_column.shape[2])
    predict_every(by_column, *row, predicted)
    targets, importances = rng.choice([-2.0, 0.0, 0.4, 1.0, 3.0], (P, blocks)), rng.choice([0.0, 1.0, 9.0], (P, blocks))
    totals, span = pick(rng, np.zeros((P, 2)), rng.uniform(1.0, 9.0, (P, 2))), np.array([0.0, 1.5])
    return by_column, totals, span, *row, predicted, targets, importances, int(rng.integers(P)), 0.5


def _differing(rng: np.random.Generator) -> tuple[Any, ...]:
    by_column, _, span, _, _, *given, first, _ = _many_lessons(rng)
    return span, *given, first, *np.zeros((2, by_column.shape[2]))


@twin(every_regression._gradients, _differing)
def gradients_of(
    span: Array, predicted: Array, targets: Array, importances: Array, first: int, errors: Array, gradients: Array
) -> None:
    for i in np.roll(np.arange(targets.size), -first * targets.shape[1]):
        if importances.flat[i] > 0:
            span[:] = min(span[0], targets.flat[i]), max(span[1], targets.flat[i])
            errors[i] = targets.flat[i] - np.clip(predicted[i], *span)
            gradients[i] = 4 * errors[i] ** 2 * importances.flat[i]


@twin(every_regression.learn_every, _many_lessons)
def learn_every(
    by_column: Array,
    totals: Array,
    span: Array,
    columns: Places,
    values: Array,
    predicted: Array,
    targets: Array,
    importances: Array,
    first: int,
    rate: float,
) -> None:
    """One after another, as if each were alone."""
    P, blocks = targets.shape
    states = apart(by_column, P, blocks)
    for p in np.roll(np.arange(P), -first):
        for a in range(blocks):
            if importances[p, a] > 0:
                given = span, columns, values, float(targets[p, a]), float(importances[p, a]), rate
                learn(states[p, a], totals[p], *given)


def _question(rng: np.random.Generator) -> tuple[Array, Array, Places, Array, float, float, float]:
    d = _width(rng)
    return (
        _states(rng, 3, d),
        rng.uniform(1.0, 9.0, 2),
        *_row(rng, d),
        pick(rng, 1.0, 1.7),
        pick(rng, 1e-3, 0.1, 9.0),
        0.5,
    )


@twin(loss_ranges._reach, _question)
def reach(state: Array, totals: Array, columns: Places, values: Array, gap: float, delta: float, rate: float) -> float:
    """step·w for the w at which w (gap² - (gap - step·w)²) = delta, or the whole gap if that is cheaper."""
    x, (_, G, N) = _filled(columns, values, state.shape[1]), state
    x, G, N = x[x != 0], G[x != 0], np.maximum(N, np.abs(_filled(columns, values, state.shape[1])))[x != 0]
    if not len(x):
        return 0.0
    scale = np.sqrt((totals[0] + 1) / (totals[1] + ((x / N) ** 2).sum()))
    step = rate * scale * (x**2 / (N * np.sqrt(G + 4 * gap**2 * x**2))).sum()
    if gap / step * gap**2 <= delta:
        return gap
    return float(step * brentq(lambda w: w * (gap**2 - (gap - step * w) ** 2) - delta, 0.0, gap / step))


def _interval_of_row(rng: np.random.Generator) -> tuple[Array, Array, Places, Array, float, float, bool]:
    d = _width(rng)
    row, delta = _row(rng, d), pick(rng, 1e-3, 0.1)
    return _states(rng, 3, d), rng.uniform(1.0, 9.0, 2), *row, delta, 0.5, pick(rng, True, False)


@twin(loss_ranges._range, _interval_of_row)
def range_of(
    state: Array, totals: Array, columns: Places, values: Array, delta: float, rate: float, both: bool
) -> tuple[float, float]:
    predicted = predict_row(state[0], columns, values)
    down = reach(state, totals, columns, values, max(predicted, 0.0) + 1.0, delta, rate)
    up = reach(state, totals, columns, values, 2.0 - min(predicted, 1.0), delta, rate) if both else 0.0
    low = predicted if predicted < 0 else max(predicted - down, 0.0)
    return low, predicted if predicted > 1 else min(predicted + up, 1.0)


def _intervals_of_row(rng: np.random.Generator) -> tuple[object, ...]:
    _, totals, columns, values, delta, rate, both = _interval_of_row(rng)
    d = int(columns.max(initial=-1)) + 1 if len(columns) else max(len(values), 1)
    return _states(rng, 4, 3, d), totals, columns, values, delta, rate, np.empty(4), np.empty(4 if both else 0)


@twin(loss_ranges.range_one, _intervals_of_row)
def range_one(
    states: Array, totals: Array, columns: Places, values: Array, delta: float, rate: float, least: Array, most: Array
) -> None:
    for a, state in enumerate(states):
        least[a], high = range_of(state, totals, columns, values, delta, rate, True)
        most[a : a + 1] = high


def _interval(rng: np.random.Generator) -> tuple[object, ...]:
    states, columns, values, ends, shared, starts, out = _flat_batch(rng)
    totals = rng.uniform(1.0, 9.0, 2)
    return states, totals, columns, values, ends, shared, starts, pick(rng, 1e-3, 0.1), 0.5, out, np.empty_like(out)


@twin(loss_ranges.ranges, _interval)
def ranges(
    states: Array,
    totals: Array,
    columns: Places,
    values: Array,
    ends: Places,
    shared: bool,
    starts: Places,
    delta: float,
    rate: float,
    least: Array,
    most: Array,
) -> None:
    for i, place, block in places(starts, shared):
        at = slice(*ends[[place, place + 1]] if shared else ends[[i, i + 1]])
        row = columns[at] if len(columns) else columns, values[at]
        least[place], most[place] = range_of(states[block], totals, *row, delta, rate, True)
