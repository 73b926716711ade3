"""The page of one decision: what was offered with which probabilities, what it was worth, what the model says now."""

from html import escape
from urllib.parse import quote

import msgspec

from marginbandits.learners.adding import Added
from marginbandits.service.charts import bar
from marginbandits.service.core import Service, UnknownError
from marginbandits.service.join import EARLY, Closed, Joiner
from marginbandits.service.journal import REWARD, Entry, Journal
from marginbandits.service.loop import AT_ONCE, Loop
from marginbandits.service.page_parts import table
from marginbandits.service.records import Decided, Rewarded, decode
from marginbandits.service.wording import Units, count, moment, share

__all__ = ["event_page"]

MOST_PARTS, LONGEST = 5, 20_000
"""Entries that are shown with what they add to a prediction; characters of a context."""
_PARTS = (
    '<p class="note">A prediction is what it would be where all is as usual, and what each entry adds to that: in '
    "place of what is usual there, which is a category's others, a number's mean, no such word. What entries do "
    "together is shared between them. An entry of the context is named as it is there, one within another by both, as "
    "in user.country; one of the action as in action's price. What counts in a decision is how actions differ.</p>"
)


def event_page(service: Service, loop: Loop, event: str) -> list[str]:
    """All of it; an event that is not there, or was erased, is unknown."""
    entry = None if "\0" in event else service.journal.find(loop.name, event)
    if entry is None or entry.body is None:
        raise UnknownError(f"there is no event {event[:80]!r}")
    decided = decode(Decided, entry.body)
    units = Units(decided.reward_range)
    spoken = [*_early(service.journal, entry), *service.journal.of(entry.seq)]
    rewards = [
        f"{units.raw(decode(Rewarded, one.body).value)} at {moment(one.at)} UTC"
        for one in spoken
        if one.kind == REWARD and one.body is not None
    ]
    rewarded = "; ".join(rewards) if rewards else "none has come"
    joined = _joined(service.journal, entry, spoken, units)
    return [
        f'<nav><a href="/page/{quote(loop.name, safe="")}">{escape(loop.name)}</a></nav>',
        f"<h1>A decision</h1><p><code>{escape(event)}</code></p>",
        f'<p class="note">{moment(entry.at)} UTC, {decided.mode}, policy {decided.policy} after {decided.learnt:,} '
        f"events; {_why(decided)}.</p>",
        f'<p>{joined} <span class="note">Rewards: {rewarded}.</span></p>',
        f"<h2>What was known</h2><pre>{escape(_written(decided.context))}</pre>",
        "<h2>What was offered</h2>",
        _offered(decided),
        _explained(loop, decided, units),
    ]


def _early(journal: Journal, entry: Entry) -> list[Entry]:
    """What spoke of a decision before it was there."""
    found: list[Entry] = []
    before = entry.seq
    while before > 1:
        some = journal.entries(max(before - 1 - AT_ONCE, 0), AT_ONCE, before - 1)
        found = [one for one in some if (one.loop, one.id) == (entry.loop, entry.id)] + found
        if not some or some[0].at + EARLY < entry.at:
            break
        before = some[0].seq
    return [one for one in found if one.of is None and one.at + EARLY > entry.at]


def _joined(journal: Journal, entry: Entry, spoken: list[Entry], units: Units) -> str:
    """What it was worth in the end, by the same rules as what is learnt."""
    joiner, last = Joiner(entry.loop), journal.last()
    for one in sorted([entry, *spoken], key=lambda one: one.seq):
        for closed in joiner.observe(one):
            return _closed(closed, units)
    until = joiner.next_close or 0
    for closed in joiner.advance(0 if last is None else last.at):
        return _closed(closed, units)
    return f"Its window is open until {moment(until)} UTC."


def _closed(closed: Closed, units: Units) -> str:
    if closed.reason == "inactive":
        return "It was deferred, and not activated: it is not learnt."
    what = "the default, as none came" if closed.reason == "default" else f"by {closed.decided.aggregation}"
    return f"Its reward is <b>{units.raw(closed.reward)}</b>, {what}{', cut to the range' if closed.clipped else ''}."


def _written(context: object) -> str:
    """A context as JSON."""
    text = msgspec.json.format(msgspec.json.encode(context), indent=2).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters"


def _why(decided: Decided) -> str:
    if decided.mode != "Online":
        would = (
            ""
            if decided.shadow < 0
            else f", the learner would have chosen {escape(decided.actions[decided.shadow].id)}"
        )
        return f"the baseline is served always{would}"
    return "held back: the baseline is served" if decided.held else "drawn by these probabilities"


def _offered(decided: Decided) -> str:
    order = sorted(range(len(decided.actions)), key=lambda place: (-decided.probabilities[place], place))
    rows = []
    for place in order:
        marks = [word for word, on in _marks(decided, place) if on]
        name = escape(decided.actions[place].id)
        p = decided.probabilities[place]
        rows.append(
            [
                f"<b>{name}</b>" if place == decided.chosen else name,
                f'<td class="text left">{", ".join(marks)}</td>',
                f'<td class="plot">{bar(p, "bandit")}</td>',
                share(p),
            ]
        )
    return table(("Action", "<th></th>", '<th class="plot"></th>', "Probability"), rows)


def _marks(decided: Decided, place: int) -> list[tuple[str, bool]]:
    excluded = place in decided.excluded
    return [("chosen", place == decided.chosen), ("baseline", place == decided.baseline), ("excluded", excluded)]


def _entry(name: str) -> str:
    """An entry as it was sent: the learner has the context under user, and what was offered under action and id.

    >>> _entry("user.device=phone"), _entry("user.user.country=fr"), _entry("action.price"), _entry("id=hat")
    ('device=phone', 'user.country=fr', "action's price", "action's id=hat")
    """
    space, dot, rest = name.partition(".")
    if space == "user" and dot:
        return rest
    return f"action's {rest if space == 'action' and dot else name}"


def _explained(loop: Loop, decided: Decided, units: Units) -> str:
    """What the model of now predicts, and what that adds up from."""
    offered = [one for place, one in enumerate(decided.actions) if place not in decided.excluded]
    head = "<h2>What the model says of it now</h2>"
    try:
        several = loop.model.explain(decided.context, offered)
    except ValueError as error:
        return f'{head}<p class="note">Nothing: {escape(str(error))}.</p>'
    rows = [
        [
            escape(str(one.action)),
            f'<td data-label="As usual">{units.raw(one.start)}</td>',
            f'<td data-label="What is added" class="text wide">{_added(one, units)}</td>',
            f'<td data-label="Predicted reward"><b>{units.raw(one.predicted)}</b></td>',
        ]
        for one in several
    ]
    columns = ("Action", "As usual", '<th scope="col" class="left">What is added</th>', "Predicted reward")
    return f"{head}{_outside(several, decided.reward_range, units)}{table(columns, rows, 'cards')}{_PARTS}"


def _added(one: Added, units: Units) -> str:
    """The largest parts by name, the others together."""
    told = [f"{escape(_entry(entry))} {_signed(part, units)}" for entry, part in one.parts[:MOST_PARTS]]
    if more := one.parts[MOST_PARTS:]:
        told.append(f"{count(len(more), 'other')} {_signed(sum(part for _, part in more), units)}")
    return ", ".join(told) or "nothing"


def _signed(part: float, units: Units) -> str:
    return f"{'+' * (part > 0)}{units.raw(part)}"


def _outside(several: list[Added], reward_range: tuple[float, float], units: Units) -> str:
    """That a prediction is none that a reward can be, if one is."""
    low, high = reward_range
    if all(low <= one.predicted <= high for one in several):
        return ""
    return (
        f"<p>A reward is from {units.raw(low)} to {units.raw(high)}, and some of these predictions are not: a sum over "
        "entries is not cut to it. Read such a one as very low, or very high.</p>"
    )
