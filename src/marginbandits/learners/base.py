"""What every learner shares: checked input, exact probabilities, seeds, batches, saving. A learner fills four holes.

    _begin(n_blocks, n_features)   allocate the state, once the shape of contexts is known
    _distribution(rows, available) the law to play for this context's features
    _update(rows, action, loss, probability)   learn from one interaction
    _arrays()                      the live state, by name

`rows` are features: one row for a vector context (then there are K blocks of weights, one per action), K rows for a
K x d context (then one block, shared). The shape is fixed by the first context learnt from; until then every action is
as likely as any other. Input is checked before anything changes, so a refused call leaves the learner as it was.
"""

import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits import policies, saving
from marginbandits.compiled import kernel
from marginbandits.scores.features import FeatureMap, feature_map
from marginbandits.types import Array, Decision, Mask
from marginbandits.validation import Parametrised

__all__ = ["Learner", "load"]

LARGEST = 1e100
"""Context values beyond this are refused: their squares would overflow in every method's arithmetic."""


class Learner(Parametrised, ABC):
    """The loop context → distribution → action → loss → update. Subclasses choose what fills the boxes."""

    memory: ClassVar[Literal["constant", "bounded", "linear"]] = "constant"
    """How the state grows with the number of rounds; `checks.check_learner` holds a class to it."""

    exempt: ClassVar[Mapping[str, str]] = {}
    """Contract checks that do not apply, each with the reason."""

    def __init__(
        self, n_actions: int, *, features: str | FeatureMap, seed: int | np.random.Generator | None
    ) -> None:
        self.n_actions = n_actions
        self.features = features
        self.seed = np.random.SeedSequence().entropy if seed is None else seed
        self._draws, self._rng = np.random.default_rng(self.seed).spawn(2)
        self._everything = np.ones(n_actions, bool)
        self._shape: tuple[int, ...] | None = None
        self._map: FeatureMap | None = None

    # The four holes.

    @abstractmethod
    def _begin(self, n_blocks: int, n_features: int) -> None: ...

    @abstractmethod
    def _distribution(self, rows: Array, available: Mask) -> Array: ...

    @abstractmethod
    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None: ...

    @abstractmethod
    def _arrays(self) -> dict[str, npt.NDArray[Any]]: ...

    # What users call.

    def act(self, context: npt.ArrayLike, *, available: npt.ArrayLike | None = None) -> Decision:
        """Draw an action for this context; nothing that has been learnt changes.

        `available` is a mask of length K: the others are not played. The decision carries the exact probability.
        """
        rows = self._rows(context)
        mask = self._everything if available is None else self._mask(available)
        law = policies.uniform(self.n_actions, mask) if self._map is None else self._play(rows, mask)
        action = policies.sample(law, self._draws.random())
        return Decision(action, float(law[action]), law)

    def learn(
        self,
        context: npt.ArrayLike,
        decision: Decision,
        loss: float | None = None,
        *,
        reward: float | None = None,
    ) -> None:
        """Learn the loss (or reward = 1 - loss) of a decision: at once, later, out of order, or from a log."""
        rows = self._rows(context)
        cost = self._loss(loss, reward)
        action, probability = self._checked(decision)
        self._learn(rows, action, cost, probability)

    def act_many(self, contexts: npt.ArrayLike, *, available: npt.ArrayLike | None = None) -> list[Decision]:
        """`act` for each context in turn; `available` is one mask for all, or one row per context."""
        batch = self._batch(contexts)
        masks = [None] * len(batch) if available is None else np.broadcast_to(available, (len(batch), self.n_actions))
        return [self.act(context, available=mask) for context, mask in zip(batch, masks, strict=True)]

    def learn_many(
        self,
        contexts: npt.ArrayLike,
        decisions: Iterable[Decision],
        losses: npt.ArrayLike | None = None,
        *,
        rewards: npt.ArrayLike | None = None,
    ) -> None:
        """`learn` for each interaction in turn; if any is refused, none is learnt."""
        batch = self._batch(contexts)
        checked = [self._checked(decision) for decision in decisions]
        given, name = (losses, "losses") if losses is not None else (rewards, "rewards")
        values = np.atleast_1d(np.asarray(given))
        if (losses is None) == (rewards is None) or values.ndim != 1:
            raise ValueError(f"give either losses or rewards, one number per context; got {given!r}")
        if not len(batch) == len(checked) == len(values):
            raise ValueError(f"{len(batch)} contexts, {len(checked)} decisions and {len(values)} {name} do not match")
        costs = [self._loss(v, None) if losses is not None else self._loss(None, v) for v in values.tolist()]
        rows = [self._rows(context) for context in batch]
        for row, (action, probability), cost in zip(rows, checked, costs, strict=True):
            self._learn(row, action, cost, probability)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything learnt, and the generators, to an `.npz` file; `load` continues bit for bit."""
        parameters = self.parameters()
        if isinstance(self.seed, np.random.Generator):
            parameters["seed"] = None  # its state is saved below; the object itself is not data
        header = {
            "class": type(self).__name__,
            "parameters": {name: saving.describe(value) for name, value in parameters.items()},
            "context_shape": self._shape,
            "generators": {"draws": self._draws.bit_generator.state, "rng": self._rng.bit_generator.state},
        }
        saving.write(path, header, self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A learner of this class as it was when saved; a damaged or foreign file is refused."""
        header, arrays = saving.read(path)
        try:
            learner = saving.rebuild(header, cls)
            if header.get("context_shape") is not None:
                learner._start(tuple(int(n) for n in header["context_shape"]))
            saving.restore_arrays(learner.state(), arrays)
            learner._draws = saving.restore_generator(header["generators"]["draws"])
            learner._rng = saving.restore_generator(header["generators"]["rng"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
        return learner

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The live arrays that hold everything learnt, features included."""
        if self._map is None:
            return {}
        return {**self._arrays(), **{f"features.{name}": array for name, array in self._map.arrays().items()}}

    # Checked input.

    def _rows(self, context: npt.ArrayLike) -> Array:
        """The context as rows of finite float64; raises a ValueError that says what is wrong with it."""
        if type(context) is np.ndarray and context.dtype == np.float64:
            x = context
        elif scipy.sparse.issparse(context):
            x = np.asarray(context.toarray(), float)  # type: ignore[union-attr]
            x = x[0] if x.shape[0] == 1 else x
        else:
            try:
                x = np.asarray(context, float)
            except (TypeError, ValueError):
                raise ValueError(f"context must be numbers, got {context!r}") from None
        shape = x.shape
        if shape != self._shape:
            self._refuse_shape(shape)
        rows = x.reshape(1, -1) if len(shape) == 1 else x
        where = _first_bad(rows, LARGEST)
        if where >= 0:
            raise ValueError(f"context has {x.ravel()[where]} at position {where}; it must be finite, within ±1e100")
        return rows

    def _refuse_shape(self, shape: tuple[int, ...]) -> None:
        if self._shape is not None:
            raise ValueError(f"context must have shape {self._shape} as before, got {shape}")
        if len(shape) not in (1, 2) or 0 in shape:
            raise ValueError(f"context must be a vector or a matrix of one row per action, got shape {shape}")
        if len(shape) == 2 and shape[0] != self.n_actions:
            raise ValueError(f"context must have one row for each of {self.n_actions} actions, got shape {shape}")

    def _batch(self, contexts: npt.ArrayLike) -> Array:
        if scipy.sparse.issparse(contexts):
            contexts = contexts.toarray()  # type: ignore[union-attr]
        batch = np.asarray(contexts, float)
        if batch.ndim not in (2, 3):
            raise ValueError(f"contexts must be n x d, or n x K x d, got shape {batch.shape}")
        return batch

    def _mask(self, available: npt.ArrayLike) -> Mask:
        mask = np.asarray(available)
        if mask.dtype != bool or mask.shape != (self.n_actions,):
            raise ValueError(f"available must be a mask of {self.n_actions} booleans, got {available!r}")
        if not mask.any():
            raise ValueError(f"available must leave at least one action, got {available!r}")
        return mask

    @staticmethod
    def _loss(loss: object, reward: object) -> float:
        if (loss is None) == (reward is None):
            raise ValueError(f"give either loss or reward, got loss={loss!r} and reward={reward!r}")
        name, value = ("loss", loss) if reward is None else ("reward", reward)
        if isinstance(value, numbers.Real) and 0.0 <= value <= 1.0:
            return float(value) if reward is None else 1.0 - float(value)
        raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")

    def _checked(self, decision: Decision) -> tuple[int, float]:
        if not isinstance(decision, Decision):
            raise ValueError(f"decision must be a Decision, got {decision!r}")
        action, probability = decision.action, decision.probability
        if not isinstance(action, numbers.Integral) or isinstance(action, bool) or not 0 <= action < self.n_actions:
            raise ValueError(f"action must be a whole number from 0 to {self.n_actions - 1}, got {action!r}")
        if not isinstance(probability, numbers.Real) or not 0.0 < probability <= 1.0:
            raise ValueError(f"probability must be a number above 0 and at most 1, got {probability!r}")
        return int(action), float(probability)

    # The loop.

    def _start(self, shape: tuple[int, ...]) -> None:
        self._refuse_shape(shape)
        self._shape = shape
        self._map = feature_map(self.features).start(shape[-1], self._rng)
        self._begin(self.n_actions if len(shape) == 1 else 1, self._map.n_outputs)

    def _play(self, rows: Array, mask: Mask) -> Array:
        assert self._map is not None
        return self._distribution(self._map.transform(rows), mask)

    def _learn(self, rows: Array, action: int, loss: float, probability: float) -> None:
        if self._map is None:
            self._start(rows.shape if rows.shape[0] > 1 else rows.shape[1:])
            assert self._map is not None
        self._map.observe(rows)
        self._update(self._map.transform(rows), action, loss, probability)


def load(path: str | os.PathLike[str]) -> Learner:
    """The learner saved at `path`, whatever its class; see `Learner.save`."""
    return Learner.load(path)  # type: ignore[type-abstract]


@kernel
def _first_bad(rows: Array, largest: float) -> int:
    """Flat position of the first value that is not within ±largest (NaN is not), or -1."""
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            if not abs(rows[i, j]) <= largest:
                return i * d + j
    return -1
