"""The words everything else is said in: Decision, Interaction, and the protocols of the house's parts.

>>> Decision(action=2, probability=0.25)
Decision(action=2, probability=0.25, distribution=None)

Losses live in [0, 1]; a reward is 1 - loss. A context is a vector of d features (one weight row per action) or a
K x d matrix (one row of features per action, one shared weight vector); or names and values in place of numbers.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, Self, SupportsFloat, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from marginbandits.validation import quoted

__all__ = [
    "Action",
    "Array",
    "Context",
    "Decision",
    "Environment",
    "FullInformation",
    "Interaction",
    "Leader",
    "Learner",
    "Mask",
    "Oracle",
    "ParametricScores",
    "PlacedDecision",
    "Round",
    "Sampler",
    "Scores",
    "Surrogate",
]

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Context: TypeAlias = npt.ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
"""What a learner acts on: numbers, or names and values; or either for each action, or only what actions bring along."""
Action: TypeAlias = int | str
"""What an action is called: its number, or the name it was given."""
Potential = TypeVar("Potential", contravariant=True)


@dataclass(slots=True, eq=False)
class Decision:
    """An action and the exact probability with which it was drawn: log both, and anyone can evaluate off-policy.

    An action is a number, or a name where actions have names. `distribution` is the whole law it was drawn from, and
    `actions` the names that its entries belong to; a decision read from a log need not have them.
    """

    action: Any  # an `Action`; who has no names need not tell whether it is one
    probability: float
    distribution: Array | None = None
    actions: tuple[Action, ...] | None = field(default=None, repr=False, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """What a log needs, as plain values: `json.dumps` takes it, and `from_dict` makes it a decision again.

        >>> Decision(2, 0.25, np.array([0.5, 0.25, 0.25])).to_dict()
        {'action': 2, 'probability': 0.25, 'distribution': [0.5, 0.25, 0.25]}
        """
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        lists = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in given.items()}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in lists.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The decision that `to_dict` wrote; `learn` checks its action and probability as it does any other's."""
        known, needed = [one.name for one in fields(cls)], {"action", "probability"}
        if not isinstance(values, Mapping):
            raise ValueError(f"values must be a mapping of {known}, got {quoted(values)}")
        for missing in sorted(needed - values.keys()):
            raise ValueError(f"values must have {missing!r}, got {quoted(list(values))}")
        for other in values.keys() - set(known):
            raise ValueError(f"values must have nothing but {known}, got {quoted(other)} too: take it out first")
        lists = {name: values[name] for name in values.keys() - {"action", "probability", "actions"}}
        names = values.get("actions")
        words = isinstance(names, list) and all(isinstance(one, str) or type(one) is int for one in names)
        if not (names is None or words):
            raise ValueError(f"actions must be a list of names, got {quoted(names)}")
        try:
            arrays = {name: None if one is None else np.asarray(one, float) for name, one in lists.items()}
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{sorted(lists)} must be lists of numbers, got {quoted(lists)}") from None
        actions = None if names is None else tuple(names)
        return cls(values["action"], values["probability"], **arrays, actions=actions)


@dataclass(slots=True, eq=False)
class PlacedDecision(Decision):
    """A decision among finitely many points of a box: `action` is the number of one of them, `point` where it is."""

    point: Array | None = None


@dataclass(slots=True, eq=False)
class Interaction:
    """One line of a bandit's log: what was seen, what was done with what probability, what it cost."""

    context: Array
    decision: Decision
    loss: float


@runtime_checkable
class Surrogate(Protocol):
    """A non-negative function of the scores that bounds the loss of playing in proportion to it."""

    @property
    def margin(self) -> float:
        """γ: the distance over which the surrogate falls from 1 to 0."""

    def __call__(self, scores: npt.ArrayLike) -> Array:
        """Values, one per score."""

    def slope(self, scores: npt.ArrayLike) -> Array:
        """Derivative of each value in its own score; at a kink, that of the flat side."""


@runtime_checkable
class Scores(Protocol):
    """A class F of regressors whose K scores sum to zero."""

    @property
    def n_actions(self) -> int:
        """K."""

    @property
    def bound(self) -> float:
        """B: no score exceeds it in magnitude on contexts of norm at most 1."""


@runtime_checkable
class ParametricScores(Scores, Protocol):
    """A class indexed by a convex set Θ of parameters: what samplers and oracles work on."""

    @property
    def dimension(self) -> int:
        """Number of free parameters."""

    @property
    def radius(self) -> float:
        """R: no parameter in Θ is longer."""

    @property
    def lipschitz(self) -> float:
        """L: a score moves at most L‖θ - θ'‖ on contexts of norm at most 1."""

    def values(self, parameters: Array, context: Array) -> Array:
        """The K scores of one context under each parameter vector (last axis: parameters in, actions out)."""

    def gradient(self, context: Array, action: int) -> Array:
        """∂f(x; θ)_a/∂θ; the score is linear in θ, so it does not depend on θ."""

    def project(self, parameters: Array) -> Array:
        """The nearest point of Θ."""


@runtime_checkable
class Leader(Protocol):
    """A regressor that an oracle has found: linear (`oracles.leader.LinearLeader`) or of any other class."""

    def scores(self, rows: Array) -> Array:
        """The scores of n rows of features, n x blocks; learners centre those of one context."""


@runtime_checkable
class Oracle(Protocol):
    """A minimiser of a surrogate over logged rounds: what follow-the-leader asks for, once an epoch."""

    def fit(self, rows: Array, blocks: npt.NDArray[np.int64], losses: Array, weights: Array, start: Array) -> Leader:
        """The leader of these rounds.

        Round i played the action of block `blocks[i]` on features `rows[i]` (d), lost `losses[i]` and counts
        `weights[i]` times. There is a block for each action, or one for all (K x d contexts, rows x_a - x̄). `start`,
        blocks x d, is the last leader's weights, or zeros where it was not linear.
        """


class Sampler(Protocol[Potential]):
    """Draws from exp(-F) on a set that it knows, F being a potential of the kind it takes."""

    def __call__(self, potential: Potential, start: Array, rng: np.random.Generator, /) -> Array:
        """A draw for each row of `start`, a chain that begins there: all chance is the generator's."""


@runtime_checkable
class Learner(Protocol):
    """What simulations, services and checks ask of a learner; `marginbandits.Learner` is a base that has it all."""

    @property
    def n_actions(self) -> int:
        """K."""

    def law(self, context: Context, *, available: npt.ArrayLike | None = None) -> Array:
        """The distribution `act` would draw from; nothing changes."""

    def laws(self, contexts: Any, *, available: npt.ArrayLike | None = None) -> Array | list[Array]:
        """`law` for each context."""

    def act(self, context: Context, *, available: npt.ArrayLike | None = None) -> Decision:
        """Draw an action from the law."""

    def act_many(self, contexts: Any, *, available: npt.ArrayLike | None = None) -> list[Decision]:
        """`act` for each context in turn."""

    def learn(
        self,
        context: Context,
        decision: Decision,
        loss: SupportsFloat | None = None,
        *,
        reward: SupportsFloat | None = None,
        available: npt.ArrayLike | None = None,
    ) -> None:
        """Learn the loss of a decision, wholly or not at all."""

    def learn_many(
        self,
        contexts: Any,
        decisions: Iterable[Decision],
        losses: Iterable[SupportsFloat] | None = None,
        *,
        rewards: Iterable[SupportsFloat] | None = None,
        available: npt.ArrayLike | None = None,
    ) -> None:
        """`learn` for each interaction in turn, all or none."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The live arrays that hold everything learnt."""

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""

    def dumps(self) -> bytes:
        """Everything, as bytes that `loads` continues from."""

    def save(self, target: str | os.PathLike[str]) -> None:
        """`dumps`, to a file."""


@runtime_checkable
class FullInformation(Protocol):
    """A learner that can be shown the losses of all actions: no bandit, but the skyline for one."""

    def learn_all(self, context: Context, losses: Array) -> None:
        """Learn the losses of all K actions of one round."""


class Round(Protocol):
    """One round of an environment: a context to look at, then the loss of the decision taken."""

    @property
    def context(self) -> Any:
        """What the learner sees: a `Context`."""

    def reveal(self, decision: Decision) -> float | None:
        """The loss of the decision's action; None if the round has no answer for it (logged data)."""

    @property
    def losses(self) -> Array | None:
        """The losses of all actions, for regret; an adaptive adversary has none before `reveal`."""


@runtime_checkable
class Environment(Protocol):
    """A sequence of rounds; iterating again starts again with the same rounds."""

    @property
    def n_actions(self) -> int:
        """K."""

    @property
    def n_rounds(self) -> int:
        """T."""

    def __iter__(self) -> Iterator[Round]:
        """Play from the first round."""
