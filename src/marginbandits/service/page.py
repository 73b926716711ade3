"""The page: what a loop does and whether it helps, for people; HTML made here, without scripts, from sums in memory.

    /                        all loops, or the only one
    /page/{loop}             one loop; with ?every=10 it comes again by itself
    /page/{loop}/event?id=   one decision: its context, all probabilities, rewards, and what the model of now says of it

A browser asks for the key as a password, whatever the user's name. Of contexts nothing is shown but the values of a
segment; on the page of one decision, its own.
"""

import base64
import functools
import hashlib
from collections.abc import Callable, Iterable
from html import escape
from importlib import resources
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from marginbandits.service import page_parts as parts
from marginbandits.service.core import Service
from marginbandits.service.door import Door, RefusedError
from marginbandits.service.journal import now
from marginbandits.service.loop import Loop
from marginbandits.service.page_charts import figures
from marginbandits.service.page_event import event_page
from marginbandits.service.page_front import alarms_of_all, front_page
from marginbandits.service.series import found
from marginbandits.service.wording import Units, count, moment, share, verdict

__all__ = ["loop_page", "page_routes", "whole"]

SLOWEST = 3600
_ASKS = "; a browser asks for a name, which may be any, and for a password, which is the key"
_FRONT = '<nav><a href="/">All loops</a></nav>'


@functools.cache
def _style() -> tuple[str, str]:
    """The style, and what says that it is this one and no other."""
    text = resources.files("marginbandits.service").joinpath("page.css").read_text(encoding="utf-8")
    return text, base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def whole(title: str, body: Iterable[str], status: int = 200, every: int | None = None) -> Response:
    """A page: nothing runs on it, nothing is fetched by it, nobody frames it, nobody keeps it."""
    style, digest = _style()
    again = f'<meta http-equiv="refresh" content="{every}">' if every else ""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>{again}'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body>{''.join(body)}</body></html>"
    )
    headers = {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(text.encode("utf-8", "replace"), status, headers, media_type="text/html; charset=utf-8")


def loop_page(service: Service, loop: Loop, every: int | None = None) -> Response:
    """All that there is to see of a loop."""
    seen, settings, name = loop.watch.look(), loop.settings, escape(loop.name)
    units, means = Units(seen.reward_range), found([seen.stand])[0]
    first, middle, last = verdict(settings, means, units, seen.imitated / seen.shadowed if seen.shadowed else None)
    stressed = f' <b class="{middle.rpartition(" ")[2]}">{middle}</b>' if middle else ""
    address = f"/page/{quote(loop.name, safe='')}"
    again = f'<a href="{address}">no more</a>' if every else f'<a href="{address}?every=10">every 10 seconds</a>'
    held = f", {share(settings.holdback)} held back" if settings.mode == "Online" else ""  # else all is the baseline
    explored = f", {share(settings.exploration)} explored evenly" if settings.exploration else ""
    since = f", since their range, or the share held back, changed at {moment(seen.since)} UTC" if seen.anew else ""
    body = [
        f"{_FRONT * (len(service.loops) > 1)}<h1>{name}</h1>",
        f'<p class="note">{settings.mode}{held}{explored}; '
        f"{count(seen.decisions, 'decision')}; as of {moment(now())} UTC. Reload {again}.</p>",
        parts.alarms(_alarms(service, loop)),
        f'<p class="verdict">{first}{stressed}{escape(last)}</p>',
        parts.tiles(means, units, settings.mode == "Online"),
        figures(seen, units, now()),
        '<p class="note">Each interval is of a mean reward so far, and with probability 95% right at all times: one '
        f"may look, and stop, whenever one likes. What counts are events whose windows are over{since}; those decided "
        "Online, and those where the baseline was served always, apart. Where weights are used, every event says "
        "something of both sides: the difference is known better than by taking one mean from the other, and need not "
        "be exactly that.</p>",
    ]
    if len(seen.policies) > 1:
        body += ["<h2>Policies</h2>", parts.by_policy(seen, units, service.policies(loop.name))]
    if seen.decisions:
        body += ["<h2>Actions</h2>", parts.by_action(seen, units, now())]
        if seen.segment is not None:
            body += [f"<h2>Segments: {escape(seen.segment or '')}</h2>", parts.by_segment(seen, units)]
    repeated = sum(n for (of, _), n in list(service.repeated.items()) if of == loop.name)
    body += ["<h2>Join</h2>", parts.health(loop, repeated), "<h2>Model</h2>", parts.model(loop, seen, now())]
    body += ["<h2>Draws</h2>", parts.draws(loop.watch.audit)]
    if seen.recent:
        body += ["<h2>Last decisions</h2>", parts.last_decisions(seen, units, loop.name)]
    return whole(loop.name, body, every=every)


def _alarms(service: Service, loop: Loop) -> list[str]:
    draws = "What was chosen does not follow the probabilities that were told: trust no number below."
    return [*alarms_of_all(service), *([draws] if loop.watch.audit.alarmed else [])]


def _refused(error: RefusedError) -> Response:
    told = f"{error.message}{_ASKS * (error.status == 401)}"
    body = f"{_FRONT}<h1>{error.status}</h1><p>{escape(told)}</p>"
    answer = whole(str(error.status), [body], error.status)
    if error.status == 401:
        answer.headers["WWW-Authenticate"] = 'Basic realm="marginbandits: the key is the password", charset="UTF-8"'
    return answer


def page_routes(service: Service, door: Door) -> list[Route]:
    """The three addresses."""

    def front(request: Request) -> Response:
        own = door.admit(request, "read", None)
        loops = [one for name, one in sorted(service.loops.items()) if own in (None, name)]
        if len(loops) == 1:
            return RedirectResponse(f"/page/{quote(loops[0].name, safe='')}")
        return whole("Loops", front_page(service, loops))

    def one_loop(request: Request) -> Response:
        name = request.path_params["loop"]
        door.admit(request, "read", name)
        every = request.query_params.get("every", "")
        every_s = min(max(int(every), 2), SLOWEST) if every.isdecimal() and every.isascii() and len(every) < 6 else None
        return loop_page(service, service.loop(name), every_s)

    def one_event(request: Request) -> Response:
        name = request.path_params["loop"]
        door.admit(request, "read", name)
        body = event_page(service, service.loop(name), request.query_params.get("id", ""))
        return whole(f"A decision of {name}", body)

    table = {"/": front, "/page/{loop}": one_loop, "/page/{loop}/event": one_event}
    return [Route(path, _endpoint(door, made), methods=["GET"]) for path, made in table.items()]


def _endpoint(door: Door, made: Callable[[Request], Response]) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        async def act() -> Response:
            return await run_in_threadpool(made, request)

        return await door.answered(act, _refused)

    return endpoint
