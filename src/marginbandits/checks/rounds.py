"""What the checks of learners share: the list of them, an easy problem, and rounds of it."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.types import Array, Learner

__all__ = [
    "LEARNER_CHECKS",
    "Build",
    "D",
    "K",
    "any_number_of_rows",
    "laws_of",
    "learner_check",
    "snapshot",
    "stream",
    "train",
]

K, D = 3, 4
Build = Callable[..., Learner]

LEARNER_CHECKS: dict[str, Callable[[Build], None]] = {}
"""Every check by name."""


def learner_check(function: Callable[[Build], None]) -> Callable[[Build], None]:
    """Add a check to the list."""
    LEARNER_CHECKS[function.__name__] = function
    return function


def stream(n: int, *, matrix: bool = False, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """An easy problem: contexts of uneven scale and offset, the label the best of K linear scores, in the same span."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((K, D))
    for _ in range(n):
        x = rng.standard_normal((K, D) if matrix else D)
        scores = x @ weights[0] if matrix else weights @ x
        context = 10.0 * x + 5.0
        yield context, (np.arange(K) != scores.argmax()).astype(float)


def train(agent: Learner, n: int, *, matrix: bool = False, seed: int = 0) -> Array:
    """Play n rounds; return the losses."""
    out = []
    for context, losses in stream(n, matrix=matrix, seed=seed):
        decision = agent.act(context)
        agent.learn(context, decision, losses[decision.action])
        out.append(losses[decision.action])
    return np.array(out)


def laws_of(agent: Learner, *, matrix: bool = False, seed: int = 99) -> Array:
    """The laws of ten more contexts."""
    return np.array([agent.law(context) for context, _ in stream(10, matrix=matrix, seed=seed)])


def snapshot(agent: Learner) -> dict[str, npt.NDArray[Any]]:
    """What has been learnt so far, copied."""
    return copy.deepcopy(agent.state())


def any_number_of_rows(agent: Learner) -> bool:
    """Whether a K x d context may have other numbers of rows than K."""
    return not getattr(agent, "needs_every_row", False)
