"""What every learner may be told beside its own parameters.

    actions         what the actions are called: decisions carry these names, and what is learnt is learnt of them
    reward_range    rewards lie within (low, high) instead of (0, 1)
    loss_range      losses do
    window          how long rounds count: about so many of them, or "learnt", until losses rise
    seed            of all that is drawn

>>> from marginbandits.learners import LinUCB
>>> agent = LinUCB(actions=["mens", "womens", "none"], reward_range=(0, 500), seed=0)
>>> agent.learn([1.0], agent.act([1.0]), reward=120.0)
>>> agent.act([1.0]).action in agent.actions
True
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, TypedDict

import numpy as np

from marginbandits.learners.offers import is_name, plain
from marginbandits.ranges import MaybeRange
from marginbandits.types import Action
from marginbandits.validation import Choice, Constraint, Instance, Integer, OneOf, Seed

__all__ = ["MaybeActionCount", "Options", "how_many"]

NOTHING = Instance(type(None))


class Labels(Constraint):
    """Two or more different names."""

    def __str__(self) -> str:
        return "a list of two or more different words or whole numbers"

    def clean(self, value: object) -> list[Action]:
        """The list."""
        given = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        if isinstance(given, list | tuple) and len(given) > 1 and all(is_name(one) for one in given):
            names = [plain(one) for one in given]
            if len(set(names)) == len(names):
                return names
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        """Too few, the same twice, and what is no name."""
        yield from ([], ["a"], ["a", "a"], ["a", None], ["a", 1.5], ["a", True], "ab", 3, [2**63, 1], ["a", ["b"]])


MaybeActionCount = Annotated[int | None, OneOf(Integer(2, 10**7), NOTHING)]
"""K, or None where `actions` are named."""


class Options(TypedDict, total=False):
    """Beside its own parameters."""

    actions: Annotated[Sequence[Action] | None, OneOf(Labels(), NOTHING)]
    reward_range: MaybeRange
    loss_range: MaybeRange
    window: Annotated[int | str | None, OneOf(Integer(2, 10**9), Choice("learnt"), NOTHING)]
    seed: Seed


def how_many(n_actions: int | None, actions: Sequence[Action] | None) -> int:
    """K, by number or by names."""
    if actions is None:
        if n_actions is None:
            raise ValueError("n_actions must be a whole number at least 2 where no actions are named, got None")
        return n_actions
    if n_actions not in (None, len(actions)):
        raise ValueError(f"n_actions must be as many as the {len(actions)} actions, got {n_actions}")
    return len(actions)
