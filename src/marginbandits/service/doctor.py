"""What a journal holds, whether it is whole, and what deserves a look: quick, and without a running service."""

from collections import Counter
from dataclasses import dataclass, field

from marginbandits.service.audit import Audit
from marginbandits.service.checkpoint import DamagedError, opened
from marginbandits.service.gone import Gone
from marginbandits.service.join import Joiner
from marginbandits.service.journal import DECISION, ERASURE, PAST, START, TICK, Journal, JournalError, now, unbroken
from marginbandits.service.keys import Keys
from marginbandits.service.loop import read
from marginbandits.service.records import Decided
from marginbandits.service.watch import Watch
from marginbandits.service.wording import count, share

__all__ = ["Report", "looked_at"]

_MANY, _SHOWN = 0.05, 10
_UNJOINED = {
    "late": "they came after their windows, and are not learnt, so actions look worse by up to as much; a longer "
    "window counts more of them, and all events are learnt later",
    "orphans": "their events were never decided here",
}
"""Rewards that count for nothing, and why."""


@dataclass
class Report:
    """Lines of facts, advice, and whether something is broken."""

    lines: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    ill: bool = False


def looked_at(journal: Journal) -> Report:
    """The report on a journal, as it is at one moment."""
    with journal.still() as still:
        return _looked_at(still)


def _looked_at(journal: Journal) -> Report:
    report, before = Report(), START
    altered: list[int] = []
    joiners: dict[str, Joiner] = {}
    audits: dict[str, Audit] = {}
    kinds: dict[str, Counter[str]] = {}
    sure: Counter[str] = Counter()
    total = ticks = last = wiped = 0
    gone = _gone(journal, report)
    for entry in read(journal):
        total, ticks = total + 1, ticks + (entry.kind == TICK)
        whole = unbroken(before, entry)
        before = entry.sha256
        if not whole:
            altered.append(entry.seq)
            continue  # whatever it says now
        last = entry.at
        wiped += entry.body is None and gone is not None and not gone.by(entry)
        if entry.loop and entry.loop not in joiners:
            joiners[entry.loop], audits[entry.loop], kinds[entry.loop] = Joiner(entry.loop), Audit(), Counter()
        for joiner in joiners.values():
            joiner.observe(entry)
        if entry.loop:
            kinds[entry.loop][entry.kind] += 1
            kinds[entry.loop]["erased"] += entry.body is None and entry.kind in (DECISION, PAST)
            kinds[entry.loop]["erased decisions"] += entry.body is None and entry.kind == DECISION
        if entry.kind == DECISION and entry.body is not None:
            decided = Joiner(entry.loop).read(Decided, entry)
            if decided is None:
                continue  # the loop's own joiner has counted it
            audits[entry.loop].observe(decided.probabilities, decided.chosen, [one.id for one in decided.actions])
            sure[entry.loop] += max(decided.probabilities) >= 1.0
        elif entry.kind == ERASURE:
            audits[entry.loop] = Audit()  # those who went may have been chosen by what was drawn
    chain = "the chain is whole" if not altered else f"{len(altered):,} of them altered"
    report.lines.append(f"{total:,} entries, {ticks:,} of them ticks of the clock; {chain}")
    report.advice += journal.careless
    report.ill |= bool(altered or wiped)
    if altered:
        shown, more = ", ".join(map(str, altered[:_SHOWN])), len(altered) - _SHOWN
        told = f"{'entry' if len(altered) == 1 else 'entries'} {shown}{f' and {more:,} more' * (more > 0)}"
        report.advice.append(f"{told}: not what was written; a backup that is whole has it")
    if wiped:
        report.advice.append(f"{wiped:,} events are gone, and no erasure names them")
    if last > now() + 60_000_000:
        report.advice.append("the newest entry is of the future: the clock has gone back, and windows close late")
    for name, joiner in joiners.items():
        if type(journal.fact(f"secret/{name}")) is not bytes:
            report.ill = True
            report.advice.append(f"{name}: its secret is not what was written: no draw can be made again")
        alarmed = audits[name].alarmed or _alarmed(journal, name, report)
        _loop(name, joiner, alarmed, kinds[name], sure[name], report)
    try:
        keys = Keys(journal).all()
    except JournalError as error:
        report.ill, keys = True, []
        report.advice.append(str(error))
    report.lines.append(f"{len(keys)} key{'s' * (len(keys) != 1)}")
    if not keys:
        report.advice.append("there are no keys: only this machine is served")
    return report


def _gone(journal: Journal, report: Report) -> Gone | None:
    try:
        return Gone(journal.changes())
    except (ValueError, TypeError):
        report.ill = True
        report.advice.append("an erasure cannot be read: who was to be forgotten is not known")
        return None


def _alarmed(journal: Journal, name: str, report: Report) -> bool:
    """Whether the service's own test was, which has seen those who were erased since."""
    kept = journal.fact(f"checkpoint/{name}")
    if kept is None:
        return False
    try:
        checkpoint = opened(kept)
        checkpoint.follows(journal, name)
        checkpoint.forgets(journal, name, journal.changes())
        return Watch.loads(checkpoint.watch).audit.alarmed
    except (DamagedError, JournalError, ValueError) as error:
        report.ill = True
        report.advice.append(f"{name}: what was kept of it is not sound: {error}")
        return False


def _loop(name: str, joiner: Joiner, alarmed: bool, kinds: Counter[str], sure: int, report: Report) -> None:
    counts, n = joiner.counts, kinds[DECISION] - kinds["erased decisions"]
    closed = counts["rewarded"] + counts["default"] + counts["inactive"]
    became = ", ".join(f"{n_kind:,} {kind}" for kind, n_kind in sorted(counts.items()) if n_kind)
    erased = f", {count(kinds['erased'], 'event')} erased and in none of these sums" if kinds["erased"] else ""
    report.lines.append(f"{name}: {n:,} decisions, {joiner.n_open:,} open; {became or 'nothing has closed'}{erased}")
    if alarmed:
        report.ill = True
        report.advice.append(f"{name}: draws do not follow the probabilities that were logged")
    came = counts["rewarded"] + counts["late"] + counts["orphans"]
    if closed >= 100 and not came:
        report.advice.append(f"{name}: no reward has ever come; are they sent?")
    for kind, why in _UNJOINED.items():
        if counts[kind] > _MANY * max(came, 20):
            part = f"{share(counts[kind] / came)} of rewards ({counts[kind]:,} of {came:,})"
            report.advice.append(f"{name}: {part} are {kind}: {why}")
    if counts["unreadable"]:
        report.ill = True
        report.advice.append(f"{name}: {counts['unreadable']:,} events cannot be read, and are not learnt")
    if counts["clipped"]:
        report.advice.append(f"{name}: {counts['clipped']:,} rewards are beyond reward_range")
    if n >= 100 and sure > 0.9 * n:
        report.advice.append(f"{name}: nearly all decisions were certain: nothing can be judged from them afterwards")
