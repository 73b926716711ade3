"""Twins of one round of the learners that have compiled rounds: how a row is played, and how it is learnt."""

import math
from typing import Any

import numpy as np

from marginbandits.learners import regression
from marginbandits.learners.baselines import (
    epsilon_greedy,
    lints,
    linucb,
    regcb,
    squarecb,
)
from marginbandits.types import Array, Mask
from tests.naive import online_regression as steps
from tests.naive import regression as slow
from tests.naive.laws import explored, greedy_each, race_of_normals, weigh
from tests.naive.twin import Places, mask_of, pick, some, spans, twin

K = 4
STARTS = np.array([0, K])
NOWHERE = np.empty(0, np.int64)


def _ridges(rng: np.random.Generator) -> tuple[Any, ...]:
    """K models, room to work in, and what a loss of 0 is worth."""
    d = pick(rng, 1, 3, 5)
    factor = np.stack([np.tril(some(rng, d, d), -1) + np.diag(rng.uniform(0.5, 2.0, d)) for _ in range(K)])
    models = np.concatenate([factor, some(rng, K, 1, d)], axis=1)
    return models, np.zeros(2 * d + 1), np.zeros((0, 0)), pick(rng, 0.0, 1.0)


def _oracles(rng: np.random.Generator) -> tuple[Any, ...]:
    """Of some policies K regressions each; totals, span, rounds, rate, room to work in, and whether weighted."""
    d, n = pick(rng, 1, 3, 5), 3
    states = np.stack([np.stack([steps._states(rng, 3, d) for _ in range(K)]) for _ in range(n)])
    totals, span, rounds = rng.uniform(1.0, 9.0, (n, 2)), np.array([0.0, 1.0]), np.array([pick(rng, 1.0, 500.0)])
    return states, totals, span, rounds, 0.5, np.zeros(2 * states.shape[-1]), pick(rng, True, False)


def _row_of(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Places, Array]:
    """Regressions take dense rows and sparse ones, models of ridge regression dense ones."""
    d = state[0].shape[-1]
    return steps._row(rng, d) if state[0].ndim == 4 else (NOWHERE, some(rng, d))


def _to_play(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return *_row_of(state, rng), STARTS, mask_of(rng, K), state, np.empty(K)


def _to_learn(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return (
        *_row_of(state, rng),
        int(rng.integers(K)),
        pick(rng, 0.0, 0.3, 1.0),
        0.5,
        mask_of(rng, K),
        np.empty(0),
        state,
    )


@twin(regression.learn_ridge, lambda rng: _to_learn(_ridges(rng), rng), tolerance=1e-7)
def learn_ridge(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    models, room, unkept, best = state
    slow.observe_row(models[action], values, 1.0, best - loss - float(models[action, -1] @ values), room, unkept)


@twin(regression.learn_oracle, lambda rng: _to_learn(_oracles(rng), rng))
def learn_oracle(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted = state
    rounds += 1.0
    steps.learn_row(states[0, action], totals[0], span, columns, values, loss, 1 / K if weighted else 1.0, rate, work)


def _of_offer(rng: np.random.Generator) -> tuple[Any, ...]:
    """Rows of actions that share one regression, and what it is."""
    state = _oracles(rng)
    return _offered((state[0][:, :1].copy(), *state[1:], pick(rng, 1.0, 30.0)), rng)


def _offered(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    rows = [steps._sparse_row(rng, state[0].shape[-1]) for _ in range(K)]
    ends = np.cumsum([0, *(len(values) for _, values in rows)])
    flat = np.concatenate([columns for columns, _ in rows]), np.concatenate([values for _, values in rows])
    return *flat, ends, STARTS, mask_of(rng, K), state, np.empty(K)


@twin(squarecb._law_rows, _of_offer)
def law_rows(columns: Places, values: Array, ends: Places, starts: Places, mask: Mask, state: Any, law: Array) -> None:
    steps.predict_all(state[0][0], columns, values, ends, True, starts, law)
    weigh(law, starts, mask, state[7] * math.sqrt(state[3][0]), not state[6])


def _lesson(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, ends, _, _, state, _ = _of_offer(rng)
    return columns[: ends[1]], values[: ends[1]], K, pick(rng, 0.0, 0.3, 1.0), 0.5, state


@twin(regression.learn_offer, _lesson)
def learn_offer(columns: Places, values: Array, n: int, loss: float, probability: float, state: Any) -> None:
    states, totals, span, rounds, rate, work, weighted = state[:7]
    rounds += 1.0
    steps.learn_row(states[0, 0], totals[0], span, columns, values, loss, 1 / n if weighted else 1.0, rate, work)


def _bounded(rng: np.random.Generator) -> tuple[Any, ...]:
    """Variances as they are, or as they were some rounds ago."""
    models, *rest = _ridges(rng)
    variances = (models[:, :-1] ** 2).sum(1) * pick(rng, 1.0, 3.0) + 1e-9
    return models, *rest, pick(rng, 0.0, 0.7), 1e-9, variances, np.sqrt(variances)


@twin(linucb._law_one, lambda rng: _to_play(_bounded(rng), rng))
def linucb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    return bool(slow.play(state[0], values[None], False, starts, state[4], mask, law))


@twin(linucb._learn_one, lambda rng: _to_learn(_bounded(rng), rng), tolerance=1e-7)
def linucb_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    models, room, unkept, best, _, least, variances, roots = state
    before = (models[action, :-1] ** 2).sum(0)
    learn_ridge(columns, values, action, loss, probability, mask, noise, (models, room, unkept, best))
    variances[action] -= before - (models[action, :-1] ** 2).sum(0)
    roots[action] = np.sqrt(np.maximum(variances[action], least, out=variances[action]))


@twin(epsilon_greedy._law_one, lambda rng: _to_play((*_ridges(rng), pick(rng, 0.0, 0.1, 1.0)), rng))
def epsilon_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    slow.predict(state[0], values[None], False, starts, law)
    greedy_each(np.round(law, 9), starts, mask, law)
    explored(law, starts, mask, state[4], -1.0)
    return True


@twin(squarecb._law_one, lambda rng: _to_play((*_oracles(rng), 30.0), rng), tolerance=1e-6)
def squarecb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    steps.predict_one(state[0][0], columns, values, law)
    weigh(np.round(law, 9, out=law), starts, mask, state[7] * math.sqrt(state[3][0]), not state[6])
    return True


def _bounds(rng: np.random.Generator) -> tuple[Array, Array, Places, Mask, bool]:
    low, mask = np.round(rng.random(K), 1), mask_of(rng, K)
    return low, np.minimum(low + rng.random(K), 1.0), STARTS, mask, pick(rng, True, False)


@twin(regcb._play, _bounds)
def regcb_play(least: Array, most: Array, starts: Places, mask: Mask, optimistic: bool) -> bool:
    for span in spans(starts):
        low, some_of = least[span], mask[span]
        own = -low if optimistic else (low <= most[span][some_of].min()).astype(float)
        greedy_each(own, np.array([0, len(own)]), some_of, least[span])
    return True


def _regcb(rng: np.random.Generator) -> tuple[Any, ...]:
    state, optimistic = _oracles(rng), pick(rng, True, False)
    return _to_play((*state, 0.01, optimistic, np.empty(0 if optimistic else K)), rng)


@twin(regcb._law_one, _regcb, scratch=["state"])
def regcb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states, totals, _, rounds, rate, _, _, mellowness, optimistic, _ = state
    high, delta = np.empty(K), mellowness * math.log(K * max(rounds[0], 1.0))
    steps.range_one(states[0], totals[0], columns, values, delta, rate, law, high)
    return bool(regcb_play(np.round(law, 9, out=law), np.round(high, 9), starts, mask, optimistic))


def _rising(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, *rest = _to_play((*_ridges(rng), 0.3, *np.empty((3, K))), rng)
    return columns, values + 0.1, *rest


@twin(lints._law_one, lambda rng: _rising(rng), tolerance=1e-6, scratch=["state"])
def lints_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    models, _, _, _, scale, mean, width, work = state
    slow.predict(models, values[None], False, starts, mean)
    slow.variance(models, values[None], False, starts, width)
    return bool(race_of_normals(mean, np.maximum(scale * np.sqrt(width), 1e-9), mask, work, law))
