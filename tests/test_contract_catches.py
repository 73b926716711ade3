"""Negative controls: each class below breaks one promise, and the check of that promise must say so."""

import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import marginbandits as mb
from marginbandits import laws
from marginbandits.checks import (
    LEARNER_CHECKS,
    check_learner,
)
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.learners.base import Parts
from marginbandits.state import Field
from marginbandits.types import Array
from tests.doubles import arrays_of


class Lying(mb.LinUCB):
    """Claims more confidence than it plays with."""

    def _decided(self, action: int, probability: float, law: Array, names: Any) -> mb.Decision:
        claimed = law**0.5 if (law < 1).all() else 0.9 * law + 0.1 / 3
        claimed = claimed / claimed.sum()
        return mb.Decision(action, float(claimed[action]), claimed)


class Impossible(mb.LinUCB):
    """Plays an action of probability 0."""

    def law(self, context: Any, *, available: Any = None, actions: Any = None) -> Array:
        return np.array([1.0, 0.0, 0.0])

    def act(self, context: Any, *, available: Any = None, actions: Any = None) -> mb.Decision:
        return mb.Decision(1, 0.0, np.array([1.0, 0.0, 0.0]))

    def learn(self, *args: Any, **how: Any) -> None:
        pass


class Mumbling(mb.LinUCB):
    """Refuses without saying what."""

    def learn(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().learn(*args, **kwargs)
        except ValueError:
            raise ValueError("bad loss or reward") from None


class Peeking(mb.LinUCB):
    """Learns from contexts while acting."""

    def _laws(self, batch: Batch) -> Array:
        self._ridge.learn(dense(batch.rows), 0, 0, 0.5)
        return super()._laws(batch)


class Biased(mb.LinUCB):
    """Prefers action 0."""

    def _laws(self, batch: Batch) -> Array:
        law = super()._laws(batch).reshape(len(batch), -1)
        return np.where(batch.mask[0], 0.8 * law + 0.2 * np.eye(law.shape[1])[0], law).ravel()


class Hoarding(mb.LinUCB):
    """Keeps every context."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._kept: list[Array] = []
        return super()._begin(shape, n_features)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._kept.append(np.repeat(dense(one.rows), 10, 0))
        super()._update(one, action, loss, probability)


class Forgetting(mb.LinUCB):
    """Does not save its weights."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        super()._begin(shape, n_features)
        return {"factor": Field(self._ridge.factor)}


class Restless(mb.LinUCB):
    """Seeds itself."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._draws = np.random.default_rng()
        return super()._begin(shape, n_features)

    def _laws(self, batch: Batch) -> Array:
        return laws.explored(super()._laws(batch), batch, 0.5)


class Dicing(mb.LinUCB):
    """Rolls a new law for every act, and logs the law of that roll instead of the marginal."""

    def _laws(self, batch: Batch) -> Array:
        return laws.proportional(self._draws.random(len(batch.mask)), batch)


class Hurried(mb.LinUCB):
    """Learns a last round twice where it plays many."""

    _compiled = mb.LinUCB._compiled

    def _run(self, first: int, contexts: Any, losses: Any, *given: Any) -> bool:
        done = super()._run(first, contexts, losses, *given)
        self.learn(contexts[-1], mb.Decision(0, 0.5), losses[-1, 0])
        return done


class Rushed(mb.HingeLMC):
    """Learns a last round twice where it plays many, which is once no more rounds are learnt anew."""

    _compiled = mb.HingeLMC._compiled

    def _run(self, first: int, contexts: Any, losses: Any, *given: Any) -> bool:
        done = super()._run(first, contexts, losses, *given)
        if done:
            self.learn(contexts[-1], mb.Decision(0, 0.5), losses[-1, 0])
        return done


class Careless(mb.LinUCB):
    """Ignores the mask."""

    def _laws(self, batch: Batch) -> Array:
        return super()._laws(Batch(batch.rows, batch.shared, batch.starts, np.ones_like(batch.mask)))


class Fragile(mb.LinUCB):
    """Learns from a bad loss before refusing it."""

    def learn(self, context: Any, decision: Any, loss: Any = None, **how: Any) -> None:
        if isinstance(loss, float) and loss > 1.0:
            super().learn(context, decision, 1.0)
        super().learn(context, decision, loss, **how)


class Stubborn(mb.LinUCB):
    """Never uses what it learnt."""

    def _laws(self, batch: Batch) -> Array:
        return laws.uniform(batch)


class Exploding(mb.LinUCB):
    """Overflows on large contexts."""

    def law(self, context: Any, *, available: Any = None, actions: Any = None) -> Array:
        law = super().law(context, available=available)
        return np.full(len(law), np.nan) if np.max(context) > 1e50 else law


class Batched(mb.LinUCB):
    """Learns batches backwards."""

    def learn_many(self, contexts: Any, decisions: Any, losses: Any = None, **how: Any) -> None:
        super().learn_many(contexts[::-1], decisions[::-1], losses[::-1], **how)


class Confused(mb.LinUCB):
    """Doubles sparse contexts."""

    def learn(self, context: Any, decision: mb.Decision, loss: Any = None, **how: Any) -> None:
        super().learn(2 * context if sparse.issparse(context) else context, decision, loss, **how)


class Spending(mb.LinUCB):
    """Draws when it is only asked."""

    def law(self, context: Any, *, available: Any = None, actions: Any = None) -> Array:
        self._draws.random()
        return super().law(context, available=available)


class Hasty(mb.LinUCB):
    """Changes its weights without keeping what they were."""

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._ridge.models[:, -1] += 0.01
        super()._update(one, action, loss, probability)


class Greedy(mb.LinUCB):
    """Looks at rows that are not available."""

    def _one(self, rows: Any, together: bool, available: Any) -> Any:
        return (
            super()._one(rows, together, None) if together and self._shape else super()._one(rows, together, available)
        )


class Rigid(mb.LinUCB):
    """Counts on K rows."""

    def _laws(self, batch: Batch) -> Array:
        return super()._laws(batch)[: self.n_actions * len(batch)]


class Racing(mb.LinUCB):
    """Learns without the lock."""

    def learn(self, *args: Any, **kwargs: Any) -> None:
        count = 0.0 if self._map is None else float(self.state()["features.moments"][-1, 0])
        time.sleep(0.001)
        super().learn(*args, **kwargs)
        arrays_of(self)["features.moments"][-1] = count + 1.0


class Unchecked(mb.LinUCB):
    """Takes any alpha."""

    def __init__(self, n_actions: int, *, alpha: float = 0.3, seed: int = 0) -> None:
        try:
            super().__init__(n_actions, alpha=alpha, seed=seed)
        except ValueError:
            super().__init__(n_actions, seed=seed)

    __init__.__annotations__ = mb.LinUCB.__init__.__annotations__


class Deaf(mb.SquareCB):
    """Lets a rate be set that its regressions do not ask for."""

    live = mb.SquareCB.live | {"learning_rate"}


class Parted(mb.SquareCB):
    """Its copies count rounds in an array that is not the one they save."""

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return state | {name: state[name].copy() for name in ("_rounds",) if name in state}


@pytest.mark.parametrize(
    ("learner", "check"),
    [
        (Parted, "copies_go_on_alike"),
        (Unchecked, "bad_parameters"),
        (Deaf, "parameters_are_settled_or_obeyed"),
        (Fragile, "bad_inputs"),
        (Peeking, "act_learns_nothing"),
        (Lying, "probabilities_are_exact"),
        (Dicing, "probabilities_are_exact"),
        (Mumbling, "bad_inputs"),
        (Restless, "same_seed_same_run"),
        (Forgetting, "save_load_continue"),
        (Biased, "relabelling_permutes_the_law"),
        (Exploding, "finite_on_extreme_contexts"),
        (Confused, "any_order_and_delay"),
        (Batched, "batches_equal_single_rounds"),
        (Hurried, "runs_equal_rounds"),
        (Rushed, "runs_equal_rounds"),
        (Careless, "unavailable_actions_are_not_played"),
        (Spending, "laws_draw_nothing"),
        (Hasty, "a_failed_round_changes_nothing"),
        (Greedy, "masked_rows_reach_nothing"),
        (Rigid, "rows_may_come_and_go"),
        (Racing, "threads_share_one_learner"),
        (Hoarding, "memory_does_not_grow"),
        (Stubborn, "better_than_uniform"),
    ],
)
def test_the_contract_catches(learner: type[mb.Learner], check: str) -> None:
    with pytest.raises(AssertionError):
        LEARNER_CHECKS[check](lambda **more: learner(**{"n_actions": 3, "seed": 0, **more}))


def test_what_is_broken_is_named() -> None:
    with pytest.raises(
        AssertionError,
        match="Careless breaks 'batches_equal_single_rounds': act played an action that is not available",
    ):
        check_learner(Careless)


def test_an_impossible_action_is_caught() -> None:
    with pytest.raises(AssertionError, match="probability 0 was played"):
        LEARNER_CHECKS["probabilities_are_exact"](lambda **more: Impossible(3, seed=0))


def test_every_check_has_a_negative_control() -> None:
    marks = test_the_contract_catches.pytestmark  # type: ignore[attr-defined]  # pytest sets it
    assert {check for _, check in marks[0].args[1]} == set(LEARNER_CHECKS)


def test_an_exemption_needs_a_known_check_and_a_reason() -> None:
    class Silent(mb.Uniform):
        exempt = {"better_than_uniform": " "}  # noqa: RUF012  # a test double

    class Unknown(mb.Uniform):
        exempt = {"nicer": "because"}  # noqa: RUF012  # a test double

    with pytest.raises(AssertionError, match="needs a reason"):
        check_learner(Silent)
    with pytest.raises(AssertionError, match="unknown check 'nicer'"):
        check_learner(Unknown)
