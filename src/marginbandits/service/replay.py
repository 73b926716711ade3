"""Everything again, from the journal alone: its chain, every decision, and the model.

- every entry is chained to the one before, and its body is the one that was chained;
- every decision's law is what the model of its policy gives after the events it says it had learnt; its probabilities
  are made from that law, and its choice from them and the loop's secret;
- the latest model that was kept is, byte for byte, the one that the journal makes.

Decisions of models from before the last erasure of their loop rest on events that are gone: their laws cannot be made
again, and are counted as such. Laws are compared to the last bit, which holds on the kind of processor that decided.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from marginbandits.service.draws import draw, draws
from marginbandits.service.join import Closed, Joiner
from marginbandits.service.journal import CHANGES, DECISION, ERASURE, POLICY, START, Entry, Journal, unbroken
from marginbandits.service.loop import Checkpoint, read
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Policy, decode

__all__ = ["Verdict", "verified"]

MOST = 20
"""Faults that are told one by one."""


class Verdict(msgspec.Struct):
    """What was looked at, and what is wrong with it."""

    entries: int = 0
    decisions: int = 0
    laws: int = 0
    erased: int = 0
    models: dict[str, str] = {}
    faults: list[str] = []
    n_faults: int = 0

    def fault(self, what: str) -> None:
        """One more thing that is not as it should be."""
        self.n_faults += 1
        if len(self.faults) < MOST:
            self.faults.append(what)


def verified(journal: Journal) -> Verdict:
    """The verdict on a journal; where its chain is broken, on that alone."""
    verdict = Verdict()
    _chain(journal, verdict)
    if verdict.n_faults:
        return verdict  # what is made from entries that are not what they were says nothing
    for loop in dict.fromkeys(one.loop for one in journal.changes()):
        _decisions(journal, loop, verdict)
    return verdict


def _chain(journal: Journal, verdict: Verdict) -> None:
    before, seq, at = START, 0, 0
    for entry in read(journal):
        verdict.entries += 1
        if entry.seq != seq + 1:
            verdict.fault(f"entries {seq + 1} to {entry.seq - 1} are missing")
        if entry.at <= at:
            verdict.fault(f"entry {entry.seq} is not later than the one before")
        if not unbroken(before, entry):
            verdict.fault(f"entry {entry.seq} ({entry.kind} of {entry.loop!r}) is not what was written")
        before, seq, at = entry.sha256, entry.seq, entry.at


def _decisions(journal: Journal, loop: str, verdict: Verdict) -> None:
    """Each by the model it says it was made by."""
    changes = [one for one in journal.changes() if one.loop == loop and one.kind in CHANGES]
    last_erasure = max((one.seq for one in changes if one.kind == ERASURE), default=0)
    waiting: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    secret = journal.fact(f"secret/{loop}") or b""
    for entry in read(journal):
        if entry.kind == DECISION and entry.loop == loop:
            verdict.decisions += 1
            decided = None if entry.body is None else decode(Decided, entry.body)
            if decided is None or decided.erasure < last_erasure:
                verdict.erased += 1
                continue
            _drawn(entry, decided, secret, verdict)
            waiting[decided.policy][decided.learnt].append(entry.seq)
    kept = _checkpoint(journal, loop)
    for one in changes:
        if one.kind == POLICY and one.body is not None:
            policy = decode(Policy, one.body)
            _policy(journal, loop, policy, waiting.pop(policy.number, {}), kept, verdict)
    for number, some in waiting.items():
        for seq in (seq for seqs in some.values() for seq in seqs):
            verdict.fault(f"entry {seq} was decided by policy {number}, which {loop!r} never had")


def _policy(
    journal: Journal,
    loop: str,
    policy: Policy,
    waiting: dict[int, list[int]],
    kept: Checkpoint | None,
    verdict: Verdict,
) -> None:
    if not waiting and (kept is None or kept.policy != policy.number):
        return
    model = Model(policy)

    def look() -> None:
        for seq in waiting.pop(model.learnt, ()):
            (entry,) = journal.entries(seq - 1, 1)
            decided = decode(Decided, entry.body or b"{}")
            left_out = set(decided.excluded)
            law, _ = model.law(decided.context, [o for k, o in enumerate(decided.actions) if k not in left_out])
            verdict.laws += 1
            if law != decided.law:
                made = f"{policy.number}.{model.learnt}"
                verdict.fault(f"entry {seq} ({entry.id[:80]!r}) has a law that model {made} does not give")
        if kept is not None and kept.policy == policy.number and kept.learnt == model.learnt:
            verdict.models[loop] = model.dumps()[1]
            if verdict.models[loop] != kept.sha256:
                verdict.fault(f"the model kept of {loop!r} is not the one that the journal makes")

    look()
    for closed in _closed(journal, loop):
        if closed.seq > policy.since:
            model.learn(closed)
            look()
    for learnt, seqs in waiting.items():
        verdict.fault(f"{len(seqs)} decisions say that {learnt} events were learnt, which had not closed")


def _closed(journal: Journal, loop: str) -> Iterator[Closed]:
    joiner = Joiner(loop)
    for entry in read(journal):
        yield from joiner.observe(entry)


def _drawn(entry: Entry, decided: Decided, secret: bytes, verdict: Verdict) -> None:
    """Probabilities by the law, and the choice by these."""
    kept = [place for place in range(len(decided.actions)) if place not in set(decided.excluded)]
    chance = decided.mode, decided.exploration, decided.holdback
    again = draw(draws(secret, entry.id), decided.law, kept, decided.baseline, len(decided.actions), *chance)
    if (again.probabilities, again.chosen) != (decided.probabilities, decided.chosen):
        verdict.fault(f"entry {entry.seq} ({entry.id[:80]!r}) was not drawn from the law it has")


def _checkpoint(journal: Journal, loop: str) -> Checkpoint | None:
    kept = journal.fact(f"checkpoint/{loop}")
    return None if kept is None else msgspec.msgpack.decode(kept, type=Checkpoint)
