"""Twins of one round of the learners that have compiled rounds: how a row is played, and how it is learnt."""

import math
from typing import Any

import numpy as np

from marginbandits.learners import regression
from marginbandits.learners.baselines import epsilon_greedy, lints, linucb, logistic_ts, regcb, squarecb
from marginbandits.types import Array, Mask
from tests.naive import regression as slow
from tests.naive.diagonal import logistic
from tests.naive.laws import explored, greedy_each, race_of_normals, weigh
from tests.naive.twin import Places, mask_of, pick, some, spans, twin

K = 4
STARTS = np.array([0, K])


def _ridges(rng: np.random.Generator) -> tuple[Any, ...]:
    """K models and room to work in."""
    d = pick(rng, 1, 3, 5)
    factor = np.stack([np.tril(some(rng, d, d), -1) + np.diag(rng.uniform(0.5, 2.0, d)) for _ in range(K)])
    return np.concatenate([factor, some(rng, K, 1, d)], axis=1), np.zeros(5 * d + 1)


def _oracles(rng: np.random.Generator) -> tuple[Any, ...]:
    """K regressions, totals, span, rounds, rate, weight, and room to work in."""
    d = pick(rng, 1, 3, 5)
    states = np.stack([slow._states(rng, 3, d) for _ in range(K)])
    totals, span, rounds = rng.uniform(1.0, 9.0, 2), np.array([0.0, 1.0]), np.array([pick(rng, 1.0, 500.0)])
    return states, totals, span, rounds, 0.5, pick(rng, 1.0, 0.25), np.zeros(d)


def _to_play(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return some(rng, 1, state[0].shape[2]), STARTS, mask_of(rng, K), state, np.empty(K)


def _to_learn(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return some(rng, 1, state[0].shape[2]), int(rng.integers(K)), pick(rng, 0.0, 0.3, 1.0), 0.5, state


@twin(regression.learn_ridge, lambda rng: _to_learn(_ridges(rng), rng), tolerance=1e-7)
def learn_ridge(rows: Array, action: int, loss: float, probability: float, state: Any) -> None:
    models, room = state
    slow.observe_row(models[action], rows[0], 1.0, 1.0 - loss - float(models[action, -1] @ rows[0]), room)


@twin(regression.learn_oracle, lambda rng: _to_learn(_oracles(rng), rng), scratch=["state"])
def learn_oracle(rows: Array, action: int, loss: float, probability: float, state: Any) -> None:
    states, totals, span, rounds, rate, weight, work = state
    rounds += 1.0
    slow.learn_row(states[action], totals, span, rows[0], loss, weight, rate, work)


@twin(linucb._law_one, lambda rng: _to_play((*_ridges(rng), pick(rng, 0.0, 0.7)), rng))
def linucb_law(rows: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    return bool(slow.play(state[0], rows, False, starts, state[2], mask, law))


@twin(epsilon_greedy._law_one, lambda rng: _to_play((*_ridges(rng), pick(rng, 0.0, 0.1, 1.0)), rng))
def epsilon_law(rows: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    slow.predict(state[0], rows, False, starts, law)
    greedy_each(np.round(law, 9), starts, mask, law)
    explored(law, starts, mask, state[2], -1.0)
    return True


@twin(squarecb._law_one, lambda rng: _to_play((*_oracles(rng), 30.0, pick(rng, True, False)), rng), tolerance=1e-6)
def squarecb_law(rows: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    slow.predict_all(state[0], rows, False, starts, law)
    weigh(np.round(law, 9, out=law), starts, mask, state[7] * math.sqrt(state[3][0]), state[8])
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
    row = np.empty(0, np.int64), np.array([0, state[0].shape[2]])
    return _to_play((*state, 0.01, optimistic, *row, np.empty(0 if optimistic else K)), rng)


@twin(regcb._law_one, _regcb, scratch=["state"])
def regcb_law(rows: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states, totals, _, rounds, rate, _, _, mellowness, optimistic, columns, ends, _ = state
    high, delta = np.empty(K), mellowness * math.log(K * max(rounds[0], 1.0))
    slow.ranges(states, totals, columns, rows[0], ends, False, starts, delta, rate, law, high)
    return bool(regcb_play(np.round(law, 9, out=law), np.round(high, 9), starts, mask, optimistic))


def _rising(rng: np.random.Generator) -> tuple[Any, ...]:
    rows, *rest = _to_play((*_ridges(rng), 0.3, *np.empty((3, K))), rng)
    return rows + 0.1, *rest


@twin(lints._law_one, lambda rng: _rising(rng), tolerance=1e-6, scratch=["state"])
def lints_law(rows: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    models, _, scale, mean, width, work = state
    slow.predict(models, rows, False, starts, mean)
    slow.variance(models, rows, False, starts, width)
    return bool(race_of_normals(mean, np.maximum(scale * np.sqrt(width), 1e-9), mask, work, law))


def _beliefs(rng: np.random.Generator) -> tuple[Any, ...]:
    d = pick(rng, 1, 3, 5)
    return some(rng, K, d), rng.uniform(0.1, 3.0, (K, 1, d))[:, 0].copy(), 0.3, *np.empty((3, K))


def _believed(rng: np.random.Generator) -> tuple[Any, ...]:
    state = _beliefs(rng)
    return rng.uniform(0.2, 1.0, (1, state[0].shape[1])), STARTS, mask_of(rng, K), state, np.empty(K)


@twin(logistic_ts._law_one, _believed, tolerance=1e-6, scratch=["state"])
def logistic_law(rows: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, *_ = state
    deviation = scale * np.sqrt((rows**2 / precisions).sum(1))
    return bool(race_of_normals((means * rows).sum(1), deviation, mask, np.empty(K), law))


def _believed_loss(rng: np.random.Generator) -> tuple[Any, ...]:
    rows, _, _, state, _ = _believed(rng)
    return rows, int(rng.integers(K)), pick(rng, 0.0, 0.3, 1.0), 0.5, state[:2]


@twin(logistic_ts._learn_one, _believed_loss, tolerance=1e-7)
def logistic_learn(rows: Array, action: int, loss: float, probability: float, state: Any) -> None:
    logistic(state[0][action], state[1][action], rows[0], 1.0 - loss, 0.0, False)
