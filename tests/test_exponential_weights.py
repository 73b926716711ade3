"""Exponential weights: against a slow twin, against its bound, at extreme weights, and every way to give a class."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import marginbandits as mb
from marginbandits import policies
from marginbandits.checks import check_learner
from marginbandits.evaluation import interval
from marginbandits.scores.cover import cover_size, linear_cover
from marginbandits.theory import Game, exponential_weights
from marginbandits.types import Array
from tests.marks import at_length

K, D, N = 3, 2, 8
SURROGATES = ("ramp", "hinge", "relative", "policy")


def class_of(seed: int, n: int = N) -> Array:
    weights = np.random.default_rng(seed).standard_normal((n, K, D))
    return np.asarray(weights / np.linalg.norm(weights, axis=(1, 2), keepdims=True))


def surrogate_values(weights: Array, contexts: Array, surrogate: str, margin: float) -> Array:
    """s_f(x), written out: contexts x regressors x actions."""
    x = contexts / np.maximum(np.linalg.norm(contexts, axis=1, keepdims=True), 1.0)
    scores = np.einsum("nad,td->tna", weights - weights.mean(1, keepdims=True), x)
    if surrogate == "policy":
        return np.asarray(scores == scores.max(-1, keepdims=True), float)
    made: dict[str, Any] = {"ramp": mb.Ramp, "hinge": mb.Hinge, "relative": mb.RelativeMargin}
    return np.asarray(made[surrogate](margin)(scores))


# The slow twin.


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("horizon", [200, None])
def test_it_is_the_algorithm_written_out(surrogate: str, horizon: int | None) -> None:
    weights, margin, mu = class_of(1), 0.3, 0.02
    env = mb.Switching(K, D, 200, seed=2)
    agent = mb.ExponentialWeights(
        K, regressors=weights, surrogate=surrogate, margin=margin, horizon=horizon, mu=mu, seed=3
    )
    values = surrogate_values(weights, env.contexts, surrogate, margin)
    largest = float(np.linalg.norm(weights - weights.mean(1, keepdims=True), axis=-1).max())
    V = {"ramp": 9.0, "relative": 9.0, "policy": 3.0, "hinge": Game(K, 1, margin, largest).second_moment()}[surrogate]
    cost = np.zeros(N)
    for t, (x, losses) in enumerate(zip(env.contexts, env.losses, strict=True)):
        decision = agent.act(x)
        eta = math.sqrt(2 * math.log(N) / (V * horizon)) if horizon else math.sqrt(math.log(N) / (V * (t + 1)))
        q = np.exp(-eta * (cost - cost.min()))
        law = q / q.sum() @ (values[t] / values[t].sum(1, keepdims=True))
        law = (1 - K * mu) * law + mu
        if t > 0:  # before the first round learnt, play is uniform
            assert decision.distribution == pytest.approx(law, abs=1e-5)
        loss = losses[decision.action]
        cost += loss / decision.probability * values[t, :, decision.action]
        agent.learn(x, decision, loss)
    assert agent.weights.sum() == pytest.approx(1.0)
    promised = agent.bound(200)
    assert promised.value == pytest.approx(
        exponential_weights(N, Game(K, 200, margin, largest), surrogate=surrogate, anytime=not horizon, mu=mu).value
    )


# The bound.


def stochastic(seed: int, rounds: int) -> mb.Oblivious:
    return mb.LinearRealizable(K, D, rounds, seed=seed)


def switching(seed: int, rounds: int) -> mb.Oblivious:
    return mb.Switching(K, D, rounds, n_switches=3, seed=seed)


def adversary(seed: int, rounds: int) -> mb.AdaptiveAdversary:
    return mb.AdaptiveAdversary(K, D, rounds, seed=seed)


def played(agent: mb.Learner, env: Any) -> tuple[float, Array, Array]:
    """Total loss, contexts, and the losses of all actions."""
    total, seen = 0.0, []
    for one in env:
        decision = agent.act(one.context)
        loss = one.reveal(decision)
        agent.learn(one.context, decision, loss)
        total += loss
        seen.append(one.losses)
    return total, np.asarray(env.contexts), np.array(seen)


@pytest.mark.parametrize("environment", [adversary, *at_length([stochastic, switching])])
@pytest.mark.parametrize("surrogate", ["hinge", "policy", *at_length(["ramp", "relative"])])
def test_regret_is_under_the_bound(surrogate: str, environment: Callable[[int, int], Any]) -> None:
    rounds, margin, under, excess = 120, 0.3, 0, []
    for seed in range(200):
        weights = class_of(seed)
        agent = mb.ExponentialWeights(
            K, regressors=weights, surrogate=surrogate, margin=margin, horizon=rounds, seed=seed
        )
        total, contexts, losses = played(agent, environment(seed, rounds))
        values = surrogate_values(weights, contexts, surrogate, margin)
        benchmark = np.einsum("ta,tna->n", losses, values).min() / (K if surrogate == "hinge" else 1)
        promised = agent.bound()
        assert not promised.vacuous
        under += total - benchmark <= promised.value
        excess.append(total - benchmark - promised.value)
    assert under >= 190
    assert np.mean(excess) < 0


@pytest.mark.soak
def test_learning_the_margin_costs_its_logarithm() -> None:
    """Against the best fixed margin in hindsight, and against the learners that were given each margin."""
    rounds, grid, runs = 300, [0.02, 0.1, 0.5, 2.0], 40
    fixed, learnt, over = np.zeros((runs, len(grid))), np.zeros(runs), np.zeros(runs)
    for seed in range(runs):
        weights = class_of(seed)
        env = switching(seed, rounds)
        for j, margin in enumerate(grid):
            alone = mb.ExponentialWeights(
                K, regressors=weights, surrogate="ramp", margin=margin, horizon=rounds, seed=seed
            )
            fixed[seed, j] = played(alone, env)[0]
        agent = mb.ExponentialWeights(K, regressors=weights, surrogate="ramp", margins=grid, horizon=rounds, seed=seed)
        learnt[seed], contexts, losses = played(agent, env)
        assert agent.weights.shape == (len(grid), N)
        each = [surrogate_values(weights, contexts, "ramp", margin) for margin in grid]
        best = min(float(np.einsum("ta,tna->n", losses, values).min()) for values in each)
        over[seed] = learnt[seed] - best - agent.bound().value
    assert (over <= 0).mean() >= 0.95
    game = Game(K, rounds, 0.1)
    price = exponential_weights(N, game, n_margins=len(grid)).value - exponential_weights(N, game).value
    gap = learnt - fixed[:, fixed.mean(0).argmin()]
    assert gap.mean() + stats.t.ppf(0.99, runs - 1) * gap.std(ddof=1) / math.sqrt(runs) <= price


# Extreme weights.


@pytest.mark.parametrize("probability", [1.0, 1e-3, 1e-300])
def test_weights_neither_under_nor_overflow(probability: float) -> None:
    """Estimates up to 1e100 in each of ten thousand rounds; `benchmarks/exponential_weights.py` plays a million."""
    agent = mb.ExponentialWeights(K, regressors=class_of(0), surrogate="hinge", margin=1e-3, horizon=10**6, seed=0)
    x = np.array([0.6, 0.8])
    for t in range(10_000):
        agent.learn(x, mb.Decision(t % K, probability), 1.0)
    law = agent.act(x).distribution
    assert law is not None
    assert np.isfinite(law).all()
    assert law.sum() == pytest.approx(1.0)
    assert all(np.isfinite(array).all() for array in agent.state().values())
    assert agent.weights.max() >= 1 / N


# Every way to give a class.


def laws(agent: mb.Learner, n: int = 30) -> Array:
    out = []
    for one in mb.Switching(K, D, n, seed=5):
        decision = agent.act(one.context)
        agent.learn(one.context, decision, one.reveal(decision) or 0.0)
        out.append(decision.distribution)
    return np.array(out)


def test_functions_and_weights_are_the_same_class() -> None:
    weights = class_of(3)

    def scores(w: Array) -> Callable[[Array], Array]:
        return lambda x: np.asarray(w @ (x / max(1.0, float(np.linalg.norm(x)))))

    functions = mb.Finite([scores(w) for w in weights], K, bound=1.0)
    linear = mb.Finite.from_weights(weights)
    by = [laws(mb.ExponentialWeights(K, regressors=one, seed=0)) for one in (weights, linear, functions)]
    assert by[0] == pytest.approx(by[1], abs=1e-6)
    assert by[0] == pytest.approx(by[2], abs=1e-5)


def test_fitted_classifiers_are_a_class(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((200, D))
    y = (X @ np.random.default_rng(1).standard_normal((D, K))).argmax(1)
    models = [
        LogisticRegression().fit(X, y),
        LinearSVC().fit(X, y),
        RandomForestClassifier(5, random_state=0).fit(X, y),
        LogisticRegression().fit(X, y == 0),  # knows actions 0 and 1 only
        LogisticRegression().fit(X[::-1], np.roll(y, 7)),
    ]
    models[3].classes_ = np.array([0, 2])
    agent = mb.ExponentialWeights(K, regressors=models, surrogate="policy", horizon=400, seed=0)
    total = 0.0
    for i in range(400):
        decision = agent.act(X[i % 200])
        agent.learn(X[i % 200], decision, float(decision.action != y[i % 200]))
        total += decision.action != y[i % 200]
    assert agent.weights[0, :3].sum() > 0.99
    assert total < 0.3 * 400
    with pytest.raises(ValueError, match="regressors must be numbers to be saved"):
        agent.save(tmp_path / "agent.npz")
    assert not list(tmp_path.iterdir())


def test_experts_advice() -> None:
    """Exp4 with laws as advice: one expert is right, and gets the weight."""
    right = np.eye(K)[1] * 0.9 + 0.1 / K
    experts = mb.Finite([lambda x: np.full(K, 1 / K), lambda x: right, lambda x: right[::-1]], K, bound=1.0)
    agent = mb.ExponentialWeights(K, regressors=experts, surrogate="advice", horizon=500, seed=0)
    agent.learn([0.0], mb.Decision(1, 0.5), 0.0)
    assert agent.act([0.0]).distribution == pytest.approx((np.full(K, 1 / K) + right + right[::-1]) / 3, abs=1e-6)


@pytest.mark.parametrize(
    "weights", [class_of(0), class_of(0).astype(np.float32), np.ones((4, D))], ids=["per action", "float32", "shared"]
)
def test_a_class_of_numbers_is_saved_with_its_numbers(weights: Any, tmp_path: Path) -> None:
    shape = (D,) if weights.ndim == 3 else (K, D)
    for rounds in (0, 25):
        agent = mb.ExponentialWeights(K, regressors=weights, margins=[0.1, 0.5], seed=0)
        rng = np.random.default_rng(0)
        for _ in range(rounds):
            x = rng.standard_normal(shape)
            agent.learn(x, agent.act(x), float(rng.random()))
        agent.save(tmp_path / "agent.npz")
        again = mb.load(tmp_path / "agent.npz")
        assert isinstance(again, mb.ExponentialWeights)
        assert np.array_equal(again.regressors, agent.regressors)
        for _ in range(25):
            x = rng.standard_normal(shape)
            one, two = agent.act(x), again.act(x)
            assert one.action == two.action
            assert np.array_equal(one.distribution, two.distribution)  # type: ignore[arg-type]  # both there
            agent.learn(x, one, 0.5)
            again.learn(x, two, 0.5)


def test_a_file_without_its_regressors_is_refused(tmp_path: Path) -> None:
    mb.ExponentialWeights(K, regressors=class_of(0), seed=0).save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as file:
        np.savez(tmp_path / "agent.npz", header=file["header"])
    with pytest.raises(ValueError, match=r"given\.regressors"):
        mb.load(tmp_path / "agent.npz")


@pytest.mark.parametrize("surrogate", ["hinge", "margins", *at_length(["ramp", "relative", "policy", "fixed horizon"])])
def test_every_kind_keeps_the_contract(surrogate: str) -> None:
    arguments: dict[str, Any] = {"surrogate": surrogate, "regressors": 100}
    if surrogate == "fixed horizon":
        arguments = {"horizon": 600, "mu": 0.05}
    elif surrogate == "margins":
        arguments = {"margins": [0.01, 0.1, 1.0], "surrogate": "ramp", "regressors": 100}
    if arguments.get("surrogate") in ("ramp", "hinge"):  # proportional play over few regressors: not much to expect

        class Slow(mb.ExponentialWeights):
            exempt = {"better_than_uniform": "proportional play of a handful of random regressors"}  # noqa: RUF012

        check_learner(Slow, **arguments)
    else:
        check_learner(mb.ExponentialWeights, **arguments)


def bad_arguments() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"regressors": np.ones((4, K + 1, D))}, "regressors must have n_actions=3 rows"
    yield {"regressors": np.ones(4)}, "regressors must be N x K x d"
    yield {"regressors": np.full((4, K, D), np.nan)}, "regressors must be finite"
    yield {"regressors": mb.Finite.from_weights(np.ones((2, 2, 2)))}, "regressors must score n_actions=3"
    yield {"regressors": [object()]}, r"models\[0\] must have decision_function"
    yield {"regressors": [LogisticRegression()]}, r"models\[0\] must be fitted"
    yield {"regressors": []}, "regressors must be a list of one or more, each item a function"
    yield {"mu": 0.5}, "mu must be at most 1/n_actions"
    yield {"margins": [0.1], "surrogate": "hinge"}, "margins must be None"
    yield {"margins": []}, "margins must be"
    yield {"margins": [0.1, -1.0]}, "margins must be"


@pytest.mark.parametrize(("arguments", "message"), list(bad_arguments()))
def test_bad_classes_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mb.ExponentialWeights(K, **arguments)


def test_a_context_that_does_not_fit_the_class_is_refused() -> None:
    agent = mb.ExponentialWeights(K, regressors=class_of(0), seed=0)
    with pytest.raises(ValueError, match="context must fit regressors"):
        agent.learn(np.ones(D + 1), mb.Decision(0, 0.5), 1.0)
    with pytest.raises(ValueError, match="context must fit regressors"):
        agent.learn(np.ones((K, D)), mb.Decision(0, 0.5), 1.0)
    agent.learn(np.ones(D), mb.Decision(0, 0.5), 1.0)


def test_masked_regressors_that_favour_nothing_available_play_uniformly() -> None:
    corner = np.array([[[1.0], [-0.5], [-0.5]]])
    agent = mb.ExponentialWeights(K, regressors=np.repeat(corner, 2, 0), surrogate="ramp", margin=0.1, seed=0)
    agent.learn([1.0], mb.Decision(0, 1.0), 0.0)
    assert agent.act([1.0]).distribution == pytest.approx([1, 0, 0])
    masked = agent.act([1.0], available=[False, True, True]).distribution
    assert masked == pytest.approx(policies.uniform(K, [False, True, True]))


def favourite_masked(surrogate: str, rounds: int, told: bool) -> float:
    """Mean loss where the first action is never available and the second is right, over the last quarter.

    Half of the class likes the first action best and then the wrong one: charged as if the first could be played, it
    would never pay.
    """
    liking = np.array([[0.1, 0.4, -0.5], [0.6, -0.5, -0.1]])
    weights = np.repeat(liking[:, :, None], 4, 0)
    if surrogate == "advice":
        weights = np.repeat(np.array([[0.1, 0.5, -0.6], [0.6, -0.4, -0.2]])[:, :, None], 4, 0) / 2.0
    agent = mb.ExponentialWeights(K, regressors=weights, surrogate=surrogate, margin=0.1, horizon=rounds, seed=0)
    mask, lost = [False, True, True], []
    for _ in range(rounds):
        decision = agent.act([1.0], available=mask)
        lost.append(float(decision.action != 1))
        agent.learn([1.0], decision, lost[-1], available=mask if told else None)
    return float(np.mean(lost[-rounds // 4 :]))


@pytest.mark.parametrize("surrogate", [*SURROGATES, "advice"])
def test_what_cannot_be_played_excuses_nobody(surrogate: str) -> None:
    assert favourite_masked(surrogate, 800, told=True) < 0.1


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_charged_over_all_actions_nobody_is_found_wrong(surrogate: str) -> None:
    """The control: the learner is not told of the mask that it played under."""
    assert favourite_masked(surrogate, 800, told=False) > 0.4


# The cover.


@pytest.mark.parametrize(("n_actions", "n_features", "epsilon"), [(2, 1, 0.05), (2, 2, 0.1), (2, 3, 0.3), (3, 2, 0.4)])
def test_a_cover_covers_and_has_the_size_it_said(n_actions: int, n_features: int, epsilon: float) -> None:
    radius = 1.5
    cover = linear_cover(n_actions, n_features, epsilon=epsilon, radius=radius)
    assert len(cover) == cover_size(n_actions, n_features, epsilon=epsilon, radius=radius)
    assert (np.linalg.norm(cover, axis=(1, 2)) <= radius * (1 + 1e-12)).all()
    scores = mb.Linear(n_actions, n_features, radius=radius)
    rng = np.random.default_rng(0)
    for _ in range(200):
        weights = scores.weights(scores.project(3 * rng.standard_normal(scores.dimension)))
        # The largest difference of any score over ‖x‖ <= 1 is the longest row of the difference.
        assert np.linalg.norm(cover - weights, axis=2).max(1).min() <= epsilon * (1 + 1e-9)


def test_a_cover_too_large_is_refused_before_it_is_built() -> None:
    with pytest.raises(ValueError, match=r"epsilon must be larger: at 0.01 .* 90-dimensional .* and most=1000000"):
        mb.Finite.cover(10, 10, epsilon=0.01)
    size = int(cover_size(2, 3, epsilon=0.3))
    with pytest.raises(ValueError, match=f"has {size} regressors, and most={size - 1}"):
        mb.Finite.cover(2, 3, epsilon=0.3, most=size - 1)
    assert len(mb.Finite.cover(2, 3, epsilon=0.3, most=size)) == size
    exact, volume = (
        cover_size(2, 2, epsilon=0.008),
        math.pi * ((1 + 0.008 * 2**0.5) * 2**0.5 / (2 * 0.008 * 2**0.5)) ** 2,
    )
    assert exact == pytest.approx(volume, rel=0.02)


def test_regret_to_the_realised_best_is_not_promised() -> None:
    """The adversary charges the second action until it is played at a tiny probability, then the first.

    400 runs at once, two constant policies: regret to the best of each run is above the bound, its 95% interval
    included, that to the best on average below, as the theorem has it. One run is the learner's own, law by law.
    """
    T, n, weights = 5000, 400, np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])
    agent = mb.ExponentialWeights(2, regressors=weights, surrogate="ramp", margin=0.5, horizon=T, seed=0)
    agent.learn([1.0], mb.Decision(0, 0.5), loss=0.0)
    rng, estimated, charged, paid = np.random.default_rng(0), np.zeros((n, 2)), np.zeros((n, 2)), np.zeros(n)
    losses, runs = np.tile([0.0, 1.0], (n, 1)), np.arange(n)
    for t in range(T):
        second = 1.0 / (1.0 + np.exp(np.minimum(agent.eta * (estimated[:, 1] - estimated[:, 0]), 700.0)))
        law = np.stack([1.0 - second, second], 1)
        actions = (rng.random(n) < second).astype(int)
        lost = losses[runs, actions]
        if t < 300:
            np.testing.assert_allclose(agent.law([1.0]), law[0], rtol=1e-4)
            agent.learn([1.0], mb.Decision(int(actions[0]), float(law[0, actions[0]])), loss=float(lost[0]))
        estimated[runs, actions] += lost / law[runs, actions]
        charged, paid = charged + losses, paid + lost
        turns = (losses[:, 1] > 0.0) & (actions == 1) & (1.0 / second > charged[:, 1])
        ends = (losses[:, 0] > 0.0) & (second > 0.5)
        losses[ends] = 0.0
        losses[turns] = [1.0, 0.0]
    realised, to_the_mean = interval(paid - charged.min(1)), float(paid.mean() - charged.mean(0).min())
    assert realised.low > agent.bound().value > to_the_mean
