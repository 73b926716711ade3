"""What a journal holds, whether it is whole, and what deserves a look: quick, and without a running service."""

from collections import Counter
from dataclasses import dataclass, field

from marginbandits.service.audit import Audit
from marginbandits.service.checkpoint import DamagedError, opened
from marginbandits.service.join import Joiner
from marginbandits.service.journal import DECISION, ERASURE, START, TICK, Journal, JournalError, now, unbroken
from marginbandits.service.keys import Keys
from marginbandits.service.loop import read
from marginbandits.service.records import Decided, decode
from marginbandits.service.watch import Watch

__all__ = ["Report", "looked_at"]

_MANY = 0.05


@dataclass
class Report:
    """Lines of facts, advice, and whether something is broken."""

    lines: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    ill: bool = False


def looked_at(journal: Journal) -> Report:
    """The report on a journal."""
    report, before, broken = Report(), START, 0
    joiners: dict[str, Joiner] = {}
    audits: dict[str, Audit] = {}
    kinds: dict[str, Counter[str]] = {}
    sure: Counter[str] = Counter()
    total = ticks = last = 0
    for entry in read(journal):
        total, ticks = total + 1, ticks + (entry.kind == TICK)
        broken += not unbroken(before, entry)
        before, last = entry.sha256, entry.at
        if entry.loop and entry.loop not in joiners:
            joiners[entry.loop], audits[entry.loop], kinds[entry.loop] = Joiner(entry.loop), Audit(), Counter()
        for joiner in joiners.values():
            joiner.observe(entry)
        if entry.loop:
            kinds[entry.loop][entry.kind] += 1
        if entry.kind == DECISION and entry.body is not None:
            decided = decode(Decided, entry.body)
            audits[entry.loop].observe(decided.probabilities, decided.chosen, [one.id for one in decided.actions])
            sure[entry.loop] += max(decided.probabilities) >= 1.0
        elif entry.kind == ERASURE:
            audits[entry.loop] = Audit()  # those who went may have been chosen by what was drawn
    whole = "the chain is whole" if not broken else f"{broken:,} of them altered"
    report.lines.append(f"{total:,} entries, {ticks:,} of them ticks of the clock; {whole}")
    report.ill = bool(broken)
    if last > now() + 60_000_000:
        report.advice.append("the newest entry is of the future: the clock has gone back, and windows close late")
    for name, joiner in joiners.items():
        alarmed = audits[name].alarmed or _alarmed(journal, name, report)
        _loop(name, joiner, alarmed, kinds[name], sure[name], report)
    keys = Keys(journal).all()
    report.lines.append(f"{len(keys)} key{'s' * (len(keys) != 1)}")
    if not keys:
        report.advice.append("there are no keys: only this machine is served")
    return report


def _alarmed(journal: Journal, name: str, report: Report) -> bool:
    """Whether the service's own test was, which has seen those who were erased since."""
    kept = journal.fact(f"checkpoint/{name}")
    if kept is None:
        return False
    try:
        checkpoint = opened(kept)
        checkpoint.follows(journal, name)
        return Watch.loads(checkpoint.watch).audit.alarmed
    except (DamagedError, JournalError, ValueError) as error:
        report.ill = True
        report.advice.append(f"{name}: what was kept of it is not sound: {error}")
        return False


def _loop(name: str, joiner: Joiner, alarmed: bool, kinds: Counter[str], sure: int, report: Report) -> None:
    counts, n = joiner.counts, kinds[DECISION]
    closed = counts["rewarded"] + counts["default"] + counts["inactive"]
    became = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()) if count)
    report.lines.append(f"{name}: {n:,} decisions, {joiner.n_open:,} open; {became or 'nothing has closed'}")
    if alarmed:
        report.ill = True
        report.advice.append(f"{name}: draws do not follow the probabilities that were logged")
    came = counts["rewarded"] + counts["late"] + counts["orphans"]
    if closed >= 100 and not came:
        report.advice.append(f"{name}: no reward has ever come; are they sent?")
    for kind, why in (("late", "the window is too short"), ("orphans", "their events were never decided here")):
        if counts[kind] > _MANY * max(came, 20):
            report.advice.append(f"{name}: {counts[kind]:,} of {came:,} rewards are {kind}: {why}")
    if counts["clipped"]:
        report.advice.append(f"{name}: {counts['clipped']:,} rewards are beyond reward_range")
    if n >= 100 and sure > 0.9 * n:
        report.advice.append(f"{name}: nearly all decisions were certain: nothing can be judged from them afterwards")
