"""Warm start: teach any learner a log of decisions that others took, before it decides anything itself.

Learners are of two kinds. Those that *predict* the loss of each action (ridge and online regression, trees, nearest
neighbours, logistic regression, the practical HingeLMC and SmoothFTL) learn the same whatever probability an action was
taken with, as long as the context says what it was taken by. Those that *weigh* (`ExponentialWeights`, the faithful
learners, `Banditron`, `Newtron`, `SOBA`, `Cover`, online regression that is `weighted`) count a round 1/p times, which
needs p to be the probability of whoever took the decision. Both are given the logged p here, so both are right.

Two are not, and are refused: a `FaithfulHingeLMC` that draws its weights from its own law, which did not take these
decisions, and `Supervised`, which is to be told all losses.

>>> import numpy as np
>>> from marginbandits.learners import LinUCB
>>> log = {"contexts": np.ones((60, 1)), "actions": [0, 1, 1] * 20, "losses": [1.0, 0.0, 0.0] * 20}
>>> agent = warm_start(LinUCB(2, seed=0), **log, probabilities=[1 / 3, 2 / 3, 2 / 3] * 20)
>>> agent.act([1.0]).action
1
"""

import copy
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import several
from marginbandits.learners.base import Learner
from marginbandits.log_parts import LogParts, is_log
from marginbandits.rounds import Progress, Rounds
from marginbandits.types import Action, Decision, FullInformation
from marginbandits.validation import Instance, quoted, validated

__all__ = ["places_of", "taught", "warm_start"]

L = TypeVar("L", bound=Learner)


@validated
def warm_start(
    learner: Annotated[L, Instance(Learner)],
    contexts: Any,
    actions: npt.ArrayLike | None = None,
    losses: npt.ArrayLike | None = None,
    probabilities: npt.ArrayLike | None = None,
    *,
    available: Any = None,
    progress: Progress = None,
) -> L:
    """The learner, after learning every round of a log in turn; if any round is refused, none is learnt.

    `contexts` may be a whole log (`mb.read_log`, `mb.Logged`, `Rounds`) and stand alone: it is read some thousand
    rounds at a time, and its losses are what they are in the learner's own range; `progress` is told how many. Of
    columns, `actions` are numbers, or the names that the learner has for them, and `available` is one mask, or one for
    each round.
    """
    own = getattr(learner, "weighting", "mixture")
    if own != "mixture":
        raise ValueError(f"learner must weigh by the logged probabilities (weighting='mixture'), got {own!r}")
    if isinstance(learner, FullInformation):
        raise ValueError(f"learner must be one that learns from one loss a round, got {quoted(learner)}")
    if is_log(contexts):
        if any(one is not None for one in (actions, losses, probabilities, available)):
            raise ValueError("give a log alone, or contexts, actions, losses and probabilities")
        within, scale = getattr(contexts, "within", None), learner._scale
        if within is not None and scale is not None and (scale.low, scale.high) != tuple(within):
            raise ValueError(f"learner must have the log's range {within}, got {(scale.low, scale.high)}")
        pupil = copy.deepcopy(learner)
        for rounds in LogParts(contexts, learner.n_actions):
            taught(pupil, rounds)
            if progress is not None:
                progress(len(rounds))
        learner.__setstate__(pupil.__getstate__())
        return learner
    columns = {"actions": actions, "probabilities": probabilities}
    taken, chances = (several(name, _listed(column)) for name, column in columns.items())
    if len(taken) != len(chances):
        raise ValueError(f"probabilities must be one for each of {len(taken)} actions, got {len(chances)}")
    learner.learn_many(contexts, list(map(Decision, taken, chances)), _listed(losses), available=available)
    return learner


def places_of(learner: Learner, labels: tuple[Action, ...], argument: str) -> list[int]:
    """The learner's place of each of a log's actions: by name, or by place where one of the two has no names.

    0 to K - 1 are no names where the learner's are others. A learner without names takes words in their order; other
    numbers are refused, because its own would look the same and mean something else.
    """
    names, K = learner.actions, len(labels)
    plain = labels == tuple(range(K))
    if names is not None and set(names) == set(labels):
        return [names.index(one) for one in labels]
    if names is not None and not plain:
        raise ValueError(f"{argument} must have the log's actions {quoted(labels)}, got {quoted(names)}")
    if learner.n_actions != K:
        raise ValueError(f"{argument} must have the log's {K} actions, got {learner.n_actions} of them")
    if names is None and not plain and any(not isinstance(one, str) for one in labels):
        raise ValueError(f"{argument} must have the log's actions by name: actions={quoted(list(labels))}")
    return list(range(K))


def taught(learner: Learner, rounds: Rounds) -> None:
    """Teach a learner some rounds, whose actions are its own by name, or by place where it has no names."""
    if rounds.probabilities is None:
        raise ValueError("a learner needs the probability of each decision, and the log has none")
    taken: list[Any] = rounds.actions.tolist()
    order = None if rounds.labels is None else places_of(learner, rounds.labels, "learner")
    if rounds.offers is not None:
        taken = [rounds.name(i) for i in range(len(rounds))]
    elif order is not None and learner.actions is not None:
        taken = [learner.actions[order[place]] for place in taken]
    decisions = list(map(Decision, taken, rounds.probabilities.tolist()))
    scale = learner._scale
    what: dict[str, Any] = {}
    if scale is None:
        what["losses"] = rounds.losses.tolist()
    else:
        what["rewards" if scale.rewards else "losses"] = np.clip(
            scale.given(rounds.losses), scale.low, scale.high
        ).tolist()
    masks = rounds.available
    if masks is not None and order is not None:
        masks = masks[:, np.argsort(order)]
    learner.learn_many(
        rounds.contexts,
        decisions,
        **what,
        available=None if masks is None else list(masks),
        actions=None if rounds.offers is None else list(rounds.offers),
    )


def _listed(column: Any) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) else column
