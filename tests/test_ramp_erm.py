"""The ramp oracle: descent, the hinge's minimiser as an upper limit, the least on a grid, and what many starts find."""

import numpy as np
import pytest
import scipy.linalg

from marginbandits.environments import FarWrongLabels
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.oracles.leader import LinearLeader
from marginbandits.oracles.ramp_erm import RampERM
from marginbandits.policies import proportional
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.types import Array, Oracle
from tests.marks import at_length

GAMMA = 0.2


def problem(seed: int, n_actions: int, n_features: int, noise: float = 0.0) -> tuple[Array, Array]:
    """Rows of norm at most 1; one cost each, of an action that a linear rule would not play, but for the noise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    rows = rng.standard_normal((n, n_features))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    best = (rows @ rng.standard_normal((n_features, n_actions))).argmax(1)
    played = rng.integers(n_actions, size=n)
    costs = np.zeros((n, n_actions))
    wrong = (played != best) ^ (rng.random(n) < noise)
    costs[np.arange(n), played] = wrong * rng.exponential(size=n)
    costs[0, 0] = 1.0
    return rows, costs


def cost(weights: Array, rows: Array, costs: Array) -> float:
    return float((costs * Ramp(GAMMA)(rows @ weights.T)).sum())


def least_on_a_grid(rows: Array, costs: Array, radius: float = 1.0) -> float:
    """Over a fine grid of the disc of two parameters, its edge included."""
    K, d = costs.shape[1], rows.shape[1]
    line, angle = np.linspace(-radius, radius, 161), np.linspace(0.0, 2.0 * np.pi, 1500)
    disc = np.array(np.meshgrid(line, line)).reshape(2, -1).T
    disc = disc[np.linalg.norm(disc, axis=1) <= radius]
    points = np.r_[disc, radius * np.c_[np.cos(angle), np.sin(angle)]].reshape(-1, K - 1, d)
    scores = np.einsum("nd,gad->gna", rows, np.einsum("ak,gkd->gad", scipy.linalg.helmert(K).T, points))
    return float((costs * Ramp(GAMMA)(scores)).sum((1, 2)).min())


@pytest.mark.parametrize("seed", [0, 1, *at_length(range(2, 6))])
def test_every_step_descends_and_none_is_worse_than_the_hinge(seed: int) -> None:
    rows, costs = problem(seed, 3, 4, noise=0.3)
    hinge = HingeERM(GAMMA).minimise(rows, costs)
    values = [RampERM(GAMMA, max_steps=k, starts=0).minimise(rows, costs).value for k in (1, 2, 3, 4, 50)]
    assert values[0] == cost(hinge.weights, rows, costs)
    assert (np.diff(values) <= 0.0).all()
    found = RampERM(GAMMA).minimise(rows, costs)
    assert found.value == pytest.approx(cost(found.weights, rows, costs))
    assert found.value <= values[-1]
    assert np.linalg.norm(found.weights) <= 1.0 + 1e-9
    assert np.allclose(found.weights.sum(0), 0.0)


@pytest.mark.parametrize("seed", [0, 1, *at_length(range(2, 5))])
def test_the_end_is_a_local_minimum(seed: int) -> None:
    rows, costs = problem(seed, 3, 4, noise=0.3)
    oracle = RampERM(GAMMA, tolerance=1e-6, starts=1)
    found = oracle.minimise(rows, costs)
    basis, rng = scipy.linalg.helmert(3).T, np.random.default_rng(seed)
    V = basis.T @ found.weights
    for _ in range(300):
        near = V + 1e-4 * rng.standard_normal(V.shape)
        near *= min(1.0, 1.0 / float(np.linalg.norm(near)))
        assert cost(basis @ near, rows, costs) >= found.value - 1e-5 * costs.sum()


@pytest.mark.soak
@pytest.mark.parametrize(("noise", "alone"), [(0.0, 28), (0.2, 25), (0.5, 24)])
def test_how_often_the_least_is_found(noise: float, alone: int) -> None:
    """Two parameters (K = 2, d = 2, or K = 3, d = 1), 30 problems; within 1% of all costs of the grid's least.

    It was found in all of them. Without other starts it was found in 26, 23 and 22, the less often the noisier; the
    hinge's own minimiser, the control, is within reach of it in 14, 11 and 6.
    """
    reached = np.zeros(3)
    for seed in range(30):
        rows, costs = problem(seed, *((2, 2) if seed % 2 else (3, 1)), noise=noise)
        limit = least_on_a_grid(rows, costs) + 0.01 * costs.sum()
        for i, (steps, starts) in enumerate([(50, 4), (50, 0), (1, 0)]):
            reached[i] += RampERM(GAMMA, max_steps=steps, starts=starts).minimise(rows, costs).value <= limit
    assert reached[0] >= 29
    assert reached[1] <= alone
    assert reached[2] <= 16


def test_wrong_labels_far_out_do_not_lead_into_the_wrong_valley() -> None:
    """Where 40 random starts find 0.2475, and the descent from the hinge's minimiser, the control, ends at 0.4005."""
    env = FarWrongLabels(600, seed=0)
    rows = (env.contexts - env.contexts.mean(1, keepdims=True)).reshape(-1, 2)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    costs = env.losses.reshape(-1, 1) / 600
    found, alone = (RampERM(0.1, starts=n).minimise(rows, costs) for n in (4, 0))
    rng = np.random.default_rng(0)
    random = min(RampERM(0.1, starts=0).minimise(rows, costs, rng.standard_normal((1, 2))).value for _ in range(20))
    assert found.value <= random + 1e-6
    assert found.value < 0.65 * alone.value
    assert found.starts == 9  # the hinge's, four guesses, and four steps beside the best of these
    assert 1 <= found.agreed < 9  # the hinge's own start does not
    assert (alone.starts, alone.agreed) == (1, 1)


@pytest.mark.soak
def test_it_finds_what_forty_random_starts_find_in_eight_dimensions() -> None:
    """Six problems of sixteen parameters, 30% noise: on average no more than 0.1% above, and 0.5% in each.

    The control, from the hinge's minimiser alone, is 1% above on average.
    """
    above = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows, costs = noisy(rng, 300, 3, 8)
        alone = RampERM(GAMMA, starts=0)
        starts = rng.standard_normal((40, 3, 8))
        random = min(alone.minimise(rows, costs, one - one.mean(0)).value for one in starts)
        above.append([RampERM(GAMMA, starts=n).minimise(rows, costs).value / random - 1.0 for n in (4, 0)])
    found, control = np.array(above).T
    assert found.mean() <= 0.001
    assert found.max() <= 0.005
    assert control.mean() > 0.005


def noisy(rng: np.random.Generator, n: int, n_actions: int, n_features: int) -> tuple[Array, Array]:
    """As `problem`, with many rows."""
    rows = rng.standard_normal((n, n_features))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    best = (rows @ rng.standard_normal((n_features, n_actions))).argmax(1)
    played = rng.integers(n_actions, size=n)
    costs = np.zeros((n, n_actions))
    costs[np.arange(n), played] = ((played != best) ^ (rng.random(n) < 0.3)) * rng.exponential(size=n)
    return rows, costs


def test_the_same_problem_has_the_same_answer() -> None:
    rows, costs = problem(3, 3, 4, noise=0.3)
    one, two = (RampERM(GAMMA, starts=1).minimise(rows, costs) for _ in range(2))
    assert np.array_equal(one.weights, two.weights)


def test_a_start_in_a_better_valley_is_used() -> None:
    rows, costs = np.array([[0.1], [0.1], [1.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    alone = RampERM(0.1, starts=0).minimise(rows, costs)
    start = np.array([[-5.0], [5.0]])  # outside the ball: only its signs matter
    helped = RampERM(0.1, starts=0).minimise(rows, costs, start)
    assert helped.value < 0.9 * alone.value
    assert helped.weights[0, 0] < 0.0 < alone.weights[0, 0]
    back = RampERM(0.1, starts=0).minimise(rows, costs, alone.weights)
    assert back.value == pytest.approx(alone.value)


def contaminated(seed: int) -> tuple[Array, Array, Array, Array]:
    """Three clouds, all costs known; 2% more, five times as far and as heavy, that blame the first's own action."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * np.arange(3) / 3
    centres = np.c_[np.cos(angle), np.sin(angle)]
    label = rng.integers(3, size=400)
    clean = 0.6 * centres[label] + 0.12 * rng.standard_normal((400, 2))
    losses = 1.0 - np.eye(3)[label]
    far = 3.0 * np.array([np.cos(0.5), np.sin(0.5)]) + 0.05 * rng.standard_normal((8, 2))
    blame = np.tile([5.0, 0.0, 0.0], (8, 1))
    return np.r_[clean, far], np.r_[losses, blame], clean, losses


@pytest.mark.parametrize("seed", range(3))
def test_far_heavy_rows_spoil_the_hinges_policy_and_not_the_ramps(seed: int) -> None:
    rows, costs, clean, losses = contaminated(seed)
    hinge, ramp = HingeERM(0.1).minimise(rows, costs), RampERM(0.1).minimise(rows, costs)
    alone = RampERM(0.1).minimise(clean, losses)

    def loss(leader: LinearLeader, surrogate: Hinge | Ramp) -> float:
        return float((proportional(surrogate(leader.scores(clean))) * losses).sum(1).mean())

    assert loss(hinge, Hinge(0.1)) > 0.15  # both at their own play,
    assert loss(ramp, Ramp(0.1)) < 0.08
    assert loss(hinge, Ramp(0.1)) > 4 * loss(ramp, Ramp(0.1))  # and at the same
    assert loss(ramp, Ramp(0.1)) == pytest.approx(loss(alone, Ramp(0.1)), rel=0.05)
    assert loss(HingeERM(0.1).minimise(clean, losses), Hinge(0.1)) < 0.03  # it is the far rows


def test_it_is_an_oracle_and_refuses_what_the_hinge_refuses() -> None:
    assert isinstance(RampERM(0.1), Oracle)
    with pytest.raises(ValueError, match="not negative"):
        RampERM(0.1).minimise(np.ones((2, 3)), -np.ones((2, 2)))
    free = RampERM(0.1).minimise(np.ones((2, 3)), np.zeros((2, 2)), np.ones((2, 3)))
    assert free.value == 0.0
