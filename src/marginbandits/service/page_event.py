"""The page of one decision: what was offered with which probabilities, what it was worth, what the model says now."""

from html import escape
from urllib.parse import quote

from marginbandits.service.charts import bar
from marginbandits.service.core import Service, UnknownError
from marginbandits.service.journal import REWARD
from marginbandits.service.loop import Loop
from marginbandits.service.page_parts import table
from marginbandits.service.records import Decided, Rewarded, decode
from marginbandits.service.wording import Units, moment, share

__all__ = ["event_page"]

MOST_EFFECTS = 5


def event_page(service: Service, loop: Loop, event: str) -> list[str]:
    """All of it; an event that is not there, or was erased, is unknown."""
    entry = service.journal.find(loop.name, event)
    if entry is None or entry.body is None:
        raise UnknownError(f"there is no event {event[:80]!r}")
    decided = decode(Decided, entry.body)
    units = Units(decided.reward_range)
    rewards = [
        f"{units.raw(decode(Rewarded, one.body).value)} at {moment(one.at)} UTC"
        for one in service.journal.of(entry.seq)
        if one.kind == REWARD and one.body is not None
    ]
    rewarded = "; ".join(rewards) if rewards else "none has come"
    return [
        f'<nav><a href="/page/{quote(loop.name, safe="")}">{escape(loop.name)}</a></nav>',
        f"<h1>A decision</h1><p><code>{escape(event)}</code></p>",
        f'<p class="note">{moment(entry.at)} UTC, {decided.mode}, policy {decided.policy} after {decided.learnt:,} '
        f"events; {_why(decided)}. Rewards: {rewarded}.</p>",
        _offered(decided),
        _explained(loop, decided, units),
    ]


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


def _explained(loop: Loop, decided: Decided, units: Units) -> str:
    """What the model of now predicts, and which entries of the context move it most."""
    offered = [one for place, one in enumerate(decided.actions) if place not in decided.excluded]
    head = "<h2>What the model says of it now</h2>"
    try:
        explanation = loop.model.explain(decided.context, offered)
    except ValueError as error:
        return f'{head}<p class="note">Nothing: {escape(str(error))}.</p>'
    rows = []
    for one in explanation.actions:
        moved = [
            f"{escape(entry)} {'+' * (effect > 0)}{units.raw(effect)}" for entry, effect in one.effects[:MOST_EFFECTS]
        ]
        rows.append(
            [
                escape(str(one.action)),
                f'<td data-label="Predicted reward">{units.raw(one.predicted)}</td>',
                f'<td data-label="Moved most by" class="text wide">{", ".join(moved)}</td>',
            ]
        )
    return head + table(
        ("Action", "Predicted reward", '<th scope="col" class="left">Moved most by</th>'), rows, "cards"
    )
