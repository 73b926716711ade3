"""Twins of Hinge-LMC's compiled rounds of vectors: what they hand to the kernels that they call where these are."""

import math
from typing import Any

import numpy as np

from marginbandits.learners.hinge_lmc import rounds
from marginbandits.types import Array, Mask
from tests.naive import normals
from tests.naive.laws import greedy_over_floor
from tests.naive.rounds import _all_of_it, learn_one
from tests.naive.twin import Places, mask_of, pick, twin

NOWHERE = np.empty(0, np.int64)


def _vector(rng: np.random.Generator) -> tuple[Array, int, float, float, Array, Any]:
    """A row, how it went, draws, and what it is learnt by: as for `learn_one`, of rows that are for all actions."""
    while True:
        rows, shared, K, action, loss, probability, noise, *learnt, _ = _all_of_it(rng)
        if not shared:
            break
    learnt[-2][0] = pick(rng, 0.0, 1.0, 30.0)  # rounds
    smoothing = pick(rng, 0.0, 0.1, 0.9)
    return rows[0], action, loss, probability, noise, (tuple(learnt), smoothing, K)


def _pointed(row: Array, noise: Array, state: Any) -> Any:
    learnt, smoothing, K = state
    return learnt, smoothing, *rounds.pointed(row[None], K, noise, learnt)


def _to_play(rng: np.random.Generator) -> tuple[Any, ...]:
    row, _, _, _, noise, state = _vector(rng)
    K = state[2]
    return NOWHERE, row, np.array([0, K]), mask_of(rng, K), _pointed(row, noise, state), np.empty(K)


@twin(rounds._law_of_vector, _to_play)
def law_of_vector(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    learnt, smoothing = state[:2]
    hope, scores, seen = learnt[2], learnt[17] @ values, max(learnt[-2][0], 1.0)
    floor = smoothing / (len(mask) * math.sqrt(seen))
    return bool(greedy_over_floor(scores.mean(1) + hope * scores.std(1), starts, mask, floor, law))


def _to_learn(rng: np.random.Generator) -> tuple[Any, ...]:
    row, action, loss, probability, noise, state = _vector(rng)
    K = state[2]
    return NOWHERE, row, action, loss, probability, mask_of(rng, K), noise, _pointed(row, noise, state)


@twin(rounds._learn_vector, _to_learn, tolerance=1e-6)
def learn_vector(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    learn_one(values[None], False, len(mask), action, loss, probability, noise, state[0], -1)


def _to_draw(rng: np.random.Generator) -> tuple[Any, ...]:
    row, _, _, _, noise, state = _vector(rng)
    return normals.source(rng), np.empty(len(noise)), _pointed(row, noise, state)


@twin(rounds._draw, _to_draw)
def draw(source: Any, noise: Array, state: Any) -> None:
    normals.fill(source, noise)
