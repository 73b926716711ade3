"""Follow-the-leader over Lipschitz policies, from the theory and practical, and what it is compared with."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.oracles.lipschitz_erm import LipschitzERM, LipschitzFit
from marginbandits.scores.lipschitz import NotAMetricError
from marginbandits.theory import lipschitz_actions, lipschitz_ftl_floor
from marginbandits.types import Array
from tests.marks import at_length

UNIT = mb.Cube([0.0, 0.0], [1.0, 1.0], lipschitz=4.0)


def largest(x: Array, y: Array) -> float:
    return float(np.abs(x - y).max())


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
    assert theory(space=line, horizon=4000, version="printed", outside_theory=True).mu == pytest.approx(
        8000 ** (-1 / 2)
    )
    assert theory(space=mb.MetricSpace(), p=4.0, horizon=4000).mu == pytest.approx(8000 ** (-1 / 5))
    assert lipschitz_ftl_floor(5, 0.3) == 0.2
    with pytest.raises(ValueError, match="p must be given"):
        theory(space=mb.MetricSpace())


@pytest.mark.parametrize("prediction", ["extension", *at_length(["nearest"])])
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
    assert all(epoch.solved and epoch.gap is not None and epoch.gap < 1e-6 for epoch in agent.epochs())
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


@pytest.mark.parametrize(("horizon", "searches"), [(1, 0), (2, 1), (3, 1), (4, 2), (9, 3)])
def test_a_leader_is_sought_only_if_an_epoch_follows(horizon: int, searches: int) -> None:
    agent = theory(horizon=horizon)
    for x in band(horizon, 0)[0]:
        agent.learn(x, agent.act(x), 0.5)
    assert [epoch.solved for epoch in agent.epochs()] == [True] * searches


def test_no_round_is_lost_to_a_program_that_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = theory(horizon=600)
    regret(agent, 300)
    before = agent.state()["policy"].copy()
    monkeypatch.setitem(vars(agent.oracle), "time_limit", 1e-6)
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
    for bad, words in (
        ([0.5, 1.1], "1.1 at position 1, which is not between 0 and 1"),
        ([0.5], "a vector of 2 features as before"),
    ):
        for call in (agent.act, lambda x: agent.learn(x, mb.Decision(0, 0.5), 1.0)):
            with pytest.raises(ValueError, match=words):
                call(bad)
    with pytest.raises(ValueError, match="the space's 2 coordinates, got 3"):
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
    assert agent.points is not None
    for point in np.concatenate([corners, np.random.default_rng(0).random((50, 2)) * [10.0, 1.0] + [10.0, 0.0]]):
        assert prices.distances(point, agent.points).min() <= bound.parameters["epsilon"] + 1e-12
    decision = agent.act([0.5, 0.5])
    assert isinstance(decision, mb.PlacedDecision)
    assert decision.point is not None
    assert np.array_equal(decision.point, agent.points[decision.action])
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
        mb.FaithfulLipschitzFTL(2, points=np.zeros((3, 1)))


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


# Any metric


def rings(n: int = 12) -> mb.FiniteSpace:
    """Points on a circle, by the shorter way round: no box under the largest-coordinate metric."""
    at = np.arange(n) / n
    apart = np.abs(at[:, None] - at)
    return mb.FiniteSpace(np.minimum(apart, 1.0 - apart), lipschitz=2.0)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.0, 1.0]], "n x n"),
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric"),
        ([[0.5, 1.0], [1.0, 0.0]], "0 from a point to itself"),
        ([[0.0, 0.0], [0.0, 0.0]], "above 0 between two"),
        ([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]], "0 to 2 shorter by way of 1"),
    ],
)
def test_a_matrix_that_is_no_metric_is_refused(matrix: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mb.FiniteSpace(matrix)


def test_a_finite_space_is_the_same_by_matrix_by_name_and_by_function() -> None:
    points = np.random.default_rng(0).random((9, 3))
    named, called = (mb.FiniteSpace.of(points, metric=metric) for metric in ("chebyshev", largest))
    assert np.allclose(named.matrix, called.matrix)
    assert np.allclose(named.matrix, mb.FiniteSpace(np.abs(points[:, None] - points).max(-1)).matrix)
    line = mb.FiniteSpace.of(np.linspace(0, 1, 65)[:, None], metric="euclidean")
    assert line.dimension is not None
    assert 0.9 < line.dimension < 2.1
    for bad in ([0.5], [9.0], [-1.0]):
        with pytest.raises(ValueError, match="number of a point, 0 to 8"):
            named.refuse(np.array([bad]))


def test_actions_in_any_metric_are_played_by_a_net_and_saved() -> None:
    """On a ring of 12, what is best opposite the context is found; a net misses by its radius at most."""
    ring = rings()
    agent = mb.LipschitzFTL.from_theory(space=ring, actions=ring, horizon=3000, p=2.0, seed=0)
    assert agent.points is not None
    resolution = 3000 ** (-1.0 / (3.0 + 2.0 * float(ring.dimension or 0.0)))
    for point in ring.points:
        assert ring.distances(point[0:1], agent.points).min() <= resolution
    rng = np.random.default_rng(0)
    losses = []
    for x in rng.integers(12, size=3000):
        decision = agent.act([float(x)])
        assert isinstance(decision, mb.PlacedDecision)
        assert decision.point is not None
        away = abs((x + 6 - decision.point[0] + 6) % 12 - 6) / 6
        agent.learn([float(x)], decision, loss=float(rng.random() < away))
        losses.append(away)
    assert np.mean(losses[-1000:]) < np.mean(losses[:500]) - 0.05
    again = mb.loads(agent.dumps())
    assert isinstance(again, mb.FaithfulLipschitzFTL)
    assert np.array_equal(again.law([3.0]), agent.law([3.0]))
    one = mb.FiniteSpace([[0.0, 1e-6], [1e-6, 0.0]], dimension=1.0)
    with pytest.raises(ValueError, match="two points further than"):
        mb.LipschitzFTL.from_theory(space=ring, actions=one, horizon=100, p=2.0)


@pytest.mark.parametrize("n_actions", [2, 3])
def test_the_recorded_gap_holds_off_the_net_and_would_not_without_it(n_actions: int) -> None:
    """Against the program over the contexts themselves: the least over all of them is within gap + off_net."""
    agent = theory(space=mb.Cube([0.0], [1.0], lipschitz=20.0), n_actions=n_actions, horizon=150)
    rng = np.random.default_rng(1)
    x = rng.random((127, 1))
    actions, losses = rng.integers(n_actions, size=127), rng.random(127)
    for context, action, loss in zip(x, actions, losses, strict=True):
        agent.learn(context, mb.Decision(int(action), 1.0 / n_actions), float(loss))
    broken = 0
    for epoch in agent.epochs()[3:]:
        mine = slice(epoch.first - 1, epoch.first - 1 + epoch.rounds)
        costs = np.zeros((epoch.rounds, n_actions))
        costs[np.arange(epoch.rounds), actions[mine]] = n_actions * losses[mine]
        pairs = np.array(list(itertools.combinations(range(epoch.rounds), 2)))
        least = LipschitzERM().minimise(costs, pairs, 20.0 * np.abs(np.diff(x[mine, 0][pairs], axis=1))[:, 0])
        assert epoch.gap is not None
        assert epoch.value - epoch.gap - epoch.off_net <= least.value + 1e-6
        broken += epoch.value - epoch.gap > least.value + 1e-3
    assert broken, "the gap on the net alone is no gap: that is what off_net is for"
