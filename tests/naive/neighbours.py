"""Twins of what looks for neighbours."""

import itertools

import numpy as np

from marginbandits.learners.baselines import nearest_neighbours
from marginbandits.scores import lipschitz
from marginbandits.types import Array
from tests.naive.twin import Places, layout, pick, some, twin

Given = tuple[Array, Array, Places, Array, bool, Places, Array, Array]


def _kept(rng: np.random.Generator) -> Given:
    shared, d, memory, k = pick(rng, True, False), pick(rng, 1, 3, 9), 6, pick(rng, 1, 3, 6)
    starts, mask = layout(rng, shared)
    blocks = 1 if shared else 4
    seen = rng.integers(0, 9, blocks)
    n = len(mask) if shared else len(starts) - 1
    near, out = np.zeros((2, k)), np.zeros(len(mask))
    return some(rng, blocks, memory, d), rng.random((blocks, memory)), seen, some(rng, n, d), shared, starts, near, out


def _points(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    n, d = pick(rng, 0, 1, 5), pick(rng, 1, 4, 19)
    return some(rng, d), some(rng, n, d), np.zeros(n)


@twin(lipschitz._euclidean, _points)
def euclidean(point: Array, others: Array, out: Array) -> None:
    out[:] = np.linalg.norm(others - point, axis=1)


@twin(nearest_neighbours._means, _kept, scratch=["near"])
def means(
    rows: Array, losses: Array, seen: Places, given: Array, shared: bool, starts: Places, near: Array, out: Array
) -> None:
    for i, (first, last) in enumerate(itertools.pairwise(starts)):
        for a, at in enumerate(range(first, last)):
            block, x = (0, given[at]) if shared else (a, given[i])
            n = min(seen[block], losses.shape[1])
            order = np.argsort(((rows[block, :n] - x) ** 2).sum(1), kind="stable")[: near.shape[1]]
            out[at] = (1 + losses[block, order].sum()) / (len(order) + 2)
