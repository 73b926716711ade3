"""Twins of weights with a diagonal precision, of the logistic step on them, and of the ascent to a leader."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from marginbandits.learners.baselines import logistic_ts
from marginbandits.learners.hinge_lmc import wide as wide_hinge
from marginbandits.learners.smooth_ftl import wide
from marginbandits.oracles import diagonal, latest
from marginbandits.types import Array
from tests.naive.online_regression import _compressed, _dense_batch, _sparse_row
from tests.naive.regression import _width
from tests.naive.sampling import absorb
from tests.naive.twin import Places, pick, places, some, twin


def _share_of_row(rng: np.random.Generator) -> tuple[Array, float]:
    return pick(rng, 1.0, 1e-12) * some(rng, pick(rng, 0, _width(rng))), pick(rng, 0.0, 0.1)


@twin(diagonal.prior_of, _share_of_row, tolerance=1e-30)
def prior_of(values: Array, share: float) -> float:
    return share * max(float(np.mean(values**2)) if len(values) else 0.0, 1e-20)


def _diagonal(rng: np.random.Generator) -> tuple[object, ...]:
    states, rows, shared, starts, out = _dense_batch(rng)
    precision = rng.uniform(0.1, 3.0, states[:, 0].shape)
    columns, values, ends = _compressed(rows)
    row = values, columns, ends, shared, starts
    return states[:, 0], precision, pick(rng, 0.0, 0.1), *row, out, np.empty_like(out)


def _filled(rng: np.random.Generator, *before: int) -> tuple[Array, Array, Places, Array]:
    """Means and precisions, and a row that fills some of their columns."""
    d = _width(rng)
    columns, values = _sparse_row(rng, d)
    return some(rng, *before, d), rng.uniform(0.1, 3.0, (*before, d)), columns, values


def _to_score(rng: np.random.Generator) -> tuple[Array, Array, float, Places, Array]:
    mean, precision, columns, values = _filled(rng)
    return mean, precision, pick(rng, 0.0, 0.3), columns, values


@twin(diagonal._score, _to_score)
def score_of(mean: Array, precision: Array, prior: float, columns: Places, values: Array) -> tuple[float, float]:
    variance = (values**2 / (precision[columns] + prior)).sum()
    return float(mean[columns] @ values), float(np.sqrt(variance))


def _to_score_all(rng: np.random.Generator) -> tuple[object, ...]:
    mean, precision, columns, values = _filled(rng, 3)
    return mean, precision, pick(rng, 0.0, 0.1), columns, values, *np.empty((2, 3))


@twin(diagonal.score_one, _to_score_all)
def score_one(
    mean: Array, precision: Array, share: float, columns: Places, values: Array, means: Array, deviations: Array
) -> None:
    for block in range(len(means)):
        prior = prior_of(values, share)
        means[block], deviations[block] = score_of(mean[block], precision[block], prior, columns, values)


@twin(diagonal.score_all, _diagonal)
def diagonal_scores(
    mean: Array,
    precision: Array,
    share: float,
    values: Array,
    columns: Places,
    ends: Places,
    shared: bool,
    starts: Places,
    means: Array,
    deviations: Array,
) -> None:
    for i, place, block in places(starts, shared):
        at = slice(*ends[[place, place + 1]] if shared else ends[[i, i + 1]])
        z, own = values[at], columns[at]
        means[place] = mean[block, own] @ z
        deviations[place] = np.sqrt((z**2 / (precision[block, own] + prior_of(z, share))).sum())


def _logistic(rng: np.random.Generator) -> tuple[Array, Array, Array, float, float, bool]:
    d = _width(rng)
    row, reward = pick(rng, 1.0, 30.0) * some(rng, d), pick(rng, 0.0, 0.3, 1.0)
    return some(rng, d), rng.uniform(0.1, 3.0, d), row, reward, pick(rng, 0.0, 0.7), pick(rng, True, False)


@twin(logistic_ts._update, _logistic, tolerance=1e-7)
def logistic(mean: Array, precision: Array, row: Array, reward: float, prior: float, steady: bool) -> None:
    """C = r - σ(<mean, z> + c zᵀP⁻¹z), then one step along P⁻¹z, then the curvature where it ends, or at most."""
    score, spread = mean @ row, (row**2 / (precision + prior)).sum()
    c = brentq(lambda c: reward - expit(score + c * spread) - c, -1.0 - 1e-9, 1.0 + 1e-9, xtol=1e-13)
    sigma = expit(score + c * spread)
    mean += c * row / (precision + prior)
    precision += row**2 * (0.25 if steady else sigma * (1 - sigma))


def _filled_lesson(rng: np.random.Generator) -> tuple[Array, Array, Places, Array, float, float]:
    return *_filled(rng), pick(rng, 0.0, 0.3, 1.0), pick(rng, 0.0, 0.1)


@twin(logistic_ts._update_filled, _filled_lesson, tolerance=1e-7)
def logistic_filled(
    means: Array, precisions: Array, columns: Places, values: Array, reward: float, share: float
) -> None:
    mean, precision = means[columns], precisions[columns]
    logistic(mean, precision, values, reward, prior_of(values, share), True)
    means[columns], precisions[columns] = mean, precision


def _hinge_lesson(rng: np.random.Generator) -> tuple[Array, Array, Places, Array, float, float, bool]:
    return *_filled(rng), pick(rng, 0.0, 0.3, 1.0), *pick(rng, (0.6, True), (50.0, False))


@twin(wide_hinge._absorb_filled, _hinge_lesson)
def absorb_filled(
    means: Array, precisions: Array, columns: Places, values: Array, loss: float, margin: float, squared: bool
) -> None:
    """As a particle without noise is moved."""
    mean, towards = means[columns][None], values / precisions[columns]
    variance = float(values @ towards)
    absorb(mean, margin, squared, values, loss, np.zeros(1), towards / (1.0 + variance), variance)
    means[columns] = mean[0]
    score = float(mean[0] @ values)
    beyond = squared and abs(score) > margin
    precisions[columns] += ((loss if score > 0.0 else 1.0 - loss) if beyond else 1.0) * values * values


def _kept(rng: np.random.Generator) -> tuple[object, ...]:
    """Rounds in a ring of five, of which some are kept, in a room of 42 numbers; and weights that fit their pulls."""
    lengths, d = rng.integers(0, 9, 5), 6
    starts = d * rng.permutation(5)
    values, columns = some(rng, 42), np.concatenate([rng.permutation(d) for _ in range(7)])
    places_of = np.c_[starts, np.minimum(lengths, d)]
    counts = np.array([rng.integers(5), rng.integers(6), 9])
    rounds = np.c_[pick(rng, rng.random(5), np.round(rng.random(5))), np.zeros(5)]
    return some(rng, d), values, columns.astype(np.int64), places_of, rounds, counts


@twin(latest.make_way, lambda rng: (_kept(rng)[5], _kept(rng)[3], int(rng.integers(0, 15)), 36))
def make_way(ring: Places, places: Places, n: int, room: int) -> tuple[int, int]:
    """Behind the last row, or at the first place; the oldest go, until none begins where it will be."""
    memory, rows = len(places), [(ring[0] + k) % len(places) for k in range(ring[1])]
    start = int(places[rows[-1]].sum()) if rows else 0
    wanted = set(range(start, start + n))
    if start + n > room:
        start, wanted = 0, set(range(start, room))
        while rows and places[rows[0], 0] in wanted:
            rows.pop(0)
        wanted = set(range(n))
    while rows and (places[rows[0], 0] in wanted or len(rows) == memory):
        rows.pop(0)
    at = (ring[0] + ring[1]) % memory
    ring[:] = (at - len(rows)) % memory, len(rows) + 1, ring[2] + 1
    return at, start


@twin(latest._give_up, lambda rng: (_kept(rng)[5], _kept(rng)[3], *sorted(rng.integers(0, 20, 2).tolist())))
def give_up(counts: Places, places: Places, start: int, end: int) -> None:
    while counts[1] and places[counts[0], 0] in range(start, end):
        counts[:2] = (counts[0] + 1) % len(places), counts[1] - 1


@twin(wide._ascend, lambda rng: (*_kept(rng), pick(rng, 0.3, 1.2), pick(rng, 0.1, 1.0), pick(rng, 1, 4), 0.01))
def ascend(
    mean: Array,
    values: Array,
    columns: Places,
    places: Places,
    rounds: Array,
    counts: Places,
    margin: float,
    regularisation: float,
    passes: int,
    tolerance: float,
) -> None:
    """Each pull by a search along the round's own potential, all others staying as they are."""
    for _ in range(passes):
        moved = [0.0]
        for i in (counts[0] + np.arange(counts[1])) % len(places):
            at = slice(places[i, 0], places[i].sum())
            z, own, loss = values[at], columns[at], rounds[i, 0]
            if not z.any():
                continue
            rest, norm = float(mean[own] @ z - z @ z * rounds[i, 1] / regularisation), float(z @ z / regularisation)

            def slope(pull: float, rest: float = rest, norm: float = norm, loss: float = loss) -> float:
                s = rest + norm * pull
                return pull + s - (1 - loss) * (s < margin) + loss * (s > -margin)

            far = 10.0 * (1.0 + abs(rest)) * (1.0 + 1.0 / norm)
            pull = brentq(slope, -far, far, xtol=1e-14, maxiter=1000)
            moved.append(abs(pull - rounds[i, 1]) * norm)
            mean[own] += (pull - rounds[i, 1]) * z / regularisation
            rounds[i, 1] = pull
        if max(moved) < tolerance:
            break
