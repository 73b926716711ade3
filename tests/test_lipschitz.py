"""Lipschitz policies: spaces and nets against looking at all points, the linear program against all pairs."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import marginbandits as mb
from marginbandits.oracles.lipschitz_erm import LipschitzERM, LipschitzFit, UnsolvedError
from marginbandits.scores.growing import GrowingNet
from marginbandits.scores.lipschitz import NotAMetricError, extension
from marginbandits.scores.nets import Grid, ScannedNet, TreeNet
from marginbandits.theory import lipschitz_actions, lipschitz_ftl_floor
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


# Follow-the-leader from the theory


def band(n: int, seed: int, p: int = 2) -> tuple[Array, Array]:
    """Left the first action is better, right the second, and in between a Lipschitz policy can turn."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, p))
    side = np.where(x[:, 0] < 0.25, -1.0, np.where(x[:, 0] > 0.75, 1.0, 0.0))
    return x, np.stack([0.5 + 0.4 * side, 0.5 - 0.4 * side], 1)


def regret(agent: mb.Learner, n: int = 2000, seed: int = 0, p: int = 2) -> float:
    """Expected regret of a run, as a share of uniform play's."""
    x, means = band(n, seed, p)
    losses = np.random.default_rng(seed + 1).random(means.shape) < means
    total = 0.0
    for context, mean, loss in zip(x, means, losses, strict=True):
        decision = agent.act(context)
        agent.learn(context, decision, float(loss[decision.action]))
        assert decision.distribution is not None
        total += float(decision.distribution @ mean - mean.min())
    return total / float((means.mean(1) - means.min(1)).sum())


def theory(**more: Any) -> mb.FaithfulLipschitzFTL:
    return mb.LipschitzFTL.from_theory(**{"space": UNIT, "n_actions": 2, "horizon": 2000, "seed": 0, **more})


def test_the_floor_is_the_theorems() -> None:
    assert theory(horizon=4000).mu == pytest.approx((4 / 8000) ** (1 / 3))  # a cube of side 4 has 4β^-2 cells
    unit = mb.Cube([0.0] * 3, [2.0] * 3)
    assert theory(space=unit, horizon=4000).mu == pytest.approx(8000 ** (-1 / 4))
    line = mb.Cube([0.0], [2.0])
    assert theory(space=line, horizon=4000).mu == pytest.approx(8000 ** (-1 / 3))
    assert theory(space=line, horizon=4000, version="printed").mu == pytest.approx(8000 ** (-1 / 2))
    assert theory(space=mb.MetricSpace(), p=4.0, horizon=4000).mu == pytest.approx(8000 ** (-1 / 5))
    assert lipschitz_ftl_floor(5, 1, p=2.0) == 0.2
    with pytest.raises(ValueError, match="p must be given"):
        theory(space=mb.MetricSpace())


@pytest.mark.parametrize("prediction", ["nearest", "extension"])
@pytest.mark.parametrize(
    "space",
    [UNIT, mb.MetricSpace("chebyshev", dimension=2.0, lipschitz=4.0), mb.MetricSpace(largest, lipschitz=4.0)],
    ids=["cube", "named", "function"],
)
def test_it_learns_on_a_cube_under_a_name_and_under_a_function(space: Any, prediction: str) -> None:
    """Uniform play is 1; an oracle that sees no costs, the negative control, stays there."""
    p = 2.0 if space.dimension is None else None
    agent = theory(space=space, p=p, prediction=prediction, horizon=1000)
    assert regret(agent, 1000) < 0.75
    assert all(epoch.solved and epoch.gap == 0.0 for epoch in agent.epochs())
    assert [epoch.rounds for epoch in agent.epochs()] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    blind = theory(space=space, p=p, prediction=prediction, horizon=1000, oracle=Blind())
    assert regret(blind, 1000) > 0.95


class Blind(LipschitzERM):
    def minimise(self, costs: Any, pairs: Any, distances: Any) -> LipschitzFit:
        return LipschitzFit(np.full(costs.shape, 1.0 / costs.shape[1]), 0.0, 0)


def test_a_leader_is_of_the_epoch_before_alone() -> None:
    x, _ = band(63, 0)  # epochs of 1, 2, 4, 8, 16 and 32 rounds
    policies = []
    for early, late in ((0, 0), (1, 0), (0, 1)):
        agent = theory(horizon=200)
        for i, context in enumerate(x):
            agent.learn(context, mb.Decision(i % 2, 0.5), float(i % 2 == (early if i < 31 else late)))
        policies.append(agent.state()["policy"])
    assert np.array_equal(policies[0], policies[1])
    assert not np.array_equal(policies[0], policies[2])


def test_no_round_is_lost_to_a_program_that_is_not_solved() -> None:
    agent = theory(horizon=600)
    regret(agent, 300)
    before = agent.state()["policy"].copy()
    agent.oracle = LipschitzERM(time_limit=1e-6)
    with pytest.warns(UserWarning, match=r"was not solved: Time limit"):
        regret(agent, 300, seed=5)
    assert [epoch.solved for epoch in agent.epochs()] == [True] * 8 + [False]
    assert agent.epochs()[-1].gap is None
    assert np.array_equal(agent.state()["policy"], before)
    assert agent.state()["clock"][0] == 600


def test_points_outside_are_refused_and_nothing_changes() -> None:
    agent = theory()
    regret(agent, 50)
    before = {name: array.copy() for name, array in agent.state().items()}
    for bad, words in (([0.5, 1.1], "1.1 at position 1, which is not between 0 and 1"), ([0.5], r"shape \(2,\)")):
        for call in (agent.act, lambda x: agent.learn(x, mb.Decision(0, 0.5), 1.0)):
            with pytest.raises(ValueError, match=words):
                call(bad)
    with pytest.raises(ValueError, match="the cube's 2 coordinates, got 3"):
        theory().act([0.1, 0.2, 0.3])
    assert all(np.array_equal(array, before[name]) for name, array in agent.state().items())


def test_one_point_with_contradicting_losses_gets_the_better_action() -> None:
    agent = theory(space=mb.MetricSpace(dimension=2.0), horizon=1000)
    rng = np.random.default_rng(0)
    for _ in range(600):
        decision = agent.act([0.3, 0.3])
        agent.learn([0.3, 0.3], decision, float(rng.random() < (0.3, 0.7)[decision.action]))
    law = agent.act([0.3, 0.3]).distribution
    assert law is not None
    assert law[0] > 0.9
    assert agent.state()["size"][0] == 1


def test_a_metric_that_is_none_is_warned_of_and_one_that_fails_is_survived() -> None:
    squares = mb.MetricSpace(lambda x, y: float(((x - y) ** 2).sum()), dimension=2.0)
    lopsided = mb.MetricSpace(lambda x, y: float(max((x - y).max(), 0.0)), dimension=2.0)
    for space, words in ((squares, "violates the triangle inequality"), (lopsided, "is not symmetric")):
        with pytest.warns(UserWarning, match=words):
            regret(theory(space=space), 40)
    fails: list[bool] = []
    sometimes = mb.MetricSpace(lambda x, y: math.nan if fails and (x != y).any() else largest(x, y), dimension=2.0)
    agent = theory(space=sometimes)
    regret(agent, 30)
    fails.append(True)
    with pytest.warns(UserWarning, match="the last leader goes on: .* the metric fails"):
        agent.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)  # the 31st round, at whose end a leader is sought
    with pytest.raises(NotAMetricError, match="context must be a point of the space; the metric fails"):
        agent.act([0.3, 0.4])
    fails.clear()
    regret(agent, 100)
    assert [epoch.solved for epoch in agent.epochs()] == [True] * 4 + [False] + [True] * 2
    assert agent.state()["clock"][0] == 131
    with pytest.raises(NotAMetricError, match="the metric fails at"):
        theory(space=mb.MetricSpace(lambda x, y: 1.0 / 0.0, dimension=2.0)).act([0.1, 0.1])
    with pytest.raises(NotAMetricError, match="context must be a point of the space, at distance 0 of itself"):
        theory(space=mb.MetricSpace(lambda x, y: 1.0, dimension=2.0)).act([0.1, 0.1])


def test_a_metric_need_not_be_defined_between_contexts() -> None:
    table = {(a, b): float(abs(a - b)) for a in range(5) for b in range(5)}
    space = mb.MetricSpace(
        lambda x, y: table[int(x[0]), int(y[0])] if x[0] % 1 == y[0] % 1 == 0 else 1 / 0, dimension=1.0
    )
    for agent in (theory(space=space, horizon=300), mb.LipschitzFTL(2, space=space, seed=0)):
        for i in range(200):
            decision = agent.act([float(i % 5)])
            agent.learn([float(i % 5)], decision, float(decision.action != (i % 5 > 2)))
        law = agent.act([4.0]).distribution
        assert law is not None
        assert law[1] > 0.7


def test_features_must_have_the_spaces_width() -> None:
    for agent in (mb.FaithfulLipschitzFTL(2, space=UNIT, features="raw"), mb.Binning(2, space=UNIT, features="raw")):
        with pytest.raises(ValueError, match="features must give the space's 2 coordinates, got 3"):
            agent.learn([0.5, 0.5], mb.Decision(0, 0.5), 1.0)


def test_where_the_floor_is_cut_the_net_is_not_finer() -> None:
    wide = mb.FaithfulLipschitzFTL(8, space=mb.Cube([-9.0] * 2, [9.0] * 2), horizon=200)
    assert wide.mu == 0.125
    assert wide.radius == pytest.approx((81 / 1600) ** (1 / 3))


def test_a_function_cannot_be_saved_and_everything_else_can(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="cannot save <function"):
        theory(space=mb.MetricSpace(largest, dimension=2.0)).save(tmp_path / "agent.npz")
    for agent in (theory(), theory(space=mb.MetricSpace("manhattan", dimension=2.0), prediction="extension")):
        regret(agent, 300)
        agent.save(tmp_path / "agent.npz")
        again = mb.FaithfulLipschitzFTL.load(tmp_path / "agent.npz")
        assert regret(again, 300, seed=3) == regret(agent, 300, seed=3)
        assert again.epochs() == agent.epochs()


# A box of actions


def test_a_box_of_actions_is_played_at_the_theorems_resolution(tmp_path: Any) -> None:
    prices = mb.Cube([10.0, 0.0], [20.0, 1.0], lipschitz=0.2)
    agent = mb.LipschitzFTL.from_theory(space=UNIT, actions=prices, horizon=3000, seed=0)
    bound = lipschitz_actions(2.0, 2.0, 3000)
    corners = np.array(list(itertools.product((10.0, 20.0), (0.0, 1.0))))
    assert agent.actions is not None
    for point in np.concatenate([corners, np.random.default_rng(0).random((50, 2)) * [10.0, 1.0] + [10.0, 0.0]]):
        assert prices.distances(point, agent.actions).min() <= bound.parameters["epsilon"] + 1e-12
    decision = agent.act([0.5, 0.5])
    assert isinstance(decision, mb.PlacedDecision)
    assert decision.point is not None
    assert np.array_equal(decision.point, agent.actions[decision.action])
    assert decision.probability == pytest.approx(1.0 / agent.n_actions)
    agent.learn([0.5, 0.5], decision, loss=0.3)
    agent.save(tmp_path / "agent.npz")
    again = mb.load(tmp_path / "agent.npz").act([0.5, 0.5])
    assert isinstance(again, mb.PlacedDecision)


def test_a_box_of_actions_learns_where_the_loss_is_least() -> None:
    agent = mb.LipschitzFTL.from_theory(
        space=mb.Cube([0.0], [1.0], lipschitz=4.0), actions=mb.Cube([0.0], [1.0]), horizon=4000, seed=0
    )
    rng = np.random.default_rng(0)
    far = []
    for x in rng.random(4000):
        decision = agent.act([x])
        assert isinstance(decision, mb.PlacedDecision)
        assert decision.point is not None
        distance = abs(float(decision.point[0]) - x)
        far.append(distance)
        agent.learn([x], decision, loss=float(rng.random() < distance))
    assert np.mean(far[-1000:]) < 0.8 * np.mean(far[:500])
    both: dict[str, Any] = {"n_actions": 2, "actions": mb.Cube([0.0], [1.0])}
    for more in ({}, both):
        with pytest.raises(ValueError, match="either n_actions or actions"):
            mb.LipschitzFTL.from_theory(space=UNIT, horizon=10, **more)
    with pytest.raises(ValueError, match="n_actions=2 rows of finite numbers"):
        mb.FaithfulLipschitzFTL(2, actions=np.zeros((3, 1)))


# The practical form, and what it is compared with


@pytest.mark.parametrize("space", [UNIT, mb.MetricSpace(largest, lipschitz=4.0)], ids=["cube", "function"])
def test_the_practical_form_learns_far_faster(space: Any, tmp_path: Any) -> None:
    agent = mb.LipschitzFTL(2, space=space, seed=0)
    assert regret(agent, 600) < 0.25
    leader = agent.leader()
    assert leader.unsolved == 0
    assert leader.centres <= 200
    if space is UNIT:
        agent.save(tmp_path / "agent.npz")
        again = mb.LipschitzFTL.load(tmp_path / "agent.npz")
        assert regret(again, 200, seed=3) == regret(agent, 200, seed=3)
        with pytest.raises(ValueError, match="must be in the cube"):
            agent.act([2.0, 0.0])


def test_the_practical_form_plays_on_where_no_program_is_solved() -> None:
    agent = mb.LipschitzFTL(2, space=UNIT, oracle=LipschitzERM(max_iterations=1), seed=0)
    with pytest.warns(UserWarning, match="the last leader goes on"):
        regret(agent, 200)
    leader = agent.leader()
    assert 0 < leader.unsolved <= leader.searches
    assert agent.state()["counts"].sum() == 200


def test_binning_keeps_its_cells_apart() -> None:
    agent = mb.Binning(2, space=mb.Cube([0.0], [1.0]), radius=0.25, seed=0)
    for _ in range(20):
        agent.learn([0.1], mb.Decision(0, 0.5), 1.0)
        agent.learn([0.1], mb.Decision(1, 0.5), 0.0)
    assert agent.act([0.4]).distribution.tolist() == [0.0, 1.0]  # type: ignore[union-attr]  # learners give it
    assert agent.act([0.6]).distribution.tolist() == [0.5, 0.5]  # type: ignore[union-attr]  # learners give it
    assert regret(mb.Binning(2, space=UNIT, radius=0.5, seed=0)) < 0.4
    borders = mb.Binning(2, space=mb.Cube([0.0], [1.0]), radius=1 / 6, seed=0)
    for x in np.linspace(0.0, 1.0, 1001):
        borders.learn([x], mb.Decision(0, 0.5), 1.0)
    assert (borders.state()["counts"][:, 0] > 0).sum() == 3


def test_nearest_neighbours_are_the_nearest() -> None:
    rng = np.random.default_rng(0)
    agent = mb.NearestNeighbours(2, k=3, epsilon=0.0, features=mb.Identity(), seed=0)
    x, losses, actions = rng.random((80, 2)) + 1e9, rng.random(80), rng.integers(2, size=80)  # far from the origin
    for row, loss, action in zip(x, losses, actions, strict=True):
        agent.learn(row, mb.Decision(int(action), 0.5), loss)
    for point in rng.random((20, 2)) + 1e9:
        value = []
        for a in range(2):
            near = np.argsort(np.linalg.norm(x[actions == a] - point, axis=1))[:3]
            value.append(losses[actions == a][near].mean())
        assert agent.act(point).action == int(np.argmin(value))
