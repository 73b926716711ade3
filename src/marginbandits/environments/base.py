"""Rounds of an environment. An oblivious one is two arrays: contexts, and the losses of all actions.

Contexts are numbers, rounds x d or rounds x K x d, or a SciPy sparse matrix of rounds x d; or mappings of names and
values, one for each round.

>>> import numpy as np
>>> from marginbandits.types import Decision
>>> env = Oblivious.of(np.zeros((2, 3)), np.array([[0.0, 1.0], [0.5, 0.25]]))
>>> [round.reveal(Decision(1, 0.5)) for round in env]
[1.0, 0.25]
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits.arrays import Numbers
from marginbandits.parametrised import Parametrised
from marginbandits.sound import sound
from marginbandits.types import Array, Decision
from marginbandits.validation import Instance, Integer, OneOf, quoted, validated

__all__ = ["FixedRound", "Oblivious", "flipped", "loss_of", "zero_one_losses"]

_SPARSE = Instance(scipy.sparse.sparray, scipy.sparse.spmatrix)


class FixedRound:
    """A round whose losses were settled before the learner looked."""

    __slots__ = ("context", "losses")

    def __init__(self, context: Any, losses: Array) -> None:
        self.context = context
        self.losses = losses

    @validated
    def reveal(self, decision: Decision) -> float:
        """The loss of the decision's action, and of no other."""
        return loss_of(decision, self.losses)


class Oblivious(Parametrised):
    """An environment whose whole sequence is fixed beforehand; `contexts` and `losses` go to fast simulators."""

    contexts: Any
    losses: Array

    def _settle(self, contexts: Any, losses: Array) -> None:
        """Check and freeze the arrays; subclasses call this at the end of their constructor."""
        if losses.ndim != 2 or losses.shape[1] < 2 or not len(losses):
            raise ValueError(f"losses must be rounds x actions, two actions or more, got shape {losses.shape}")
        vectors = contexts.ndim == 2 and contexts.shape[1] > 0
        matrices = contexts.ndim == 3 and contexts.shape[1] == losses.shape[1] and contexts.shape[2] > 0
        sparse = scipy.sparse.issparse(contexts)
        contexts = sound(contexts, "contexts") if sparse else contexts
        named = not sparse and contexts.ndim == 1 and all(isinstance(one, Mapping) for one in contexts)
        if contexts.shape[0] != len(losses) or not (vectors or matrices or named):
            raise ValueError(
                f"contexts must be {len(losses)} x d, or {len(losses)} x {losses.shape[1]} x d to go with losses of "
                f"shape {losses.shape}, got shape {contexts.shape}"
            )
        numbers = contexts.data if sparse else contexts
        if not named and not np.isfinite(numbers).all():
            raise ValueError(f"contexts must be finite, got {numbers[~np.isfinite(numbers)][0]}")
        outside = ~((losses >= 0) & (losses <= 1))
        if outside.any():
            raise ValueError(f"losses must lie in [0, 1], got {losses[outside][0]}")
        if sparse and contexts.dtype.kind not in "biuf":
            raise ValueError(f"contexts must be numbers, got {contexts.dtype}")
        if sparse:
            self.contexts = scipy.sparse.csr_array(contexts, dtype=float, copy=True)
            self.contexts.indices.flags.writeable = self.contexts.indptr.flags.writeable = False
        else:
            self.contexts = np.array(contexts, object if named else float, order="C")
        self.losses = np.array(losses, float, order="C")
        (self.contexts.data if sparse else self.contexts).flags.writeable = False
        self.losses.flags.writeable = False

    @staticmethod
    @validated
    def of(
        contexts: Annotated[Any, OneOf(_SPARSE, Numbers(2, 3, finite=False, booleans=True))],
        losses: Annotated[npt.ArrayLike, Numbers(2, finite=False, booleans=True)],
    ) -> "Oblivious":
        """The environment of any two arrays of your own."""
        made = Oblivious()
        made._settle(contexts if scipy.sparse.issparse(contexts) else np.asarray(contexts), np.asarray(losses))
        return made

    @property
    def n_actions(self) -> int:
        """K."""
        return int(self.losses.shape[1])

    @property
    def n_rounds(self) -> int:
        """T."""
        return len(self.losses)

    def __len__(self) -> int:
        return self.n_rounds

    def __iter__(self) -> Iterator[FixedRound]:
        return map(FixedRound, map(self._context, range(len(self))), self.losses)

    def _context(self, t: int) -> Any:
        """Of round t; a sparse one is a matrix of one row."""
        return self.contexts[t : t + 1] if scipy.sparse.issparse(self.contexts) else self.contexts[t]


def loss_of(decision: Decision, losses: Array) -> float:
    """The loss of a decision's action, which must exist: a negative one is no index from the end."""
    try:
        return float(losses[Integer(0, len(losses) - 1).clean(decision.action)])
    except ValueError:
        rule = f"a whole number from 0 to {len(losses) - 1}"
        raise ValueError(f"action must be {rule}, got {quoted(decision.action)}") from None


def zero_one_losses(labels: npt.NDArray[np.int64], n_actions: int) -> Array:
    """1{a ≠ label} for every round and action."""
    return np.asarray(labels[:, None] != np.arange(n_actions), float)


def flipped(
    labels: npt.NDArray[np.int64], n_actions: int, share: float, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The labels, each replaced with probability `share` by another one drawn uniformly."""
    noisy = rng.random(len(labels)) < share
    return np.where(noisy, (labels + rng.integers(1, n_actions, len(labels))) % n_actions, labels)
