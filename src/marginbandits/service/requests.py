"""What is asked of the service, and what it answers, by its own interface: JSON by these types, and nothing else."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from marginbandits.service.records import Event, Name, Number, Offer, Policy, Settings

__all__ = ["Activate", "Answer", "Ask", "Chance", "LoopState", "Problem", "Receipt", "Reward"]


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision is wanted. `actions` are ids, or ids with features; `unit` is whom the decision is for."""

    context: dict[str, Any] | None = None
    actions: Annotated[list[Annotated[str, Meta(min_length=1, max_length=256)] | Offer], Meta(min_length=1)] | None = (
        None
    )
    excluded: list[str] = []
    event_id: Event | None = None
    baseline: str | None = None
    deferred: bool = False
    unit: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class Chance(msgspec.Struct, frozen=True):
    """An action and its probability."""

    id: str
    probability: float


class Answer(msgspec.Struct, frozen=True):
    """What was decided: it is on disk. `model` is the policy's number and how many events it had learnt."""

    event_id: str
    action: str
    probability: float
    ranking: list[Chance]
    model: str
    held: bool


class Reward(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an event was worth. A `key` makes a second try of the same reward count once."""

    event_id: Event
    value: Number
    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class Activate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A deferred decision was used."""

    event_id: Event


class Receipt(msgspec.Struct, frozen=True):
    """It is on disk: new, or there already; `known` says whether its decision is."""

    status: Literal["recorded", "repeated"]
    known: bool


class LoopState(msgspec.Struct, frozen=True):
    """A loop as it is."""

    name: Name
    settings: Settings
    policy: Policy
    learnt: int
    counts: dict[str, int]
    open: int
    evidence_against_draws: float


class Problem(msgspec.Struct, frozen=True):
    """Why something was refused."""

    error: str
