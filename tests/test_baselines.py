"""Each baseline's own formula, on small cases worked out another way."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, softmax

import marginbandits as mb
from marginbandits import policies
from marginbandits.contexts import per_action
from marginbandits.learners.baselines.cover import raise_law
from marginbandits.oracles.loss_ranges import loss_ranges
from marginbandits.oracles.online_regression import OnlineRegression
from marginbandits.types import Array
from tests import naive
from tests.problems import law, vectors

BARE = mb.Identity()

VOWPAL_WABBIT: dict[Callable[..., mb.Learner], Any] = {
    mb.RegCB: np.eye(3)[[2, 1, 1, 0, 1, 1, 1, 0, 2, 1, 0, 0]],
    mb.SquareCB: [
        [0.12372, 0.02977, 0.84651],
        [0.06344, 0.83197, 0.10459],
        [0.04006, 0.92594, 0.034],
        [0.95498, 0.02006, 0.02497],
        [0.04909, 0.87359, 0.07733],
        [0.01812, 0.94647, 0.0354],
        [0.23482, 0.69247, 0.07271],
        [0.97516, 0.01005, 0.01478],
        [0.03122, 0.01852, 0.95026],
        [0.00785, 0.9434, 0.04875],
        [0.97368, 0.01, 0.01632],
        [0.97193, 0.01059, 0.01749],
    ],
    mb.Cover: [
        [0, 0, 1],
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
        [0, 0.83918, 0.16082],
        [0, 1, 0],
        [1, 0, 0],
        [1, 0, 0],
        [0, 0, 1],
        [0, 0, 1],
        [1, 0, 0],
        [1, 0, 0],
    ],
}
"""What version 9.11.9 played with the settings of `EXPLORERS` on `logged_rounds`: rounds 13, 17, ..., 57."""


class TestWidthsOfLinUCB:
    @pytest.mark.parametrize("regularisation", [1e-6, 0.1, 10.0])
    def test_no_width_that_decides_is_left_out(self, regularisation: float) -> None:
        """Two columns are nearly one, and variances fall to a millionth of what they were."""
        rng = np.random.default_rng(0)
        contexts = rng.normal(size=(6000, 6))
        contexts[:, 5] = contexts[:, 4] + 1e-5 * rng.normal(size=6000)
        learner = mb.LinUCB(4, alpha=0.5, regularisation=regularisation, seed=0)
        for x in contexts:
            decision = learner.act(x)
            learner.learn(x, decision, abs(math.tanh(x[decision.action]) * rng.random()))
        assert learner._swift is not None
        assert learner._map is not None
        plain, fresh = learner._ridge, rng.normal(size=(2000, 6)) * [1, 1, 1, 1, 1, 1e-3]
        batch = per_action(learner._map.transform(fresh), 4)
        scores = (plain.predict(batch) + 0.5 * np.sqrt(plain.variance(batch))).reshape(-1, 4)
        assert np.array_equal(np.argmax(learner.laws(fresh), 1), scores.argmax(1))
        widest = learner._swift._arrays[2][6]
        assert (widest >= (plain.factor**2).sum(1)).all()
        assert (widest <= (plain.factor**2).sum(1) * (1 + 1e-9) + 2e-9 / regularisation).all()


class TestOnlineRegression:
    def test_agrees_with_its_twin(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, 5)) * [1, 10, 0.1, 1, 0] * (rng.random((400, 5)) < 0.8)
        oracle, twin = OnlineRegression(1, 2, 5, 0.5), naive.OnlineRegression(5, 0.5)
        for x in X:
            target, importance = float(x[0] + 0.1 * x[1] > 0), float(rng.choice([0.0, 0.3, 1.0, 7.0]))
            target *= float(rng.choice([1.0, 1.0, -2.0, 3.0]))  # costs of an estimate go beyond [0, 1]
            assert oracle.predict(vectors(x, 2))[1] == pytest.approx(twin.predict(x), abs=1e-9)
            if x.any():
                oracle.learn(vectors(x, 2), 1, target, importance)
                twin.learn(x, target, importance)
        assert not oracle.state[0, 0].any()  # the other action's model was not touched

    def test_importance_counts_like_repetition(self) -> None:
        """One step of importance h lands where h small steps do, up to the adaptive rate's own change."""
        x = np.array([[1.0, -2.0]])
        for importance in (1e3, 1e6):
            oracle = OnlineRegression(1, 1, 2, 0.5)
            oracle.learn(vectors(x, 1), 0, 0.8, importance)
            assert oracle.predict(vectors(x, 1))[0] == pytest.approx(0.8, abs=1e-6)  # never beyond the target

    def test_scale_of_the_features_does_not_matter(self) -> None:
        rng = np.random.default_rng(1)
        X, targets = rng.standard_normal((200, 3)), rng.random(200)
        plain, scaled = OnlineRegression(1, 1, 3, 0.5), OnlineRegression(1, 1, 3, 0.5)
        factor = np.array([1e-3, 1.0, 1e4])
        for x, target in zip(X, targets, strict=True):
            assert plain.predict(vectors(x, 1))[0] == pytest.approx(
                scaled.predict(vectors((x * factor)[None], 1))[0], abs=1e-9
            )
            plain.learn(vectors(x, 1), 0, target)
            scaled.learn(vectors((x * factor)[None], 1), 0, target)

    def test_ranges_solve_their_equation(self) -> None:
        """As Vowpal Wabbit asks: one more example, of the extreme target one beyond the range, counted w times."""
        oracle, twin, delta = OnlineRegression(1, 1, 3, 0.5), naive.OnlineRegression(3, 0.5), 0.002
        for t, (x, _, loss) in enumerate(islice(logged_rounds(80), 1, None)):
            predicted, (low, high) = twin.predict(x), loss_ranges(oracle, vectors(x, 1), delta)
            reached = []
            for gap in (max(predicted, 0.0) + 1, 2 - min(predicted, 1.0)):
                largest = np.maximum(twin.N, np.abs(x))
                scale = math.sqrt((twin.total + 1) / (twin.length + ((x / largest) ** 2).sum()))
                step = 0.5 * scale * (x**2 / (largest * np.sqrt(twin.G + 4 * gap**2 * x**2))).sum()
                excess = partial(lambda w, gap, step: w * (gap**2 - (gap - step * w) ** 2) - delta, gap=gap, step=step)
                reached.append(step * (brentq(excess, 0, gap / step) if excess(gap / step) > 0 else gap / step))
            assert low[0] == pytest.approx(max(predicted - reached[0], min(predicted, 0.0)), abs=1e-5)
            assert high[0] == pytest.approx(min(predicted + reached[1], max(predicted, 1.0)), abs=1e-5)
            if t % 2 == 0:
                oracle.learn(vectors(x, 1), 0, loss, 0.5)
                twin.learn(x, loss, 0.5)

    def test_ranges_hold_the_prediction_and_shrink_with_evidence(self) -> None:
        rng = np.random.default_rng(0)
        oracle, x = OnlineRegression(1, 2, 2, 0.5), np.array([[1.0, 0.5]])
        widths = []
        for rounds in (20, 2000):
            for _ in range(rounds):
                oracle.learn(vectors(x + 0.3 * rng.standard_normal((1, 2)), 2), 0, float(0.3 + 0.4 * rng.random()))
            low, high = loss_ranges(oracle, vectors(x, 2), 0.01)
            assert (low <= oracle.predict(vectors(x, 2))).all()
            assert (high >= oracle.predict(vectors(x, 2))).all()
            widths.append(high[0] - low[0])
        assert 0 < widths[-1] < 0.6 * widths[0]
        assert low[1] == 0.0  # nothing bad is known of the other action
        tight, loose = (loss_ranges(oracle, vectors(x, 2), delta)[1][0] for delta in (0.001, 0.1))
        assert tight < loose


def test_squarecb_plays_inverse_gaps() -> None:
    agent = mb.SquareCB(3, scale=5.0, features=BARE, seed=0)
    x = np.array([1.0])
    for action, loss in ((0, 0.2), (1, 0.6), (2, 0.9)) * 20:
        agent.learn(x, mb.Decision(action, 1 / 3), loss)
    losses = agent._oracle.predict(vectors(x, 3))
    gamma = 5.0 * math.sqrt(60)
    expected = 1 / (3 + gamma * (losses - losses[0]))
    expected[0] = 1 - expected[1:].sum()
    assert np.allclose(law(agent, x), expected)


def test_of_what_is_beyond_the_range_squarecb_counts_a_part_and_all_if_weighted() -> None:
    x = np.array([1.0])
    for weighted, played in (
        (False, [1 / (3 + 5 * 0.6), 1 - 1 / 6 - 1 / 4.5, 1 / (3 + 5 * 0.3)]),
        (True, [1 / (3 + 5 * 2), 1 - 1 / 13 - 1 / 8, 1 / (3 + 5)]),
    ):
        agent = mb.SquareCB(3, scale=5.0, weighted=weighted, features=BARE, seed=0)
        agent.learn(x, mb.Decision(0, 1.0), 0.0)
        agent._oracle.state[0, :, 0, 0] = [0.0, -2.0, -1.0]
        assert np.allclose(law(agent, x), played)


def test_regcb_is_optimistic_or_eliminates() -> None:
    x = np.array([1.0])
    for play in ("optimistic", "elimination"):
        agent = mb.RegCB(3, play=play, mellowness=0.01, features=BARE, seed=0)
        for action, loss in ((0, 0.3), (1, 0.9)) * 60:
            agent.learn(x, mb.Decision(action, 0.5), loss)
        delta = 0.01 * math.log(3 * 120)
        low, high = loss_ranges(agent._oracle, vectors(x, 3), delta)
        kept = low == low.min() if play == "optimistic" else low <= high.min()
        assert np.allclose(law(agent, x), kept / kept.sum())
        assert law(agent, x)[1] == 0.0  # known to be bad
        assert law(agent, x)[2] > 0.0  # not known at all


def test_bag_plays_votes_and_the_first_policy_sees_everything_once() -> None:
    agent = mb.Bag(3, n_policies=5, features=BARE, seed=0)
    alone = OnlineRegression(1, 3, 2, 0.5)
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, action, loss = rng.standard_normal(2), int(rng.integers(3)), float(rng.random())
        agent.learn(x, mb.Decision(action, 1 / 3), loss)
        alone.learn(vectors(x, 3), action, loss)
    x = np.ones(2)
    assert np.array_equal(agent._oracle.state[0], alone.state[0])
    assert len({agent._oracle.state[j].tobytes() for j in range(5)}) == 5
    votes = [policies.greedy(-agent._oracle.predict(vectors(x, 3), j)) for j in range(5)]
    assert np.allclose(law(agent, x), np.mean(votes, 0))


def test_cover_raises_the_mean_vote_on_its_support_and_covers_more_with_psi() -> None:
    x = np.array([1.0, 0.5])
    spread = []
    for psi in (0.0, 2.0):
        agent = mb.Cover(4, n_policies=6, psi=psi, features=BARE, seed=0)
        for t in range(200):
            agent.learn(x, mb.Decision(t % 4, 0.25), (0.2, 0.3, 0.4, 0.5)[t % 4])
        floor = min(1 / 4, 1 / math.sqrt(4 * 200))
        share = np.mean([policies.greedy(-agent._oracle.predict(vectors(x, 4), j)) for j in range(6)], 0)
        played = law(agent, x)
        assert played.sum() == pytest.approx(1.0)
        assert np.array_equal(played > 0, share > 0)
        assert (played[share > 0] >= 4 * floor / (share > 0).sum() - 1e-12).all()
        spread.append((share > 0).sum())
    assert spread[0] == 1
    assert spread[1] > 1


def test_raising_a_law_moves_it_as_little_as_it_must() -> None:
    rng = np.random.default_rng(0)
    for mass in (0.0, 0.3, 0.9, 1.0):
        v = np.r_[rng.dirichlet(np.full(4, 0.3)), 0.0]
        law = v.copy()
        floor = mass / 4
        found = minimize(
            lambda p, v=v: ((p - v[:4]) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(floor, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            tol=1e-14,
        )
        raise_law(law, mass)
        assert np.allclose(law, np.r_[found.x, 0.0], atol=1e-6)


def logged_rounds(n: int) -> Iterator[tuple[Array, mb.Decision, float]]:
    """Contexts, decisions and losses of a log, without a generator whose numbers might change."""
    for t in range(n):
        x, action = np.array([math.sin(t), 2 * math.cos(2.0 * t), 1.0]), (t * t + t // 3) % 3
        right = (x[0] + 0.4 * x[1] > 0.2 * t % 0.7) == (action == 0)
        yield x, mb.Decision(action, (0.2, 0.5, 0.9)[t % 5 % 3]), float(not right) if t % 4 else 0.25 * (t % 5)


@pytest.mark.parametrize("learner", VOWPAL_WABBIT)
def test_weighted_plays_what_vowpal_wabbit_played_on_the_same_log(learner: Callable[..., mb.Learner]) -> None:
    agent, plain = (learner(3, features=BARE, seed=0, **how) for how in ({"weighted": True}, {}))
    ours, unweighted = [], []
    for t, (x, decision, loss) in enumerate(logged_rounds(60)):
        if t >= 13 and t % 4 == 1:
            ours.append(law(agent, x))
            unweighted.append(law(plain, x))
        agent.learn(x, decision, loss)
        plain.learn(x, decision, loss)
    assert np.allclose(ours, VOWPAL_WABBIT[learner], atol=1e-5)
    assert not np.allclose(unweighted, VOWPAL_WABBIT[learner], atol=0.1)


@pytest.mark.parametrize("learner", [mb.RegCB, mb.SquareCB])
def test_where_vowpal_wabbit_ignores_probabilities_weighting_is_a_smaller_rate(
    learner: Callable[..., mb.RegCB | mb.SquareCB],
) -> None:
    weighted = learner(3, weighted=True, learning_rate=0.5, features=BARE, seed=0)
    slower = learner(3, learning_rate=0.5 / math.sqrt(3), features=BARE, seed=0)
    for x, decision, loss in logged_rounds(60):
        weighted.learn(x, decision, loss)
        slower.learn(x, decision, loss)
        assert np.allclose(weighted._oracle.predict(vectors(x, 3)), slower._oracle.predict(vectors(x, 3)))


def test_bag_weighted_counts_a_round_by_its_probability() -> None:
    agent, alone = mb.Bag(3, n_policies=2, weighted=True, features=BARE, seed=0), OnlineRegression(1, 3, 3, 0.5)
    for x, decision, loss in logged_rounds(30):
        agent.learn(x, decision, loss)
        alone.learn(vectors(x, 3), decision.action, loss, 1 / (3 * decision.probability))
    assert np.array_equal(agent._oracle.state[0], alone.state[0])


def test_banditron_takes_the_papers_step() -> None:
    agent = mb.Banditron(3, gamma=0.3, features=BARE, seed=0)
    x = np.array([1.0, -2.0])
    agent.learn(x, mb.Decision(1, 0.4), loss=0.0)
    assert np.allclose(agent._weights, np.outer([-1 / 3, 1 / 0.4 - 1 / 3, -1 / 3], x))
    agent.learn(x, mb.Decision(2, 0.1), loss=1.0)  # wrong: only the guess, action 1, is pushed down
    assert np.allclose(agent._weights, np.outer([-1 / 3, 1 / 0.4 - 4 / 3, -1 / 3], x))
    assert np.allclose(law(agent, x), [0.1, 0.8, 0.1])


def test_newtron_minimises_its_sum_of_quadratics() -> None:
    """Coordinate by coordinate, because the form is diagonal: argmin Σ G w + κβ G²(w - w_τ)²/2 + w²/(2D)."""
    agent = mb.Newtron(2, alpha=2.0, beta=0.3, diameter=4.0, gamma=0.1, features=BARE, seed=0)
    rng = np.random.default_rng(0)
    terms: list[tuple[Array, float, Array]] = []
    for _ in range(30):
        x, action, right = rng.standard_normal(2), int(rng.integers(2)), bool(rng.integers(2))
        W = agent._linear / agent._curvature if terms else np.zeros((2, 2))
        P, p = softmax(2.0 * W @ x), 0.5
        e = np.eye(2)[action] - 0.5
        G = np.outer(-e * (1 - P[action]) / p if right else e * P[action] / p, x)
        terms.append((G, (p if right else 1.0) * 0.3, W))
        agent.learn(x, mb.Decision(action, p), float(not right))

    def objective(flat: Array) -> float:
        w = flat.reshape(2, 2)
        return float(sum((G * w + k * G**2 * (w - v) ** 2 / 2).sum() for G, k, v in terms) + (w**2).sum() / 8)

    best = minimize(objective, np.zeros(4), tol=1e-12).x.reshape(2, 2)
    assert np.allclose(agent._linear / agent._curvature, best, atol=1e-5)
    x = np.array([0.3, -0.4])
    assert np.allclose(law(agent, x), 0.9 * softmax(2.0 * best @ x) + 0.05, atol=1e-4)


def test_soba_learns_only_from_right_guesses_that_keep_the_balance() -> None:
    """Against the algorithm written out; some right guesses must be skipped for the test to mean anything."""
    agent = mb.SOBA(3, gamma=0.3, features=BARE, seed=0)
    rng = np.random.default_rng(0)
    theta, diagonal, balance, skipped = np.zeros((3, 2)), np.ones((3, 2)), 0.0, 0
    for _ in range(200):
        x, p = rng.standard_normal(2), float(rng.choice([0.1, 0.8]))
        label, action = int(x[0] > 0), int(rng.integers(3))
        agent.learn(x, mb.Decision(action, p), float(action != label))
        if action == label:
            W = theta / diagonal
            scores = W @ x
            others = np.where(np.arange(3) == label, -np.inf, scores)
            best = (others == others.max()) / (others == others.max()).sum()
            g = np.outer(best - np.eye(3)[label], x) / p
            q = math.sqrt(p) * g
            m = ((W * q).sum() ** 2 + 2 * (W * g).sum()) / (1 + (q**2 / diagonal).sum())
            if m + balance >= 0:
                theta, diagonal, balance = theta - g, diagonal + q**2, balance + m
            else:
                skipped += 1
        assert np.allclose(agent._theta, theta)
        assert np.allclose(agent._diagonal, diagonal)
        assert agent._balance[0] == pytest.approx(balance)
    assert skipped > 5


def _posterior_cost(w: Array, mean: Array, precision: Array, x: Array, reward: float) -> float:
    p = expit(w @ x)
    likelihood = reward * np.log(p) + (1 - reward) * np.log(1 - p)
    return float(0.5 * (precision * (w - mean) ** 2).sum() - likelihood)


def test_logistic_ts_moves_to_the_posterior_mode() -> None:
    agent = mb.LogisticTS(2, regularisation=0.7, features=BARE, seed=0)
    rng = np.random.default_rng(0)
    mean, precision = np.zeros(3), np.full(3, 0.7)
    for _ in range(20):
        x, reward = rng.standard_normal(3), float(rng.random())

        mode = minimize(_posterior_cost, mean, (mean, precision, x, reward), tol=1e-12).x
        agent.learn(x, mb.Decision(1, 0.5), reward=reward)
        assert np.allclose(agent._mean[1], mode, atol=1e-4)
        p = expit(agent._mean[1] @ x)
        mean, precision = agent._mean[1].copy(), precision + x**2 * p * (1 - p)
        assert np.allclose(agent._precision[1], precision, atol=1e-4)
    assert not agent._mean[0].any()


def test_supervised_learns_every_loss_at_once() -> None:
    rng = np.random.default_rng(0)
    X, losses = rng.standard_normal((60, 3)), rng.random((60, 2))
    agent = mb.Supervised(2, features=BARE, seed=0)
    for x, row in zip(X, losses, strict=True):
        agent.learn_all(x, row)
    for action in range(2):
        theta, _ = naive.ridge(X, 1 - losses[:, action], 0.1)
        assert np.allclose(agent._theta[action], theta)
    before = agent._theta.copy()
    for bad in ([0.5], [0.5, 2.0]):
        with pytest.raises(ValueError, match="loss"):
            agent.learn_all(X[0], bad)
    assert np.array_equal(before, agent._theta)
    agent.learn(X[0], mb.Decision(1, 1.0), 0.5)  # of the other action nothing is learnt
    assert np.array_equal(before[0], agent._theta[0])
    assert not np.array_equal(before[1], agent._theta[1])


def test_the_skyline_beats_every_bandit() -> None:
    env = mb.Classification.bundled("wine", seed=0)
    skyline = mb.simulate(mb.Supervised(3, seed=0), env).losses.mean()
    assert skyline < min(mb.simulate(learner(3, seed=0), env).losses.mean() for learner in (mb.LinUCB, mb.RegCB))


@pytest.mark.parametrize("learner", [mb.LinTS, mb.LogisticTS])
def test_the_largest_contexts_have_a_law(learner: type[mb.Learner]) -> None:
    agent = learner(3, features=mb.Identity(), seed=0)
    for i in range(20):
        x = np.array([1e-3 * i, 1.0])
        agent.learn(x, agent.act(x), float(i % 2))
    law = agent.law(np.array([1e100, -1e100]))
    assert np.isfinite(law).all()
    assert abs(law.sum() - 1.0) < 1e-9
