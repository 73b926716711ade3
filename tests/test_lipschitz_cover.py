"""Covers of Lipschitz scores, and exponential weights on them."""

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory
from tests.problems import lipschitz_line


@pytest.mark.parametrize("epsilon", [0.5, 0.25])
def test_a_cover_has_a_function_near_every_lipschitz_one(epsilon: float) -> None:
    space = mb.Cube([0.0], [1.0])
    table, cells = mb.lipschitz_cover(space, epsilon=epsilon), mb.Cells(space, epsilon / 2)
    started = cells.start(1, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    at = np.linspace(0, 1, 200)
    indicators = started.transform(at[:, None])
    worst = []
    for _ in range(100):
        s = lipschitz_line(rng, 1.0, -1.0, 1.0)(at)
        worst.append(np.abs(table[:, 0] @ indicators.T - s).max(1).min())
    assert max(worst) <= epsilon + 1e-9
    few = table[::7]  # the negative control: a seventh of it covers less
    missed = np.abs(few[:, 0] @ indicators.T - s).max(1).min()
    assert missed > min(worst)
    steps = np.abs(np.diff(table[:, 0], axis=1))
    assert steps.max() <= epsilon + 1e-9
    assert (table[:, 0] == -table[:, 1]).all()


def test_a_cover_of_the_plane_is_counted_by_hand() -> None:
    """Two by two cells, all neighbours: values v and v + 1 in any places, of 4 stretches."""
    table = mb.lipschitz_cover(mb.Cube([0.0, 0.0], [1.0, 1.0]), epsilon=0.5)
    assert len(table) == 4 + 3 * (2**4 - 2)
    assert len(np.unique(table, axis=0)) == len(table)


@pytest.mark.parametrize("surrogate", ["ramp", "advice"])
def test_weights_on_a_cover_keep_their_bound_against_any_losses(surrogate: str) -> None:
    """Losses that switch sides; the best function is found by looking at all."""
    T, epsilon = 1500, 0.25
    space = mb.Cube([0.0], [1.0])
    agent = mb.ExponentialWeights.on_lipschitz_cover(
        space=space, epsilon=epsilon, horizon=T, surrogate=surrogate, seed=0
    )
    rng = np.random.default_rng(0)
    x = rng.random((T, 1))
    right = np.where(np.arange(T) < T // 3, 1, 0)
    losses = (np.arange(2) != right[:, None]).astype(float)
    trace = mb.simulate(agent, mb.Oblivious.of(x, losses))
    cell = mb.Cells(space, epsilon / 2).start(1, rng).transform(x).argmax(1)
    scores = mb.lipschitz_cover(space, epsilon=epsilon)[:, :, cell]
    values = np.minimum(1.0 + scores, 1.0)
    if surrogate == "advice":
        values = values / values.sum(1, keepdims=True)
    best = float(np.einsum("nat,ta->n", values, losses).min())
    bound = theory.lipschitz_cover_bound(len(scores), epsilon, theory.Game(2, T, 1.0), surrogate=surrogate)
    assert trace.losses.sum() - best <= bound.value - bound.terms["cover"]
    assert bound.value - bound.terms["cover"] < T - best, "else the bound would say nothing"
    again = mb.loads(agent.dumps())
    assert np.array_equal(again.law([0.4]), agent.law([0.4]))
