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
from typing import Any, ClassVar, Self, SupportsFloat

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits import policies, saving
from marginbandits.compiled import kernel
from marginbandits.features import FeatureMap, feature_map
from marginbandits.types import Array, Decision, Mask
from marginbandits.validation import Parametrised, remembered

__all__ = ["Learner", "load"]

LARGEST = 1e100
"""Context values beyond this are refused: their squares would overflow in every method's arithmetic."""

# The plain types first: a check against an abstract class costs ten times as much.
_REAL = (float, numbers.Real, np.bool_)
_INTEGER = (int, numbers.Integral)
_BOOL = (bool, np.bool_)
_FLOAT64 = np.dtype(np.float64)


class Learner(Parametrised, ABC):
    """The loop context → distribution → action → loss → update. Subclasses choose what fills the boxes."""

    exempt: ClassVar[Mapping[str, str]] = {}
    """Contract checks that do not apply, each with the reason."""

    competes: ClassVar[bool] = True
    """Whether a bake-off of all learners includes it: not one that must be told a horizon or a class of regressors."""

    def __init__(self, n_actions: int, *, features: str | FeatureMap, seed: int | np.random.Generator | None) -> None:
        self.n_actions = n_actions
        self.features = features
        self.seed: int | np.random.Generator | None = remembered(seed)
        entropy = np.random.default_rng(self.seed).integers(2**63, size=4).tolist()
        own = np.random.SeedSequence(entropy).spawn(2)
        self._draws, self._rng = (np.random.Generator(np.random.PCG64(one)) for one in own)
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
        mask = self._everything if available is None else self._mask(available)
        return self._act(self._rows(context), mask)

    def learn(
        self,
        context: npt.ArrayLike,
        decision: Decision,
        loss: SupportsFloat | None = None,
        *,
        reward: SupportsFloat | None = None,
    ) -> None:
        """Learn the loss (or reward = 1 - loss) of a decision: at once, later, out of order, or from a log."""
        rows = self._rows(context)
        cost = self._loss(loss, reward)
        action, probability = self._checked(decision)
        self._ready(1)
        self._learn(rows, action, cost, probability)

    def act_many(self, contexts: npt.ArrayLike, *, available: npt.ArrayLike | None = None) -> list[Decision]:
        """`act` for each context in turn; `available` is one mask for all, or one row per context."""
        rows = self._batch(contexts)
        if isinstance(available, np.ndarray):
            several = available.ndim > 1
        else:
            several = isinstance(available, list | tuple) and len(available) > 0 and np.ndim(available[0]) > 0
        if several:
            masks = [self._mask(one) for one in _several("available", available)]
        else:
            masks = [self._mask(available)] * len(rows)
        if len(masks) != len(rows):
            raise ValueError(f"available must be one mask, or one for each of {len(rows)} contexts, got {len(masks)}")
        return [self._act(row, mask) for row, mask in zip(rows, masks, strict=True)]

    def learn_many(
        self,
        contexts: npt.ArrayLike,
        decisions: Iterable[Decision],
        losses: Iterable[SupportsFloat] | None = None,
        *,
        rewards: Iterable[SupportsFloat] | None = None,
    ) -> None:
        """`learn` for each interaction in turn; if any is refused, none is learnt."""
        rows = self._batch(contexts)
        checked = [self._checked(decision) for decision in _several("decisions", decisions)]
        if losses is not None and rewards is not None:
            raise ValueError("give either losses or rewards, not both")
        if losses is not None:
            costs = [self._loss(loss, None) for loss in _several("losses", losses)]
        elif rewards is not None:
            costs = [self._loss(None, reward) for reward in _several("rewards", rewards)]
        else:
            raise ValueError("give either losses or rewards, one for each context")
        if not len(rows) == len(checked) == len(costs):
            raise ValueError(f"{len(rows)} contexts, {len(checked)} decisions and {len(costs)} losses do not match")
        self._ready(len(rows))
        for row, (action, probability), cost in zip(rows, checked, costs, strict=True):
            self._learn(row, action, cost, probability)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything learnt, and the generators, to an `.npz` file; `load` continues bit for bit."""
        parameters = self.parameters()
        if isinstance(self.seed, np.random.Generator):
            parameters["seed"] = None  # what was drawn from it is saved below; the generator itself is the caller's
        given = {name: value for name, value in parameters.items() if isinstance(value, np.ndarray)}
        described = {name: saving.describe(value) for name, value in parameters.items() if name not in given}
        header = {
            **saving.describe(self),
            "parameters": {**described, **{name: {"array": name} for name in given}},
            "context_shape": self._shape,
            "generators": {"draws": self._draws.bit_generator.state, "rng": self._rng.bit_generator.state},
        }
        saving.write(path, header, {**self.state(), **{f"given.{name}": array for name, array in given.items()}})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A learner of this class as it was when saved; a damaged or foreign file is refused."""
        header, arrays = saving.read(path)
        try:
            given = header["parameters"]
            for name in [name for name in given if isinstance(given, dict) and given[name] == {"array": name}]:
                given[name] = arrays.pop(f"given.{name}")
            learner = saving.rebuild(header, cls)
            learner.seed = header["parameters"].get("seed")
            shape = header["context_shape"]
            if shape is not None:
                if not isinstance(shape, list) or any(type(n) is not int for n in shape):
                    raise ValueError(f"context_shape must be whole numbers, got {shape!r}")
                learner._start(tuple(shape))
            saving.restore_arrays(learner.state(), arrays)
            learner._draws = saving.restore_generator(header["generators"]["draws"])
            learner._rng = saving.restore_generator(header["generators"]["rng"])
        except (KeyError, TypeError, ValueError, MemoryError, RecursionError) as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from error
        return learner

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The live arrays that hold everything learnt, features included."""
        if self._map is None:
            return {}
        return {**self._arrays(), **{f"features.{name}": array for name, array in self._map.arrays().items()}}

    # Checked input.

    def _rows(self, context: npt.ArrayLike) -> Array:
        """The context as rows of finite float64; raises a ValueError that says what is wrong with it."""
        x = context if type(context) is np.ndarray and context.dtype is _FLOAT64 else _numbers("context", context)
        shape = x.shape
        if shape != self._shape:
            self._refuse_shape(shape)
        if not x.flags.c_contiguous:
            x = x.copy()
        rows = x[None] if len(shape) == 1 else x
        where = _first_bad(rows, LARGEST)
        if where >= 0:
            raise ValueError(f"context has {x.ravel()[where]} at position {where}; it must be finite, within ±1e100")
        return rows

    def _refuse_shape(self, shape: tuple[int, ...]) -> None:
        if self._shape is not None:
            raise ValueError(f"context must have shape {self._shape} as before, got {shape}")
        if len(shape) not in (1, 2) or min(shape) < 1:
            raise ValueError(f"context must be a vector or a matrix of one row per action, got shape {shape}")
        if len(shape) == 2 and shape[0] != self.n_actions:
            raise ValueError(f"context must have one row for each of {self.n_actions} actions, got shape {shape}")

    def _batch(self, contexts: npt.ArrayLike) -> list[Array]:
        batch = _numbers("contexts", contexts, squeeze=False)
        if batch.ndim not in (2, 3):
            raise ValueError(f"contexts must be n x d, or n x K x d, got shape {batch.shape}")
        return [self._rows(context) for context in batch]

    def _mask(self, available: npt.ArrayLike | None) -> Mask:
        if available is None:
            return self._everything
        try:
            mask = np.ascontiguousarray(available)
        except ValueError:
            raise ValueError(f"available must be a mask of {self.n_actions} booleans, got {available!r}") from None
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
        if isinstance(value, _REAL) and 0.0 <= value <= 1.0:  # type: ignore[operator]  # every real compares
            return float(value) if reward is None else 1.0 - float(value)
        raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")

    def _checked(self, decision: Decision) -> tuple[int, float]:
        if not isinstance(decision, Decision):
            raise ValueError(f"decision must be a Decision, got {decision!r}")
        action: object = decision.action
        probability: object = decision.probability
        if type(action) is int and type(probability) is float and 0 <= action < self.n_actions and 0 < probability <= 1:
            return action, probability  # what `act` made; the rest is for decisions from elsewhere
        if isinstance(action, _BOOL) or not isinstance(action, _INTEGER) or not 0 <= int(action) < self.n_actions:
            raise ValueError(f"action must be a whole number from 0 to {self.n_actions - 1}, got {action!r}")
        real = isinstance(probability, _REAL) and not isinstance(probability, _BOOL)
        if not real or not 0.0 < probability <= 1.0:  # type: ignore[operator]  # every real compares
            raise ValueError(f"probability must be a number above 0 and at most 1, got {probability!r}")
        return int(action), float(probability)  # type: ignore[arg-type]  # a real number, by the line above

    def _ready(self, n: int) -> None:
        """Refuse to learn `n` more interactions, before anything changes; a learner with a horizon fills this."""

    # The loop.

    def _start(self, shape: tuple[int, ...]) -> None:
        self._refuse_shape(shape)
        before = self._rng.bit_generator.state
        try:
            started = feature_map(self.features).start(shape[-1], self._rng)
            self._begin(self.n_actions if len(shape) == 1 else 1, started.n_outputs)
        except BaseException:  # out of memory, an interrupt: nothing may have happened
            self._rng.bit_generator.state = before
            raise
        self._shape, self._map = shape, started

    def _act(self, rows: Array, mask: Mask) -> Decision:
        if self._map is None:
            law = policies.uniform(self.n_actions, mask)
        else:
            law = self._distribution(self._map.transform(rows), mask)
        action = policies.sample(law, 0.0)
        if law.item(action) != 1.0:  # a certain action needs no draw
            action = policies.sample(law, self._draws.random())
        return Decision(action, law.item(action), law)

    def _learn(self, rows: Array, action: int, loss: float, probability: float) -> None:
        if self._map is None:
            self._start(rows.shape if rows.shape[0] > 1 else rows.shape[1:])
            assert self._map is not None
        self._update(self._map.observe(rows), action, loss, probability)


def load(path: str | os.PathLike[str]) -> Learner:
    """The learner saved at `path`, whatever its class; see `Learner.save`."""
    return Learner.load(path)


def _numbers(name: str, values: Any, *, squeeze: bool = True) -> Array:
    """Anything array-like or sparse as float64; one sparse row is a vector if `squeeze`."""
    if scipy.sparse.issparse(values):
        dense = values.toarray()
        values = dense[0] if squeeze and dense.ndim == 2 and len(dense) == 1 else dense
    try:
        raw = np.asarray(values)
        if np.ma.is_masked(values) or raw.dtype.kind not in "biufO":
            raise ValueError
        return raw.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None


def _several(name: str, values: Any) -> Iterable[Any]:
    try:
        return list(values)
    except TypeError:
        raise ValueError(f"{name} must be a sequence, got {values!r}") from None


@kernel
def _first_bad(rows: Array, largest: float) -> int:
    """Flat position of the first value that is not within ±largest (NaN is not), or -1."""
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            if not abs(rows[i, j]) <= largest:
                return int(i * d + j)
    return -1
