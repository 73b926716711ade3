"""What a run is judged by: the loss of every round, what others would have lost, speed, memory, probabilities.

>>> from marginbandits.environments import Classification
>>> from marginbandits.learners import LinUCB
>>> losses, metrics = measure(LinUCB(n_actions=3, seed=0), Classification.bundled("iris", seed=0))
>>> len(losses), round(metrics["uniform_loss"], 4)
(150, 0.6667)
"""

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from marginbandits.environments.base import Oblivious
from marginbandits.experiments.simulate import simulate
from marginbandits.experiments.sources import Data
from marginbandits.learners.base import Learner
from marginbandits.types import Array

__all__ = ["METRICS", "judged", "measure", "play"]

METRICS = (
    *("loss", "uniform_loss", "best_action_loss", "linear_policy_loss", "smallest_probability"),
    *("effective_sample_share", "rounds_per_second", "state_bytes"),
)


def play(
    build: Callable[[int, np.random.Generator], Learner], data: Data, seed: int, shuffle: bool
) -> tuple[Array, dict[str, float]]:
    """A learner on a table in the order of a seed, whose draws come from the same seed; all of `METRICS`."""
    environment = data.environment(seed, shuffle)
    losses, metrics = measure(build(environment.n_actions, np.random.default_rng([seed, 1])), environment)
    return losses, {**metrics, "linear_policy_loss": data.linear_policy_loss()}


def measure(learner: Learner, environment: Oblivious) -> tuple[Array, dict[str, float]]:
    """Play the whole environment: the loss of every round, and everything else by name.

    `state_bytes` is what the learner has learnt, in bytes of its arrays at the end: the same on every machine, and no
    other task's. What it takes for a moment inside a round is not in it.
    """
    start = time.perf_counter()
    trace = simulate(learner, environment)
    seconds = time.perf_counter() - start
    return trace.losses, judged(trace.actions, trace.laws, environment.losses, seconds, learner)


def judged(
    actions: npt.NDArray[np.int64], laws: Array, losses: Array, seconds: float, learner: Learner
) -> dict[str, float]:
    """What was played of a learner, by name; `losses` are those of all actions."""
    rounds = np.arange(len(actions))
    return {
        "loss": float(losses[rounds, actions].mean()),
        "uniform_loss": float(losses.mean()),
        "best_action_loss": float(losses.mean(0).min()),
        "smallest_probability": float(laws[rounds, actions].min()),
        "effective_sample_share": _effective_sample_share(laws),
        "rounds_per_second": len(actions) / seconds,
        "state_bytes": float(sum(array.nbytes for array in learner.state().values())),
    }


def _effective_sample_share(laws: Array) -> float:
    """1/E[w²] of the weights w = (1/K)/p(a) that evaluating uniform play on this log would need; 0 if p(a) = 0."""
    with np.errstate(divide="ignore"):
        second_moment = (1.0 / laws).sum(1).mean() / laws.shape[1] ** 2
    return float(1.0 / second_moment)
