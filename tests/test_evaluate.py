"""`mb.evaluate`: every kind of policy, log and model; what is refused, and how it is said."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.tree import DecisionTreeRegressor

import marginbandits as mb
from marginbandits import log_parts
from marginbandits.experiments.reward_models import Ridge
from marginbandits.log_parts import LogParts
from marginbandits.oracles.ridge_sums import COMMON, LEVELS, PULLS
from marginbandits.rounds import Rounds
from marginbandits.types import Array

N, K = 1200, 3


def record(seed: int = 0, n: int = N, **more: Any) -> SimpleNamespace:
    """Laws that depend on the context, losses that depend on both; as a record of arrays."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    scores = np.exp(X @ np.array([[0.5, -0.5, 0.0], [0.0, 0.3, -0.3]]))
    laws = scores / scores.sum(1, keepdims=True)
    actions = (laws.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, K - 1)
    means = np.clip(0.5 + 0.2 * X[:, :1] * np.array([-1.0, 0.0, 1.0]), 0.05, 0.95)
    at = np.arange(n), actions
    losses = (rng.random(n) < means[at]).astype(float)
    fields = {"contexts": X, "actions": actions, "losses": losses, "probabilities": laws[at], "laws": laws}
    return SimpleNamespace(**{**fields, "labels": None, "means": means, **more})


def logged(log: SimpleNamespace) -> mb.Logged:
    return mb.Logged(log.contexts, log.actions, log.losses, log.probabilities, n_actions=K, seed=0)


def best(X: Array) -> Array:
    """Action 0 where the first column is positive, else 2."""
    return np.where(X[:, 0] > 0, 0, 2)


def hot(actions: Array) -> Array:
    return np.asarray(np.eye(K)[actions])


def test_always_an_action_is_its_mean_under_uniform_logging() -> None:
    log = record(probabilities=np.full(N, 1 / 3), laws=None)
    for action in range(K):
        taken = log.actions == action
        found = mb.evaluate(action, log, method="snips", n_actions=K)
        assert found.value == pytest.approx(log.losses[taken].mean(), rel=1e-12)
        share = mb.evaluate(action, log, method="ips", n_actions=K).value
        assert share == pytest.approx(3.0 * log.losses[taken].sum() / N)  # not the mean: the share taken is not 1/3


def test_every_kind_of_policy_is_the_same_policy() -> None:
    log = record()
    wanted = mb.evaluate(best, log)
    X = log.contexts
    wrapped = SimpleNamespace(laws=lambda contexts: hot(best(contexts)))
    fitted = SimpleNamespace(predict_proba=lambda c: hot(best(c))[:, ::-1], classes_=np.array([2, 1, 0]))
    for policy in (lambda c: hot(best(c)), best(X), best(X).tolist(), hot(best(X)), wrapped, fitted):
        assert mb.evaluate(policy, log).ends == wanted.ends
    truth = float(log.means[np.arange(N), best(X)].mean())
    assert wanted.low <= truth <= wanted.high
    assert wanted.policy == "best"


def test_labels_are_actions() -> None:
    log = record(labels=("a", "b", "c"))
    names = np.array(["a", "b", "c"])
    assert mb.evaluate("b", log).ends == mb.evaluate(1, log).ends == mb.evaluate(1, record()).ends
    assert mb.evaluate(lambda X: names[best(X)], log).ends == mb.evaluate(best, record()).ends
    agent = mb.EpsilonGreedy(actions=("c", "a", "b"), seed=0)
    plain = mb.EpsilonGreedy(K, seed=0)
    for i in range(200):
        agent.learn(log.contexts[i], mb.Decision("abc"[log.actions[i]], log.probabilities[i]), log.losses[i])
        plain.learn(log.contexts[i], mb.Decision(int(log.actions[i]), log.probabilities[i]), log.losses[i])
    assert mb.evaluate(agent, log).value == pytest.approx(mb.evaluate(plain, record()).value, abs=0.02)
    laws = np.asarray(agent.laws(log.contexts))[:, [1, 2, 0]]
    assert mb.evaluate(agent, log).ends == mb.evaluate(laws, log).ends
    with pytest.raises(ValueError, match="must have the log's actions"):
        mb.evaluate(mb.EpsilonGreedy(actions=("a", "b", "d"), seed=0), log)


def test_a_learner_learns_on_the_way_and_is_left_alone() -> None:
    log = record(n=300)
    agent = mb.EpsilonGreedy(K, seed=0)
    before = agent.dumps()
    found = mb.evaluate(agent, log, method="ips", progressive=True)
    assert agent.dumps() == before
    twin, laws = mb.EpsilonGreedy(K, seed=0), []
    for x, a, p, loss in zip(log.contexts, log.actions, log.probabilities, log.losses, strict=True):
        laws.append(twin.law(x))
        twin.learn(x, mb.Decision(int(a), p), loss)
    assert found.value == pytest.approx(mb.evaluate(np.array(laws), log, method="ips").value)
    assert "learning" in found.policy
    assert mb.evaluate(agent, log, method="ips").value == pytest.approx(
        mb.evaluate(lambda X: np.full((len(X), K), 1 / K), log, method="ips").value
    )


def test_chunks_and_whole_logs_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    log = record()
    fields = ("contexts", "actions", "losses", "probabilities", "laws")
    parts = [
        SimpleNamespace(labels=None, **{name: getattr(log, name)[part] for name in fields})
        for part in (slice(0, 500), slice(500, 501), slice(501, N))
    ]
    methods = ["ips", "snips", "dm", "dr", "switch", "shrinkage"]
    for one, other in zip(
        mb.evaluate(best, log, method=methods), mb.evaluate(best, parts, method=methods), strict=True
    ):
        assert tuple(one.ends) == pytest.approx(tuple(other.ends), rel=1e-9)
        assert len(one.findings) == len(other.findings) == 10
    monkeypatch.setattr(log_parts, "ROUNDS", 77)
    assert tuple(mb.evaluate(best, log).ends) == pytest.approx(tuple(mb.evaluate(best, parts).ends), rel=1e-9)
    assert mb.evaluate(best, logged(log)).value == pytest.approx(mb.evaluate(best, log).value)
    once = mb.evaluate(best, iter(parts), method="snips")
    assert once.ends == mb.evaluate(best, parts, method="snips").ends


def test_ridge_predicts_each_round_from_the_other_folds() -> None:
    """Against regressions fitted one by one on rows, of the pull that is best out of fold."""
    log = record(n=203)
    chunk = next(iter(LogParts(log)))
    model = Ridge(K, folds=4)
    model.see(chunk, chunk.losses)
    found = model.done().predict(chunk)
    X, y, a, fold = log.contexts, log.losses, log.actions, np.arange(203) % 4
    Z = np.column_stack([np.ones(203), (X - X.mean(0)) / X.std(0)])

    def common(strength: float, others: Any) -> Array:
        light = np.diag([1e-6, strength, strength])
        return np.asarray(np.linalg.solve(Z[others].T @ Z[others] + light, Z[others].T @ y[others]))

    errors = {
        sum(float(((Z[fold == f] @ common(one, fold != f) - y[fold == f]) ** 2).sum()) for f in range(4)): one
        for one in COMMON
    }
    strength = errors[min(errors)]
    predictions = {}
    for level in LEVELS:
        for slope in PULLS:
            q = np.empty((203, K))
            for f in range(4):
                others = fold != f
                all_of_them = common(strength, others)
                for k in range(K):
                    rows = others & (a == k)
                    pull = np.diag([level, slope, slope])
                    own = np.linalg.solve(Z[rows].T @ Z[rows] + pull, Z[rows].T @ (y[rows] - Z[rows] @ all_of_them))
                    q[fold == f, k] = Z[fold == f] @ (all_of_them + own)
            predictions[((q[np.arange(203), a] - y) ** 2).sum()] = q
    assert found == pytest.approx(np.clip(predictions[min(predictions)], 0.0, 1.0), abs=1e-9)


def test_ridge_explains_no_noise_of_its_own_round() -> None:
    """With as many columns as rounds, in-sample predictions would be the outcomes; out of fold they know nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 60)), (rng.random(60) < 0.5).astype(float)
    chunk = Rounds(X, np.arange(60) % 2, y, labels=(0, 1))
    model = Ridge(2, folds=5)
    model.see(chunk, y)
    found = model.done().predict(chunk)[chunk.at]
    assert abs(np.corrcoef(found, y)[0, 1]) < 0.35


def test_contexts_with_a_row_per_action() -> None:
    log = record()
    rows = np.stack([log.contexts * k for k in (-1.0, 0.0, 1.0)], axis=1)  # losses are linear in the rows
    found = mb.evaluate(best(log.contexts), record(contexts=rows))
    truth = float(log.means[np.arange(N), best(log.contexts)].mean())
    assert found.low <= truth <= found.high


@pytest.mark.parametrize(
    "model", [LogisticRegression(), SklearnRidge(), DecisionTreeRegressor(max_depth=2), "function"]
)
def test_models_of_ones_own(model: Any) -> None:
    log = record()
    model = (lambda X: np.clip(0.5 + 0.2 * X[:, :1] * np.array([-1, 0, 1]), 0, 1)) if model == "function" else model
    found = mb.evaluate(best, log, model=model)
    truth = float(log.means[np.arange(N), best(log.contexts)].mean())
    assert found.low <= truth <= found.high
    assert found.error < mb.evaluate(best, log, method="ips").error


def test_rewards_are_the_other_side() -> None:
    log = record()
    for method in ("snips", "dr"):
        loss, reward = (mb.evaluate(best, log, method=method, outcome=one) for one in ("loss", "reward"))
        assert reward.value == pytest.approx(1.0 - loss.value, abs=1e-6)
        assert reward.outcome == "reward"


def test_two_policies_are_compared_round_by_round() -> None:
    log = record()
    for interval in ("hall", "sequence"):
        method = "dr" if interval == "hall" else "ips"
        found = mb.evaluate(best, log, against=1, method=method, interval=interval)
        both = [mb.evaluate(one, log, method=method).value for one in (best, 1)]
        assert found.value == pytest.approx(both[0] - both[1])
        assert "minus that of always 1" in str(found)
    assert mb.evaluate(1, log, against=1).high == 0.0


def test_propensities_are_never_guessed_unasked() -> None:
    log = record(probabilities=None, laws=None, n_actions=K)
    with pytest.raises(ValueError, match="log has no probabilities"):
        mb.evaluate(best, log)
    guessed = mb.evaluate(best, log, propensities="estimate")
    known = mb.evaluate(best, record())
    assert guessed.estimated_propensities
    assert "with estimated propensities" in str(guessed)
    assert any("nothing else made the log's choices" in one for one in guessed.assumptions)
    assert abs(guessed.value - known.value) < known.error
    rare = record(probabilities=None, laws=None, actions=np.where(np.arange(N) == 3, 2, 0), n_actions=K)
    with pytest.raises(ValueError, match="action 2 was taken too rarely"):
        mb.evaluate(best, rare, propensities="estimate")


def test_available_actions_are_heeded() -> None:
    log = record()
    available = np.ones((N, K), bool)
    available[::2, 1] = False
    agent = mb.EpsilonGreedy(K, seed=0)
    free = log.actions != 1
    fields = ("contexts", "actions", "losses", "probabilities")
    some = SimpleNamespace(
        available=available[free], n_actions=K, **{name: getattr(log, name)[free] for name in fields}
    )
    assert mb.evaluate(agent, some, method="snips").n == int(free.sum())
    with pytest.raises(ValueError, match=r"policy must take only what is available, got .* in round 0"):
        mb.evaluate(1, some, method="snips")


def test_a_log_that_contradicts_itself_is_told() -> None:
    log = record(laws=None, n_actions=K)
    log.probabilities = np.clip(1.6 * log.probabilities, 0, 1)
    found = mb.evaluate(best, log)
    assert any(one.startswith("propensities: 1/p is") for one in found.warnings)
    assert "Beware: propensities" in str(found)
    assert not mb.evaluate(best, record()).warnings


BAD: list[tuple[Any, str]] = [
    ({"losses": np.where(np.arange(N) == 5, np.nan, 0.5)}, r"losses must lie in \[0, 1\], got nan in round 5"),
    ({"losses": np.where(np.arange(N) == 7, 2.0, 0.5)}, r"losses must lie in \[0, 1\], got 2.0 in round 7"),
    ({"probabilities": np.where(np.arange(N) == 9, 0.0, 0.5)}, "probabilities must lie above 0 .*, got 0.0 in round 9"),
    ({"actions": np.where(np.arange(N) == 11, 3, 0)}, "actions must be whole numbers from 0 to 2, got 3 in round 11"),
    ({"laws": np.ones((N, 2))}, "laws must be 1200 rounds x 3 actions"),
    ({"contexts": ["words"] * N}, "contexts must be numbers"),
]


@pytest.mark.parametrize(("change", "words"), BAD, ids=lambda one: next(iter(one), "") if isinstance(one, dict) else "")
def test_bad_rows_are_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mb.evaluate(1, record(n_actions=K, **change))


def test_bad_arguments_are_named() -> None:
    log = record()
    parts = [log]
    for call, words in (
        (lambda: mb.evaluate(3, log), "policy must be a learner, a function of contexts, .*, got 3"),
        (lambda: mb.evaluate(True, log), "got True"),
        (lambda: mb.evaluate(object(), log), "policy must be a learner"),
        (lambda: mb.evaluate("b", log), "got 'b'"),
        (lambda: mb.evaluate([0, 1], log), "policy must give laws or actions of 1200 rounds"),
        (
            lambda: mb.evaluate(lambda X: np.full((len(X), K), 0.5), log),
            "probabilities that sum to 1, got .* in round 0",
        ),
        (lambda: mb.evaluate(lambda X: np.full(len(X), 5), log), "must take actions from 0 to 2, got 5"),
        (lambda: mb.evaluate(mb.EpsilonGreedy(4, seed=0), log), "must have the log's 3 actions, got 4"),
        (lambda: mb.evaluate(1, log, progressive=True), "progressive is for learners"),
        (lambda: mb.evaluate(1, log, against=7), "against must be"),
        (lambda: mb.evaluate(1, log, method="drr"), "method must be"),
        (lambda: mb.evaluate(1, log, method=["ips", "drr"]), "method must be"),
        (lambda: mb.evaluate(1, log, model="ridge"), "model must be None, a scikit-learn"),
        (lambda: mb.evaluate(1, log, model=lambda X: X), "model must predict"),
        (lambda: mb.evaluate(1, log, folds=1), "folds must be"),
        (lambda: mb.evaluate(1, iter(parts)), "a model needs two passes"),
        (lambda: mb.evaluate(1, 3), "log must be records"),
        (lambda: mb.evaluate(1, []), "log has no rounds"),
        (lambda: mb.evaluate(1, [3]), "log must have contexts"),
        (lambda: mb.evaluate(1, record(laws=None), method="ips"), "n_actions must say"),
        (lambda: mb.evaluate(1, record(losses=np.full(N, 0.5)), model=LogisticRegression()), "outcomes of 0 and 1"),
        (lambda: mb.evaluate(1, log, interval="sequence"), "do not look ahead"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert re.match(r"The mean loss of always 1 is 0\.\d+", str(mb.evaluate(1, log)))
