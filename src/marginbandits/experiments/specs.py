"""A learner of a plan: a class, its parameters, the label it goes by, and the role it plays.

>>> mine, yours = LearnerSpec("mine", learners.LinUCB), LearnerSpec("yours", learners.LinUCB, {"alpha": 0.2})
>>> mine.identity(n_actions=2) == yours.identity(n_actions=2)
True
>>> LearnerSpec("the ceiling", learners.Supervised, {}).role
'skyline'
"""

import importlib.util
import inspect
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from marginbandits import learners
from marginbandits.experiments.fingerprint import code
from marginbandits.experiments.parts import refuse_unknown, written
from marginbandits.learners.base import Learner
from marginbandits.learners.vowpal_wabbit import VowpalWabbit
from marginbandits.scores import Networks
from marginbandits.types import FullInformation
from marginbandits.validation import quoted, suggestion

__all__ = ["GIVEN", "LearnerSpec", "Role", "known_learners", "nameable_learners", "spec"]

Role = Literal["rival", "skyline", "hindsight"]
"""A rival competes, a skyline is shown every loss, what is chosen in hindsight is a report's, and never runs."""

GIVEN = ("n_actions", "seed", "actions", "reward_range", "loss_range")
"""What is not a learner's to choose in a plan: its data say."""


@dataclass(frozen=True, slots=True)
class LearnerSpec:
    """A learner class with its parameters, and the label it goes by in tables."""

    label: str
    cls: type[Learner]
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def role(self) -> Role:
        """A class that can be shown every loss is a skyline, whatever its label."""
        return "skyline" if issubclass(self.cls, FullInformation) else "rival"

    def build(self, n_actions: int, seed: int | np.random.Generator) -> Learner:
        """A fresh learner."""
        return self.cls(n_actions=n_actions, seed=seed, **self.parameters)

    def effective(self, n_actions: int) -> dict[str, Any]:
        """Every parameter as the learner has it, defaults written out."""
        try:
            built = self.build(n_actions, 0)
        except Exception as error:  # parameters are the user's, and a constructor may raise anything
            raise ValueError(f"{self.label} cannot be built: {error}") from error
        return {name: value for name, value in built.parameters().items() if name not in GIVEN}

    def on(self, device: str) -> Self:
        """The same, its networks on a device, if it is given any."""
        scores = self.parameters.get("scores")
        if not isinstance(scores, Networks):
            return self
        there = Networks(**{**scores.parameters(), "device": device})
        return replace(self, parameters={**self.parameters, "scores": there})

    def identity(self, n_actions: int) -> dict[str, object]:
        """What decides how it plays: its class, the code behind it, its parameters; not its label."""
        name = f"{self.cls.__module__}.{self.cls.__qualname__}"
        return {"class": name, "code": code(self.cls), "parameters": self.effective(n_actions)}


def spec(name: object, parameters: dict[str, Any], label: object = None) -> LearnerSpec:
    """A learner by its class's name; unknown names are answered with the nearest known one."""
    known = nameable_learners()
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"no learner is called {quoted(name)}{suggestion(str(name)[:80], known)}")
    allowed = [one for one in inspect.signature(known[name]).parameters if one not in GIVEN]
    refuse_unknown(name, parameters, allowed)
    if label is not None and (not isinstance(label, str) or not label.strip()):
        raise ValueError(f"the name of a learner must be a word or more, got {quoted(label)}")
    shown = ", ".join(f"{key}={written(value)}" for key, value in parameters.items())
    return LearnerSpec(label or (f"{name}({shown})" if shown else name), known[name], parameters)


def known_learners() -> dict[str, type[Learner]]:
    """Every exported learner by name, but for those that need a horizon or a class: they play where it is given."""
    return {name: cls for name, cls in nameable_learners(peers=False).items() if cls.competes}


def nameable_learners(*, peers: bool = True) -> dict[str, type[Learner]]:
    """The exported ones, and the peers that are installed."""
    found = {name: getattr(learners, name) for name in learners.__all__}
    if peers and importlib.util.find_spec("vowpalwabbit"):
        found["VowpalWabbit"] = VowpalWabbit
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) and issubclass(thing, Learner) and not inspect.isabstract(thing)
    }
