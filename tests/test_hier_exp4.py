"""Hierarchical exponential weights: every step of the derivation in `theory.hierarchical`, as numbers, and broken."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory
from marginbandits.theory.hierarchical import chain_levels, largest_moment, lattice, log_near, root_moment
from marginbandits.types import Array
from tests.problems import lipschitz_line

LINE = mb.Cube([0.0], [1.0], lipschitz=2.0)


@pytest.mark.parametrize("K", [2, 3, 4])
def test_the_lattice_has_every_value_and_misses_none_by_more_than_its_error(K: int) -> None:
    values = lattice(K, 6)
    assert len(values) == math.comb(5 + K, K - 1)
    assert np.allclose(values.sum(1), 1.0)
    points = np.random.default_rng(0).dirichlet(np.full(K, 0.5), 300)
    assert np.abs(points[:, None] - values).sum(-1).min(1).max() <= K / 12 + 1e-12


def test_every_lipschitz_policy_is_a_path_of_the_tree() -> None:
    """Values nearest to g at the centres are within reach, level by level, and the leaf within its error."""
    rng = np.random.default_rng(0)
    levels = chain_levels(2, 1.0, 5)
    values = [lattice(2, level.fineness) for level in levels]
    for _ in range(20):
        g = lipschitz_line(rng, 1.0, 0.0, 1.0)  # half of ‖g(x) - g(y)‖₁ <= 2|x - y|
        for x in rng.random(20):
            centres = [(math.floor(x * 2**m) + 0.5) / 2**m for m in range(6)]
            path = [values[m][np.abs(values[m][:, 0] - g(c)).argmin()] for m, c in enumerate(centres)]
            for m in range(5):
                assert np.abs(path[m] - path[m + 1]).sum() <= levels[m].reach + 1e-9
            miss = 2.0 * abs(path[-1][0] - g(x))
            assert miss <= levels[-1].radius + levels[-1].error + 1e-9


def played(T: int = 3000, seed: int = 0, **more: Any) -> tuple[mb.HierExp4, float]:
    """Regret on contexts at both ends of a line, to the policy that goes from one action to the other."""
    rng = np.random.default_rng(seed)
    agent = mb.HierExp4(2, space=LINE, horizon=T, seed=seed, **{"depth": 2, "mu": 0.1, **more})
    total = 0.0
    for x in rng.integers(2, size=T) * 0.9 + 0.1 * rng.random(T):
        means = np.array([0.05, 0.95] if x < 0.5 else [0.95, 0.05])
        decision = agent.act([x])
        agent.learn([x], decision, loss=float(rng.random() < means[decision.action]))
        assert decision.distribution is not None
        total += float(decision.distribution @ means - means @ [1.0 - x, x])
    return agent, total


def test_hierarchical_weights_learn_by_region_and_by_its_bound() -> None:
    agent, regret = played()
    assert regret < agent.bound().value
    assert agent.law([0.05])[0] > 0.7
    assert agent.law([0.95])[1] > 0.7
    _, flat = played(depth=0)  # the negative control: a tree without cells knows no context
    assert flat > 1.5 * regret


class Tree:
    """The tree by definition, for two actions on [0, 1]; of every node what it has paid, and its second moments."""

    def __init__(self, depth: int, mu: float, told: bool = True) -> None:
        self.levels, self.mu, self.told = chain_levels(2, 1.0, depth), mu, told
        self.values = [lattice(2, level.fineness) for level in self.levels]
        near = [np.ones((1, len(self.values[0])), bool)]
        for m in range(depth):
            apart = np.abs(self.values[m][:, None] - self.values[m + 1]).sum(-1)
            near.append(apart <= self.levels[m].reach + 1e-9)
        self.near, most = near, largest_moment(2, mu)
        chained = [level.tail**2 * most for level in self.levels[:depth]]
        self.moments = [root_moment(2, mu), *chained]
        logs = [log_near(2, here, below) for here, below in itertools.pairwise(self.levels)]
        self.logs = [math.log(len(self.values[0])), *logs]
        shapes = [(2**m, *one.shape) for m, one in enumerate(near)]
        self.costs = [np.zeros(shape) for shape in shapes]  # Σ <P', ℓ̂> of every child
        self.paid = [np.zeros(shape[:2]) for shape in shapes]
        self.quadratic = [np.zeros(shape[:2]) for shape in shapes]
        self.visits = [np.zeros(shape[0]) for shape in shapes]
        self.largest = [0.0] * (depth + 1)  # E Σ q c², over all losses

    def weights(self, m: int, cell: int) -> Array:
        """Σ_v' q(v') of every node of a cell: rows of its values."""
        rate = self.rate(m, self.visits[m][cell] + 1) if self.told else 0.0
        least = np.where(self.near[m], self.costs[m][cell], np.inf).min(1, keepdims=True)
        q = np.exp(-rate * (self.costs[m][cell] - least)) * self.near[m]
        return np.asarray(q / q.sum(1, keepdims=True))

    def rate(self, m: int, s: float) -> float:
        return math.sqrt(self.logs[m] / (self.moments[m] * s))

    def cells(self, x: float) -> list[int]:
        return [min(int(x * 2**m), 2**m - 1) for m in range(len(self.near))]

    def predictions(self, x: float) -> list[Array]:
        """P of the root, and of every value of every level in the cells of x; values at the end."""
        found = [self.values[-1]]
        for m, cell in reversed(list(enumerate(self.cells(x)))):
            found.append(self.weights(m, cell) @ found[-1])
        return found[::-1]

    def learn(self, x: float, action: int, estimate: float) -> None:
        predicted = self.predictions(x)
        play = (1 - 2 * self.mu) * predicted[0][0] + self.mu
        for m, cell in enumerate(self.cells(x)):
            q, below = self.weights(m, cell), predicted[m + 1]
            least = np.where(self.near[m][..., None], below, np.inf).min(1)
            spread = np.where(self.near[m][..., None], below - least[:, None], 0.0)
            self.largest[m] = max(self.largest[m], float((np.einsum("vn,vna->va", q, spread**2) / play).sum(1).max()))
            self.visits[m][cell] += 1
            rate = self.rate(m, self.visits[m][cell])
            self.paid[m][cell] += predicted[m][:, action] * estimate
            charged = q * spread[..., action] ** 2 * estimate**2
            self.quadratic[m][cell] += rate / 2 * charged.sum(1)
            self.costs[m][cell] += below[:, action] * estimate

    def excess(self) -> list[Array]:
        """Of every node: what it has paid over its best child, less what a Hedge may pay."""
        found = []
        for m, costs in enumerate(self.costs):
            least = np.where(self.near[m], costs, np.inf).min(2)
            rates = np.array([[self.rate(m, max(s, 1.0))] for s in self.visits[m]])
            found.append(self.paid[m] - least - self.logs[m] / rates - self.quadratic[m])
        return found


def with_a_ledger(told: bool = True, T: int = 1500) -> tuple[Tree, float, Array, Array]:
    """A run beside the tree by definition: Σ <P, ℓ̂>, contexts, and ℓ̂."""
    agent, tree = mb.HierExp4(2, space=LINE, horizon=T, depth=2, mu=0.1, seed=0), Tree(2, 0.1, told)
    rng, total = np.random.default_rng(0), 0.0
    contexts, estimates = rng.random(T), np.zeros((T, 2))
    for t, x in enumerate(contexts):
        root = tree.predictions(x)[0][0]
        law = 0.8 * root + 0.1
        if told:
            assert np.allclose(agent.law([x]), law)
        action = int(rng.random() < law[1])
        loss = float(rng.random() < (0.9 if (action == 1) == (x < 0.5) else 0.1))
        estimates[t, action] = loss / law[action]
        total += float(root @ estimates[t])
        tree.learn(x, action, estimates[t, action])
        agent.learn([x], mb.Decision(action, float(law[action])), loss)
    return tree, total, contexts, estimates


def test_every_node_pays_no_more_than_its_hedge_may() -> None:
    """Step 4, at all nodes of a run of 1,500 rounds; nodes that are told nothing, the control, pay more."""
    assert max(one.max() for one in with_a_ledger()[0].excess()) <= 1e-9
    assert max(one.max() for one in with_a_ledger(told=False)[0].excess()) > 10.0


def test_second_moments_of_charges_are_as_small_as_the_chain_has_them() -> None:
    """Step 5 at every node that the run met, expected over actions where every loss is 1."""
    tree, *_ = with_a_ledger()
    assert all(found <= allowed for found, allowed in zip(tree.largest, tree.moments, strict=True))


@pytest.mark.parametrize(("K", "mu"), [(2, 0.05), (3, 0.01), (4, 0.02)])
def test_no_law_has_larger_second_moments(K: int, mu: float) -> None:
    """Step 5 for random children of a node, corners among them.

    The control: 0.8 of the root's moment is exceeded, and of v_m 0.8 of the share that one rare action has.
    """
    rng, tail, shares = np.random.default_rng(0), 0.2, []
    for _ in range(3000):
        children = rng.dirichlet(np.full(K, rng.choice([0.01, 1.0])), 6)
        q = rng.dirichlet(np.full(6, rng.choice([0.05, 1.0])))
        play = (1 - K * mu) * q @ children + mu
        shares.append([float((q @ children**2 / play).sum()) / root_moment(K, mu), 0.0])
        near = children.mean(0) + tail * (children - children.mean(0))  # within tail of one another
        charges = near - near.min(0)
        elsewhere = (1 - K * mu) * rng.dirichlet(np.full(K, 0.05)) + mu
        shares.append([0.0, float((q @ charges**2 / elsewhere).sum()) / (tail**2 * largest_moment(K, mu))])
    assert (np.max(shares, 0) <= 1.0 + 1e-9).all()
    assert (np.max(shares, 0) > [0.8, 0.8 / (K - 1)]).all()


def test_predictions_of_a_nodes_children_differ_by_twice_its_tail_at_most() -> None:
    """Step 5's geometry, for whatever the nodes have learnt; half of a tail, the control, is exceeded."""
    tree, *_ = with_a_ledger()
    shares = []
    for x in np.linspace(0.0, 1.0, 41):
        for m, below in enumerate(tree.predictions(x)[2:]):
            for near in tree.near[m + 1]:
                apart = np.abs(below[near][:, None] - below[near]).sum(-1).max()
                shares.append(apart / (2.0 * tree.levels[m].tail))
    assert 0.5 < max(shares) <= 1.0 + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_what_a_policy_leaves_the_root_is_what_the_nodes_of_its_path_paid(seed: int) -> None:
    """Steps 3 and 6: Σ <P - v_M, ℓ̂> is the sum over one node a cell, exactly, and so at most what those may pay."""
    tree, total, contexts, estimates = with_a_ledger()
    g = lipschitz_line(np.random.default_rng(seed), 1.0, 0.0, 1.0)
    path = [
        [int(np.abs(values[:, 0] - g((c + 0.5) / 2**m)).argmin()) for c in range(2**m)]
        for m, values in enumerate(tree.values)
    ]
    leaves = np.array([tree.values[-1][path[-1][tree.cells(x)[-1]]] for x in contexts])
    over, allowed = 0.0, 0.0
    for m, costs in enumerate(tree.costs):
        for c in range(2**m):
            v = path[m - 1][c // 2] if m else 0  # the node, of the cell above
            over += tree.paid[m][c, v] - costs[c, v, path[m][c]]
            allowed += tree.logs[m] / tree.rate(m, max(tree.visits[m][c], 1.0)) + tree.quadratic[m][c, v]
    assert total - float((leaves * estimates).sum()) == pytest.approx(over)
    assert over <= allowed


def test_rates_of_the_hierarchical_bound() -> None:
    """Exponents in T at sizes where depth is chosen freely, with one loss told and with all."""
    for p, feedback, exponent in (
        (1, "one point", 2 / 3),
        (3, "one point", 3 / 4),
        (1, "full", 1 / 2),
        (3, "full", 2 / 3),
    ):
        values = [theory.hier_exp4(2, 10**k, p=p, radius=1.0, feedback=feedback, deepest=24).value for k in (8, 9, 10)]
        assert np.diff(np.log10(values)).mean() == pytest.approx(exponent, abs=0.03)
    with pytest.raises(ValueError, match="mu must be at most 1/K"):
        theory.hier_exp4(4, 100, p=1, radius=1.0, mu=0.4)


@pytest.mark.parametrize(("K", "depth"), [(2, 4), (3, 2)])
@pytest.mark.parametrize("radius", [0.3, 0.75, 1.0, 1.3, 3.0])
def test_no_node_has_more_values_within_reach_than_are_counted(K: int, depth: int, radius: float) -> None:
    """Where q is no multiple of the one above, too: at K = 2, radius 1.3, 8 values are near, not 7."""
    levels = chain_levels(K, radius, depth)
    for here, below in itertools.pairwise(levels):
        values, finer = lattice(K, here.fineness), lattice(K, below.fineness)
        near = (np.abs(values[:, None] - finer).sum(-1) <= here.reach + 1e-9).sum(1).max()
        assert math.log(near) <= log_near(K, here, below) + 1e-9
