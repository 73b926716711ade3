"""The list of loops: of each what is served earns, whether the bandit earns more, who decides, and whether to worry."""

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from marginbandits.service.core import Service
from marginbandits.service.following import FAR_AHEAD
from marginbandits.service.loop import Loop
from marginbandits.service.page_parts import alarms, labelled, table
from marginbandits.service.series import found
from marginbandits.service.wording import UNKNOWN, Units, age, called, gained

__all__ = ["alarms_of_all", "front_page"]


def alarms_of_all(service: Service) -> list[str]:
    """What is wrong with the service, whichever loop."""
    told = []
    if service.failure is not None:
        told.append("Learning fails: decisions go on with the model there is. The server's log says why.")
    if service.ahead > FAR_AHEAD:
        told.append(f"The journal's clock is {age(round(service.ahead * 1e6))} ahead: until then no window closes.")
    return told


def front_page(service: Service, loops: Iterable[Loop]) -> list[str]:
    """All of them."""
    rows = [_row(one) for one in loops]
    if not rows:
        return ["<h1>Loops</h1><p>There are none yet: PUT /loops/{name} with {&quot;new&quot;: true} makes one.</p>"]
    head = ("Loop", *(f'<th scope="col" class="left">{one}</th>' for one in ("Mode", "Policy")), *_HEAD)
    return ["<h1>Loops</h1>", alarms(alarms_of_all(service)), table(head, rows, "cards loops"), _NOTE]


_HEAD = ("Decisions", "Reward", "Bandit less baseline")
_NOTE = (
    '<p class="note">Rewards, with intervals that are right at all times with probability 95%, are the bandit\'s or, '
    "where a loop is not Online, the baseline's, which is served always. The difference is from the holdback, or from "
    "what the baseline would have earned where nothing is held back.</p>"
)


def _row(loop: Loop) -> list[str]:
    seen, settings = loop.watch.look(), loop.settings
    units, means = Units(seen.reward_range), found([seen.stand])[0]
    served = means.bandit if settings.mode == "Online" else means.served
    between = f"<small>{units.between(served, units.reward)}</small>"
    told, which = gained(means.lift, units)
    lift = f'<b class="{which}">{told}</b>' if which else f"{UNKNOWN} <small>{told}</small>"
    mark = ' <b class="less">alarm: its draws</b>' if loop.watch.audit.alarmed else ""
    return [
        f'<a href="/page/{quote(loop.name, safe="")}"><b>{escape(loop.name)}</b></a>{mark}',
        labelled("Mode", settings.mode, "text"),
        labelled("Policy", f"{loop.model.policy.number} {escape(called(loop.model.policy))}", "text"),
        labelled("Decisions", f"{seen.decisions:,}"),
        labelled("Reward", f"{units.reward(served.value)} {between}" if served.n else "no data yet"),
        labelled("Bandit less baseline", lift if means.lift.n else "no data yet"),
    ]
