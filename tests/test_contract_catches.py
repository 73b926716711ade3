"""Negative controls: each class below breaks one promise, and the check of that promise must say so."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

import marginbandits as mb
from marginbandits import policies
from marginbandits.checks import (
    LEARNER_CHECKS,
    check_environment,
    check_features,
    check_learner,
    check_scores,
    check_surrogate,
)
from marginbandits.types import Array, Mask
from tests.test_contract import ARGUMENTS


class Lying(mb.LinUCB):
    """Claims more confidence than it plays with."""

    def _act(self, rows: Array, mask: Mask) -> mb.Decision:
        decision = super()._act(rows, mask)
        assert decision.distribution is not None
        law = decision.distribution**0.5 if (decision.distribution < 1).all() else 0.9 * decision.distribution + 0.1 / 3
        law = law / law.sum()
        return mb.Decision(decision.action, float(law[decision.action]), law)


class Impossible(mb.LinUCB):
    """Plays an action of probability 0."""

    def _act(self, rows: Array, mask: Mask) -> mb.Decision:
        law = np.array([1.0, 0.0, 0.0]) if mask.all() else policies.uniform(3, mask)
        return mb.Decision(1, float(law[1]), law)


class Mumbling(mb.LinUCB):
    """Refuses without saying what."""

    @staticmethod
    def _loss(loss: object, reward: object) -> float:
        try:
            return mb.LinUCB._loss(loss, reward)
        except ValueError:
            raise ValueError("bad loss or reward") from None


class Peeking(mb.LinUCB):
    """Learns from contexts while acting."""

    def _distribution(self, rows: Array, available: Mask) -> Array:
        self._ridge.learn(rows, 0, 0.5)
        return super()._distribution(rows, available)


class Biased(mb.LinUCB):
    """Prefers action 0."""

    def _distribution(self, rows: Array, available: Mask) -> Array:
        law = super()._distribution(rows, available)
        return law if not available[0] else 0.8 * law + 0.2 * np.eye(self.n_actions)[0]


class Hoarding(mb.LinUCB):
    """Keeps every context."""

    def _begin(self, n_blocks: int, n_features: int) -> None:
        super()._begin(n_blocks, n_features)
        self._kept: list[Array] = []

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        self._kept.append(np.repeat(rows, 10, 0))
        super()._update(rows, action, loss, probability)


class Forgetting(mb.LinUCB):
    """Does not save its weights."""

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"factor": self._ridge.factor}


class Restless(mb.LinUCB):
    """Seeds itself."""

    def _begin(self, n_blocks: int, n_features: int) -> None:
        super()._begin(n_blocks, n_features)
        self._draws = np.random.default_rng()

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return policies.explore(super()._distribution(rows, available), 0.5 / available.sum(), available)


class Dicing(mb.LinUCB):
    """Rolls a new law for every act, and logs the law of that roll instead of the marginal."""

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return policies.proportional(self._draws.random(self.n_actions), available)


class Careless(mb.LinUCB):
    """Ignores the mask."""

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return super()._distribution(rows, np.ones_like(available))


class Fragile(mb.LinUCB):
    """Learns from a bad loss before refusing it."""

    @staticmethod
    def _loss(loss: object, reward: object) -> float:
        return 2.0 if reward is None else 1.0 - float(reward)  # type: ignore[arg-type]  # refused on purpose


class Stubborn(mb.LinUCB):
    """Never uses what it learnt."""

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return policies.uniform(self.n_actions, available)


class Exploding(mb.LinUCB):
    """Overflows on large contexts."""

    def _act(self, rows: Array, mask: Mask) -> mb.Decision:
        decision = super()._act(rows, mask)
        decision.distribution = np.full(self.n_actions, np.nan) if rows.max() > 1e50 else decision.distribution
        return decision


class Batched(mb.LinUCB):
    """Learns batches backwards."""

    def learn_many(self, contexts: Any, decisions: Any, losses: Any = None, *, rewards: Any = None) -> None:
        super().learn_many(contexts[::-1], decisions[::-1], losses[::-1])


class Confused(mb.LinUCB):
    """Doubles sparse contexts."""

    def learn(self, context: Any, decision: mb.Decision, loss: Any = None, *, reward: Any = None) -> None:
        super().learn(2 * context if sparse.issparse(context) else context, decision, loss, reward=reward)


class Unchecked(mb.LinUCB):
    """Takes any alpha."""

    def __init__(self, n_actions: int, *, alpha: float = 0.3, seed: int = 0) -> None:
        try:
            super().__init__(n_actions, alpha=alpha, seed=seed)
        except ValueError:
            super().__init__(n_actions, seed=seed)

    __init__.__annotations__ = mb.LinUCB.__init__.__annotations__


@pytest.mark.parametrize(
    ("learner", "check"),
    [
        (Unchecked, "bad_parameters"),
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
        (Careless, "unavailable_actions_are_not_played"),
        (Hoarding, "memory_does_not_grow"),
        (Stubborn, "better_than_uniform"),
    ],
)
def test_the_contract_catches(learner: type[mb.Learner], check: str) -> None:
    with pytest.raises(AssertionError, match=f"breaks '{check}'"):
        check_learner(learner)


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


class Sloped(mb.Hinge):
    """Takes the steep side of the kink."""

    def slope(self, scores: npt.ArrayLike) -> Array:
        return np.where(np.isnan(scores), np.nan, (np.asarray(scores) >= -self.margin) / self.margin)


class Shrunk(mb.Ramp):
    """Not calibrated."""

    def __call__(self, scores: npt.ArrayLike) -> Array:
        return 0.4 * super().__call__(scores)


class Wide(mb.Linear):
    """Understates its bound."""

    @property
    def bound(self) -> float:
        return 0.3 * super().bound


class Slack(mb.Linear):
    """Understates its Lipschitz constant, not its bound."""

    @property
    def lipschitz(self) -> float:
        return 0.1 * super().lipschitz

    @property
    def bound(self) -> float:
        return 10.0


class Stretched(mb.Linear):
    """Projects onto the sphere instead of the ball."""

    def project(self, parameters: Array) -> Array:
        return np.asarray(self.radius * parameters / np.linalg.norm(parameters, axis=-1, keepdims=True))


class Steep(mb.Linear):
    """Doubles its gradient."""

    def gradient(self, context: Any, action: int) -> Array:
        return 2 * super().gradient(context, action)


class Backwards(mb.Hinge):
    """Calibrated for proportional play, but low where the score is high."""

    def __call__(self, scores: npt.ArrayLike) -> Array:
        s = np.asarray(scores, float)
        return np.where(s == s.max(-1, keepdims=True), 0.5, 2.0)


class Shifty(mb.Standardise):
    """Learns while it transforms."""

    def _transform(self, rows: Array) -> Array:
        self._observe(rows)
        return super()._transform(rows)


class Hiding(mb.Standardise):
    """Does not say all it knows."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"mean": self._moments[0]}


class Costly(mb.LinearRealizable):
    """Charges twice."""

    def __iter__(self) -> Any:
        for current in super().__iter__():
            yield Fib(current, cost=2.0, shift=0)


class Fibbing(mb.LinearRealizable):
    """Reveals another action's loss."""

    def __iter__(self) -> Any:
        for current in super().__iter__():
            yield Fib(current, cost=1.0, shift=1)


class Fib:
    def __init__(self, honest: Any, cost: float, shift: int) -> None:
        self.context, self.losses, self.cost, self.shift = honest.context, honest.losses, cost, shift

    def reveal(self, decision: mb.Decision) -> float:
        return self.cost * float(self.losses[(decision.action + self.shift) % 3])


class Secretive(mb.LinearRealizable):
    """Different on every visit."""

    def __iter__(self) -> Any:
        order = np.random.default_rng().permutation(len(self))
        return iter([list(super(Secretive, self).__iter__())[i] for i in order])


def test_the_other_contracts_catch() -> None:
    with pytest.raises(AssertionError, match="slope"):
        check_surrogate(Sloped, margin=0.4)
    with pytest.raises(AssertionError, match="playing in proportion"):
        check_surrogate(Shrunk, margin=0.4)
    with pytest.raises(AssertionError, match="best-scored"):
        check_surrogate(Backwards, margin=0.4)
    with pytest.raises(AssertionError, match="exceed B"):
        check_scores(Wide(3, 2), (2,))
    with pytest.raises(AssertionError, match="Lipschitz"):
        check_scores(Slack(3, 2), (2,))
    with pytest.raises(AssertionError, match="apart"):
        check_scores(Stretched(3, 2), (2,))
    with pytest.raises(AssertionError, match="gradient"):
        check_scores(Steep(3, 2), (2,))
    with pytest.raises(AssertionError, match="must not change the state"):
        check_features(Shifty)
    with pytest.raises(AssertionError, match="whole state"):
        check_features(Hiding)
    with pytest.raises(AssertionError, match=r"losses must lie in \[0, 1\]"):
        check_environment(Costly, **ARGUMENTS["LinearRealizable"])
    with pytest.raises(AssertionError, match="the loss revealed"):
        check_environment(Fibbing, **ARGUMENTS["LinearRealizable"])
    with pytest.raises(AssertionError, match="same rounds"):
        check_environment(Secretive, **ARGUMENTS["LinearRealizable"])
