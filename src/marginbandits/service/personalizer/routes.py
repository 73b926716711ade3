"""The table of what is served, dialect by dialect, and the route that leads to it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from marginbandits.service import keys
from marginbandits.service.core import Service
from marginbandits.service.door import Door, RefusedError, json_answer
from marginbandits.service.personalizer.calls import Call, Loops
from marginbandits.service.personalizer.dialects import Dialect, told
from marginbandits.service.personalizer.faults import MESSAGES, FaultError, refusal
from marginbandits.service.personalizer.judgements import Judgements
from marginbandits.service.personalizer.operations import Operations, refused

__all__ = ["Personalizer"]

V1_0, V1_1, V2022 = Dialect
NO_SLASH = f"{MESSAGES['ResourceNotFound']} No path ends with a slash."
ALL, PREVIEW = frozenset(Dialect), frozenset({V1_1, V2022})


@dataclass(frozen=True)
class Operation:
    """How it is asked for, who may, what a bad request is called, and what is done."""

    method: str
    path: str
    dialects: frozenset[Dialect]
    scope: keys.Scope
    code: str
    act: Callable[[Call], Awaitable[Response]]


def _table(service: Service) -> list[Operation]:
    do = Operations(service)
    judge = Judgements(do)
    slots, nothing = refused("InvalidMultiSlotApiAccess"), refused("InvalidApiAccess")
    unknown = refused("FeatureImportanceNotFound")
    bad, contract, only = "BadRequest", "InvalidEvaluationContract", frozenset({V2022})
    service_bad, policy_bad = "InvalidServiceConfiguration", "InvalidPolicyConfiguration"

    async def none(call: Call) -> Response:
        return json_answer({"value": []})

    return [
        Operation("POST", "rank", ALL, "decide", "InvalidRankRequest", do.rank),
        Operation("POST", "events/{}/reward", ALL, "reward", "InvalidRewardRequest", do.reward),
        Operation("POST", "events/{}/activate", ALL, "decide", "InvalidEventIdToActivate", do.activate),
        Operation("POST", "multislot/rank", PREVIEW, "decide", bad, slots),
        Operation("POST", "multislot/events/{}/reward", PREVIEW, "reward", bad, slots),
        Operation("POST", "multislot/events/{}/activate", PREVIEW, "decide", bad, slots),
        Operation("GET", "configurations/service", ALL, "read", bad, do.configuration),
        Operation("PUT", "configurations/service", ALL, "admin", service_bad, do.configure),
        Operation("PATCH", "configurations/service", ALL, "admin", service_bad, do.configure),
        Operation("GET", "configurations/policy", ALL, "read", bad, do.policy),
        Operation("PUT", "configurations/policy", ALL, "admin", policy_bad, do.set_policy),
        Operation("PATCH", "configurations/policy", ALL, "admin", policy_bad, do.set_policy),
        Operation("DELETE", "configurations/policy", ALL, "admin", bad, do.reset_policy),
        Operation("POST", "configurations/applyFromEvaluation", PREVIEW, "admin", "InvalidPolicyContract", judge.apply),
        Operation("GET", "evaluations", ALL, "read", bad, judge.list),
        Operation("POST", "evaluations", ALL - only, "admin", contract, judge.make),
        Operation("PUT", "evaluations/{}", only, "admin", contract, judge.make),
        Operation("GET", "evaluations/{}", ALL, "read", bad, judge.look),
        Operation("DELETE", "evaluations/{}", ALL, "admin", bad, judge.delete),
        Operation("GET", "featureImportances", only, "read", bad, none),
        Operation("GET", "featureImportances/{}", only, "read", bad, unknown),
        Operation("PUT", "featureImportances/{}", only, "admin", bad, nothing),
        Operation("DELETE", "featureImportances/{}", only, "admin", bad, unknown),
        Operation("GET", "model", ALL, "read", bad, do.model),
        Operation("PUT", "model", PREVIEW, "admin", bad, refused("ModelFileAccessDenied")),
        Operation("DELETE", "model", ALL, "admin", bad, do.reset_model),
        Operation("GET", "model/properties", ALL, "read", bad, do.model_properties),
        Operation("DELETE", "logs", ALL, "admin", bad, do.delete_logs),
        Operation("GET", "logs/properties", ALL, "read", bad, do.logs),
        Operation("POST", "logs/interactions", frozenset({V1_1}), "decide", bad, nothing),
        Operation("POST", "logs/observations", frozenset({V1_1}), "reward", bad, nothing),
        Operation("GET", "status", frozenset({V1_0}), "decide", bad, do.status),
    ]


class Personalizer(BaseRoute):
    """Everything below /personalizer, by the path as it was sent."""

    def __init__(self, service: Service, door: Door) -> None:
        self._door, self._loops = door, Loops(service)
        self._table: dict[tuple[Dialect, tuple[str, ...]], dict[str, Operation]] = {}
        for one in _table(service):
            for dialect in one.dialects:
                self._table.setdefault((dialect, tuple(one.path.split("/"))), {})[one.method] = one

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is below."""
        here = scope["type"] == "http" and scope["raw_path"].lstrip(b"/").startswith(b"personalizer/")
        return (Match.FULL if here else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        await (await self._answer(Request(scope, receive)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        dialect, code, allowed = V2022, "BadRequest", ""

        async def act() -> Response:
            nonlocal dialect, code, allowed
            dialect, parts = told(request.scope["raw_path"], request.query_params.get("api-version"))
            operations, named = self._find(dialect, parts)
            operation = operations.get(request.method)
            if operation is None:
                allowed = ", ".join(sorted(operations))
                raise RefusedError(405, f"{request.method} is not for this")
            code = operation.code
            loop = await self._loops.find(self._door.admit(request, operation.scope, None))
            if operation.path in ("rank", "events/{}/reward", "events/{}/activate"):
                self._door.slow_down(loop.name)
            body = await self._door.body(request)
            return await operation.act(Call(request, dialect, loop, named, body))

        answer = await self._door.answered(act, lambda error: refusal(error, code, dialect))
        if allowed:
            answer.headers["Allow"] = allowed
        return answer

    def _find(self, dialect: Dialect, parts: list[str]) -> tuple[dict[str, Operation], str]:
        """The operations of a path, and the id in it; none of them ends with a slash."""
        if not parts or not parts[-1]:
            raise FaultError("ResourceNotFound", NO_SLASH)
        exact = self._table.get((dialect, tuple(parts)))
        if exact is not None and "{}" not in parts:
            return exact, ""
        place = 2 if parts[:1] == ["multislot"] else 1
        found = self._table.get((dialect, (*parts[:place], "{}", *parts[place + 1 :])))
        if found is None or len(parts) <= place:
            raise FaultError("ResourceNotFound")
        return found, parts[place]
