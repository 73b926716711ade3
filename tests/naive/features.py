"""Twins of the features' kernels, and of the one that reads contexts."""

import itertools
import math

import numpy as np

from marginbandits import contexts, sparse_rows
from marginbandits.features import fourier as fourier_features
from marginbandits.features import scaling, usual
from marginbandits.types import Array
from tests.naive.twin import Places, pick, some, twin


def _values(rng: np.random.Generator) -> tuple[Array, float]:
    rows = some(rng, pick(rng, 0, 1, 4), pick(rng, 1, 5))
    if rows.size and rng.random() < 0.6:
        rows.flat[rng.integers(rows.size)] = pick(rng, np.nan, np.inf, -np.inf, 1e9, -1e9)
    return rows, pick(rng, 1e6, 1e100)


@twin(contexts._first_bad, _values)
def first_bad(rows: Array, largest: float) -> int:
    bad = np.flatnonzero(~(np.abs(rows) <= largest))
    return int(bad[0]) if len(bad) else -1


def _compressed_rows(rng: np.random.Generator) -> tuple[Array, Places, Places, int, int]:
    """Two rows that are as they should be, or damaged in one place."""
    values, columns, starts = some(rng, 5) + 3.0, np.array([0, 2, 3, 1, 2]), np.array([0, 3, 5])
    damaged = pick(rng, values, columns, starts, values[:0])
    if len(damaged):
        damaged[rng.integers(len(damaged))] = pick(rng, 0, -1, 4, 9, 10**6)
    if rng.random() < 0.1:
        values[rng.integers(5)] = pick(rng, np.nan, np.inf, 1e101)
    return values[: pick(rng, 5, 5, 4)], columns[: pick(rng, 5, 5, 4)], starts[: pick(rng, 3, 3, 2)], 2, 4


@twin(sparse_rows.is_sound_row, lambda rng: (*_compressed_rows(rng)[:3], int(rng.integers(3)), 4))
def is_sound_row(values: Array, columns: Places, starts: Places, t: int, width: int) -> bool:
    if not (len(starts) > t + 1 and starts[0] == 0 <= starts[t] <= starts[t + 1] <= min(len(values), len(columns))):
        return False
    own, where = values[starts[t] : starts[t + 1]], columns[starts[t] : starts[t + 1]]
    numbers = (own != 0) & (np.abs(own) <= contexts.LARGEST)
    return bool(numbers.all() and (np.diff(where) > 0).all() and ((where >= 0) & (where < width)).all())


@twin(sparse_rows._is_sound, _compressed_rows)
def is_sound(values: Array, columns: Places, starts: Places, n: int, width: int) -> bool:
    whole = len(starts) == n + 1 and starts[-1] == len(values) == len(columns)
    return whole and all(is_sound_row(values, columns, starts, t, width) for t in range(n))


def _angles(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    n, q, m = pick(rng, 0, 1, 3), pick(rng, 1, 4), pick(rng, 1, 7)
    values = pick(rng, 1.0, 100.0) * some(rng, n, q, m)
    return values, rng.standard_normal((q, m)), rng.uniform(0.0, 2 * np.pi, m), np.empty((n, m))


@twin(fourier_features._fourier, _angles)
def fourier(values: Array, omega: Array, phase: Array, out: Array) -> None:
    out[:] = np.sqrt(2 / len(phase)) * np.cos((values * omega).sum(1) + phase)


@twin(fourier_features.cosines, lambda rng: (pick(rng, 1.0, 100.0) * some(rng, pick(rng, 1, 7)),))
def cosines(angles: Array) -> None:
    angles[:] = np.sqrt(2 / len(angles)) * np.cos(angles)


def _moments(rng: np.random.Generator, d: int, count: float) -> Array:
    """Mean, squares, scale, late mean, late squares, count; nothing before the first row."""
    moments = rng.standard_normal((6, d))
    moments[[1, 2, 4]] = rng.uniform(0.5, 3.0, (3, d)) * [[count], [1.0], [pick(rng, 1.0, 0.001)]]
    moments[1, rng.random(d) < 0.3] = 0.0
    moments[5] = count
    return moments if count else np.zeros((6, d))


def _sparse_rows(rng: np.random.Generator) -> tuple[Array, Places, Array, float, float]:
    d = pick(rng, 1, 6)
    columns = rng.integers(d, size=pick(rng, 0, 1, 8))
    moments = _moments(rng, d, 0.0)
    moments[5] = pick(rng, 0.0, 3.0, 8.0, 9.0, 12.0)
    moments[1] = moments[5] * rng.uniform(0.0, 2.0, d)
    return pick(rng, 1.0, 1e6, 1e-150) * some(rng, len(columns)), columns, moments, pick(rng, math.inf, 10.0), 3.0


@twin(scaling.learn_filled, _sparse_rows)
def learn_sparse(values: Array, columns: Places, moments: Array, limit: float, clip: float) -> None:
    for value, j in zip(values.tolist(), columns.tolist(), strict=True):
        count, square = moments[5, j], moments[1, j]
        if value == 0 or count >= limit:
            continue
        allowed = clip**2 * square / count if count >= clip**2 else math.inf
        count, square = count + 1, square + min(value**2, allowed)
        moments[[1, 2, 5], j] = square, math.sqrt(count / square) if square > 1e-200 else 0.0, count


Scaled = tuple[Array, Places, Places, Array, float, int, Array, Places, Places]


def _to_scale(rng: np.random.Generator) -> Scaled:
    n, d, bias = pick(rng, 0, 1, 8), pick(rng, 1, 6), pick(rng, False, True)
    starts = np.sort(np.r_[0, rng.integers(n + 1, size=pick(rng, 0, 2)), n])
    size = n + bias * (len(starts) - 1)
    values, columns, moments = 3 * some(rng, n), rng.integers(d, size=n), np.abs(some(rng, 6, d))
    room = np.zeros(size), np.zeros(size, np.int64), np.zeros(len(starts), np.int64)
    return values, columns, starts, moments, 2.0, d if bias else -1, *room


@twin(scaling.scale_filled, _to_scale)
def scale_sparse(
    values: Array,
    columns: Places,
    starts: Places,
    moments: Array,
    clip: float,
    bias: int,
    out: Array,
    filled: Places,
    ends: Places,
) -> None:
    found: list[tuple[float, int]] = []
    for i, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        own = [
            (float(np.clip(values[k] * moments[2, columns[k]], -clip, clip)), int(columns[k]))
            for k in range(start, end)
        ]
        own += [(1.0, bias)] if bias >= 0 else []
        found += [(value / math.sqrt(len(own)), column) for value, column in own]
        ends[i + 1] = len(found)
    out[:], filled[:] = np.array(found).reshape(-1, 2).T


def _dense_rows(rng: np.random.Generator) -> tuple[Array, Array, float, float, bool]:
    d, count = pick(rng, 1, 5), pick(rng, 0.0, 1.0, 7.0, 8.0, 9.0, 15.0, 60.0)
    rows = some(rng, pick(rng, 0, 1, 12), d) * pick(rng, 1.0, 1.0, 30.0)
    return rows, _moments(rng, d, count), pick(rng, math.inf, 10.0), pick(rng, 3.0, 1.5), pick(rng, False, True)


@twin(scaling.learn_moments, _dense_rows)
def learn(rows: Array, moments: Array, limit: float, clip: float, named: bool) -> None:
    """Row by row: clipped to what is believed, added to all rows and to the late half, which may replace them."""
    mean, square, scale, late_mean, late_square, counts = moments
    count = float(counts[0])
    for row in rows:
        if count >= limit:
            break
        half = 2.0 ** math.floor(math.log2(count)) if count >= 8 else 0.0
        x = row
        if count >= clip**2:
            reach = np.where(square > 1e-200, clip * np.sqrt(square / count), np.inf)
            x = np.clip(row, mean - reach, mean + reach)
        _add(x, mean, square, count)
        _add(x, late_mean, late_square, count - half)
        count += 1
        if count in (8, 2 * half):
            whole = late_square * count / (count - half)
            trusted = (late_square > 1e-200) & (clip**2 * whole < square)
            mean[trusted], square[trusted] = late_mean[trusted], whole[trusted]
            late_mean[:] = late_square[:] = 0.0
    d = int((square > 1e-200).sum()) if named else len(mean)
    scale[:] = [math.sqrt(count / (one * d)) if one > 1e-200 else 0.0 for one in square]
    counts[:] = count


def _add(x: Array, mean: Array, square: Array, n: float) -> None:
    """One more of n values whose mean and sum of squared deviations are these."""
    before = mean.copy()
    mean[:] = (n * before + x) / (n + 1)
    square += n * (mean - before) ** 2 + (x - mean) ** 2


def _standard_rows(rng: np.random.Generator) -> tuple[Array, Array, float, float, bool, Array]:
    rows, moments, _, clip, named = _dense_rows(rng)
    moments[2, rng.random(rows.shape[1]) < 0.3] = 0.0
    return rows, moments, clip, pick(rng, 1e100, 1.0), named, np.empty((len(rows), rows.shape[1] + pick(rng, 0, 1)))


@twin(scaling.standardise, _standard_rows)
def standardise(rows: Array, moments: Array, clip: float, largest: float, named: bool, out: Array) -> bool:
    d = rows.shape[1]
    unit = math.sqrt(max((moments[2] > 0).sum(), 1) if named else d)
    out[:, d:] = 1.0
    out[:, :d] = np.clip((rows - moments[0]) * moments[2] * unit, -clip, clip) / unit
    return bool((np.abs(rows) <= largest).all())


def _observed(rng: np.random.Generator) -> tuple[Array, Array, float, float, float, bool, Array, int, Array]:
    rows, moments, limit, clip, named = _dense_rows(rng)
    return (
        rows,
        moments,
        limit,
        clip,
        pick(rng, 1e100, 1.0),
        named,
        np.empty(moments.size + 1),
        5,
        np.empty((len(rows), rows.shape[1] + 1)),
    )


@twin(scaling.observe, _observed)
def observe(
    rows: Array,
    moments: Array,
    limit: float,
    clip: float,
    largest: float,
    named: bool,
    last: Array,
    stamp: int,
    out: Array,
) -> bool:
    if not (np.abs(rows) <= largest).all():
        return False
    last[:] = [*moments.ravel(), stamp]
    learn(rows, moments, limit, clip, named)
    return bool(standardise(rows, moments, clip, largest, named, out))


def _waves(rng: np.random.Generator, d: int) -> tuple[Places, Array, Array]:
    q, m = pick(rng, 1, 2), pick(rng, 1, 7)
    return rng.integers(d, size=(q, m)), rng.standard_normal((q, m)), rng.uniform(0.0, 2 * np.pi, m)


def _scaled_rows(rng: np.random.Generator) -> tuple[Places, Array, Array, Array]:
    d = pick(rng, 1, 5)
    waves = _waves(rng, d)
    return *waves, some(rng, pick(rng, 0, 1, 3), d + 1 + len(waves[2]))


@twin(usual.beside, _scaled_rows)
def beside(columns: Places, omega: Array, phase: Array, out: Array) -> None:
    m = len(phase)
    out[:, -m:] = np.sqrt(2 / m) * np.cos((out[:, columns] * omega).sum(1) + phase)


Waved = tuple[Array, Array, float, float, bool, Places, Array, Array, Array]


def _to_wave(rng: np.random.Generator) -> Waved:
    rows, moments, clip, largest, named, _ = _standard_rows(rng)
    waves = _waves(rng, rows.shape[1])
    return rows, moments, clip, largest, named, *waves, np.empty((len(rows), rows.shape[1] + 1 + len(waves[2])))


@twin(usual._transform, _to_wave)
def transform(
    rows: Array,
    moments: Array,
    clip: float,
    largest: float,
    named: bool,
    columns: Places,
    omega: Array,
    phase: Array,
    out: Array,
) -> bool:
    good = standardise(rows, moments, clip, largest, named, out[:, : rows.shape[1] + 1])
    beside(columns, omega, phase, out)
    return bool(good)


Learnt = tuple[Array, Array, float, float, float, bool, Array, int, Places, Array, Array, Array]


def _to_learn(rng: np.random.Generator) -> Learnt:
    rows, moments, limit, clip, largest, named, last, stamp, _ = _observed(rng)
    waves = _waves(rng, rows.shape[1])
    scales = moments, limit, clip, largest, named, last, stamp
    return rows, *scales, *waves, np.empty((len(rows), rows.shape[1] + 1 + len(waves[2])))


@twin(usual._observe, _to_learn)
def observe_usual(
    rows: Array,
    moments: Array,
    limit: float,
    clip: float,
    largest: float,
    named: bool,
    last: Array,
    stamp: int,
    columns: Places,
    omega: Array,
    phase: Array,
    out: Array,
) -> bool:
    good = observe(rows, moments, limit, clip, largest, named, last, stamp, out[:, : rows.shape[1] + 1])
    if good:
        beside(columns, omega, phase, out)
    return bool(good)
