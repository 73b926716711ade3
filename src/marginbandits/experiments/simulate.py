"""The run loop: a learner meets an environment, round by round.

>>> from marginbandits.environments import Classification
>>> from marginbandits.learners import LinUCB
>>> trace = simulate(LinUCB(n_actions=3, seed=0), Classification.bundled("iris", seed=0))
>>> len(trace.losses), bool(trace.losses.mean() < 0.5)
(150, True)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.learners.base import Learner
from marginbandits.types import Array, Environment, FullInformation
from marginbandits.validation import Function, Instance, OneOf, validated

__all__ = ["Trace", "simulate"]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened in every round that had an answer; `all_losses` is None where they are unknown (logged data)."""

    actions: npt.NDArray[np.int64]
    probabilities: Array
    losses: Array
    all_losses: Array | None
    laws: Array  # rounds x K: the whole distribution of every round


@validated
def simulate(
    learner: Learner,
    environment: Environment,
    *,
    progress: Annotated[Callable[[], object] | None, OneOf(Function(), Instance(type(None)))] = None,
) -> Trace:
    """Play the whole environment once, learning after every round; `progress` is called once a round."""
    if learner.n_actions != environment.n_actions:
        raise ValueError(f"the learner has {learner.n_actions} actions, the environment {environment.n_actions}")
    actions, probabilities, losses, tables, laws = [], [], [], [], []
    for current in environment:
        decision = learner.act(current.context)
        loss = current.reveal(decision)
        if loss is not None:
            if isinstance(learner, FullInformation) and current.losses is not None:
                learner.learn_all(current.context, current.losses)
            else:
                learner.learn(current.context, decision, loss)
            actions.append(decision.action)
            probabilities.append(decision.probability)
            losses.append(loss)
            laws.append(decision.distribution)
            if current.losses is not None:
                tables.append(current.losses)
        if progress is not None:
            progress()
    all_losses = np.array(tables) if tables else None
    return Trace(np.array(actions, np.int64), np.array(probabilities), np.array(losses), all_losses, np.array(laws))
