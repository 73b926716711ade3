"""The parts of a loop's page, each a piece of HTML; whatever came from outside is escaped here."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from urllib.parse import quote

import msgspec

from marginbandits.service.audit import ALARM, Audit
from marginbandits.service.charts import bar
from marginbandits.service.loop import Loop
from marginbandits.service.records import Policy
from marginbandits.service.running import Interval, intervals
from marginbandits.service.series import MINUTE, Means
from marginbandits.service.tallies import LIVE, NONE, Table, Tally
from marginbandits.service.watch import Recent, Seen
from marginbandits.service.wording import UNKNOWN, Units, age, called, count, gained, moment, share

__all__ = [
    "alarms",
    "by_action",
    "by_policy",
    "by_segment",
    "draws",
    "health",
    "labelled",
    "last_decisions",
    "model",
    "table",
    "tiles",
]

_ACTIONS = "cards actions"
SHOWN_ACTIONS, SHOWN_DECISIONS, LIKELY = 30, 10, 3
_LEFT = '<th scope="col" class="left">{}</th>'
_WHY = (
    '<p class="note">Likeliest: the learner\'s first choice; explored: another one; held back: the baseline, to '
    "compare with; all alike: the learner prefers none; nothing learnt: nor could it yet. A model is its policy, and "
    "how many events that had learnt.</p>"
)
_SEGMENTS = (
    '<p class="note">Mean rewards with their intervals, each right at all times with probability 95%, and of how many '
    "closed events. Of many segments, some look better or worse by chance: one interval in twenty may be wrong. "
    "Likeliest actions are three of those that are offered now, by how likely each was where it was offered.</p>"
)
_HEALTH = {
    "rewarded": "a reward came within the window",
    "default": "none came, and the default counts",
    "inactive": "deferred and never activated: not learnt",
    "past": "of a log that warmed the loop: learnt, in no reward above, and nobody is judged by them",
    "late": "rewards after the window: kept, not learnt",
    "orphans": "rewards without a decision",
    "clipped": "rewards beyond their range, cut to it",
    "late activations": "activations after the window",
    "orphan activations": "activations without a decision",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML, the first of a row is its head; a cell that is one already stays as it is."""
    top = "".join(cell if cell.startswith("<th") else f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row" class="wide">{first}</th>{"".join(map(_cell, others))}</tr>' for first, *others in rows
    )
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _cell(cell: str) -> str:
    return cell if cell.startswith("<td") else f"<td>{cell}</td>"


def alarms(told: Iterable[str]) -> str:
    """What is wrong, before anything else."""
    return "".join(f'<p class="alarm" role="alert">{one}</p>' for one in told)


def tiles(means: Means, units: Units, online: bool) -> str:
    """Rewards, and the difference, with their intervals; where only the baseline is served, first what that earns."""
    bandit, held, baseline, lift, served = means
    told, which = gained(lift, units)
    shown = [
        _tile("bandit", "Bandit", bandit, units, count(bandit.n, "event")),
        _tile("held", "Holdback", held, units, f"{count(held.n, 'event')} held back"),
        _tile("base", "Always the baseline", baseline, units, "by weights, over all events"),
        _written(
            "lift",
            f"Bandit less {'holdback' if held.n else 'baseline'}",
            (units.gap(lift.value), units.between(lift, units.gap)) if which else (UNKNOWN, told),
            "by weights, over all events: not one tile less another",
            lift.n,
        ),
    ]
    if not online:  # of what was decided Online before, if anything was
        shown = [one for one, known in zip(shown, means, strict=False) if known.n]
        shown.insert(0, _tile("served", "Baseline, as served", served, units, count(served.n, "event")))
    return f'<div class="tiles">{"".join(shown)}</div>'


def _tile(kind: str, name: str, one: Interval, units: Units, note: str) -> str:
    return _written(kind, name, (units.reward(one.value), units.between(one, units.reward)), note, one.n)


def _written(kind: str, name: str, told: tuple[str, str], note: str, n: int) -> str:
    value, between = told if n else ("–", "no data yet")
    words = ' class="words"' if value == UNKNOWN else ""
    return (
        f'<div class="tile {kind}"><h3>{name}</h3><b{words}>{value}</b><span>{between}</span><span>{note}</span></div>'
    )


def by_policy(seen: Seen, units: Units, policies: Iterable[Policy]) -> str:
    """What each policy has earned while it decided, and less the baseline at the same events; the last first."""
    names, reigns = {one.number: called(one) for one in policies}, sorted(seen.policies.items(), reverse=True)
    found = intervals([running for _, one in reigns for running in (one.bandit, one.paired)])
    rows = [
        [
            f"{number} {escape(names.get(number, ''))}",
            labelled("Since, UTC", moment(one.first)[:16]),
            labelled("Decisions", f"{one.decisions:,}"),
            labelled("Reward", _told(reward, units, units.reward)),
            labelled("Less the baseline", _told(lift, units, units.gap)),
        ]
        for (number, one), reward, lift in zip(reigns, found[::2], found[1::2], strict=True)
    ]
    return table(("Policy", "Since, UTC", "Decisions", "Reward", "Less the baseline"), rows, "cards")


def _told(one: Interval, units: Units, words: Callable[[float], str]) -> str:
    return f"{words(one.value)} <small>{units.between(one, words)}</small>" if one.n else "–"


def by_action(seen: Seen, units: Units, now: int) -> str:
    """Traffic, probability, reward and last offer of the most frequent that are live; behind a line, of the others."""
    live, gone = seen.actions.ordered(seen.decisions)
    head = ("Action", "Traffic", '<th class="plot"></th>', "Mean probability", "Mean reward", "Last offered")
    total, rest = max(seen.decisions, 1), msgspec.structs.replace(seen.actions.rest)
    for _, one in live[SHOWN_ACTIONS:]:
        rest.join(one)
    cells = [_action(escape(name), one, total, units, now) for name, one in live[:SHOWN_ACTIONS]]
    if rest.chosen:
        name, part, plot, _, mean, last = _action("<i>all others</i>", rest, total, units, now)
        cells.append([name, part, plot, _labelled("Mean probability", "–"), mean, last])
    shown = table(head, cells, _ACTIONS)
    if not gone:
        return shown
    last = age(now - max(one.at for _, one in gone))
    told = f"and {count(len(gone), 'other')}, not in the last {LIVE:,} decisions: last offered {last} ago"
    rows = [_action(escape(name), one, total, units, now) for name, one in gone[:SHOWN_ACTIONS]]
    more = f'<p class="note">The most frequent {SHOWN_ACTIONS} of them.</p>' * (len(gone) > SHOWN_ACTIONS)
    return f"{shown}<details><summary>{told}</summary>{table(head, rows, _ACTIONS)}{more}</details>"


def _action(name: str, one: Tally, total: int, units: Units, now: int) -> list[str]:
    part = one.chosen / total
    probability = share(one.weight / one.offered) if one.offered else "–"
    ago = "–" if not one.at else "now" if now - one.at < MINUTE else f"{age(now - one.at)} ago"
    return [
        name,
        _labelled("Traffic", share(part)),
        f'<td class="plot">{bar(part, "bandit")}</td>',
        _labelled("Mean probability", probability),
        _labelled("Mean reward", _mean(one, units)),
        f'<td class="ago" data-label="Last offered">{ago}</td>',
    ]


def _labelled(label: str, words: str) -> str:
    """A cell that says what it is where there is no room for a head."""
    return f'<td data-label="{label}">{words}</td>'


def _mean(one: Tally, units: Units) -> str:
    return units.raw(one.reward / one.closed) if one.closed else "–"


def by_segment(seen: Seen, units: Units) -> str:
    """Traffic, both rewards, and the likeliest actions of each part."""
    path = f"<code>{escape(seen.segment or '')}</code>"
    if not seen.segments:
        return f'<p class="note">No decision has been made since the segment is {path}.</p>'
    if set(seen.segments) == {NONE}:
        return f'<p class="note">No context has a word or a number at {path}: is the segment spelt right?</p>'
    several = sorted(seen.segments.items(), key=lambda one: -one[1].decisions)
    total, rows = max(sum(one.decisions for _, one in several), 1), []
    found = intervals([running for _, one in several for running in (one.bandit, one.held)])
    for (name, one), bandit, held in zip(several, found[::2], found[1::2], strict=True):
        told = ", ".join(f"{escape(action)} {share(chance)}" for action, chance in _likely(one.table, seen.decisions))
        rows.append(
            [
                f"<b>{escape(name)}</b>",
                labelled("Decisions", f"{one.decisions:,} <small>{share(one.decisions / total)}</small>"),
                labelled("Bandit", _of(bandit, units)),
                labelled("Holdback", _of(held, units)),
                labelled("Likeliest actions", told, "text wide"),
            ]
        )
    head = ("Segment", "Decisions", "Bandit", "Holdback", _LEFT.format("Likeliest actions"))
    return table(head, rows, "cards") + _SEGMENTS


def _likely(table: Table, decisions: int) -> list[tuple[str, float]]:
    """Of the live actions that were likely most often the first few, by how likely each was where it was offered."""
    live, _ = table.ordered(decisions)
    often = sorted(live, key=lambda one: -one[1].weight)[:LIKELY]
    chances = [(action, row.weight / row.offered) for action, row in often if row.offered]
    return sorted(chances, key=lambda one: -one[1])


def _of(one: Interval, units: Units) -> str:
    return f"{_told(one, units, units.reward)} <small>of {one.n:,}</small>" if one.n else "–"


def labelled(label: str, cell: str, kind: str = "") -> str:
    """A cell that has its column's name with it where a table is shown as cards."""
    return f'<td data-label="{label}" class="{kind}">{cell}</td>'


def health(loop: Loop, repeated: int) -> str:
    """What became of events and rewards; and how many requests came again."""
    counts = dict(loop.joiner.counts)
    rows = [("open", loop.joiner.n_open, "their windows are not over")]
    rows += [(name, counts.get(name, 0), what) for name, what in _HEALTH.items()]
    rows.append(("repeated", repeated, "came again at this process since it started, and counted once"))
    parts = [f'<dt>{name}</dt><dd class="count">{n:,}</dd><dd class="what">{what}</dd>' for name, n, what in rows]
    return f"<dl>{''.join(parts)}</dl>"


def model(loop: Loop, seen: Seen, now: int) -> str:
    """Who decides, and how old what it knows is."""
    one, learnt = loop.model, "nothing yet"
    if seen.last_closed:
        learnt = f"{age(now - seen.last_closed)} ago"
    skipped = f", and learnt from all but {one.skipped:,}" if one.skipped else ""
    why = (
        '<p class="note">Not learnt from: events that were never activated, those decided in LoggingOnly, and those '
        "that the learner refuses.</p>"
    )
    return (
        f"<p>Policy {one.policy.number}, {escape(called(one.policy))}, has taken in {count(one.learnt, 'event')}"
        f"{skipped}; the last one closed: {learnt}.</p>{why if one.skipped else ''}"
    )


def draws(audit: Audit) -> str:
    """Whether what was chosen follows the probabilities that were written down."""
    if audit.alarmed:
        return f"<p>They do not follow their probabilities: the evidence is {audit.evidence:.3g}.</p>"
    return (
        "<p>What was chosen follows the probabilities that were told: the evidence against it is "
        f"{audit.evidence:,.2g}, the alarm is at {ALARM:,.0f}.</p>"
    )


def last_decisions(seen: Seen, units: Units, loop: str) -> str:
    """The newest first, the first few at once."""
    rows = [_decision(one, units, loop) for one in reversed(seen.recent)]
    action, second, why = (_LEFT.format(one) for one in ("Action", "Next likeliest", "Why"))
    head = ("Event, UTC", action, "Probability", second, why, "Model", "Reward")
    shown = table(head, rows[:SHOWN_DECISIONS], "cards last")
    shown += _WHY
    more = rows[SHOWN_DECISIONS:]
    if not more:
        return shown
    summary = f"<summary>{count(len(more), 'more decision')}</summary>"
    return f"{shown}<details>{summary}{table(head, more, 'cards last')}</details>"


def _decision(one: Recent, units: Units, loop: str) -> list[str]:
    address = f"/page/{quote(loop, safe='')}/event?id={quote(one.id, safe='')}"
    name = escape(one.id[:24]) + "…" * (len(one.id) > 24)
    second = "–" if one.runner_up is None else f"{escape(one.runner_up)} {share(one.second)}"
    reward = "open" if one.reason is None else one.reason if one.reward is None else units.raw(one.reward)
    return [
        f'<a href="{address}"><code>{name}</code></a> <small>{moment(one.at)[11:]}</small>',
        labelled("Action", f"<b>{escape(one.action)}</b>", "text"),
        labelled("Probability", share(one.probability)),
        labelled("Next likeliest", second, "text"),
        labelled("Why", f'<span class="why">{escape(one.why)}</span>', "text"),
        labelled("Model", f"{one.policy}.{one.learnt}"),
        labelled("Reward", reward),
    ]
