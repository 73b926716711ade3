"""Experts: each step against the slope of what it minimises, predictions within [0, 1], memory that does not grow."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax

import marginbandits as mb
from marginbandits.checks import check_expert
from marginbandits.contexts import Batch, per_action, shared
from marginbandits.experts import OneRightExpert, RidgeExpert, TreesExpert
from marginbandits.types import Array
from tests import naive

ROWS = np.random.default_rng(0).standard_normal((40, 3))
LOSSES = (ROWS[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(40) > 0).astype(float)


def vector(row: Array, n_actions: int = 2) -> Batch:
    return per_action(row[None], n_actions)


def one_column(value: float, together: bool) -> Batch:
    return shared([np.array([[value], [-value]])]) if together else vector(np.array([value]))


def test_ridge_is_ridge_regression() -> None:
    expert = RidgeExpert(regularisation=0.5)._start(1, 3)
    for row, loss in zip(ROWS, LOSSES, strict=True):
        expert._learn(vector(row, 1), 0, loss)
    theta, inverse = naive.ridge(ROWS, 1 - LOSSES, 0.5)
    assert np.allclose(expert._predict(per_action(ROWS, 1)), np.clip(ROWS @ theta, 0, 1), atol=1e-5)
    widths = np.sqrt(np.einsum("ij,jk,ik->i", ROWS, inverse, ROWS))
    assert np.allclose(expert._width(per_action(ROWS, 1)), 0.2 * widths, atol=1e-5)


@pytest.mark.parametrize("loss", [0.0, 1.0])
def test_one_right_moves_along_the_slope_of_its_likelihood(loss: float) -> None:
    """With A = λI the step of block b is g_b z/(λ + w_b‖z‖²), and g is the slope of the log-likelihood."""
    rng = np.random.default_rng(0)
    expert = OneRightExpert(regularisation=1e4)._start(3, 2)
    scores = rng.standard_normal(3)
    row = np.array([1.0, 0.0])
    expert._ridge.theta[:, 0] = scores

    def likelihood(s: Array) -> float:
        p = softmax(s)[1]
        return float(np.log(p) if loss == 0.0 else np.log1p(-p))

    slope = approx_fprime(scores, likelihood, 1e-6)
    before = expert._ridge.theta.copy()
    assert expert._learn(vector(row, 3), 1, loss) == pytest.approx(softmax(scores)[1], abs=1e-6)
    moved = (expert._ridge.theta - before)[:, 0] * 1e4
    assert np.allclose(moved, slope, rtol=2e-2, atol=2e-2)
    assert np.abs(slope).max() > 0.1


@pytest.mark.parametrize("together", [True, False])
def test_one_right_unlearns_what_it_was_sure_of(together: bool) -> None:
    expert = OneRightExpert()._start(1 if together else 2, 1)
    for _ in range(300):
        expert._learn(one_column(1.0, together), 0, 0.0)
    assert expert._predict(one_column(5.0, together))[0] > 1 - 1e-6
    sure = expert._ridge.theta[0, 0]
    for _ in range(200):
        expert._learn(one_column(5.0, together), 0, 1.0)
    assert expert._ridge.theta[0, 0] < 0.5 * sure


def test_rows_for_each_action_share_one_softmax() -> None:
    """Two actions with rows ±z are a logistic regression; all rounds together it comes near the likeliest weights."""
    expert, rows = OneRightExpert(regularisation=1.0)._start(1, 3), ROWS / 3
    for row, loss in zip(rows, LOSSES, strict=True):
        expert._learn(shared([np.stack([row, -row])]), 0, loss)

    def cost(theta: Array) -> float:
        logs = log_softmax(np.stack([rows @ theta, -rows @ theta]), axis=0)
        return float(-((1 - LOSSES) @ logs[0]) - LOSSES @ logs[1] + theta @ theta / 2)

    best = minimize(cost, np.zeros(3))
    assert cost(expert._ridge.theta[0].astype(float)) < best.fun + 0.1 * (cost(np.zeros(3)) - best.fun)


@pytest.mark.parametrize("kind", [RidgeExpert, OneRightExpert])
def test_predictions_stay_within_zero_and_one(kind: type[RidgeExpert]) -> None:
    expert = kind(regularisation=1e-9)._start(2, 3)
    for row, loss in zip(100 * ROWS, LOSSES, strict=True):
        assert 0.0 <= expert._learn(vector(row), int(loss), loss) <= 1.0
    predicted = expert._predict(per_action(1e6 * ROWS, 2))
    assert ((predicted >= 0) & (predicted <= 1)).all()


def broken(**holes: object) -> RidgeExpert:
    return type("Broken", (RidgeExpert,), holes)()  # type: ignore[no-any-return]  # a RidgeExpert but for that


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        (broken(_predict=lambda self, batch: 2.0 + self._ridge.predict(batch)), "within 0 and 1"),
        (broken(_predict=lambda self, batch: np.full(7, 0.5)), "one for each action"),
        (broken(_width=lambda self, batch: -np.ones(len(batch.mask))), "must not be negative"),
        (broken(_learn=lambda self, one, action, loss: None), "must return the reward"),
        (broken(_forget=lambda self: None), "after _forget"),
        (broken(attach=lambda self, journal: None), "taken back"),
        (broken(fields=lambda self: {}), "in its fields"),
    ],
)
def test_a_broken_expert_is_told_what_is_broken(expert: RidgeExpert, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_expert(expert)


def test_trees_keep_what_they_may_and_forget_the_rest() -> None:
    expert = TreesExpert(n_trees=5, memory=30, growth=1.5)._start(1, 3)
    sizes = []
    for i in range(600):
        expert._learn(vector(ROWS[i % 40], 1), 0, LOSSES[i % 40])
        sizes.append(len(expert._whole().columns))
        assert expert._held[0] <= 46
    assert expert._fitted[0] == 30
    assert max(sizes) <= 5 * 59
    assert expert._fits[0] > 20


def test_trees_are_fitted_at_their_growth() -> None:
    expert = TreesExpert(n_trees=2, growth=1.4)._start(1, 3)
    fits = []
    for i in range(40):
        before = expert._fits[0]
        expert._learn(vector(ROWS[i], 1), 0, LOSSES[i])
        if expert._fits[0] > before:
            fits.append(i + 1)
    assert fits == [8, 12, 17, 24, 34]


def test_loaded_trees_are_the_trees_that_were_saved() -> None:
    agent = mb.Mixture(2, experts=[TreesExpert(n_trees=5)], seed=0)
    for row, loss in zip(ROWS, LOSSES, strict=True):
        agent.learn(row, mb.Decision(int(loss), 0.5), 0.0)
    again = mb.loads(agent.dumps())
    assert isinstance(again, mb.Mixture)
    batch = per_action(ROWS, 2)
    assert (again._started[0]._predict(batch) == agent._started[0]._predict(batch)).all()
