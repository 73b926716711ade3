"""Twins of rounds with a mean and a precision for each column: of `LogisticTS`, and of `HingeLMC` on wide rows."""

import math
from typing import Any

import numpy as np

from marginbandits.learners.baselines import (
    logistic_ts,
)
from marginbandits.learners.hinge_lmc import wide
from marginbandits.types import Array, Mask
from tests.naive import diagonal
from tests.naive import online_regression as steps
from tests.naive.diagonal import logistic
from tests.naive.laws import explored, greedy_each, moved_together, race_of_normals
from tests.naive.swift import NOWHERE, STARTS, K, _offered
from tests.naive.twin import Places, mask_of, pick, some, twin


def _beliefs(rng: np.random.Generator) -> tuple[Any, ...]:
    d = pick(rng, 1, 3, 5)
    return some(rng, K, d), rng.uniform(0.1, 3.0, (K, 1, d))[:, 0].copy(), 0.3, *np.empty((3, K))


def _believed(rng: np.random.Generator) -> tuple[Any, ...]:
    state = _beliefs(rng)
    return NOWHERE, rng.uniform(0.2, 1.0, state[0].shape[1]), STARTS, mask_of(rng, K), state, np.empty(K)


@twin(logistic_ts._law_one, _believed, tolerance=1e-6, scratch=["state"])
def logistic_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, *_ = state
    deviation = scale * np.sqrt((values**2 / precisions).sum(1))
    return bool(race_of_normals((means * values).sum(1), deviation, mask, np.empty(K), law))


def _believed_loss(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, _, _, state, _ = _believed(rng)
    return columns, values, int(rng.integers(K)), pick(rng, 0.0, 0.3, 1.0), 0.5, mask_of(rng, K), np.empty(0), state[:2]


@twin(logistic_ts._learn_one, _believed_loss, tolerance=1e-7)
def logistic_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    logistic(state[0][action], state[1][action], values, 1.0 - loss, 0.0, False)


def _wide(rng: np.random.Generator) -> tuple[Any, ...]:
    means, precisions, *_ = diagonal._filled(rng, K)
    return means, precisions, 0.7, 0.1, *np.empty((2, K))


def _filled_row(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Places, Array]:
    return steps._sparse_row(rng, state[0].shape[-1])


def _to_play_wide(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return *_filled_row(state, rng), STARTS, mask_of(rng, K), state, np.empty(K)


def _to_learn_wide(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    row, action, loss = _filled_row(state, rng), int(rng.integers(K)), pick(rng, 0.0, 0.3, 1.0)
    return *row, action, loss, 0.5, mask_of(rng, K), np.empty(0), state


@twin(logistic_ts._law_wide, lambda rng: _to_play_wide(_wide(rng), rng), tolerance=1e-7, scratch=["state"])
def logistic_law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, share, *_ = state
    mean, deviation = np.empty((2, K))
    diagonal.score_one(means, precisions, share, columns, values, mean, deviation)
    return bool(moved_together(np.round(mean, 9), np.round(scale * deviation, 9), starts, mask, law))


@twin(logistic_ts._learn_wide, lambda rng: _to_learn_wide(_wide(rng), rng), tolerance=1e-7, scratch=["noise"])
def logistic_learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    diagonal.logistic_filled(state[0][action], state[1][action], columns, values, 1.0 - loss, state[3])


def _logistic_offer(rng: np.random.Generator) -> tuple[Any, ...]:
    state = _wide(rng)
    return _offered((state[0][:1].copy(), state[1][:1].copy(), *state[2:]), rng)


@twin(logistic_ts._law_rows, _logistic_offer, tolerance=1e-7, scratch=["state"])
def logistic_law_rows(
    columns: Places, values: Array, ends: Places, starts: Places, mask: Mask, state: Any, law: Array
) -> None:
    mean, deviation = np.empty((2, len(law)))
    diagonal.diagonal_scores(state[0], state[1], state[3], values, columns, ends, True, starts, mean, deviation)
    moved_together(np.round(mean, 9), np.round(state[2] * deviation, 9), starts, mask, law)


def _logistic_lesson(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, ends, _, _, state, _ = _logistic_offer(rng)
    return columns[: ends[1]], values[: ends[1]], K, pick(rng, 0.0, 0.3, 1.0), 0.5, state


@twin(logistic_ts._learn_offer, _logistic_lesson, tolerance=1e-7)
def logistic_learn_offer(columns: Places, values: Array, n: int, loss: float, probability: float, state: Any) -> None:
    diagonal.logistic_filled(state[0][0], state[1][0], columns, values, 1.0 - loss, state[3])


def _hinges(rng: np.random.Generator) -> tuple[Any, ...]:
    means, precisions, *_ = diagonal._filled(rng, K)
    margin = pick(rng, (0.6, True), (50.0, False))
    return means, precisions, np.array([pick(rng, 0.0, 9.0)]), *margin, 0.1, 0.02, *np.empty((2, K))


@twin(wide._law_one, lambda rng: _to_play_wide(_hinges(rng), rng), scratch=["state"])
def hinge_law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, rounds, _, _, hope, smoothing, _, _ = state
    mean, deviation = np.empty((2, K))
    diagonal.score_one(means, precisions, 0.0, columns, values, mean, deviation)
    greedy_each(np.round(mean + hope * wide.SPREAD * deviation, 9), starts, mask, law)
    explored(law, starts, mask, -1.0, smoothing / (K * math.sqrt(max(rounds[0], 1.0))))
    return True


@twin(wide._learn_one, lambda rng: _to_learn_wide(_hinges(rng), rng))
def hinge_learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    means, precisions, rounds, margin, squared = state[:5]
    rounds += 1.0
    diagonal.absorb_filled(means[action], precisions[action], columns, values, loss, margin, squared)
