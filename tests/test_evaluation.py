import numpy as np
import pytest
from scipy import stats

import marginbandits as mb
from marginbandits.evaluation import best_action_regret, linear_policy_losses


def test_progressive_loss_over_rows() -> None:
    losses = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    assert np.allclose(mb.progressive_loss(losses), [[1, 1 / 2, 1 / 3], [0, 1 / 2, 2 / 3]])


def test_regret_to_the_best_action_in_hindsight() -> None:
    table = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    assert np.allclose(best_action_regret([0.0, 0.0, 1.0], table), [-1, -1, 0])


@pytest.mark.parametrize("d", [3, 300])  # fewer features than rounds, and more
def test_a_linear_policy_in_hindsight_is_least_squares_on_the_losses(d: int) -> None:
    rng = np.random.default_rng(0)
    X, table = rng.standard_normal((200, d)) * 5 + 2, rng.random((200, 4))
    X[:, 0] = 7.0  # says nothing
    Z = np.c_[(X[:, 1:] - X[:, 1:].mean(0)) / X[:, 1:].std(0), np.ones(200)]
    penalty = np.diag(np.r_[np.ones(d - 1), 1e-9])
    chosen = (Z @ np.linalg.solve(Z.T @ Z + penalty, Z.T @ table)).argmin(1)
    assert np.allclose(linear_policy_losses(X, table), table[np.arange(200), chosen])
    with pytest.raises(ValueError, match="all_losses"):
        linear_policy_losses(X, table[:100])


def test_intervals_cover_as_often_as_they_say() -> None:
    """2,000 intervals of 5 normal values at 95%: coverage within five standard errors (rate 1e-6)."""
    rng = np.random.default_rng(0)
    hits = [low <= 0 <= high for _, low, high in (mb.interval(rng.standard_normal(5)) for _ in range(2000))]
    assert abs(np.mean(hits) - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 2000)
    normal = [abs(x.mean()) < 1.96 * x.std(ddof=1) / np.sqrt(5) for x in rng.standard_normal((2000, 5))]
    assert np.mean(normal) < 0.95 - 5 * np.sqrt(0.95 * 0.05 / 2000)  # negative control: normal quantiles fall short


def test_interval_is_students() -> None:
    values = [0.2, 0.4, 0.5, 0.1]
    expected = stats.t.interval(0.9, 3, np.mean(values), stats.sem(values))
    assert mb.interval(values, level=0.9)[1:] == pytest.approx(expected)


def test_an_interval_ends_where_its_values_must_and_covers_as_often() -> None:
    """2,000 intervals of the mean of 3 values in [0, 1]: cut or not, they cover the same times."""
    rng = np.random.default_rng(0)
    samples = rng.beta(0.5, 2.0, (2000, 3))
    whole, cut = [mb.interval(x) for x in samples], [mb.interval(x, within=(0.0, 1.0)) for x in samples]
    assert min(one.low for one in whole) < 0.0
    assert all(0.0 <= one.low <= one.mean <= one.high <= 1.0 for one in cut)
    assert [one.low <= 0.2 <= one.high for one in cut] == [one.low <= 0.2 <= one.high for one in whole]
    assert mb.interval([0.3], within=(0.0, 1.0)) == (0.3, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"values must lie within \(0.0, 1.0\), got 0.1 to 1.2"):
        mb.interval([0.1, 1.2], within=(0.0, 1.0))


def test_shapes_that_make_no_sense_are_refused() -> None:
    for values, level, named in (([[0.1, 0.2]], 0.95, "values"), ([], 0.95, "values"), ([0.1, 0.2], 3.0, "level")):
        with pytest.raises(ValueError, match=named):
            mb.interval(values, level)
    with pytest.raises(ValueError, match="all_losses"):
        best_action_regret([0.1, 0.2], np.zeros((3, 2)))


def test_one_value_says_nothing_about_spread() -> None:
    assert mb.interval([0.5])[1:] == (-np.inf, np.inf)


def test_simulation_counts_only_answered_rounds() -> None:
    log = mb.Logged(np.eye(4), [0, 1, 0, 1], [0.5] * 4, [0.5] * 4, n_actions=2, seed=0)
    ticks = []
    trace = mb.simulate(mb.Uniform(2, seed=0), log, progress=lambda: ticks.append(1))
    assert len(ticks) == 4
    assert len(trace.losses) == len(trace.actions) == len(trace.probabilities) < 4
    assert trace.all_losses is None


def test_simulation_knows_all_losses_where_they_are_known() -> None:
    env = mb.Classification.bundled("iris", seed=0)
    trace = mb.simulate(mb.LinUCB(3, seed=0), env)
    assert trace.all_losses is not None
    assert np.array_equal(trace.all_losses, env.losses)
    assert np.array_equal(trace.losses, env.losses[np.arange(150), trace.actions])
