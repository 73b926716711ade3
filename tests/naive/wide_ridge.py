"""Twins of ridge regression of sparse rows, with a diagonal A, and of those who play by it."""

from typing import Any

import numpy as np

from marginbandits.learners import regression
from marginbandits.learners.baselines import epsilon_greedy, lints, linucb
from marginbandits.oracles import diagonal
from marginbandits.types import Array, Mask
from tests.naive.beliefs import _to_learn_wide, _to_play_wide
from tests.naive.diagonal import _filled, score_one
from tests.naive.laws import explored, greedy_each, moved_together
from tests.naive.swift import K
from tests.naive.twin import Places, pick, some, twin


@twin(diagonal.clipped, lambda rng: (pick(rng, 1.0, 1e14, 1e200) * some(rng, pick(rng, 0, 5)),))
def clipped(values: Array) -> Array:
    return np.clip(values, -1e15, 1e15)


def _lesson(rng: np.random.Generator) -> tuple[Any, ...]:
    return *_filled(rng), float(rng.standard_normal())


@twin(diagonal.regress, _lesson)
def regress(mean: Array, precision: Array, columns: Places, values: Array, target: float) -> None:
    towards = values / precision[columns]
    mean[columns] += (target - mean[columns] @ values) / (1.0 + values @ towards) * towards
    precision[columns] += values**2


def _state(rng: np.random.Generator) -> tuple[Any, ...]:
    means, precisions, *_ = _filled(rng, K)
    return means, precisions, *np.empty((2, K)), pick(rng, 0.0, 0.3)


@twin(regression.learn_wide, lambda rng: _to_learn_wide(_state(rng), rng), scratch=["noise"])
def learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    regress(state[0][action], state[1][action], columns, values, -loss)


def _scored(columns: Places, values: Array, state: Any) -> tuple[Array, Array]:
    mean, deviation = np.empty((2, K))
    score_one(state[0], state[1], 0.0, columns, values, mean, deviation)
    return np.round(mean, 9), np.round(deviation, 9)


@twin(epsilon_greedy._law_wide, lambda rng: _to_play_wide(_state(rng), rng), scratch=["state"])
def epsilon_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    greedy_each(_scored(columns, values, state)[0], starts, mask, law)
    explored(law, starts, mask, state[4], -1.0)
    return True


@twin(linucb._law_wide, lambda rng: _to_play_wide(_state(rng), rng), scratch=["state"])
def linucb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    mean, deviation = _scored(columns, values, state)
    return bool(greedy_each(np.round(mean + state[4] * deviation, 8), starts, mask, law))


@twin(lints._law_wide, lambda rng: _to_play_wide(_state(rng), rng), tolerance=1e-7, scratch=["state"])
def lints_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    mean, deviation = _scored(columns, values, state)
    return bool(moved_together(mean, np.round(state[4] * deviation, 9), starts, mask, law))
