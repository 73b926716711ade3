"""A policy's model: a learner, and how many closed events it has learnt.

The model is a function of the journal and the code: built from the policy, it learns every closed event since the
policy says, in order. An event that a learner refuses is skipped, and counted, whenever it is learnt.

    Online         the action that was chosen, with its reward and probability
    Apprentice     the action the learner would have chosen: the best reward if that is the baseline, else the worst
    LoggingOnly    nothing
"""

import functools
import hashlib
import threading
from typing import Any

from marginbandits import learners
from marginbandits.learners.base import Learner
from marginbandits.learners.explanation import Explanation
from marginbandits.learners.loading import loads
from marginbandits.service.join import Closed
from marginbandits.service.records import Offer, Policy
from marginbandits.types import Decision
from marginbandits.validation import quoted, suggestion

__all__ = ["LEARNERS", "Model", "built", "warm"]

LEARNERS: dict[str, type[Learner]] = {
    one.__name__: one
    for one in (
        learners.SquareCB,
        learners.RegCB,
        learners.LogisticTS,
        learners.HingeLMC,
        learners.EpsilonGreedy,
        learners.LinUCB,
        learners.LinTS,
        learners.Bag,
        learners.Cover,
        learners.Uniform,
    )
}
"""Those that choose among actions with features of their own."""
MOST_EXPLAINED = 100


def built(policy: Policy) -> Learner:
    """A policy's learner, that has learnt nothing; or the reason why there is none."""
    kind = LEARNERS.get(policy.learner)
    if kind is None:
        raise ValueError(f"no learner is called {quoted(policy.learner)}{suggestion(policy.learner, LEARNERS)}")
    if policy.parameters.get("seed", 0) is None:
        raise ValueError("seed must be a number, got null: a model could not be made again")
    given: dict[str, Any] = {"n_actions": 10, "seed": 0, **policy.parameters, "reward_range": policy.reward_range}
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{policy.learner} cannot be built: {error}") from None


@functools.cache
def warm(learner: str) -> None:
    """Have a learner's machine code made, or read, before anybody waits for it."""
    pupil = built(Policy(learner=learner))
    for _ in range(3):
        offered: dict[str, Any] = {"one": {"price": 1.0}, "other": None}
        decision = pupil.act({"age": 1.0, "town": "x"}, actions=offered)
        pupil.learn({"age": 1.0, "town": "x"}, decision, reward=1.0, actions=offered)


class Model:
    """A learner that decides in one thread and learns in another; `erasure` is the last that it was made after."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.learner = policy, built(policy)
        self.learnt, self.skipped, self.erasure = 0, 0, 0
        self._lock = threading.Lock()

    def law(self, context: Any, actions: list[Offer]) -> tuple[list[float], int]:
        """The probability of each action, and how many events that rests on."""
        offered = {one.id: one.features for one in actions}
        with self._lock:
            return self.learner.law(context, actions=offered).tolist(), self.learnt

    def learn(self, closed: Closed) -> None:
        """One more event."""
        decided = closed.decided
        with self._lock:
            self.learnt += 1
            if closed.reason == "inactive" or decided.mode == "LoggingOnly":
                self.skipped += 1
                return
            action, probability, reward = decided.chosen, decided.probabilities[decided.chosen], closed.reward
            left_out = set(decided.excluded)
            if decided.mode == "Apprentice":
                action, kept = decided.shadow, [k for k in range(len(decided.actions)) if k not in left_out]
                probability = decided.law[kept.index(action)]
                reward = decided.reward_range[action == decided.baseline]
            offered = {one.id: one.features for k, one in enumerate(decided.actions) if k not in left_out}
            low, high = self.policy.reward_range
            try:
                made = Decision(action=decided.actions[action].id, probability=probability)
                within = min(max(reward, low), high)
                self.learner.learn(decided.context, made, reward=within, actions=offered)
            except (ValueError, FloatingPointError):
                self.skipped += 1

    def explain(self, context: Any, actions: list[Offer]) -> Explanation:
        """What is predicted of each action and why, by a copy: no decision waits for it."""
        if len(actions) > MOST_EXPLAINED:
            raise ValueError(f"at most {MOST_EXPLAINED} actions are explained, got {len(actions)}")
        copy: Learner = loads(self.dumps()[0])
        return copy.explain(context, actions={one.id: one.features for one in actions})

    def dumps(self) -> tuple[bytes, str]:
        """The learner as a file, and its hash."""
        with self._lock:
            file = self.learner.dumps()
        return file, hashlib.sha256(file).hexdigest()

    def loads(self, file: bytes, learnt: int, skipped: int) -> None:
        """Go on from a file of the same policy's learner."""
        learner = loads(file)
        if type(learner) is not type(self.learner):
            raise ValueError(f"the model must be a {self.policy.learner}, got a {type(learner).__name__}")
        with self._lock:
            self.learner, self.learnt, self.skipped = learner, learnt, skipped
