"""Policies learnt from logs: the objective against naive minimisers, invariances, choices, files, bad input by name."""

import inspect
import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from sklearn.base import clone
from sklearn.utils import estimator_checks

import marginbandits as mb
from marginbandits.learners.off_policy import choosing, targets
from marginbandits.learners.off_policy.certificate import held_out, margin_bound
from marginbandits.oracles import ridge_sums
from marginbandits.oracles.squared_hinge_erm import SquaredHingeERM
from marginbandits.types import Array
from tests.marks import at_length

Columns = tuple[Array, Any, Array, Array]


def made(n: int = 600, K: int = 3, seed: int = 0, effect: float = 1.0) -> Columns:
    """A log whose best action is told by the context, but for chance; actions are not taken alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    law = rng.dirichlet(np.ones(K), n) * 0.7 + 0.3 / K
    actions = (law.cumsum(1) < rng.random((n, 1))).sum(1)
    best = (X @ np.random.default_rng(99).normal(size=(3, K))).argmax(1)
    mean = 0.5 + effect * np.where(actions == best, -0.4, 0.1)
    return X, actions, (rng.random(n) < mean).astype(float), law[np.arange(n), actions]


def as_log(columns: Columns, K: int = 3) -> targets.Log:
    X, actions, losses, probabilities = columns
    return targets.Log(X, actions, losses, probabilities, np.ones((len(X), K), bool))


# The oracle.


@pytest.mark.parametrize("seed", range(8))
def test_the_squared_hinge_is_least_and_its_gap_is_true(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    rows, costs = rng.normal(size=(30, d)), rng.exponential(size=(30, K)) * (rng.random((30, K)) < 0.6)
    ridge, margin = float(rng.choice([0.1, 3.0])), float(rng.choice([0.5, 2.0]))

    def naive(free: Array) -> float:
        """With K - 1 free rows, the last being minus their sum: another parameterisation than the oracle's."""
        W = np.vstack([free.reshape(K - 1, d), -free.reshape(K - 1, d).sum(0)])
        paid = sum(
            costs[i, a] * max(1.0 + W[a] @ rows[i] / margin, 0.0) ** 2 for i in range(len(rows)) for a in range(K)
        )
        return float(paid + 0.5 * ridge * (W**2).sum())

    fit = SquaredHingeERM(margin, ridge=ridge).minimise(rows, costs)
    found = scipy.optimize.minimize(naive, np.zeros((K - 1) * d), method="BFGS", options={"gtol": 1e-7})
    assert np.allclose(fit.weights.sum(0), 0.0)
    assert fit.value == pytest.approx(naive(fit.weights[:-1].ravel()), rel=1e-9)
    assert found.fun - 1e-9 <= fit.value <= found.fun * (1 + 1.01e-4)
    assert fit.value - fit.gap <= found.fun + 1e-9, "the certificate must not claim more than is true"
    assert fit.gap <= 1e-4 * fit.value
    loose = SquaredHingeERM(margin, ridge=ridge, max_evaluations=1).minimise(rows, costs)
    assert loose.gap > 1e-4 * loose.value, "one evaluation must not be certified"
    assert loose.value - loose.gap <= found.fun + 1e-9


@pytest.mark.parametrize("surrogate", ["squared hinge", "hinge", "ramp"])
def test_what_is_minimised_bounds_what_greedy_play_costs(surrogate: str) -> None:
    log = as_log(made(150))
    paid = choosing.costs(log, "dr", np.arange(150) % 5)
    fit = choosing.leader(surrogate, log.rows, paid, 1e-2)
    wide = np.column_stack([log.rows, np.full(150, choosing.CONSTANT)])
    greedy = paid[np.arange(150), (wide @ fit.weights.T).argmax(1)].sum()
    assert 0.0 < greedy <= fit.value <= paid.sum() * (1 + 1e-9), "and no more than what W = 0 costs"


# The targets.


def test_estimates_of_losses_are_right_on_the_mean_for_any_model() -> None:
    """Over all actions of one context, by their probabilities, in plain arithmetic; a wrong probability shows."""
    truth, law, wrong = np.array([0.2, 0.9, 0.5]), np.array([0.5, 0.2, 0.3]), np.array([0.4, 0.3, 0.3])
    model = np.array([[1.5, -0.7, 2.0]])  # what some q predicts
    for chances, right in ((law, True), (wrong, False)):
        estimates = np.zeros((2, 3))
        for action in range(3):
            one = targets.Log(
                np.array([[2.0]]),
                np.array([action]),
                truth[[action]],
                chances[[action]],
                np.ones((1, 3), bool),
            )
            estimates += law[action] * np.stack([targets.ips(one)[0], targets.corrected(model.copy(), one)[0]])
        assert np.allclose(estimates, truth) == right


def test_no_round_is_in_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge_sums, "LEVELS", (8.0,))  # one strength, so that there is none to choose
    monkeypatch.setattr(ridge_sums, "PULLS", (8.0,))
    monkeypatch.setattr(ridge_sums, "COMMON", (8.0,))
    log, folds = as_log(made(60)), np.arange(60) % 3
    before = targets.dr(log, folds)
    changed = log._replace(losses=np.where(folds == 0, 1.0 - log.losses, log.losses))
    after, others = targets.dr(changed, folds), np.ones((60, 3), bool)
    others[np.arange(60), log.actions] = False
    assert np.allclose(before[(folds == 0)[:, None] & others], after[(folds == 0)[:, None] & others], rtol=1e-12)
    assert not np.allclose(before[(folds == 1)[:, None] & others], after[(folds == 1)[:, None] & others])


def test_ridge_regression_finds_what_is_linear_and_gives_up_on_noise() -> None:
    rng = np.random.default_rng(0)
    X, actions = rng.normal(size=(400, 3)), rng.integers(2, size=400)
    losses = np.where(actions == 0, 0.5 + 0.1 * X[:, 0], rng.random(400))
    log = targets.Log(X, actions, losses, X[:, 0], np.ones((400, 2), bool))
    for linear, noise in targets.losses_by_ridge(log, np.arange(400) % 4):
        assert np.allclose(linear, [0.5, 0.1, 0.0, 0.0], atol=0.01)
        assert np.abs(noise[1:]).max() < 0.05
        assert noise[0] == pytest.approx(losses[actions == 1].mean(), abs=0.03)


def test_a_shift_keeps_differences_and_leaves_nothing_negative() -> None:
    costs, mask = np.array([[0.5, -1.5, -9.0]]), np.array([[True, True, False]])
    assert targets.shifted(costs, mask).tolist() == [[2.0, 0.0, 0.0]]


# What is learnt.


def test_the_estimator_minimises_what_it_says() -> None:
    """The whole way in plain arithmetic: features as they are, IPS costs, one λ."""
    X, actions, losses, probabilities = made(200)
    policy = mb.MarginPolicy(targets="ips", regularisation=0.05, features=mb.Identity())
    policy.fit(X, actions, losses, probabilities)
    c = losses / probabilities

    def naive(free: Array) -> float:
        V = free.reshape(2, 4)
        W = np.vstack([V, -V.sum(0)])
        s = (np.column_stack([X, np.full(200, 10.0)]) * W[actions]).sum(1)
        return float((c * np.maximum(1 + s, 0) ** 2).sum() / c.sum() + 0.025 * (W**2).sum())

    found = scipy.optimize.minimize(naive, np.zeros(8), method="BFGS", options={"gtol": 1e-9})
    W = np.vstack([found.x.reshape(2, 4), -found.x.reshape(2, 4).sum(0)])
    assert np.allclose(policy.leader_.weights, W, atol=2e-3)
    scores = X @ W[:, :3].T + 10.0 * W[:, 3]
    assert (policy.predict(X) == scores.argmax(1)).mean() > 0.99


@pytest.mark.parametrize("surrogate", ["squared hinge", "hinge", *at_length(["ramp"])])
def test_rows_in_another_order_and_actions_of_other_names_change_nothing_else(surrogate: str) -> None:
    X, actions, losses, probabilities = made(200)
    options: dict[str, Any] = {"surrogate": surrogate, "targets": "ips", "regularisation": 1e-2, "features": mb.Bias()}
    one = mb.MarginPolicy(**options).fit(X, actions, losses, probabilities)
    order, names = np.random.default_rng(1).permutation(200), np.array([2, 0, 1])
    columns = X[order], names[actions[order]], losses[order], probabilities[order]
    two = mb.MarginPolicy(**options).fit(*columns)
    assert (names[one.predict(X)] == two.predict(X)).mean() > 0.97
    assert one.leader_.value == pytest.approx(two.leader_.value, rel=2e-2 if surrogate == "ramp" else 2e-3)
    assert (one.predict(X) == two.predict(X)).mean() < 0.9, "the comparison can fail"


@pytest.mark.parametrize("seed", range(3))
def test_a_real_effect_is_learnt_and_beats_the_best_constant(seed: int) -> None:
    policy = mb.MarginPolicy(seed=seed).fit(*made(1500, seed=seed))
    assert policy.regularisation_ is not None
    X = np.random.default_rng(7).normal(size=(4000, 3))
    best = (X @ np.random.default_rng(99).normal(size=(3, 3))).argmax(1)
    assert (policy.predict(X) == best).mean() > 0.8
    assert max(np.bincount(best)) < 0.6 * 4000, "no constant is right as often"


def test_without_an_effect_the_constant_stays() -> None:
    """Of 20 logs of pure noise at most two end otherwise: at 3% each, sets of 20 with three are one in 50."""
    kept = [mb.MarginPolicy(folds=3).fit(*made(150, seed=seed, effect=0.0)).regularisation_ for seed in range(20)]
    assert sum(one is not None for one in kept) <= 2
    eager = [
        mb.MarginPolicy(folds=3, caution=0.0).fit(*made(150, seed=seed, effect=0.0)).regularisation_
        for seed in range(20)
    ]
    assert sum(one is not None for one in eager) > 2, "without caution noise is believed"


def test_the_constant_is_the_best_one_and_is_played_always() -> None:
    rng = np.random.default_rng(0)
    X, actions = rng.normal(size=(300, 2)), rng.integers(3, size=300)
    losses = (rng.random(300) < np.array([0.5, 0.2, 0.6])[actions]).astype(float)
    policy = mb.MarginPolicy().fit(X, actions, losses, np.full(300, 1 / 3))
    assert policy.regularisation_ is None
    assert policy.candidates_[0].regularisation is None
    assert (policy.predict(rng.normal(size=(50, 2)) * 100) == 1).all()
    second = policy.laws(X[:5], available=[True, False, True])
    assert (second.argmax(1) == 0).all(), "then the next best"


def test_masks_are_kept_to_in_learning_and_in_play() -> None:
    X, actions, losses, probabilities = made(300)
    available = np.random.default_rng(3).random((300, 3)) < 0.7
    available[np.arange(300), actions] = True
    policy = mb.MarginPolicy().fit(X, actions, losses, probabilities, available=available)
    assert (policy.predict_proba(X, available=list(available))[~available] == 0.0).all()
    available[5, actions[5]] = False
    with pytest.raises(ValueError, match=r"actions must be among those available, got \d in round 5"):
        policy.fit(X, actions, losses, probabilities, available=available)


# scikit-learn, files, names.


def test_scikit_learn_can_ask_set_and_clone() -> None:
    policy = mb.MarginPolicy(actions=["a", "b"], folds=4, regularisation=1, features=mb.Fourier(8), seed=3)
    twin = clone(policy)
    assert twin is not policy
    assert twin.get_params()["actions"] == ["a", "b"]
    assert twin.set_params(folds=7).folds == 7
    assert mb.MarginPolicy().get_params().keys() == inspect.signature(mb.MarginPolicy).parameters.keys()
    for check in ("no_attributes_set_in_init", "get_params_invariance", "set_params", "estimator_cloneable"):
        getattr(estimator_checks, f"check_{check}")("MarginPolicy", mb.MarginPolicy())
    estimator_checks.check_parameters_default_constructible("MarginPolicy", mb.MarginPolicy())


def test_same_seed_same_policy() -> None:
    curves = mb.Chain([mb.Standardise(), mb.Fourier(20)])
    one, two = (mb.MarginPolicy(seed=5, features=curves).fit(*made(200)) for _ in range(2))
    assert np.array_equal(one.leader_.weights, two.leader_.weights)
    assert one.candidates_ == two.candidates_


def test_what_was_learnt_is_saved_and_served(tmp_path: Any) -> None:
    X, actions, losses, probabilities = made(400)
    names = ["mens", "womens", "none"]
    policy = mb.MarginPolicy(actions=names, features=mb.Chain([mb.Standardise(), mb.Fourier(20)]), seed=1)
    policy.fit(X, [names[a] for a in actions], losses, probabilities)
    policy.save(tmp_path / "policy.npz")
    served = mb.load(tmp_path / "policy.npz")
    assert np.array_equal(served.laws(X), policy.predict_proba(X))
    assert served.act(X[0]).action == policy.predict(X[:1])[0] == policy.act(X[0]).action
    assert np.array_equal(policy.law(X[0]), served.law(X[0]))
    assert served.act(X[0]).probability == 1.0
    before = {name: array.copy() for name, array in served.state().items()}
    with pytest.raises(ValueError, match="stays as it is"):
        served.learn(X[0], served.act(X[0]), 0.5)
    assert all(np.array_equal(before[name], array) for name, array in served.state().items())
    content = bytearray((tmp_path / "policy.npz").read_bytes())
    where = content.find(np.float64(served.state()["bias"][0]).tobytes())
    content[where : where + 8] = np.float64(np.nan).tobytes()
    with pytest.raises(ValueError, match="bias"):
        mb.loads(bytes(content))


def test_contexts_may_be_mappings() -> None:
    X, actions, losses, probabilities = made(300)
    named = [{"age": float(x[0]), "kind": "high" if x[1] > 0 else "low"} for x in X]
    policy = mb.MarginPolicy().fit(named, actions, losses, probabilities)
    assert policy.predict(named).shape == (300,)


GOOD: dict[str, Any] = dict(zip(("contexts", "actions", "losses", "probabilities"), made(30), strict=True))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("contexts", np.ones((30, 3, 2)), "contexts must be one or more vectors"),
        ("contexts", np.full((30, 3), np.nan), "contexts must be finite, got nan in round 0"),
        ("contexts", [], "for each of 0 rounds"),
        ("actions", [0, 1], "actions must hold one value for each of 30 rounds"),
        ("actions", ["a"] * 30, "actions must be whole numbers"),
        ("actions", [0, 1, -1] * 10, "got -1 in round 2"),
        ("actions", [0, 1, 3] * 10, "as 2 never is"),
        ("losses", [0.5] * 29 + [1.5], "losses must lie in [0, 1], got 1.5 in round 29"),
        ("losses", [np.nan] * 30, "got nan in round 0"),
        ("losses", [0.5] * 29, "losses must hold one value for each of 30 rounds, got (29,)"),
        ("losses", ["low"] * 30, "losses must be numbers"),
        ("probabilities", None, "probabilities must be given"),
        (
            "probabilities",
            [0.5] * 3 + [0.0] * 27,
            "probabilities must lie above 0 and at most at 1, got 0.0 in round 3",
        ),
        ("probabilities", [2.0] * 30, "got 2.0 in round 0"),
        ("available", np.ones((30, 2), bool), "available must be 30 rounds x 3 actions"),
        ("available", np.ones((30, 3)), "available must be booleans"),
    ],
)
def test_bad_logs_are_refused_by_name_and_row(name: str, value: Any, told: str) -> None:
    policy = mb.MarginPolicy(regularisation=0.1).fit(**GOOD)
    before = policy.leader_
    with pytest.raises(ValueError, match=re.escape(told)):
        policy.fit(**{**GOOD, name: value})
    assert policy.leader_ is before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("surrogate", "logistic"),
        ("targets", "mtr"),
        ("regularisation", -1.0),
        ("folds", 2),
        ("caution", -0.5),
        ("features", "cubic"),
        ("n_actions", 1),
        ("actions", ["a", "a"]),
        ("seed", "zero"),
    ],
)
def test_bad_parameters_are_refused_when_given_and_when_set(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        mb.MarginPolicy(**{name: value})
    policy = mb.MarginPolicy().set_params(**{name: value})
    with pytest.raises(ValueError, match=name):
        policy.fit(**GOOD)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="must be fitted first"):
        mb.MarginPolicy().predict(GOOD["contexts"])
    with pytest.raises(ValueError, match="at least as many as the 31 folds"):
        mb.MarginPolicy(folds=31).fit(**GOOD)
    with pytest.raises(ValueError, match=r"actions\[0\].*'x'"):
        mb.MarginPolicy(actions=["a", "b"]).fit(**{**GOOD, "actions": ["x"] * 30})


# Certificates.


def test_the_held_out_bound_covers_and_half_of_it_does_not() -> None:
    """300 logs of 200 rounds; the bound may fail 5% of the time, and being general it fails far less."""
    failed = halved = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        taken = rng.random(200) < 0.25  # of an action that the policy always plays, whose loss is 0.3
        losses = (rng.random(200) < 0.3).astype(float)
        one = held_out(taken.astype(float), losses, np.full(200, 0.25), 0.95)
        failed += one.bound < 0.3
        halved += one.estimate - 0.1 * (one.bound - one.estimate) < 0.3
    assert failed <= 15
    assert halved > 100, "the comparison can fail"


def test_certificates_say_what_they_are() -> None:
    X, actions, losses, probabilities = made(400)
    policy = mb.MarginPolicy().fit(X, actions, losses, probabilities)
    assert policy.certificate_.kind == "margin"
    assert policy.certificate_.vacuous == (policy.certificate_.bound >= 1.0)
    fresh = made(2000, seed=1)
    sure = policy.certify(*fresh)
    assert not sure.vacuous
    assert sure.estimate < sure.bound < policy.certify(*fresh, confidence=0.999).bound
    assert "vacuous" in str(policy.certify(*(column[:20] for column in fresh)))


def test_the_margin_bound_is_near_the_truth_where_a_long_log_is_separable() -> None:
    rng = np.random.default_rng(0)
    sides = rng.choice([-1.0, 1.0], 20_000)
    actions = rng.integers(2, size=20_000)
    log = targets.Log(
        sides[:, None], actions, (actions != (sides > 0)) * 1.0, np.full(20_000, 0.5), np.ones((20_000, 2), bool)
    )
    right = margin_bound(log, np.array([[-1.0, 0.0], [1.0, 0.0]]), 1.0)
    assert right.estimate == 0.0
    assert right.bound < 0.3
    assert margin_bound(log, np.array([[1.0, 0.0], [-1.0, 0.0]]), 1.0).vacuous, "the other way round all is lost"
    n, j = 20_000, 1
    paid = log.losses * 2.0
    naive = 2.0 * 2.0**j * math.sqrt(0.5) * math.sqrt(sum(2.0 * c**2 for c in paid)) / n
    naive += 3.0 * 2.0 * math.sqrt(math.log(2.0 * 2.3 * (1 + j) ** 2 / 0.05) / (2.0 * n))
    assert right.bound == pytest.approx(naive)
