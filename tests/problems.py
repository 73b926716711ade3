"""Problems that several tests play."""

from typing import Any

import numpy as np

import marginbandits as mb
from marginbandits.contexts import Batch, per_action
from marginbandits.types import Array


def vectors(x: Array, n_actions: int) -> Batch:
    """One vector, or rows of several, as contexts of so many actions."""
    return per_action(np.atleast_2d(x), n_actions)


def played(agent: mb.Learner, n: int, d: int = 4, *, noise: float = 0.1) -> Array:
    """Losses of n rounds on a linear rule with a share of its labels drawn at random."""
    rng = np.random.default_rng(0)
    weights, losses = rng.standard_normal((agent.n_actions, d)), []
    for _ in range(n):
        x = rng.standard_normal(d)
        label = rng.integers(agent.n_actions) if rng.random() < noise else (weights @ x).argmax()
        decision = agent.act(x)
        losses.append(float(decision.action != label))
        agent.learn(x, decision, losses[-1])
    return np.array(losses)


def law(agent: mb.Learner, context: Array) -> Array:
    distribution = agent.act(context).distribution
    assert distribution is not None
    return distribution


def exclusive_or(agent: mb.Learner, n: int, seed: int = 0) -> float:
    """The mean loss of n rounds whose better action no line tells from the other."""
    rng, lost = np.random.default_rng(seed), 0.0
    for _ in range(n):
        x = rng.uniform(-1, 1, 2)
        decision = agent.act(x)
        loss = float((x[0] * x[1] > 0) != (decision.action == 1))
        agent.learn(x, decision, loss)
        lost += loss / n
    return lost


def lipschitz_line(rng: np.random.Generator, steepest: float, low: float, high: float) -> Any:
    """A random function of [0, 1], piecewise linear with slopes up to the steepest, kept within limits."""
    knots = np.linspace(0.0, 1.0, 33)
    steps = rng.choice([-1.0, 0.0, 1.0], 32, p=[0.45, 0.1, 0.45]) * steepest / 32
    values = [rng.uniform(low, high)]
    for step in steps:
        values.append(min(max(values[-1] + step, low), high))
    return lambda x: np.interp(x, knots, values)
