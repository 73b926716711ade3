"""Sequential complexities on small trees, against the definitions by brute force."""

import itertools
import math

import numpy as np
import pytest

from marginbandits.theory import sequential_covering_number, sequential_rademacher
from marginbandits.types import Array


def every_tree(n_points: int, depth: int) -> list[tuple[int, ...]]:
    """A tree as its points in heap order."""
    return list(itertools.product(range(n_points), repeat=2**depth - 1))


def along(tree: tuple[int, ...], path: tuple[int, ...]) -> list[int]:
    """The points, or positions, that a path of 0s and 1s walks through."""
    at, out = 0, []
    for step in path:
        out.append(tree[at])
        at = 2 * at + 1 + step
    return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_rademacher_is_its_definition(seed: int, depth: int) -> None:
    values = np.random.default_rng(seed).normal(size=(3, 2))
    paths = list(itertools.product((0, 1), repeat=depth))
    brute = max(
        np.mean([(values[:, along(tree, p)] * (2 * np.array(p) - 1)).sum(1).max() for p in paths])
        for tree in every_tree(2, depth)
    )
    assert sequential_rademacher(values, depth) == pytest.approx(brute)


@pytest.mark.parametrize("depth", [1, 4, 7])
def test_rademacher_of_a_pair_of_opposites_is_a_random_walk(depth: int) -> None:
    walk = np.mean([abs(sum(s)) for s in itertools.product((-1, 1), repeat=depth)])
    assert sequential_rademacher([[1.0], [-1.0]], depth) == pytest.approx(walk)
    assert sequential_rademacher([[1.0, 0.3]], depth) == pytest.approx(0.0)


@pytest.mark.parametrize("seed", range(3))
def test_rademacher_is_at_most_what_the_size_allows(seed: int) -> None:
    """Massart: √(2T ln N) for values in [-1, 1]."""
    values = np.random.default_rng(seed).uniform(-1, 1, (4, 3))
    for depth in (1, 3, 5):
        assert sequential_rademacher(values, depth) <= math.sqrt(2 * depth * math.log(4))


def covers(values: Array, tree: tuple[int, ...], depth: int, scale: float, size: int) -> bool:
    """Whether some set of `size` trees, of values that functions take or midpoints of two, is a cover; brute force."""
    options = [sorted({(a + b) / 2 for a in values[:, point] for b in values[:, point]}) for point in tree]
    paths = list(itertools.product((0, 1), repeat=depth))
    needed = np.array([[values[f, along(tree, p)] for p in paths] for f in range(len(values))])
    candidates = {
        tuple((np.abs(needed - np.array([along(v, p) for p in paths])[None]).max(2) <= scale + 1e-12).ravel())
        for v in itertools.product(*options)
    }
    rows = [np.array(c) for c in candidates]
    best = [one for one in rows if not any((one <= other).all() and (one < other).any() for other in rows)]
    return any(np.logical_or.reduce(some).all() for some in itertools.combinations_with_replacement(best, size))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [0.0, 0.3, 0.6])
def test_covering_number_is_its_definition(seed: int, scale: float) -> None:
    values = np.random.default_rng(seed).uniform(-1, 1, (3, 2)).round(1)
    for depth in (1, 2):
        brute = max(
            next(n for n in range(1, 4) if covers(values, tree, depth, scale, n)) for tree in every_tree(2, depth)
        )
        assert sequential_covering_number(values, depth, scale) == brute


def test_a_sequential_cover_can_be_smaller_than_the_class() -> None:
    """Two functions apart on one point only: on a tree they part in one subtree, and that takes two, never three."""
    values = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 0.0]])
    sizes = [sequential_covering_number(values, depth, 0.1) for depth in (1, 2, 3)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 3
    assert sizes[-1] <= 4
    assert sequential_covering_number(values, 3, 1.0) == 1
    by_scale = [sequential_covering_number(values, 2, scale) for scale in (0.0, 0.2, 0.5, 1.0)]
    assert by_scale == sorted(by_scale, reverse=True)


def test_tables_without_meaning_are_refused() -> None:
    with pytest.raises(ValueError, match="values must be one or more finite numbers"):
        sequential_rademacher([1.0], 2)
    with pytest.raises(ValueError, match="depth must be"):
        sequential_rademacher([[1.0]], 0)
    with pytest.raises(ValueError, match="scale must be"):
        sequential_covering_number([[1.0]], 1, -1.0)
