"""What is asked of the service, and what it answers, by its own interface: JSON by these types, and nothing else."""

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from marginbandits.service.records import Event, Name, Number, Offer, Policy, Settings

__all__ = [
    "Activate",
    "Answer",
    "Ask",
    "Candidate",
    "Chance",
    "Erasure",
    "Judged",
    "LoopState",
    "Problem",
    "Promotion",
    "Receipt",
    "Reward",
    "Wanted",
    "digest",
]


class Ask(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A decision is wanted. `actions` are ids, or ids with features; `unit` is whom the decision is for."""

    context: dict[str, Any] | None = None
    actions: Annotated[list[Event | Offer], Meta(min_length=1)] | None = None
    excluded: list[str] = []
    event_id: Event | None = None
    baseline: str | None = None
    deferred: bool = False
    unit: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


def digest(ask: Ask) -> str:
    """What a request is known by when it comes again, in the same words."""
    return hashlib.sha256(msgspec.json.encode(ask)).hexdigest()


class Chance(msgspec.Struct, frozen=True, gc=False):
    """An action and its probability."""

    id: str
    probability: float


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What was decided: it is on disk. `model` is the policy's number and how many events it had learnt."""

    event_id: str
    action: str
    probability: float
    ranking: list[Chance]
    model: str
    held: bool


class Reward(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What an event was worth. A `key` makes a second try of the same reward count once."""

    event_id: Event
    value: Number
    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class Activate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A deferred decision was used."""

    event_id: Event


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy that is asked for: it learns what was decided after entry `since`, from "now" on, or everything.

    Without a `learner` it is the one that decides, with its parameters, unless others are given.
    """

    learner: Annotated[str, Meta(max_length=64)] | None = None
    parameters: dict[str, Any] | None = None
    since: Annotated[int, Meta(ge=0)] | Literal["now"] = 0

    def policy(self, last: int, deciding: Policy) -> Policy:
        """As it is, where `last` is the last entry there is."""
        if self.since != "now" and self.since > last:
            raise ValueError(
                f'since must be an entry there is, of which the last is {last}, or "now", got {self.since}'
            )
        learner, parameters = self.learner, self.parameters
        if learner is None:
            learner, parameters = deciding.learner, deciding.parameters if parameters is None else parameters
        return Policy(learner, parameters or {}, since=last if self.since == "now" else self.since)


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """It is on disk: new, or there already; `known` says whether its decision is."""

    status: Literal["recorded", "repeated"]
    known: bool


class Judged(msgspec.Struct, frozen=True):
    """A rival's mean reward with its interval, right at a level.

    And the same of its lift over what was logged, and over what the policy that decides now would have done.
    """

    rival: str
    events: int
    reward: float
    low: float
    high: float
    lift: float
    lift_low: float
    lift_high: float
    over_deciding: float
    over_deciding_low: float
    over_deciding_high: float
    logged: float
    level: float


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy that is to decide from now on; with `force` it is promoted at once, and not judged."""

    policy: Wanted
    force: bool = False


class Promotion(msgspec.Struct, frozen=True):
    """What became of a candidate; `judged` is None where it was forced, or where there was nothing to judge by."""

    promoted: bool
    reason: str
    judged: Judged | None


class Erasure(msgspec.Struct, frozen=True):
    """The receipt: how many events, how many entries, and the hash of the model without them.

    `complete` is false where somebody who reads the journal keeps the disk from forgetting them: it is tried again.
    """

    events: int
    entries: int
    complete: bool
    model_sha256: str


class LoopState(msgspec.Struct, frozen=True):
    """A loop as it is. `notes` say, where it was just set, what that changes beside the settings."""

    name: Name
    settings: Settings
    policy: Policy
    learnt: int
    counts: dict[str, int]
    open: int
    evidence_against_draws: float
    notes: list[str] = []


class Problem(msgspec.Struct, frozen=True):
    """Why something was refused."""

    error: str
