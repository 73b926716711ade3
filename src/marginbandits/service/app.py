"""The service's own interface over HTTP: one table of operations, of which routes and the OpenAPI document are made."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from marginbandits.service import openapi
from marginbandits.service.core import Service, UnknownError
from marginbandits.service.deploying import back_to, promote, turn
from marginbandits.service.door import Door, RefusedError, json_answer, problem
from marginbandits.service.evaluating import DECIDING, Rival, judged
from marginbandits.service.explaining import converted, decoded
from marginbandits.service.following import FAR_AHEAD
from marginbandits.service.journal import LostError
from marginbandits.service.keys import Scope
from marginbandits.service.logbook import LOG
from marginbandits.service.loop import Loop
from marginbandits.service.metrics import exposition
from marginbandits.service.model import A_POLICY, built
from marginbandits.service.page import page_routes
from marginbandits.service.personalizer import Personalizer
from marginbandits.service.records import Policy, consequences, named
from marginbandits.service.requests import (
    Activate,
    Answer,
    Ask,
    Candidate,
    Erasure,
    Judged,
    LoopState,
    Promotion,
    Receipt,
    Reward,
    Wanted,
)
from marginbandits.wording import quoted, suggestion

__all__ = ["application", "state"]


class SetLoop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a loop is to be: settings that are not named stay as they are; a policy, if it is to be another one.

    One that is not there is made only if it may be `new`: a loop cannot be deleted, and a name can be mistyped.
    """

    new: bool = False
    settings: Annotated[dict[str, Any], Meta(extra_json_schema={"$ref": "#/components/schemas/Settings"})] = {}
    policy: Wanted | None = None


class Back(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of a policy."""

    number: Annotated[int, Meta(ge=1)]


class Evaluate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Policies by a label of yours."""

    policies: Annotated[
        dict[str, Any],
        Meta(max_length=10, extra_json_schema={"additionalProperties": {"$ref": "#/components/schemas/Wanted"}}),
    ] = {}


class Erase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to forget."""

    unit: Annotated[str, Meta(min_length=1, max_length=256)]


class Health(msgspec.Struct, frozen=True):
    """Whether the service can be used: it writes, and learns. HTTP says 503 while either fails.

    `waiting` is for the disk, `behind` for the learner; `failure` is why one of them fails; `ahead` by how many seconds
    the journal's clock is ahead of the machine's: until that has caught up no window closes.
    """

    status: str
    waiting: int
    behind: int
    ahead: float
    failure: str | None


def state(loop: Loop, notes: Sequence[str] = ()) -> LoopState:
    """A loop as it is."""
    model, joiner = loop.model, loop.joiner
    return LoopState(
        name=loop.name,
        settings=loop.settings,
        policy=model.policy,
        learnt=model.learnt,
        counts=dict(joiner.counts),
        open=joiner.n_open,
        evidence_against_draws=min(loop.watch.audit.evidence, 1e300),
        notes=list(notes),
    )


class Operations:
    """What can be asked, each a coroutine of the decoded request."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def decide(self, name: str, ask: Ask, key: str | None) -> Answer:
        """Choose an action. The event, with its probabilities, is on disk before the answer leaves."""
        return await self.service.decide(name, ask, key)

    async def reward(self, name: str, reward: Reward, key: str | None) -> Receipt:
        """Say what an event was worth: at once or later, once or several times."""
        return await self.service.reward(name, reward.event_id, reward.value, reward.key or key)

    async def activate(self, name: str, activate: Activate, key: str | None) -> Receipt:
        """Say that a deferred decision was used."""
        return await self.service.activate(name, activate.event_id)

    async def loops(self, name: str, nothing: None, key: str | None) -> list[LoopState]:
        """All loops."""
        return [state(loop) for loop in list(self.service.loops.values())]

    async def loop(self, name: str, nothing: None, key: str | None) -> LoopState:
        """One loop."""
        return state(self.service.loop(name))

    async def set(self, name: str, wanted: SetLoop, key: str | None) -> LoopState:
        """Set a loop otherwise, in what is named; or make it, if it may be new. `notes` say what else that changes."""
        named(name)
        before = self.service.loops.get(name)
        if before is None and not wanted.new:
            raise UnknownError(f'there is no loop {name!r}: is it spelt so? To make it, say "new": true')
        was = None if before is None else before.settings
        policy = None
        if wanted.policy is not None:
            last = await run_in_threadpool(self.service.last_entry)
            deciding = Policy() if before is None else await run_in_threadpool(self.service.deciding, name)
            policy = wanted.policy.policy(last, deciding)
        loop = await run_in_threadpool(self.service.set, name, wanted.settings, policy)
        there = loop.joiner.n_open + loop.model.learnt > 0 and loop.watch.look().shadowed > 0
        imitates = there and (policy is None or policy.since == 0)
        return state(loop, [] if was is None else consequences(was, loop.settings, imitates=imitates))

    async def policies(self, name: str, nothing: None, key: str | None) -> list[Policy]:
        """All policies a loop ever had, in order; the last decides."""
        self.service.loop(name)
        return await run_in_threadpool(self.service.policies, name)

    async def candidate(self, name: str, candidate: Candidate, key: str | None) -> Promotion:
        """Judge a policy by the loop's journal, and promote it if it earns more; one that is forced is not judged."""
        return await run_in_threadpool(promote, self.service, name, candidate)

    async def back(self, name: str, wanted: Back, key: str | None) -> LoopState:
        """Let a policy of the past decide again."""
        await run_in_threadpool(back_to, self.service, name, wanted.number)
        return state(self.service.loop(name))

    async def evaluate(self, name: str, wanted: Evaluate, key: str | None) -> list[Judged]:
        """What policies would have earned; the one that decides, the baseline and an even choice are among them."""
        loop, last = self.service.loop(name), await run_in_threadpool(self.service.last_entry)
        span, deciding = loop.settings.reward_range, await run_in_threadpool(self.service.deciding, name)
        rivals = {"baseline": Rival("baseline"), "uniform": Rival("uniform")}
        for label, one in wanted.policies.items():
            if label in (DECIDING, "baseline", "uniform"):
                raise ValueError(f"policies: {label!r} is always judged: give yours another label")
            if not label:
                raise ValueError("policies: a label must have a character or more, got ''")
            if isinstance(one, str):
                raise ValueError(f"policies.{label[:80]} must be {A_POLICY}, got {quoted(one)}")
            asked: Wanted = converted(one, Wanted, f"policies.{label[:80]}")
            policy = msgspec.structs.replace(asked.policy(last, deciding), reward_range=span)
            built(policy)
            rivals[label] = Rival(policy)
        for rival in rivals.values():  # what is refused, for one of them, was no question
            if isinstance(rival.policy, Policy):
                await run_in_threadpool(turn, self.service, name, rival.policy, deciding)
        return await run_in_threadpool(judged, self.service.journal, name, rivals, deciding)

    async def erase(self, name: str, wanted: Erase, key: str | None) -> Erasure:
        """Forget whom a unit stands for: bodies go, the model is learnt again without them."""
        erased = await run_in_threadpool(self.service.erase, name, wanted.unit)
        sha256 = await run_in_threadpool(lambda: self.service.loop(name).model.dumps()[1])
        return Erasure(*erased, sha256)

    async def health(self, name: str, nothing: None, key: str | None) -> Health:
        """Whether it writes and learns."""
        service = self.service  # which is not asked for anything that it might have to wait for
        failure, ahead = service.writer.failure or service.failure, round(service.ahead, 3)
        status = "clock behind" if ahead > FAR_AHEAD else "ok"
        lost = isinstance(failure, LostError)
        if failure is not None:
            status = "not writing" if lost or service.writer.failure is not None else "not learning"
        why = None if failure is None else str(failure) if lost else type(failure).__name__
        return Health(status, service.writer.waiting, service.behind, ahead, why)


def operations(service: Service) -> list[openapi.Operation]:
    """The table."""
    do = Operations(service)
    return [
        openapi.Operation("POST", "/loops/{loop}/decide", "decide", do.decide, Ask, Answer),
        openapi.Operation("POST", "/loops/{loop}/reward", "reward", do.reward, Reward, Receipt),
        openapi.Operation("POST", "/loops/{loop}/activate", "decide", do.activate, Activate, Receipt),
        openapi.Operation("GET", "/loops", "read", do.loops, None, list[LoopState]),
        openapi.Operation("GET", "/loops/{loop}", "read", do.loop, None, LoopState),
        openapi.Operation("PUT", "/loops/{loop}", "admin", do.set, SetLoop, LoopState),
        openapi.Operation("GET", "/loops/{loop}/policies", "read", do.policies, None, list[Policy]),
        openapi.Operation("POST", "/loops/{loop}/policies", "admin", do.candidate, Candidate, Promotion),
        openapi.Operation("POST", "/loops/{loop}/back", "admin", do.back, Back, LoopState),
        openapi.Operation("POST", "/loops/{loop}/evaluate", "admin", do.evaluate, Evaluate, list[Judged]),
        openapi.Operation("POST", "/loops/{loop}/erase", "admin", do.erase, Erase, Erasure),
        openapi.Operation("GET", "/health", None, do.health, None, Health),
    ]


def application(service: Service, beside: AbstractContextManager[object] | None = None) -> Starlette:
    """The whole application; when it ends, so does the service, and before it what runs beside it."""
    door, table = Door(service), operations(service)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        door.keys.watch()
        with beside or contextlib.nullcontext():
            yield
        await run_in_threadpool(service.close)
        LOG.info("stopped")

    routes = [Route(one.path, _endpoint(door, one), methods=[one.method]) for one in table]
    document = msgspec.json.encode(openapi.document(table))
    routes += [
        Route("/openapi.json", _plain(door, None, lambda: document, "application/json")),
        Route("/metrics", _plain(door, "read", lambda: exposition(service, door), "text/plain; version=0.0.4")),
    ]
    app = Starlette(
        routes=[*routes, *page_routes(service, door), Personalizer(service, door)],
        lifespan=lifespan,
        exception_handlers={404: _nowhere(table), 405: _no_method},
    )
    app.router.redirect_slashes = False  # a path that ends with one is none: nobody is sent elsewhere
    app.state.service, app.state.door = service, door
    return app


def _endpoint(door: Door, operation: openapi.Operation) -> Callable[[Request], Awaitable[Response]]:
    decoder = None if operation.request is None else msgspec.json.Decoder(operation.request)

    async def endpoint(request: Request) -> Response:
        async def act() -> Response:
            loop = request.path_params.get("loop")
            if operation.scope is not None and loop is not None:
                door.admit(request, operation.scope, loop)
            elif operation.scope is not None:
                door.admit_to_all(request, operation.scope)
            body = await door.body(request)
            if loop is not None and operation.method == "POST":
                door.slow_down(loop)
            asked: Any = None if decoder is None else decoded(decoder, body)
            told = await operation.act(loop or "", asked, door.again(request))
            return json_answer(told, 503 if isinstance(told, Health) and told.failure is not None else 200)

        return await door.answered(act, problem)

    return endpoint


def _plain(
    door: Door, scope: Scope | None, text: Callable[[], bytes], media_type: str
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        async def act() -> Response:
            if scope is not None:
                door.admit_to_all(request, scope)
            return Response(await run_in_threadpool(text), media_type=media_type)

        return await door.answered(act, problem)

    return endpoint


def _nowhere(table: list[openapi.Operation]) -> Callable[[Request, Exception], Awaitable[Response]]:
    known = {one.path.rpartition("/")[2] for one in table if one.path.startswith("/loops/{loop}/")}

    async def nowhere(request: Request, error: Exception) -> Response:
        path = request.url.path
        if path.endswith("/"):
            return problem(RefusedError(404, "there is nothing here: no path but / ends with a slash"))
        parts = path.split("/")
        of_a_loop = len(parts) == 4 and parts[1] == "loops"
        near = suggestion(parts[3][:80], known) if of_a_loop else ": /openapi.json says what there is"
        return problem(RefusedError(404, f"there is nothing here{near}"))

    return nowhere


async def _no_method(request: Request, error: Exception) -> Response:
    """A path may have a route for each of its methods."""
    here = [one for one in request.app.routes if one.matches(request.scope)[0] is Match.PARTIAL]
    allowed = ", ".join(sorted({method for one in here for method in one.methods}))
    answer = problem(RefusedError(405, f"{request.method} is not for this, but {allowed}"))
    answer.headers["Allow"] = allowed
    return answer
