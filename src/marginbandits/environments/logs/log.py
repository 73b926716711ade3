r"""A log of past decisions, read some thousand rounds at a time, as often as one likes.

    for rounds in log: ...      `Rounds` after `Rounds`; whatever is wrong with a row is said with its place
    log.rounds()                all of them at once
    log.labels                  what actions are called
    log.report                  what the last reading has left out, and what is odd about the rest
    log.files()                 each file of a folder as a log of its own
    log.replay(seed=0)          an environment to play learners on

Memory is that of one part, and of 16 bytes a round where decisions have keys (`seen`).

>>> import pathlib, tempfile
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "log.csv").write_text("age,action,reward,probability\n31,b,1,0.5\n55,a,0,0.25\n")
>>> log = read_log(folder / "log.csv")
>>> rounds = log.rounds()
>>> rounds.contexts.ravel(), rounds.actions, rounds.losses, log.labels
(array([31., 55.]), array([1, 0]), array([0., 1.]), ('a', 'b'))
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

from marginbandits import frames
from marginbandits.environments.logged import Logged
from marginbandits.environments.logs.bad import Report, Tally, refusal
from marginbandits.environments.logs.checks import Scale, Unchecked, examined
from marginbandits.environments.logs.dsjson import DecisionService
from marginbandits.environments.logs.order import Order
from marginbandits.environments.logs.seen import Seen
from marginbandits.environments.logs.table import Table, declared, parts_of, roles_of
from marginbandits.environments.logs.vowpal_wabbit import VowpalWabbit
from marginbandits.ranges import MaybeRange, one_range
from marginbandits.rounds import Rounds
from marginbandits.types import Action
from marginbandits.validation import Choice, Instance, Integer, ListOf, OneOf, Seed, quoted, suggestion, validated

__all__ = ["FORMATS", "Log", "Source", "kind_of", "read_log"]

FORMATS = ("parquet", "csv", "jsonl", "vw", "dsjson")
_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".vw": "vw",
    ".txt": "vw",
    ".dat": "vw",
    ".dsjson": "dsjson",
}
NOTHING = Instance(type(None))
Name = Annotated[str | None, OneOf(Instance(str), NOTHING)]
"""Of a column."""
Names = Annotated[Sequence[str] | None, OneOf(ListOf(Instance(str)), NOTHING)]
CHUNK = 8192


class Source(Protocol):
    """Where rows come from: a reader of one format."""

    name: str

    def paths(self) -> list[str]:
        """The files that are read; none of a frame."""

    def labels(self) -> tuple[Action, ...] | None:
        """What actions are called, where nobody has said so; None where each round offers its own."""

    def chunks(self, labels: tuple[Action, ...] | None, n_rows: int) -> Iterator[Unchecked]:
        """All rows, so many at a time."""


class Log:
    """Past decisions in a file or a frame: iterate for `Rounds`; `read_log` makes one."""

    def __init__(
        self,
        source: Source,
        *,
        labels: tuple[Action, ...] | None = None,
        scale: Scale | None = None,
        bad: str = "strict",
        chunk: int = CHUNK,
    ) -> None:
        self._source, self._scale, self._bad, self._chunk = source, scale or Scale(), bad, chunk
        self._labels, self._looked = labels, labels is not None
        self._stamps: dict[str, tuple[int, int]] = {}
        self.seen = Seen()
        """Keys of the last reading."""
        self.report: Report | None = None
        """Of the last whole reading; None before it."""

    def __repr__(self) -> str:
        return f"<log in {self.source}>"

    @property
    def source(self) -> str:
        """The file or folder."""
        return self._source.name

    @property
    def rewards(self) -> bool:
        """Whether the log has rewards rather than losses; what is read are losses in either case."""
        return self._scale.rewards

    @property
    def within(self) -> tuple[float, float] | None:
        """The declared range of its outcomes, of which losses are shares; None where they are so already."""
        return self._scale.within

    @property
    def ranged(self) -> bool:
        """Whether it is known what its outcomes are: of costs, which may be any, only where it was said or declared."""
        return self._scale.name != "cost" or self._scale.within is not None

    @property
    def labels(self) -> tuple[Action, ...] | None:
        """What actions are called, in the order of their places; None where each round offers its own.

        Unless they were declared (`actions=`), the file is looked through for them once.
        """
        if not self._looked:
            self._labels, self._looked = self._source.labels(), True
        return self._labels

    @property
    def n_actions(self) -> int | None:
        """K, where all rounds have the same actions."""
        return None if self.labels is None else len(self.labels)

    def _unchanged(self) -> None:
        """Raise a ValueError where a file is no longer what it was when it was first read."""
        now = {}
        for name in self._source.paths():
            stat = os.stat(name)
            now[name] = stat.st_size, stat.st_mtime_ns
        self._stamps = self._stamps or now
        for name, stamp in now.items():
            if self._stamps.get(name) != stamp:
                raise ValueError(f"{name} has changed since it was first read: read the log anew")

    def __iter__(self) -> Iterator[Rounds]:
        self._unchanged()
        labels = self.labels
        tally, order, n = Tally(), Order(), 0
        self.seen = seen = Seen()
        for raw in self._source.chunks(labels, self._chunk):
            rounds, bad = examined(raw, labels, self._scale, seen)
            wrong = [one for one in bad if one.reason not in DecisionService.LEFT_OUT]
            if wrong and self._bad == "strict":
                raise refusal(wrong)
            tally.add(bad)
            order.add(rounds.losses)
            n += len(rounds)
            if len(rounds):
                yield rounds
        self._unchanged()
        if n == 0 and not tally.first:
            raise ValueError(f"{self.source} has no rounds")
        self.report = Report(n, tally.counts, tuple(tally.first), _notes(order))

    def rounds(self) -> Rounds:
        """All rounds in one: for logs that fit into memory."""
        parts = list(self)
        if not parts:
            raise ValueError(f"{self.source} has no good rounds:\n{self.report}")
        return Rounds.joined(parts)

    def files(self) -> list["Log"]:
        """Each file of a folder as a log of its own, with the same actions; keys are then looked for within each.

        A log in one file is its only one.
        """
        apart = self._source.files() if isinstance(self._source, Table) else [self._source]
        options: dict[str, Any] = {"scale": self._scale, "bad": self._bad, "chunk": self._chunk}
        return [Log(one, labels=self.labels, **options) for one in apart]

    @validated
    def replay(self, *, seed: Seed = None) -> Logged:
        """The log as an environment that answers where a learner takes the logged action (`Logged`)."""
        rounds = self.rounds()
        if rounds.offers is not None or rounds.available is not None:
            raise ValueError("replay needs rounds that all have the same actions; here they have their own")
        if rounds.probabilities is None:
            raise ValueError(f"{self.source} was read without probabilities, and replay needs them")
        return Logged(
            rounds.contexts,
            rounds.actions,
            rounds.losses,
            rounds.probabilities,
            n_actions=max(rounds.n_actions, 2),
            seed=seed,
        )


def _notes(order: Order) -> tuple[str, ...]:
    notes = []
    if order.sorted:
        notes.append(
            f"losses stand in an order that chance does not give (neighbours correlate by {order.correlation:.2f}): is "
            "the log sorted by reward? Sort it by time, or shuffle it, before learning from it or splitting it"
        )
    return tuple(notes)


@validated
def read_log(
    source: Any,
    *,
    action: Annotated[str, Instance(str)] = "action",
    loss: Name = None,
    reward: Name = None,
    probability: Name = "probability",
    context: Annotated[str | Sequence[str] | None, OneOf(Instance(str), ListOf(Instance(str)), NOTHING)] = None,
    available: Name = None,
    law: Name = None,
    offers: Name = None,
    time: Name = None,
    key: Name = None,
    version: Name = None,
    beside: Names = None,
    words: Names = None,
    actions: Annotated[Sequence[Action] | None, OneOf(ListOf(OneOf(Instance(str), Integer())), NOTHING)] = None,
    reward_range: MaybeRange = None,
    loss_range: MaybeRange = None,
    named: Annotated[bool | None, OneOf(Instance(bool), NOTHING)] = None,
    bad: Annotated[str, Choice("strict", "skip")] = "strict",
    format: Annotated[str | None, OneOf(Choice(*FORMATS), NOTHING)] = None,
    chunk: Annotated[int, Integer(1, 10**6)] = CHUNK,
) -> Log:
    """A log in a frame, a file or a folder; columns are named by what they are.

    `loss` or `reward` is the outcome, in [0, 1] or in the declared range; `context` are all columns without a role,
    unless named. `actions` declares what actions there are: any other is bad. `bad` rows are an error that names them,
    or are left out and counted. `named` contexts are mappings even if all is numbers. `format` is for files whose
    names do not say it. `beside` are columns to keep as they are, and no context: what another policy would have done.
    `words` are columns of the context that hold names, though they look like numbers: codes, or areas. A log that says
    the range of its rewards itself (reward_low, reward_high), as a decision service writes it, needs no other.
    """
    if loss is not None and reward is not None:
        raise ValueError(f"give loss or reward, got {loss!r} and {reward!r}")
    within = one_range(reward_range, loss_range)
    labels = None if actions is None else tuple(actions)
    if labels is not None and len(set(labels)) < len(labels):
        raise ValueError(f"actions must differ, got {quoted(list(labels))}")
    kind = kind_of(source, format)
    if kind != "frame":
        source = Path(source)
        if not source.exists():
            raise FileNotFoundError(f"there is no file {source}")
    options = {"labels": labels, "bad": bad, "chunk": chunk}
    if kind in ("vw", "dsjson"):
        _refuse_columns(kind, action, loss, reward, context, available, law, offers, time, key, version, beside, words)
        reader = VowpalWabbit if kind == "vw" else DecisionService
        found = reader(source, needs_probability=probability is not None)
        within = within or getattr(found, "within", None)
        turned = within is not None and loss_range is None  # a cost is a reward with its sign turned
        return Log(found, scale=Scale("cost", turned, within, turned), **options)  # type: ignore[arg-type]  # as declared
    parts = parts_of(source, kind)
    given: dict[str, Any] = {
        "action": action,
        "loss": loss,
        "reward": reward,
        "probability": probability,
        "context": context,
        "available": available,
        "law": law,
        "offers": offers,
        "time": time,
        "key": key,
        "version": version,
        "beside": beside,
    }
    _choose_outcome(given, parts[0].names(), reward_range, loss_range)
    roles = roles_of(parts[0], given)
    if roles.ranged and given["reward"]:
        within = within or declared(parts[0])
    scale = Scale("reward" if given["reward"] else "loss", bool(given["reward"]), within)
    for name in words or ():
        if parts[0].kinds is not None and name not in (roles.context or ()):
            known = [] if isinstance(roles.context, str) else list(roles.context or ())
            raise ValueError(f"words: the context has no column {quoted(name)}{suggestion(name[:80], known)}")
    return Log(Table(parts, roles, named, frozenset(words or ())), scale=scale, **options)  # type: ignore[arg-type]  # as declared


def _choose_outcome(given: dict[str, Any], names: Sequence[str], rewards: Any, losses: Any) -> None:
    """Loss or reward: the column named, or else the one called so."""
    if given["loss"] is None and given["reward"] is None:
        known = [one for one in ("loss", "reward") if one in names]
        if len(known) != 1:
            raise ValueError(f"name the column of outcomes by loss= or reward=; there are {', '.join(names[:50])}")
        given[known[0]] = known[0]
    if given["loss"] is not None and rewards is not None:
        raise ValueError(f"reward_range {rewards} is of rewards, and {given['loss']!r} is a loss: give loss_range")
    if given["reward"] is not None and losses is not None:
        raise ValueError(f"loss_range {losses} is of losses, and {given['reward']!r} is a reward: give reward_range")


def _refuse_columns(kind: str, action: str, *others: Any) -> None:
    if action != "action" or any(one is not None for one in others):
        raise ValueError(f"a file of format {kind} has no columns to name: it says itself what is what")


def kind_of(source: Any, format: str | None) -> str:
    """The format of a frame, a file or a folder."""
    if frames.is_frame(source):
        if format is not None:
            raise ValueError(f"format is for files, got {format!r} for a frame")
        return "frame"
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"source must be a frame (pandas, polars, Arrow) or a path, got {quoted(source)}")
    path = Path(source)
    if format is not None:
        return format
    if path.is_dir():
        return "parquet"
    suffixes = [one.lower() for one in path.suffixes]
    last = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    kind = _ENDINGS.get(last[0]) if last else None
    if kind is None or (kind == "parquet" and suffixes[-1] == ".gz"):
        raise ValueError(f"{path} does not say its format: it must end in {', '.join(_ENDINGS)}, or say format=")
    return kind
