"""Twins of how compiled rounds make features of a context, and of `Uniform`, which needs none."""

import math
from typing import Any

import numpy as np

from marginbandits.learners import swift
from marginbandits.learners.baselines import (
    uniform,
)
from marginbandits.types import Array, Mask
from tests.naive import features
from tests.naive.swift import NOWHERE, STARTS, K
from tests.naive.twin import Places, mask_of, pick, some, twin


def _dense_contexts(rng: np.random.Generator) -> tuple[Any, ...]:
    rows, moments, limit, clip, named = features._dense_rows(rng)
    waves = np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty(0)
    contexts = rows if len(rows) else np.zeros((1, rows.shape[1]))
    contexts[rng.integers(len(contexts)), 0] = pick(rng, 0.3, 0.3, np.nan, 1e101)
    made = moments, limit, clip, *waves, named, NOWHERE, np.zeros((1, rows.shape[1] + 1))
    return contexts.ravel(), int(rng.integers(len(contexts))), 0, pick(rng, True, False), made


@twin(swift._featured_dense, _dense_contexts)
def featured_dense(contexts: Array, t: int, mode: int, learning: bool, given: Any) -> tuple[bool, Places, Array]:
    moments, limit, clip, _, _, _, named, nowhere, rows = given
    one = contexts.reshape(-1, moments.shape[1])[t : t + 1]
    good = bool((np.abs(one) <= 1e100).all())
    if good:
        if learning:
            features.learn(one, moments, limit, clip, named)
        features.standardise(one, moments, clip, 1e100, named, rows)
    return good, nowhere, rows[0]


def _plain_contexts(rng: np.random.Generator) -> tuple[Any, ...]:
    contexts = some(rng, pick(rng, 1, 3), pick(rng, 1, 5))
    contexts[rng.integers(len(contexts)), 0] = pick(rng, 0.3, 0.3, np.nan, -1e101)
    return contexts.ravel(), int(rng.integers(len(contexts))), 0, False, (contexts.shape[1], NOWHERE)


@twin(swift._featured_plain, _plain_contexts)
def featured_plain(contexts: Array, t: int, mode: int, learning: bool, given: Any) -> tuple[bool, Places, Array]:
    width, nowhere = given
    one = contexts.reshape(-1, width)[t]
    return bool((np.abs(one) <= 1e100).all()), nowhere, one


@twin(
    uniform._law_one, lambda rng: (NOWHERE, some(rng, 2), STARTS, mask_of(rng, K), (), np.empty(K)), scratch=["state"]
)
def uniform_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    law[:] = mask / mask.sum()
    return True


def _narrow_places(rng: np.random.Generator) -> tuple[Places, Places]:
    n = pick(rng, 0, 1, 5)
    starts = pick(rng, [0, n], [0, n, n], [0], [0, n + 1], [0, -1], [1, n], [0, max(n - 1, 0)])
    return rng.integers(-1, 9, n).astype(np.int32), np.array(starts, np.int32)


@twin(swift._widened, _narrow_places)
def widened(columns: Places, starts: Places) -> tuple[bool, Places, Places]:
    good = len(starts) > 1 and 0 <= starts[1] <= len(columns)
    wide = columns[: starts[1]].astype(np.int64) if good else np.empty(0, np.int64)
    return good, wide, starts[:2].astype(np.int64) if good else np.zeros(2, np.int64)


@twin(
    uniform._learn_one,
    lambda rng: (NOWHERE, some(rng, 2), 1, 0.5, 0.5, mask_of(rng, K), np.empty(0), ()),
    scratch=["state"],
)
def uniform_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    pass


def _sparse_contexts(rng: np.random.Generator) -> tuple[Any, ...]:
    values, columns, starts, moments, clip, bias, *_ = features._to_scale(rng)
    made = moments, pick(rng, math.inf, 0.5), clip, bias
    t, mode, learning = int(rng.integers(len(starts) - 1)), pick(rng, 0, swift.LOOK), pick(rng, True, False)
    if mode and len(columns):
        columns[rng.integers(len(columns))] += pick(rng, 0, 0, 100, -1)
    return (values, columns, starts), t, mode, learning, made


@twin(swift._featured_sparse, _sparse_contexts)
def featured_sparse(contexts: Any, t: int, mode: int, learning: bool, given: Any) -> tuple[bool, Places, Array]:
    values, columns, starts = contexts
    moments, limit, clip, bias = given
    if mode and not features.is_sound_row(values, columns, starts, t, moments.shape[1]):
        return False, columns, values
    at = slice(*starts[t : t + 2])
    own, where = values[at], columns[at]
    if learning:
        features.learn_sparse(own, where, moments, limit, clip)
    n = len(own) + (bias >= 0)
    out, filled, ends = np.zeros(n), np.zeros(n, np.int64), np.zeros(2, np.int64)
    features.scale_sparse(own, where, np.array([0, len(own)]), moments, clip, bias, out, filled, ends)
    return True, filled, out
