"""Lipschitz policies: spaces and nets against looking at all points, the linear program against all pairs."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import marginbandits as mb
from marginbandits.oracles.lipschitz_erm import LipschitzERM, UnsolvedError
from marginbandits.scores.growing import GrowingNet
from marginbandits.scores.lipschitz import extension
from marginbandits.scores.nets import Grid, ScannedNet, TreeNet
from marginbandits.types import Array
from tests.naive import lipschitz_program

UNIT = mb.Cube([0.0, 0.0], [1.0, 1.0], lipschitz=4.0)


def largest(x: Array, y: Array) -> float:
    return float(np.abs(x - y).max())


def all_pairs(centres: Array, scale: float) -> tuple[Any, Array]:
    pairs = np.array(list(itertools.combinations(range(len(centres)), 2)))
    return pairs, scale * np.abs(centres[pairs[:, 0]] - centres[pairs[:, 1]]).max(1)


# Spaces and nets


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("high", [[1.0], [1.0, 0.3], [0.5, 1.0, 2.0]])
def test_a_grid_covers_its_box_and_finds_the_nearest_centre(high: list[float], scale: float) -> None:
    cube = mb.Cube([0.0] * len(high), high, lipschitz=scale)
    grid = cube.grid(0.3)
    points = np.random.default_rng(0).random((200, len(high))) * high
    distance = np.array([cube.distances(point, grid.centres) for point in points])
    assert (distance.min(1) <= 0.3 + 1e-12).all()
    assert np.allclose(distance[np.arange(200), grid.nearest(points)], distance.min(1))
    assert ((grid.centres >= 0) & (grid.centres <= high)).all()


@pytest.mark.parametrize(("name", "p"), [("euclidean", 2.0), ("manhattan", 1.0), ("chebyshev", math.inf)])
def test_trees_find_what_looking_at_all_finds(name: str, p: float) -> None:
    rng = np.random.default_rng(0)
    centres, points = rng.random((40, 3)), rng.random((60, 3))
    distance = cdist(points, centres, "minkowski", p=p) if p < math.inf else cdist(points, centres, "chebyshev")
    between = cdist(centres, centres, "minkowski", p=p) if p < math.inf else cdist(centres, centres, "chebyshev")
    looked = ScannedNet(centres, lambda x, others: 4.0 * np.linalg.norm(others - x, p, axis=1))
    for net in (TreeNet(centres, p, 4.0), looked):
        assert (net.nearest(points) == distance.argmin(1)).all()
        pairs, lengths = net.pairs()
        assert {tuple(pair) for pair in pairs.tolist()} == {
            (i, j) for i, j in itertools.combinations(range(40), 2) if 4.0 * between[i, j] < 2.0
        }
        assert np.allclose(lengths, 4.0 * between[pairs[:, 0], pairs[:, 1]])
    space = mb.MetricSpace(name)
    assert np.allclose(space.distances(points[0], centres), distance[0])


def test_a_greedy_net_covers_and_its_centres_are_apart() -> None:
    points = np.random.default_rng(0).random((300, 2))
    for space in (mb.MetricSpace("chebyshev", lipschitz=2.0), mb.MetricSpace(largest, lipschitz=2.0)):
        centres = space.cover(points, 0.3)
        assert max(space.distances(point, centres).min() for point in points) <= 0.3
        assert min(np.sort(space.distances(one, centres))[1] for one in centres) > 0.3


def test_a_growing_net_uses_what_it_was_given_first() -> None:
    net = GrowingNet(mb.MetricSpace(), 1, 3, np.array([[0.0], [5.0]]))
    assert [net.learn(np.array([x]), 1.0) for x in (4.5, 2.5, 9.0)] == [1, 2, 1]
    assert net.nearest(np.array([2.6]), among=2)[0] == 1


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_covering_dimension_is_that_of_the_surface_not_of_the_room(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    surface = rng.random((3000, dimension)) @ rng.standard_normal((dimension, 8))
    assert abs(mb.covering_dimension(surface) - dimension) < 0.1 * dimension
    with pytest.raises(ValueError, match="30 or more rows"):
        mb.covering_dimension(surface[:20])
    with pytest.raises(ValueError, match="not all be copies"):
        mb.covering_dimension(np.ones((50, 2)))


def test_a_cube_refuses_what_makes_none() -> None:
    with pytest.raises(ValueError, match="as many coordinates"):
        mb.Cube([0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="above low"):
        mb.Cube([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="at most 100,000 cells"):
        mb.Cube([0.0] * 5, [1.0] * 5, lipschitz=10.0).grid(0.1)


def test_a_cube_of_many_coordinates_has_cells_only_along_those_that_are_wide() -> None:
    flat = mb.Cube([0.0] * 70, [1.0] * 68 + [4.0, 4.0])
    grid = flat.grid(0.5)
    assert grid.centres.shape == (16, 70)
    assert len(grid.pairs()[0]) == 42
    points = np.random.default_rng(0).random((50, 70)) * ([1.0] * 68 + [4.0, 4.0])
    assert (grid.nearest(points) == [flat.distances(one, grid.centres).argmin() for one in points]).mean() > 0.9
    assert mb.Cube([0.0] * 13, [1.0] * 13).grid(1.0).pairs()[0].shape == (0, 2)
    assert grid.nearest(np.full((1, 70), 1e100)) == [15]
    for low, high, radius in (([0.0] * 13, [4.0] * 13, 1.0), ([0.0], [1e99], 1e-250)):
        with pytest.raises(ValueError, match="radius must leave at most"):
            mb.Cube(low, high).grid(radius)


# The linear program


@pytest.mark.parametrize(("counts", "K"), [((12,), 2), ((12,), 3), ((5, 4), 2), ((5, 4), 3), ((3, 3, 2), 4)])
def test_neighbours_on_a_grid_imply_all_pairs(counts: tuple[int, ...], K: int) -> None:
    width = 0.2
    grid = Grid(np.zeros(len(counts)), width * np.array(counts), width / 2, 1.0)
    for seed in range(4):
        costs = np.random.default_rng(seed).exponential(size=(len(grid.centres), K))
        fit = LipschitzERM().minimise(costs, *grid.pairs())
        pairs, rho = all_pairs(grid.centres, 1.0)
        assert abs(fit.value - lipschitz_program(costs, pairs, rho)) < 1e-6 * fit.value
        assert (np.abs(fit.policy[pairs[:, 0]] - fit.policy[pairs[:, 1]]).sum(1) <= rho + 1e-5).all()


def test_without_the_diagonal_neighbours_it_is_another_program() -> None:
    """The negative control: the test above can fail."""
    grid = Grid(np.zeros(2), np.full(2, 0.8), 0.1, 1.0)
    costs = np.random.default_rng(0).exponential(size=(16, 3))
    pairs, rho = grid.pairs()
    straight = (np.abs(grid.centres[pairs[:, 0]] - grid.centres[pairs[:, 1]]) > 0.1).sum(1) == 1
    loose = LipschitzERM().minimise(costs, pairs[straight], rho[straight]).value
    assert loose < LipschitzERM().minimise(costs, pairs, rho).value - 1e-3


@pytest.mark.parametrize("K", [2, 3])
def test_pairs_added_as_they_are_violated_give_the_answer_of_all(K: int) -> None:
    rng = np.random.default_rng(K)
    centres = rng.random((40, 2))
    costs = rng.exponential(size=(40, K))
    pairs, rho = all_pairs(centres, 2.0)
    fit = LipschitzERM().minimise(costs, pairs, rho)
    assert abs(fit.value - lipschitz_program(costs, pairs, rho)) < 1e-6 * fit.value
    assert fit.n_pairs < len(pairs)


def test_a_program_out_of_time_or_of_iterations_says_so() -> None:
    grid = UNIT.grid(0.1)
    costs = np.random.default_rng(0).exponential(size=(len(grid.centres), 3))
    for oracle in (LipschitzERM(time_limit=1e-6), LipschitzERM(max_iterations=1)):
        with pytest.raises(UnsolvedError, match=r"400 centres and 1482 pairs was not solved: \w+ limit"):
            oracle.minimise(costs, *grid.pairs())
    for pairs, rho in (([[0, 400]], [1.0]), ([[0, 1]], [-1.0]), ([[0, 1]], [1.0, 2.0])):
        with pytest.raises(ValueError, match="pairs must be rows of costs"):
            LipschitzERM().minimise(costs, pairs, rho)


# Extensions


def test_three_corners_on_a_triangle_have_no_lipschitz_extension() -> None:
    """Any distribution is 4/3 from one of the corners; the triangle's centre is at 2/√3 = 1.155 from all."""
    angle = 2.0 * np.pi * np.arange(3) / 3.0
    triangle = 2.0 / math.sqrt(3.0) * np.c_[np.cos(angle), np.sin(angle)]
    assert np.allclose([np.linalg.norm(triangle[i] - triangle[j]) for i, j in ((0, 1), (0, 2), (1, 2))], 2.0)
    # ‖g - e_i‖₁ = 2(1 - g_i), so the nearest to all minimises r with 2 - 2g_i <= r.
    nearest = linprog([0, 0, 0, 1], np.c_[-2 * np.eye(3), -np.ones(3)], [-2] * 3, [[1, 1, 1, 0]], [1])
    assert abs(nearest.fun - 4.0 / 3.0) < 1e-9
    assert nearest.fun > 2.0 / math.sqrt(3.0)
    assert np.allclose(extension(np.full((1, 3), 2.0 / math.sqrt(3.0)), np.eye(3)), 1.0 / 3.0)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_the_extension_keeps_the_centres_and_is_half_k_lipschitz(K: int) -> None:
    rng = np.random.default_rng(K)
    centres = rng.random((25, 2)) * 4.0
    pairs, rho = all_pairs(centres, 1.0)
    policy = LipschitzERM().minimise(rng.exponential(size=(25, K)), pairs, rho).policy
    points = rng.random((200, 2)) * 4.0
    values = extension(cdist(points, centres, "chebyshev"), policy)
    assert np.abs(extension(cdist(centres, centres, "chebyshev"), policy) - policy).max() < 1e-5
    moved = np.abs(values[:, None] - values[None]).sum(-1)
    assert (moved <= 0.5 * K * cdist(points, points, "chebyshev") + 1e-5).all()
    if K == 2:
        assert (moved <= cdist(points, points, "chebyshev") + 1e-5).all()
