"""The run loop: a learner meets an environment, round by round.

>>> from marginbandits.environments import Classification
>>> from marginbandits.learners import LinUCB
>>> trace = simulate(LinUCB(n_actions=3, seed=0), Classification.bundled("iris", seed=0))
>>> len(trace.losses), bool(trace.losses.mean() < 0.5)
(150, True)
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.environments.base import Oblivious, loss_of
from marginbandits.environments.logged import Logged
from marginbandits.learners.base import Learner
from marginbandits.types import Array, Environment, FullInformation
from marginbandits.validation import Function, Instance, OneOf, validated

__all__ = ["Trace", "simulate"]

FEW = 0.05
"""Replay that answers less than this share of a log's rounds says so."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened in every round that had an answer; `all_losses` is None where they are unknown (logged data)."""

    actions: npt.NDArray[np.int64]
    probabilities: Array
    losses: Array
    all_losses: Array | None
    laws: Array  # rounds x K: the whole distribution of every round, if they were to be kept


@validated
def simulate(
    learner: Learner,
    environment: Environment,
    *,
    laws: Annotated[bool, Instance(bool)] = True,
    progress: Annotated[Callable[[], object] | None, OneOf(Function(), Instance(type(None)))] = None,
) -> Trace:
    """Play the whole environment once, learning after every round; `progress` is called once for each.

    Where the learner has compiled rounds and all losses are settled beforehand, as of any `Oblivious` environment, the
    run is compiled, and otherwise the same; `progress` is then called after thousands of rounds, for all of them.
    `laws=False` leaves `Trace.laws` empty: they take 8TK bytes.
    """
    if learner.n_actions != environment.n_actions:
        raise ValueError(f"the learner has {learner.n_actions} actions, the environment {environment.n_actions}")
    learn_all = learner.learn_all if isinstance(learner, FullInformation) else None
    if isinstance(environment, Oblivious) and type(environment).__iter__ is Oblivious.__iter__:
        return _settled(learner, learn_all, environment, laws, progress)
    actions, probabilities, losses, tables, kept = [], [], [], [], []
    for current in environment:
        decision = learner.act(current.context)
        loss = current.reveal(decision)
        if loss is not None:
            if learn_all is not None and current.losses is not None:
                learn_all(current.context, current.losses)
            else:
                learner.learn(current.context, decision, loss)
            actions.append(decision.action)
            probabilities.append(decision.probability)
            losses.append(loss)
            if laws:
                kept.append(decision.distribution)
            if current.losses is not None:
                tables.append(current.losses)
        if progress is not None:
            progress()
    if isinstance(environment, Logged) and len(losses) < FEW * len(environment):
        warnings.warn(
            f"replay answered {len(losses):,} of {len(environment):,} rounds: only those in which the learner took the "
            "logged action, and fewer where probabilities are uneven; mb.evaluate uses them all",
            stacklevel=3,
        )
    all_losses = np.array(tables) if tables else None
    return Trace(np.array(actions, np.int64), np.array(probabilities), np.array(losses), all_losses, np.array(kept))


def _settled(
    learner: Learner,
    learn_all: Callable[..., object] | None,
    environment: Oblivious,
    laws: bool,
    progress: Callable[[], object] | None,
) -> Trace:
    """Rounds whose losses are all known: from where the learner can, in compiled code."""
    contexts, losses = environment.contexts, environment.losses
    n = len(losses)
    actions, probabilities = np.empty(n, np.int64), np.empty(n)
    kept = np.empty((n if laws else 1, environment.n_actions))
    for t in range(n):
        if learner._run(t, contexts, losses, actions, probabilities, kept, progress):
            break
        context = environment._context(t)
        decision = learner.act(context)
        if learn_all is None:
            learner.learn(context, decision, loss_of(decision, losses[t]))
        else:
            learn_all(context, losses[t])
        action: Any = decision.action
        actions[t], probabilities[t], kept[t * laws] = action, decision.probability, decision.distribution
        if progress is not None:
            progress()
    return Trace(actions, probabilities, losses[np.arange(n), actions], losses.copy(), kept if laws else kept[:0])
