"""Rounds: what a log says of some rounds, in the arrays that learners and estimators take.

    contexts        n x d numbers (n x K x d where each action has its own), a SciPy sparse matrix of n rows, or n
                    mappings of names and values; None where nothing is known
    actions         the place of each action among `labels`, or among what its round offered (`offers`)
    losses          in [0, 1]
    probabilities   with which each action was drawn; None where the log has none
    available       n x K: which actions could have been drawn; None for all
    laws            n x K: the whole law each action was drawn from, where the log has it
    offers          for each round what it offered: a mapping of names to features; None where actions are the same
    keys, times, versions   of the decision, and of the policy that took it, as the log has them
    beside          other columns of the log, by name, that somebody wants to see as they are
    places          where each round stands: a file, and a row or line in it
    start           the number of the first of them in their file, or in their log
    within, rewards the range of which losses are shares, where the log has declared one; whether it has rewards
    outcomes        of a log of rewards, these as they are

One rule for all who make them: whatever is wrong is a `ValueError` with its round.

>>> import numpy as np
>>> few = Rounds(np.eye(2), np.array([0, 1]), np.array([0.0, 1.0]), np.array([0.5, 0.25]), labels=("a", "b"))
>>> len(few), few.labels[few.actions[1]], few.take(np.array([1])).probabilities
(2, 'b', array([0.25]))
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits.arrays import Booleans, Integers, Numbers
from marginbandits.contexts import LARGEST
from marginbandits.ranges import MaybeRange
from marginbandits.sound import sound
from marginbandits.types import Action, Array, Mask
from marginbandits.validation import Function, Instance, Integer, OneOf, quoted, record, validated

__all__ = ["LEAST", "SURE", "Places", "Progress", "Rounds", "is_finite", "refuse_rounds"]

Contexts: TypeAlias = Any
"""An array, a SciPy sparse matrix, or a list of mappings."""
Offers: TypeAlias = list[Mapping[Action, Mapping[str, Any]]]
SURE = 1e-3
"""A law may sum to 1, and agree with a probability, up to this: logs are written in few digits."""
NOTHING = Instance(type(None))
Progress = Annotated[Callable[[int], object] | None, OneOf(Function(), NOTHING)]
"""Told how many rounds there are in each part that is read, or written."""
LEAST = 1e-15
"""Nothing is drawn with a lower probability: a uniform number of 53 bits is hardly ever so small, and weights up to one
over it are what estimators take."""
_WHOLE = ("labels", "columns", "start", "within", "rewards")
"""What rounds have together."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where rounds stand: `rows` are counted from 1 in each of `files`, the next of which begins at `starts`."""

    files: tuple[str, ...]
    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    unit: str = "row"

    def __getitem__(self, i: int) -> str:
        file, row = self.of(i)
        return f"{file}, {self.unit} {row}"

    def of(self, i: int) -> tuple[str, int]:
        """The file of a round, and its row there."""
        return self.files[int(np.searchsorted(self.starts, i, side="right")) - 1], int(self.rows[i])

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: npt.NDArray[np.int64]) -> "Places":
        """Those of some rounds, in ascending order."""
        return Places(self.files, np.searchsorted(rows, self.starts), self.rows[rows], self.unit)

    @classmethod
    def joined(cls, parts: Sequence["Places"]) -> "Places":
        """One after another."""
        before = np.cumsum([0, *(len(one) for one in parts)])
        starts = np.concatenate([one.starts + before[i] for i, one in enumerate(parts)])
        files = tuple(file for one in parts for file in one.files)
        return cls(files, starts, np.concatenate([one.rows for one in parts]), parts[0].unit)


Column = Annotated[Array, Numbers(1, finite=False, empty=True, booleans=True)]
Some = Annotated[Any, OneOf(Integers(1, empty=True), Booleans(1, empty=True), Instance(slice))]
MaybeList = Annotated[list[Any] | None, OneOf(Instance(list), NOTHING)]


@record
@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Some rounds of a log: see the module. `labels` are what actions are called, `columns` those of numbers."""

    contexts: Contexts
    actions: Annotated[npt.NDArray[np.int64], Integers(1, empty=True)]
    losses: Column
    probabilities: Annotated[Array | None, OneOf(Numbers(1, finite=False, empty=True, booleans=True), NOTHING)] = None
    available: Annotated[Mask | None, OneOf(Booleans(2, empty=True), NOTHING)] = None
    laws: Annotated[Array | None, OneOf(Numbers(2, empty=True), NOTHING)] = None
    offers: Annotated[Offers | None, OneOf(Instance(list), NOTHING)] = None
    keys: MaybeList = None
    times: MaybeList = None
    versions: MaybeList = None
    places: Annotated[Places | None, OneOf(Instance(Places), NOTHING)] = None
    labels: Annotated[tuple[Action, ...] | None, OneOf(Instance(tuple), NOTHING)] = None
    columns: Annotated[tuple[str, ...] | None, OneOf(Instance(tuple), NOTHING)] = None
    beside: Annotated[dict[str, list[Any]] | None, OneOf(Instance(dict), NOTHING)] = None
    start: Annotated[int, Integer(0)] = 0
    within: MaybeRange = None
    rewards: bool = False
    outcomes: Annotated[Array | None, OneOf(Numbers(1, finite=False, empty=True, booleans=True), NOTHING)] = None

    def __post_init__(self) -> None:
        if self.labels is None and self.offers is None:
            raise ValueError("labels must say what actions are called where rounds do not offer their own, got None")
        for one in self.offers or ():
            if not isinstance(one, Mapping):
                raise ValueError(f"offers must be mappings of names to features, got {quoted(one)}")
        n_actions = self.n_actions if self.offers is None else [len(one) for one in self.offers]
        refuse_rounds(self.contexts, self.actions, self.losses, self.probabilities, n_actions, self.start)
        for name in ("offers", "keys", "times", "versions", "places", "outcomes"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self):
                raise ValueError(f"{name} must be one for each of {len(self)} rounds, got {len(given)}")
        if self.available is not None:
            _refuse_shape("available", self.available, (len(self), self.n_actions))
            _refuse(
                "actions must be among those available",
                self.actions,
                self.available[self.at],
                self.start,
            )
        if self.laws is not None:
            _refuse_shape("laws", self.laws, (len(self), self.n_actions))
            off = np.abs(self.laws.sum(1) - 1.0)
            _refuse("laws must sum to 1", self.laws.sum(1), off <= SURE, self.start)
            _refuse("laws must not be negative", self.laws.min(1), self.laws.min(1) >= 0.0, self.start)

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        chances = "" if self.probabilities is not None else ", no probabilities"
        return f"<{len(self):,} rounds of {self.n_actions} actions{chances}>"

    @property
    def at(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where in n x K what was taken stands."""
        return np.arange(len(self)), self.actions

    @property
    def there(self) -> Mask | None:
        """N x K: which places could have been taken, by `available` or by what was offered; None for all."""
        if self.offers is None:
            return self.available
        sizes = np.array([len(one) for one in self.offers])
        return np.asarray(np.arange(self.n_actions) < sizes[:, None])

    def where(self, i: int) -> str:
        """Where a round stands, in words."""
        return f"round {self.start + i}" if self.places is None else self.places[i]

    def drawn_by(self, laws: Array) -> "Rounds":
        """The same rounds, as if drawn by these laws."""
        return replace(self, laws=laws, probabilities=laws[self.at])

    @property
    def n_actions(self) -> int:
        """K: how many labels, or the most that one of these rounds offers."""
        if self.labels is not None:
            return len(self.labels)
        return max((len(one) for one in self.offers or ()), default=0)

    def name(self, i: int) -> Action:
        """What the action of a round is called."""
        place = int(self.actions[i])
        return self.labels[place] if self.offers is None and self.labels else list((self.offers or [])[i])[place]

    @validated
    def take(self, rows: Some) -> "Rounds":
        """Some of the rounds, in ascending order: by their numbers, by a mask or by a slice."""
        try:
            rows = np.arange(len(self))[rows]
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(f"rows must be among {len(self)} rounds: {error}") from None
        found: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is None or one.name in _WHOLE:
                continue
            if isinstance(value, dict):
                found[one.name] = {name: [cells[i] for i in rows] for name, cells in value.items()}
            elif isinstance(value, Places):
                found[one.name] = value.take(rows)
            else:
                found[one.name] = [value[i] for i in rows] if isinstance(value, list) else value[rows]
        if self.laws is not None and self.labels is None:  # as wide as the most that is offered now
            widest = max((len(one) for one in found["offers"]), default=0)
            found["laws"] = found["laws"][:, :widest]
        return replace(self, **found)

    @classmethod
    def joined(cls, parts: Sequence["Rounds"]) -> "Rounds":
        """All of them in one."""
        if not parts:
            raise ValueError("a log without rounds has none to join")
        widest = max(one.n_actions for one in parts)
        found: dict[str, Any] = {}
        for one in fields(cls):
            values = [getattr(part, one.name) for part in parts]
            if one.name in ("keys", "times", "versions") and any(value is not None for value in values):
                values = [value or [None] * len(part) for value, part in zip(values, parts, strict=True)]
            if one.name in _WHOLE or values[0] is None:
                found[one.name] = values[0]
            elif isinstance(values[0], dict):
                found[one.name] = {name: [item for value in values for item in value[name]] for name in values[0]}
            elif isinstance(values[0], Places):
                found[one.name] = Places.joined(values)
            elif isinstance(values[0], list):
                found[one.name] = [item for value in values for item in value]
            elif scipy.sparse.issparse(values[0]):
                found[one.name] = scipy.sparse.vstack(values, format="csr")
            elif one.name == "laws":
                found[one.name] = np.concatenate([np.pad(law, ((0, 0), (0, widest - law.shape[1]))) for law in values])
            else:
                found[one.name] = np.concatenate(values)
        return cls(**found)


def refuse_rounds(
    contexts: Contexts,
    actions: npt.NDArray[np.int64],
    losses: Array,
    probabilities: Array | None,
    n_actions: int | Sequence[int],
    start: int = 0,
) -> None:
    """Refuse rounds that cannot have happened, each with its number from `start`; `n_actions` may be one for each."""
    if not (contexts is None or isinstance(contexts, list) or _is_matrix(contexts)):
        raise ValueError(
            "contexts must be numbers (rounds x columns, or rounds x actions x columns), a SciPy sparse matrix, or a "
            f"list of mappings, got {quoted(contexts)}"
        )
    n = len(actions) if contexts is None else len(contexts) if isinstance(contexts, list) else contexts.shape[0]
    for name, values in (("actions", actions), ("losses", losses), ("probabilities", probabilities)):
        if values is not None and values.shape != (n,):
            raise ValueError(f"{name} must hold one value for each of {n} rounds, got {values.shape}")
    inside = (actions >= 0) & (actions < np.asarray(n_actions))
    if not inside.all():
        most = n_actions if isinstance(n_actions, int) else n_actions[int(np.argmin(inside))]
        _refuse(f"actions must be whole numbers from 0 to {most - 1}", actions, inside, start)
    _refuse("losses must lie in [0, 1]", losses, (losses >= 0) & (losses <= 1), start)
    if probabilities is not None:
        inside = (probabilities >= LEAST) & (probabilities <= 1)
        _refuse("probabilities must lie above 0 and at most at 1", probabilities, inside, start)
    if contexts is None:
        return
    if isinstance(contexts, list):
        for i, one in enumerate(contexts):
            if not (one is None or isinstance(one, Mapping)):
                raise ValueError(
                    f"contexts must be mappings of names and values, got {quoted(one)} in round {start + i}"
                )
    elif scipy.sparse.issparse(contexts):
        filled = sound(contexts, "contexts").tocsr().data
        good = np.abs(filled) <= LARGEST
        if not good.all():
            raise ValueError(f"contexts must be finite, got {filled[~good][0]}")
    elif not is_finite(contexts):
        _refuse("contexts must be finite", contexts, np.abs(contexts) <= LARGEST, start)


def _is_matrix(contexts: Any) -> bool:
    if scipy.sparse.issparse(contexts):
        return contexts.ndim == 2 and contexts.dtype.kind in "fiub"
    return isinstance(contexts, np.ndarray) and contexts.ndim in (2, 3) and contexts.dtype.kind in "fiub"


def is_finite(contexts: Array) -> bool:
    """Whether all numbers are within ±1e100, without an array of answers."""
    return not contexts.size or bool(contexts.max() <= LARGEST and contexts.min() >= -LARGEST)


def _refuse_shape(name: str, values: npt.NDArray[Any], shape: tuple[int, int]) -> None:
    if values.shape != shape:
        raise ValueError(f"{name} must be {shape[0]} rounds x {shape[1]} actions, got shape {values.shape}")


def _refuse(rule: str, values: npt.NDArray[Any], good: npt.NDArray[np.bool_], start: int) -> None:
    if not good.all():
        raise ValueError(f"{rule}, got {values[~good][0]} in round {start + int(np.argwhere(~good)[0][0])}")
