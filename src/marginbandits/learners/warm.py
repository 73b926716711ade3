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

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import several
from marginbandits.learners.base import Learner
from marginbandits.types import Decision, FullInformation
from marginbandits.validation import quoted

__all__ = ["warm_start"]

L = TypeVar("L", bound=Learner)


def warm_start(
    learner: L,
    contexts: Any,
    actions: npt.ArrayLike,
    losses: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    available: Any = None,
) -> L:
    """The learner, after learning every round of a log in turn; if any round is refused, none is learnt.

    `actions` are numbers, or the names that the learner has for them. `available` is one mask, or one for each round.
    """
    if not isinstance(learner, Learner):
        raise ValueError(f"learner must be a Learner, got {quoted(learner)}")
    own = getattr(learner, "weighting", "mixture")
    if own != "mixture":
        raise ValueError(f"learner must weigh by the logged probabilities (weighting='mixture'), got {own!r}")
    if isinstance(learner, FullInformation):
        raise ValueError(f"learner must be one that learns from one loss a round, got {quoted(learner)}")
    columns = {"actions": actions, "probabilities": probabilities}
    taken, chances = (several(name, _listed(column)) for name, column in columns.items())
    if len(taken) != len(chances):
        raise ValueError(f"probabilities must be one for each of {len(taken)} actions, got {len(chances)}")
    learner.learn_many(contexts, list(map(Decision, taken, chances)), _listed(losses), available=available)
    return learner


def _listed(column: Any) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) else column
