"""What the bodies of entries hold, and what a loop is set to. Everything a decision depends on is written with it.

    decision     Decided     what was offered, with which probabilities, what was chosen and by which model
    reward       Rewarded    a value
    activation   nothing: the decision was used
    settings     Settings    from here on
    policy       Policy      the learner that decides from here on
    candidate    Tried       a policy that was asked about, to be judged more strictly the more there are
    note         Note        what an interface keeps beside settings
    erasure      Erased      whose bodies were taken out
    past         Past        an event of another log

So an event can be joined, learnt and audited from its entries alone, whatever the loop is set to today. What is decoded
of JSON cannot refer to itself, so the many records of events are none of the garbage collector's business (gc=False).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from marginbandits.service.explaining import converted

__all__ = [
    "Decided",
    "Erased",
    "Note",
    "Offer",
    "Past",
    "Policy",
    "Rewarded",
    "Settings",
    "Tried",
    "changed",
    "consequences",
    "decode",
    "encode",
    "encode_in_order",
    "named",
]

T = TypeVar("T")
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(?![\s\S])")]
Event = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(gt=0.0, le=60 * 86400.0)]
Aggregation = Literal["earliest", "sum", "mean", "median", "min", "max"]
Mode = Literal["Online", "Apprentice", "LoggingOnly"]
Number = Annotated[float, Meta(ge=-1e15, le=1e15)]


class Offer(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An action that may be chosen, and what is known of it."""

    id: Event
    features: dict[str, Any] | None = None


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A learner by the name of its class, and what it is built with; it learns every event since entry `since`."""

    learner: Annotated[str, Meta(max_length=64)] = "SquareCB"
    parameters: dict[str, Any] = {}
    reward_range: tuple[Number, Number] = (0.0, 1.0)
    since: Annotated[int, Meta(ge=0)] = 0
    number: Annotated[int, Meta(ge=0)] = 0
    reason: Annotated[str, Meta(max_length=1000)] = ""


class Tried(msgspec.Struct, frozen=True):
    """A policy that was asked about while that of number `deciding` decided, perhaps with `exploration` of its own."""

    learner: str
    parameters: dict[str, Any]
    since: int
    deciding: int
    exploration: float | None = None


class Note(msgspec.Struct, frozen=True):
    """What an interface keeps of a loop, and nothing here has a place for: of each name, the last holds."""

    name: str
    told: dict[str, Any]


MOSTLY = 0.5
"""Whoever holds back as much may have meant a percentage."""
NARROWEST = 1e-100
"""The least that rewards may differ by."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a loop is set to.

    A reward counts if it comes within `window` seconds of its decision; if none does, the reward is `default`. Of what
    is decided, a share `exploration` is drawn evenly and a share `holdback` is the baseline, whatever is learnt; both
    are part of the probabilities. `actions` are offered where a request offers none. `segment` is a dotted path into
    contexts, such as user.country: the page shows what happens by its values, which are kept as long as the loop is.
    """

    window: Seconds = 600.0
    default: Number = 0.0
    aggregation: Aggregation = "earliest"
    reward_range: tuple[Number, Number] = (0.0, 1.0)
    exploration: Share = 0.0
    holdback: Share = 0.0
    mode: Mode = "Online"
    actions: Annotated[list[Event | Offer], Meta(min_length=1, max_length=1000)] | None = None
    strict: bool = False
    retention_days: Annotated[float, Meta(gt=0.0, le=36500.0)] | None = None
    most_open: Annotated[int, Meta(ge=1, le=100_000_000)] = 1_000_000
    most_per_second: Annotated[float, Meta(ge=0.01, le=1e6)] | None = None
    segment: Annotated[str, Meta(min_length=1, max_length=256)] | None = None

    def __post_init__(self) -> None:
        low, high = self.reward_range
        if not low < high:
            raise ValueError(f"reward_range must be a low end below a high one, got {low} and {high}")
        if high - low < NARROWEST:
            raise ValueError(f"reward_range must be at least {NARROWEST:g} wide, got {low} and {high}")
        if not low <= self.default <= high:
            raise ValueError(f"default must be within reward_range, got {self.default}")
        ids = [one if isinstance(one, str) else one.id for one in self.actions or ()]
        if len(set(ids)) < len(ids):
            raise ValueError("actions must have ids that differ")


def changed(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """The same settings, but for those that are named.

    >>> changed(Settings(window=5.0, holdback=0.1), {"window": 12.0}).holdback
    0.1
    """
    found: Settings = converted({**msgspec.to_builtins(settings), **given}, Settings, "settings")
    return found


_ANEW = "the page's rewards begin anew with the first event of it that closes"


def consequences(before: Settings, after: Settings, *, imitates: bool = False) -> list[str]:
    """What other settings change beside themselves; `imitates` if the policy learns events at which it did not decide.

    >>> consequences(Settings(segment="town"), Settings(segment="user.town"))
    ['segment: the table of segments by town is gone, that by user.town begins empty']
    """
    notes = []
    if before.segment != after.segment and before.segment is not None:
        begins = "" if after.segment is None else f", that by {after.segment} begins empty"
        notes.append(f"segment: the table of segments by {before.segment} is gone{begins}")
    if before.reward_range != after.reward_range:
        notes.append(f"reward_range: the model learns everything again; {_ANEW}")
    elif before.holdback != after.holdback:
        notes.append(f"holdback: {_ANEW}")
    if after.holdback > before.holdback and after.holdback >= MOSTLY:
        notes.append(f"holdback: of all decisions {100 * after.holdback:g}% are the baseline, whatever is learnt")
    if (before.mode, after.mode) == ("Apprentice", "Online") and imitates:
        what = "the policy has learnt to do as the baseline does, and is slow to leave it"
        notes.append(f'mode: {what}; one that begins anew learns faster: {{"policy": {{"since": "now"}}}}')
    return notes


def named(loop: str) -> str:
    """A loop's name; or a ValueError that says what one is."""
    try:
        return msgspec.convert(loop, Name)
    except msgspec.ValidationError:
        rule = "1 to 64 letters, digits, _, . and -, the first a letter or a digit"
        raise ValueError(f"a loop's name must be {rule}, got {loop[:80]!r}") from None


class Decided(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A decision. Places are those of `actions`; excluded ones have probability 0.

    `law` is the learner's own, of those that are not excluded, in order; `shadow` what it would have chosen where the
    baseline is served whatever it says. `erasure` is the last one before which the model was made.
    """

    request: str
    context: Any
    actions: list[Offer]
    probabilities: list[float]
    law: list[float]
    chosen: int
    baseline: int
    policy: int
    learnt: int
    window: float
    default: float
    reward_range: tuple[float, float]
    aggregation: Aggregation = "earliest"
    mode: Mode = "Online"
    exploration: float = 0.0
    holdback: float = 0.0
    held: bool = False
    excluded: list[int] = []
    shadow: int = -1
    deferred: bool = False
    unit: str | None = None
    erasure: int = 0
    format: int = 1


class Nothing(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What is there by being there."""


class Rewarded(msgspec.Struct, frozen=True, gc=False):
    """What an event was worth."""

    value: float


class Past(msgspec.Struct, frozen=True, gc=False):
    """What another log says of an event, as if it had been decided here."""

    decided: Decided
    reward: float


class Erased(msgspec.Struct, frozen=True):
    """What was forgotten: the entries of a subject, which is named by an HMAC under the loop's secret; or all events.

    Of all events everything `until` an entry is, but what is `spared`: what those that were open then need. What speaks
    of a decision goes with it, whenever it came (`gone`).
    """

    entries: list[int] = []
    subject: str = ""
    until: int = 0
    spared: list[int] = []

    def covers(self, seq: int) -> bool:
        """Whether an event's entry was to be forgotten."""
        return seq in self.entries or (seq <= self.until and seq not in self.spared)


_ENCODER, _IN_ORDER = msgspec.json.Encoder(), msgspec.json.Encoder(order="deterministic")
_KINDS = (Decided, Rewarded, Settings, Policy, Tried, Note, Past, Erased, Nothing)
_DECODERS: dict[type, Any] = {kind: msgspec.json.Decoder(kind) for kind in _KINDS}
BODIES: dict[str, type] = {
    "decision": Decided,
    "reward": Rewarded,
    "activation": Nothing,
    "tick": Nothing,
    "settings": Settings,
    "policy": Policy,
    "candidate": Tried,
    "note": Note,
    "erasure": Erased,
    "past": Past,
}
"""What the body of an entry is, by its kind."""


def encode(body: msgspec.Struct) -> bytes:
    """As it is kept."""
    return _ENCODER.encode(body)


def encode_in_order(body: msgspec.Struct) -> bytes:
    """The same bytes for the same, whatever order its names came in."""
    return _IN_ORDER.encode(body)


def decode(kind: type[T], body: bytes) -> T:
    """As it was; a body that is none of its kind is damage."""
    decoder: Any = _DECODERS[kind]
    found: T = decoder.decode(body)
    return found
