"""Everything again, from the journal alone: its chain, every decision, the model, and what the page shows.

- every entry is chained to the one before, says what was chained, and can be read; what is gone is an event's, and
  an erasure names it; what an erasure names is gone;
- every decision was made by settings and a policy that the loop had, after events that had closed; its law is what
  that model gives, and all that was drawn is drawn again from the law and the loop's secret; the last
  erasure before it is one that the loop had;
- what was kept of a loop is what the journal makes: the model byte for byte, and the sums of the page;
- the journal has the last entry that was learnt from;
- what was kept of a loop is from after its last erasure that is complete.

Laws that rest on what was erased since cannot be made again, and are counted as such: those of decisions that came
after an event which is gone, by models that may have learnt it. They were drawn all the same, and that is looked at.
Sums can be made again where nothing has been erased. Laws are compared to the last bit, which holds on the kind of
processor that decided.

Who can write the journal's file and knows its secrets can make all of it anew, as if it had always been so. What this
finds is damage, and what is not consistent; against the rest there are copies of `sha256` elsewhere.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from marginbandits.service.checkpoint import Checkpoint, DamagedError, opened
from marginbandits.service.draws import draw, draws
from marginbandits.service.gone import Gone
from marginbandits.service.join import Joiner
from marginbandits.service.journal import (
    DECISION,
    ERASURE,
    POLICY,
    SETTINGS,
    START,
    Entry,
    Journal,
    JournalError,
    unbroken,
)
from marginbandits.service.loop import Loop, read
from marginbandits.service.model import Model
from marginbandits.service.records import BODIES, Decided, Policy, Settings, decode

__all__ = ["Verdict", "verified"]

Places = npt.NDArray[np.int64]
MOST = 20
"""Faults that are told one by one."""
_SET = "window", "default", "reward_range", "aggregation", "mode", "exploration", "holdback"


class Made(msgspec.Struct, frozen=True):
    """The model that was kept of a loop, made again: which policy's, after how many events, up to which entry."""

    sha256: str
    policy: int
    learnt: int
    entry: int


class Verdict(msgspec.Struct):
    """What was looked at, and what is wrong with it."""

    entries: int = 0
    chained: bool = True
    decisions: int = 0
    laws: int = 0
    erased: int = 0
    models: dict[str, Made] = {}
    faults: list[str] = []
    n_faults: int = 0

    def fault(self, what: str) -> None:
        """One more thing that is not as it should be."""
        self.n_faults += 1
        if len(self.faults) < MOST:
            self.faults.append(what)


def verified(journal: Journal) -> Verdict:
    """The verdict on a journal as it is at one moment; where its chain is broken, on that alone."""
    with journal.still() as still:
        return _verified(still)


def _verified(journal: Journal) -> Verdict:
    verdict, kept = Verdict(), journal.facts("checkpoint/")
    last = journal.last()
    end = 0 if last is None else last.seq
    _chain(journal, end, verdict)
    if verdict.n_faults:
        verdict.chained = False
        return verdict  # what is made from entries that are not what they were says nothing
    changes = [one for one in journal.changes() if one.seq <= end]
    gone = Gone(changes)
    names = dict.fromkeys(one.loop for one in changes)
    for name in [one.partition("/")[2] for one in kept]:
        if name not in names:
            verdict.fault(f"something is kept of a loop {name!r}, which is not in the journal")
    for name in names:
        _Loop(journal, name, end, changes, gone, verdict).look(kept.get(f"checkpoint/{name}"))
    return verdict


def _chain(journal: Journal, end: int, verdict: Verdict) -> None:
    before, seq, at = START, 0, 0
    for entry in read(journal, 0, end):
        verdict.entries += 1
        if entry.seq != seq + 1:
            verdict.fault(f"entries {seq + 1} to {entry.seq - 1} are missing")
        if not (whole := unbroken(before, entry)):
            verdict.fault(f"entry {entry.seq} ({entry.kind} of {entry.loop!r}) is not what was written")
        elif entry.at <= at:
            verdict.fault(f"entry {entry.seq} is not later than the one before")
        elif entry.body is not None and not _readable(entry):
            verdict.fault(f"entry {entry.seq} ({entry.kind} of {entry.loop!r}) cannot be read")
        before, seq, at = entry.sha256, entry.seq, entry.at if whole else at


def _readable(entry: Entry) -> bool:
    try:
        decode(BODIES[entry.kind], entry.body or b"")
    except (KeyError, ValueError, RecursionError):
        return False
    return True


class Waiting:
    """Decisions by how many events their models had learnt, in 16 bytes each; they are taken in that order.

    >>> waiting = Waiting()
    >>> for learnt, seq in (2, 7), (0, 5), (2, 9), (9, 11):
    ...     waiting.add(learnt, seq)
    >>> [waiting.take(learnt) for learnt in range(4)], waiting.left()
    ([[5], [], [7, 9], []], {9: 1})
    """

    def __init__(self) -> None:
        self._learnt, self._seqs, self._at = array("q"), array("q"), 0
        self._sorted: tuple[Places, Places] | None = None

    def __len__(self) -> int:
        return len(self._learnt)

    def add(self, learnt: int, seq: int) -> None:
        """One more, before any is taken."""
        self._learnt.append(learnt)
        self._seqs.append(seq)

    def take(self, learnt: int) -> list[int]:
        """Those of so many events, which are more each time."""
        learnts, seqs = self._order()
        end = int(np.searchsorted(learnts, learnt, side="right"))
        start, self._at = max(self._at, int(np.searchsorted(learnts, learnt))), end
        found: list[int] = seqs[start:end].tolist()
        return found

    def left(self) -> dict[int, int]:
        """Of how many events, and how often, those are that were not taken."""
        return dict(Counter(self._order()[0][self._at :].tolist()))

    def _order(self) -> tuple[Places, Places]:
        if self._sorted is None:
            learnts, seqs = np.array(self._learnt, np.int64), np.array(self._seqs, np.int64)
            order = np.argsort(learnts, kind="stable")
            self._sorted = learnts[order], seqs[order]
        return self._sorted


class _Loop:
    """One loop of a journal up to its end."""

    def __init__(
        self, journal: Journal, name: str, end: int, changes: list[Entry], gone: Gone, verdict: Verdict
    ) -> None:
        self.journal, self.name, self.end, self.gone, self.verdict = journal, name, end, gone, verdict
        self.changes = changes
        self.secret = journal.fact(f"secret/{name}")
        if type(self.secret) is not bytes:
            verdict.fault(f"the secret of {name!r} is not what was written")
            self.secret = None
        self.policies: dict[int, Policy] = {}
        self.waiting: dict[int, Waiting] = defaultdict(Waiting)  # decisions by their policies

    def look(self, checkpoint: bytes | None) -> None:
        """At its entries, then at what was kept, then at laws and models."""
        kept = self._kept(checkpoint)
        self._entries(0 if kept is None else kept.seen)
        if kept is not None:
            self._sums(kept)
        if kept is not None and kept.policy not in self.policies:
            self.verdict.fault(f"the model kept of {self.name!r} is of policy {kept.policy}, which it never had")
        for number, policy in self.policies.items():
            own = kept if kept is not None and kept.policy == number else None
            self._policy(policy, self.waiting.pop(number, Waiting()), own)

    def _kept(self, checkpoint: bytes | None) -> Checkpoint | None:
        if checkpoint is None:
            return None
        try:
            kept = opened(checkpoint)
            kept.follows(self.journal, self.name)
            kept.forgets(self.journal, self.name, self.changes)
        except (DamagedError, JournalError) as error:
            self.verdict.fault(f"what was kept of {self.name!r} is not sound: {error}")
            return None
        return kept

    def _entries(self, taken_in: int) -> None:
        """Each by itself, and by what came before."""
        settings, erasures, verdict, unknown = [], {0}, self.verdict, 0
        for entry in self._own():
            named = self.gone.by(entry)
            if entry.body is None:
                unknown = max(unknown, named)
                verdict.decisions += entry.kind == DECISION
                verdict.erased += entry.kind == DECISION
                if not named:
                    verdict.fault(f"entry {entry.seq} ({entry.kind} of {self.name!r}) is gone, and no erasure names it")
            elif 0 < named <= taken_in:
                verdict.fault(f"entry {entry.seq} ({entry.kind} of {self.name!r}) was to be erased, and is there")
            elif entry.kind == SETTINGS:
                settings.append(_set(decode(Settings, entry.body)))
            elif entry.kind == POLICY:
                policy = decode(Policy, entry.body)
                self.policies[policy.number] = policy
            elif entry.kind == ERASURE:
                erasures.add(entry.seq)
            elif entry.kind == DECISION:
                verdict.decisions += 1
                decided = decode(Decided, entry.body)
                self._decision(entry, decided, settings)
                if decided.erasure not in erasures:
                    told = f"was decided after erasure {decided.erasure}, which {self.name!r} did not have"
                    verdict.fault(f"entry {entry.seq} ({entry.id[:80]!r}) {told}")
                if unknown > decided.erasure:
                    verdict.erased += 1
                else:
                    self.waiting[decided.policy].add(decided.learnt, entry.seq)

    def _decision(self, entry: Entry, decided: Decided, settings: list[tuple[object, ...]]) -> None:
        what = f"entry {entry.seq} ({entry.id[:80]!r})"
        if decided.policy not in self.policies:
            self.verdict.fault(f"{what} was decided by policy {decided.policy}, which {self.name!r} did not have")
        if _set(decided) not in settings:
            self.verdict.fault(f"{what} was decided by settings that {self.name!r} did not have")
        if self.secret is None or not _drawn(entry, decided, self.secret):
            self.verdict.fault(f"{what} was not drawn from the law it has")

    def _policy(self, policy: Policy, waiting: "Waiting", kept: Checkpoint | None) -> None:
        """The model after each event, and the laws of those who say that they were made by it."""
        if not waiting and kept is None:
            return
        model, joiner = Model(policy), Joiner(self.name)
        self._laws(model, waiting, 0)
        for entry in read(self.journal, 0, self.end):
            for closed in joiner.observe(entry):
                if closed.seq > policy.since:
                    model.learn([closed])
                    self._laws(model, waiting, entry.seq)
            if kept is not None and entry.seq == kept.seen:
                self._model(model, kept)
        for learnt, n in waiting.left().items():
            self.verdict.fault(f"{n} decisions say that {learnt} events were learnt, which had not closed")

    def _laws(self, model: Model, waiting: "Waiting", closed_by: int) -> None:
        for seq in waiting.take(model.learnt):
            (entry,) = self.journal.entries(seq - 1, 1)
            decided = decode(Decided, entry.body or b"{}")
            left_out = set(decided.excluded)
            law, _ = model.law(decided.context, [o for k, o in enumerate(decided.actions) if k not in left_out])
            self.verdict.laws += 1
            made = f"{model.policy.number}.{model.learnt}"
            if seq <= closed_by:
                self.verdict.fault(f"entry {seq} ({entry.id[:80]!r}) was decided by model {made}, which came later")
            elif law != decided.law:
                self.verdict.fault(f"entry {seq} ({entry.id[:80]!r}) has a law that model {made} does not give")

    def _model(self, model: Model, kept: Checkpoint) -> None:
        if self.gone.last(self.name) > kept.seen:
            return  # it will be made anew when the erasure is taken in
        sha256 = model.dumps()[1]
        self.verdict.models[self.name] = Made(sha256, model.policy.number, model.learnt, kept.seen)
        if (model.learnt, model.skipped) != (kept.learnt, kept.skipped):
            told = f"{kept.learnt} learnt and {kept.skipped} skipped, not {model.learnt} and {model.skipped}"
            self.verdict.fault(f"the model kept of {self.name!r} says {told}")
        if sha256 != kept.sha256:
            self.verdict.fault(f"the model kept of {self.name!r} is not the one that the journal makes")

    def _sums(self, kept: Checkpoint) -> None:
        """What was counted, where all of it is still there."""
        if self.gone.last(self.name):
            return
        made = Loop(self.name, self.secret or b"")
        made.retrace(self.journal, kept.seen)
        joiner, told = made.joiner, (kept.watch, kept.counts, kept.first, kept.open, kept.closed)
        first = joiner.first_seq(kept.seen + 1)
        if (made.watch.dumps(), dict(joiner.counts), first, joiner.n_open, made.closed_last) != told:
            self.verdict.fault(f"what was counted of {self.name!r} is not what the journal says")

    def _own(self) -> Iterator[Entry]:
        return (one for one in read(self.journal, 0, self.end) if one.loop == self.name)


def _set(one: Settings | Decided) -> tuple[object, ...]:
    return tuple(getattr(one, name) for name in _SET)


def _drawn(entry: Entry, decided: Decided, secret: bytes) -> bool:
    """Whether the law and the secret make the probabilities, the choice, what was held back, and the shadow."""
    kept = [place for place in range(len(decided.actions)) if place not in set(decided.excluded)]
    chance = decided.mode, decided.exploration, decided.holdback
    try:
        numbers = draws(secret, entry.id, decided.erasure)
        again = draw(numbers, decided.law, kept, decided.baseline, len(decided.actions), *chance)
    except (ValueError, IndexError, OverflowError):
        return False
    return tuple(again) == (decided.probabilities, decided.chosen, decided.held, decided.shadow)
