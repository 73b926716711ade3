"""Twins of the kernels of zooming and of hierarchical weights: all balls at once, rows as sums of lists."""

from typing import Any

import numpy as np

from marginbandits.learners.comparators import contextual_zooming, hier_exp4
from marginbandits.types import Array
from tests.naive.twin import Places, pick, some, twin


def _nodes(rng: np.random.Generator) -> tuple[Array, Places, int]:
    """Costs and rows below, of which some are missing but the first never is."""
    V, n, below = pick(rng, 1, 3, 9), pick(rng, 1, 2, 5), pick(rng, 1, 4)
    near = rng.integers(-1, below, (V, n))
    near[:, 0] = rng.integers(0, below, V)
    return np.abs(some(rng, V, n)), near, below


def _mixing(rng: np.random.Generator) -> tuple[Any, ...]:
    costs, near, below = _nodes(rng)
    K = pick(rng, 2, 3)
    return costs, near, pick(rng, 0.0, 0.5, 30.0), some(rng, below, K), np.empty((len(near), K))


@twin(hier_exp4._mix, _mixing)
def mix(costs: Array, near: Places, rate: float, below: Array, out: Array) -> None:
    for v, row in enumerate(near):
        there = row >= 0
        q = np.exp(-rate * costs[v, there])
        out[v] = (q / q.sum()) @ below[row[there]]


def _charging(rng: np.random.Generator) -> tuple[Any, ...]:
    costs, near, below = _nodes(rng)
    return costs, near, np.abs(some(rng, below)), pick(rng, 0.0, 1.0, 7.0, 1e210), 1e200


@twin(hier_exp4._charge, _charging)
def charge(costs: Array, near: Places, said: Array, estimate: float, farthest: float) -> None:
    for v, row in enumerate(near):
        there = row >= 0
        charged = np.minimum(costs[v, there] + estimate * said[row[there]], farthest)
        costs[v, there] = charged - charged.min()


def _balls(rng: np.random.Generator) -> tuple[Any, ...]:
    """Balls on a line, the first of which holds everything; there is room for more of them."""
    n, K, room = pick(rng, 1, 4, 12), pick(rng, 2, 3), 12
    at = pick(rng, rng.random(room), np.round(rng.random(room), 1))
    apart = pick(rng, 1.0 - np.eye(K), np.abs(np.subtract.outer(np.arange(K), np.arange(K))) / 5.0)
    halvings = rng.integers(0, 4, n)
    halvings[0] = 0
    counts = rng.integers(0, 9, room)
    rewards, index = counts * rng.random(room), np.empty(K)
    near, way = np.abs(at[:n] - rng.random()), np.abs(np.subtract.outer(at, at))
    actions = rng.integers(0, K, room)
    return near, way, apart, actions, 0.5**halvings, rewards, counts, 0.7, index, np.empty(K, np.int64)


@twin(contextual_zooming._indices, _balls)
def indices(
    near: Array,
    way: Array,
    apart: Array,
    actions: Places,
    radius: Array,
    rewards: Array,
    counts: Places,
    scale: float,
    index: Array,
    ball: Places,
) -> None:
    n, radii = len(near), radius[:, None]
    mine, seen = actions[:n], counts[:n]
    holds = np.minimum(near[:, None] + apart[mine], 1.0) <= radii * (1.0 + 1e-9)
    belongs = holds & (radii == np.where(holds, radii, np.inf).min(0))
    pre = rewards[:n] / np.maximum(seen, 1) + radius + scale / np.sqrt(1.0 + seen)
    hope = np.where(radius >= radii, pre + np.minimum(way[:n, :n] + apart[mine][:, mine], 1.0), np.inf).min(1)
    each = np.where(belongs, radii + hope[:, None], -np.inf)
    index[:], ball[:] = each.max(0), each.argmax(0)
