"""Users' own oracles: scikit-learn's SVMs as an exact twin, a class that is not linear, and oracles that fail."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import marginbandits as mb
from marginbandits.learners.smooth_ftl import FaithfulSmoothFTL
from marginbandits.oracles.hinge_erm import HingeERM, played_costs
from marginbandits.oracles.leader import Followed, LinearLeader
from marginbandits.saving import Part
from marginbandits.types import Array, Leader, Oracle
from tests.marks import at_length

Blocks = npt.NDArray[np.int64]


class SVM:
    """Σ cost·ψ(f_a) + ‖V‖²/(2Cγ²) by one linear SVM on the rows q_a ⊗ x, all of which are to score below -γ."""

    def __init__(self, margin: float, C: float) -> None:
        self.margin, self.C = margin, C

    def fit(self, rows: Array, blocks: Blocks, losses: Array, weights: Array, start: Array) -> LinearLeader:
        used = losses > 0
        if not used.any():
            return LinearLeader(start)
        basis = scipy.linalg.helmert(len(start)).T
        pairs = np.einsum("nk,nd->nkd", basis[blocks[used]], rows[used]).reshape(used.sum(), -1)
        costs = np.tile((weights * losses)[used] / 2, 2)
        svm = LinearSVC(loss="hinge", C=self.C, fit_intercept=False, max_iter=100_000, tol=1e-6, random_state=0)
        svm.fit(np.r_[-pairs, pairs], np.repeat([1, -1], used.sum()), sample_weight=costs)
        return LinearLeader(self.margin * basis @ svm.coef_.reshape(-1, rows.shape[1]))


class Tree:
    """Scores Kγ 1{π(x)} - γ of a decision tree π."""

    def __init__(self, tree: DecisionTreeClassifier, n_actions: int, margin: float) -> None:
        self.tree, self.n_actions, self.margin = tree, n_actions, margin

    def scores(self, rows: Array) -> Array:
        return np.asarray(self.margin * (self.n_actions * np.eye(self.n_actions)[self.tree.predict(rows)] - 1.0))


class Trees:
    """A tree grown to the actions played, each weighted by its reward/p."""

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def fit(self, rows: Array, blocks: Blocks, losses: Array, weights: Array, start: Array) -> Leader:
        tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0)
        return Tree(tree.fit(rows, blocks, weights * (1.0 - losses) + 1e-9), len(start), self.margin)


class Stubborn(Part):
    """An oracle that can be rebuilt, so that a learner with it can be saved if its leaders are linear."""

    def __init__(self, kind: str = "linear") -> None:
        self.kind = kind

    def fit(self, rows: Array, blocks: Blocks, losses: Array, weights: Array, start: Array) -> Leader:
        if self.kind == "fails" and len(rows) == 2:
            raise RuntimeError("no licence")
        if self.kind == "shapeless":
            return LinearLeader(np.zeros((7, rows.shape[1])))
        if self.kind == "nan":
            return LinearLeader(np.full(start.shape, np.nan))
        if self.kind == "array":
            return start  # type: ignore[return-value]  # as a user might
        if self.kind == "tree":
            return Trees(0.5).fit(rows, blocks, losses, weights, start)
        return LinearLeader(np.outer([1.0, 0.0, -1.0], np.ones(rows.shape[1])))


def played(agent: mb.Learner, contexts: Array, losses: Array) -> Array:
    """Expected loss of every round."""
    return np.asarray((mb.simulate(agent, mb.Oblivious.of(contexts, losses)).laws * losses).sum(1))


def xor(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(-0.7, 0.7, (n, 2))
    return contexts, 1.0 - np.eye(2)[(contexts.prod(1) > 0).astype(int)]


@pytest.mark.parametrize("n_actions", [2, 3, 5])
def test_a_linear_svm_finds_the_same_leader(n_actions: int) -> None:
    """One SVM, exactly the same objective: a penalty in place of the ball."""
    rng, C, margin = np.random.default_rng(n_actions), 0.5, 0.3
    rows, blocks = rng.standard_normal((60, 3)) / 2, rng.integers(n_actions, size=60)
    losses, weights = rng.random(60), 1.0 + rng.exponential(size=60)
    start = np.zeros((n_actions, 3))
    svm = SVM(margin, C)
    ours = HingeERM(margin, radius=1e3, ridge=1.0 / (C * margin**2), tolerance=1e-6)
    theirs, least = svm.fit(rows, blocks, losses, weights, start), ours.fit(rows, blocks, losses, weights, start)

    def value(weights_: Array) -> float:
        costs = played_costs(blocks, losses * weights, n_actions)
        hinge = float((costs * np.maximum(1.0 + rows @ weights_.T / margin, 0.0)).sum())
        return hinge + 0.5 * ours.ridge * float((weights_**2).sum())

    assert isinstance(svm, Oracle)
    assert value(theirs.weights) == pytest.approx(least.value, rel=1e-4)
    assert np.allclose(theirs.weights, least.weights, atol=0.02 * abs(least.weights).max())
    assert np.allclose(theirs.weights.sum(0), 0.0)
    assert value(0.9 * theirs.weights) > least.value * 1.001  # that could have told


def test_smooth_ftl_plays_a_users_svm() -> None:
    env = mb.HingeRealizable(3, 3, 2000, margin=0.1, seed=0)
    losses = {}
    for name, oracle in [("svm", SVM(0.1, C=1.0)), ("ours", None)]:
        agent = FaithfulSmoothFTL(3, horizon=2000, margin=0.1, oracle=oracle, seed=0)
        losses[name] = played(agent, env.contexts, env.losses)[1000:].mean()
        assert all(epoch.solved for epoch in agent.epochs())
    assert losses["svm"] == pytest.approx(losses["ours"], abs=0.05)


@pytest.mark.parametrize("build", ["SmoothFTL", *at_length(["EpochGreedy"])])
def test_a_class_that_is_not_linear_learns_what_no_linear_one_can(build: str) -> None:
    contexts, losses = xor(4000)

    def agent(oracle: Oracle) -> mb.Learner:
        if build == "EpochGreedy":
            return mb.EpochGreedy(2, oracle=oracle, features=mb.Identity(), seed=0)
        return mb.SmoothFTL.from_theory(n_features=2, n_actions=2, horizon=4000, margin=0.5, oracle=oracle, seed=0)

    trees, linear = (played(agent(oracle), contexts, losses)[2000:].mean() for oracle in (Trees(0.5), HingeERM(0.5)))
    assert trees < 0.2
    assert linear > 0.4


def test_what_a_tree_costs_is_recorded_without_a_certificate() -> None:
    agent = FaithfulSmoothFTL(2, horizon=64, margin=0.5, oracle=Trees(0.5), seed=0)
    played(agent, *xor(64))
    assert [epoch.rounds for epoch in agent.epochs()] == [1, 2, 4, 8, 16, 32]
    assert all(epoch.gap is None and epoch.solved for epoch in agent.epochs())


def test_a_learner_is_saved_if_its_oracle_and_its_leader_can_be(tmp_path: Path) -> None:
    x, decision = [1.0, 0.0], mb.Decision(0, 0.5)

    def learnt(oracle: Oracle) -> FaithfulSmoothFTL:
        agent = FaithfulSmoothFTL(3, margin=0.5, oracle=oracle, seed=0)
        agent.learn(x, decision, 1.0)
        return agent

    agent = learnt(Stubborn())
    plays = agent.act(x).distribution
    assert plays is not None
    assert np.allclose(plays, agent.mu + (1 - 3 * agent.mu) * np.array([3.0, 1.0, 0.0]) / 4)
    agent.save(tmp_path / "linear.npz")
    assert np.array_equal(mb.load(tmp_path / "linear.npz").act(x).distribution, plays)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"cannot save .*Tree.*only a LinearLeader of shape \(3, 2\) is plain data"):
        learnt(Stubborn("tree")).save(tmp_path / "tree.npz")
    with pytest.raises(ValueError, match=r"cannot save .*SVM.*not plain data"):
        learnt(SVM(0.5, 1.0)).save(tmp_path / "svm.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["linear.npz"]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("array", "that has scores, got array"),
        ("shapeless", r"of finite scores of shape \(1, 3\), got array\(\[\[0"),
        ("nan", r"of finite scores of shape \(1, 3\), got array\(\[\[nan"),
    ],
)
def test_what_is_no_leader_is_refused(kind: str, wanted: str) -> None:
    agent = FaithfulSmoothFTL(3, oracle=Stubborn(kind), seed=0)
    with pytest.raises(ValueError, match="oracle must find a leader " + wanted):
        agent.learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)


def test_an_oracle_that_fails_loses_nothing() -> None:
    """The round that asked it is not learnt; once the oracle works again, it can be."""
    oracle = Stubborn("fails")
    agent, twin = (FaithfulSmoothFTL(3, horizon=16, margin=1.0, oracle=one, seed=0) for one in (oracle, Stubborn()))
    for t in range(16):
        twin.learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)
        if t == 2:
            before = agent.dumps()
            for _ in range(3):
                with pytest.raises(RuntimeError, match="no licence"):
                    agent.learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)
                assert agent.dumps() == before
            vars(oracle)["kind"] = "linear"
        agent.learn([1.0, 0.0], mb.Decision(0, 0.5), 1.0)
    assert all(np.array_equal(agent.state()[name], array) for name, array in twin.state().items())
    assert all(epoch.solved for epoch in agent.epochs())


def test_scores_of_one_context_sum_to_zero_whatever_the_leader() -> None:
    followed = Followed(Stubborn(), 3, 2)
    followed.leader = LinearLeader(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]))
    assert np.allclose(followed.scores(np.array([[1.0, 1.0]]), False), [-5.0, -1.0, 6.0])
    shared = Followed(Stubborn(), 1, 2)
    shared.leader = LinearLeader(np.array([[1.0, 2.0]]))
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert np.allclose(shared.scores(rows, True), [-1.0, 0.0, 1.0])
    kept, block = shared.round(rows, True, 2)
    assert block == 0
    assert np.allclose(shared.leader.scores(kept[None]), 1.0)
