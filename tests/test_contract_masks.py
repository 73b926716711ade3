"""Negative controls of the promises about masks and batches: each class breaks one, and a check must say so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import LEARNER_CHECKS
from marginbandits.types import Array


class PlaysTheMasked(mb.LinUCB):
    """Says that it plays what it may, and plays another."""

    def act(self, context: Any, *, available: Any = None, actions: Any = None) -> mb.Decision:
        decision = super().act(context, available=available)
        if available is None or np.all(available):
            return decision
        return mb.Decision(int(np.flatnonzero(~np.asarray(available))[0]), 1.0, decision.distribution)


class DrawsAnother(mb.EpsilonGreedy):
    """Under a mask it draws uniformly, and shows another law."""

    def act(self, context: Any, *, available: Any = None, actions: Any = None) -> mb.Decision:
        decision = super().act(context, available=available)
        if available is None or np.all(available):
            return decision
        law: Any = decision.distribution
        action = int(self._draws.choice(np.flatnonzero(available)))
        return mb.Decision(action, float(law[action]), law)


class ForgetsTheMasks(mb.LinUCB):
    """In batches every action may be played."""

    def act_many(self, contexts: Any, *, available: Any = None, actions: Any = None) -> list[mb.Decision]:
        return super().act_many(contexts)


class ForgetsTheMasksOfLaws(mb.LinUCB):
    """The same of laws."""

    def laws(self, contexts: Any, *, available: Any = None, actions: Any = None) -> Array | list[Array]:
        return super().laws(contexts)


class LearnsNothingMasked(mb.LinUCB):
    """A batch with masks teaches it nothing."""

    def learn_many(self, *args: Any, available: Any = None, **more: Any) -> None:
        if available is None:
            super().learn_many(*args, **more)


class UpsideDown(mb.LinUCB):
    """Takes the rewards of a batch for losses."""

    def learn_many(
        self,
        contexts: Any,
        decisions: Any,
        losses: Any = None,
        *,
        rewards: Any = None,
        available: Any = None,
        actions: Any = None,
    ) -> None:
        super().learn_many(contexts, decisions, rewards if losses is None else losses, available=available)


class SeesTheMasked(mb.ExponentialWeights):
    """A learner that needs every row, and looks at the masked one."""

    def law(self, context: Any, *, available: Any = None, actions: Any = None) -> Array:
        law = super().law(context, available=available)
        x = np.asarray(context)
        if available is None or x.ndim == 1 or np.all(available):
            return law
        return law if x[~np.asarray(available)].sum() < 1000.0 else law[::-1]


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        ("batches_equal_single_rounds", PlaysTheMasked, "not available"),
        ("probabilities_are_exact", DrawsAnother, "do not match"),
        ("batches_equal_single_rounds", ForgetsTheMasks, "act_many"),
        ("batches_equal_single_rounds", ForgetsTheMasksOfLaws, "laws differ"),
        ("batches_equal_single_rounds", LearnsNothingMasked, "under masks, or from rewards"),
        ("batches_equal_single_rounds", UpsideDown, "under masks, or from rewards"),
        ("masked_rows_reach_nothing", SeesTheMasked, "what a masked row holds changed the law"),
    ],
)
def test_a_broken_promise_is_caught(check: str, broken: Callable[..., mb.Learner], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        LEARNER_CHECKS[check](lambda **more: broken(**{"n_actions": 3, "seed": 0, **more}))
