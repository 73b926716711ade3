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
from collections.abc import Sequence
from typing import Any

from marginbandits import learners
from marginbandits.learners.adding import Added, added
from marginbandits.learners.base import Learner
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
A_POLICY = (
    'an object such as {"learner": "RegCB", "parameters": {}, "since": "now"}; a constant is judged by the command '
    "line, on an export (marginbandits evaluate shop.jsonl --policy always:LABEL)"
)
"""What a policy is, where something else is given."""
MOST_EXPLAINED = 100
MOST = {"n_actions": 1000, "n_particles": 1000, "n_policies": 100, "moves": 100, "minibatch": 10_000, "memory": 100_000}
"""What a policy's parameters may be at most: each multiplies what others wait for, a decision or a lesson."""
_Lesson = tuple[Any, Decision, float, dict[str, dict[str, Any] | None]]
"""A context, what was done in it, its reward, and what was offered."""


def built(policy: Policy) -> Learner:
    """A policy's learner, that has learnt nothing; or the reason why there is none."""
    kind = LEARNERS.get(policy.learner)
    if kind is None and policy.learner in learners.__all__:
        fixed = "it chooses among a fixed number of actions, and here each request offers its own"
        raise ValueError(f"{policy.learner} cannot be served: {fixed}; there are {', '.join(sorted(LEARNERS))}")
    if policy.learner.lower().partition(":")[0] in ("always", "constant"):
        raise ValueError(f"no learner is called {quoted(policy.learner)}: a policy is {A_POLICY}")
    if kind is None:
        raise ValueError(f"no learner is called {quoted(policy.learner)}{suggestion(policy.learner, LEARNERS)}")
    if policy.parameters.get("seed", 0) is None:
        raise ValueError("seed must be a number, got null: a model could not be made again")
    for name, most in MOST.items():
        if isinstance(value := policy.parameters.get(name), int | float) and value > most:
            raise ValueError(f"{name} must be at most {most} in a service, got {value}")
    given: dict[str, Any] = {"n_actions": 10, "seed": 0, **policy.parameters, "reward_range": policy.reward_range}
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{policy.learner} cannot be built: {error}") from None


def tried(policy: Policy, actions: Sequence[str | Offer]) -> None:
    """An error, if a policy cannot choose among these actions: told to who sets them, not to all who ask."""
    Model(policy).laws([({}, [Offer(one) if isinstance(one, str) else one for one in actions])])


@functools.cache
def warm(learner: str) -> None:
    """Have a learner's machine code made, or read, before anybody waits for it."""
    pupil = built(Policy(learner=learner))
    for _ in range(3):
        offered: dict[str, Any] = {"one": {"price": 1.0}, "other": None}
        decision = pupil.act({"age": 1.0, "town": "x"}, actions=offered)
        pupil.learn({"age": 1.0, "town": "x"}, decision, reward=1.0, actions=offered)


class _Turns:
    """A lock that they get who wait for it: whoever takes it again at once waits behind them."""

    def __init__(self) -> None:
        self._next, self._lock = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._next:
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Model:
    """A learner that decides in one thread and learns in another; `erasure` is the last that it was made after."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.learner = policy, built(policy)
        self.learnt, self.skipped, self.erasure = 0, 0, 0
        self._lock = _Turns()

    def law(self, context: Any, actions: list[Offer]) -> tuple[list[float], int]:
        """The probability of each action, and how many events that rests on."""
        (law,), learnt = self.laws([(context, actions)])
        return law, learnt

    def laws(self, asked: Sequence[tuple[Any, list[Offer]]]) -> tuple[list[list[float]], int]:
        """The same of several contexts, and what is offered in each, at once."""
        contexts = [context for context, _ in asked]
        offered = [{one.id: one.features for one in actions} for _, actions in asked]
        with self._lock:
            if len(asked) == 1:
                return [self.learner.law(contexts[0], actions=offered[0]).tolist()], self.learnt
            found = self.learner.laws(contexts, actions=offered)
            return [one.tolist() for one in found], self.learnt

    def learn(self, events: Sequence[Closed]) -> None:
        """These, in order, as if they had come one by one; nobody is asked for a law in between."""
        with self._lock:
            lessons = [self._lesson(one) for one in events]
            some = [one for one in lessons if one is not None]
            self.learnt += len(events)
            self.skipped += len(events) - len(some)
            try:
                self._learn(some)
            except (ValueError, FloatingPointError):  # none was learnt: one of them is refused
                for one in some:
                    try:
                        self._learn([one])
                    except (ValueError, FloatingPointError):
                        self.skipped += 1

    def _learn(self, lessons: list[_Lesson]) -> None:
        if len(lessons) == 1:
            context, decision, reward, offered = lessons[0]
            self.learner.learn(context, decision, reward=reward, actions=offered)
        elif lessons:
            contexts, decisions, rewards, actions = zip(*lessons, strict=True)
            self.learner.learn_many(list(contexts), decisions, rewards=rewards, actions=list(actions))

    def _lesson(self, closed: Closed) -> _Lesson | None:
        """What is learnt of an event; None if it is nothing."""
        decided = closed.decided
        if closed.reason == "inactive" or decided.mode == "LoggingOnly":
            return None
        action, probability, reward = decided.chosen, decided.probabilities[decided.chosen], closed.reward
        actions = decided.actions
        if decided.excluded:
            left_out = set(decided.excluded)
            actions = [one for k, one in enumerate(actions) if k not in left_out]
        if decided.mode == "Apprentice":
            action = decided.shadow
            probability = decided.law[actions.index(decided.actions[action])]
            reward = decided.reward_range[action == decided.baseline]
        low, high = self.policy.reward_range
        made = Decision(action=decided.actions[action].id, probability=probability)
        offered = {one.id: one.features for one in actions}
        return decided.context, made, min(max(reward, low), high), offered

    def explain(self, context: Any, actions: list[Offer]) -> list[Added]:
        """What is predicted of each action, and what that adds up from, by a copy: no decision waits for it."""
        if len(actions) > MOST_EXPLAINED:
            raise ValueError(f"at most {MOST_EXPLAINED} actions are explained, got {len(actions)}")
        copy: Learner = loads(self.dumps()[0])
        return added(copy, context, {one.id: one.features for one in actions})

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
