"""What Personalizer can be asked about offline evaluations: list, make, look at, delete, and apply what was found."""

import uuid
from typing import Annotated
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from marginbandits.service.deploying import turn
from marginbandits.service.door import json_answer
from marginbandits.service.evaluating import Rival
from marginbandits.service.journal import now
from marginbandits.service.loop import Loop
from marginbandits.service.model import built
from marginbandits.service.personalizer import evaluations
from marginbandits.service.personalizer.calls import LONGEST, Call
from marginbandits.service.personalizer.dialects import Dialect
from marginbandits.service.personalizer.evaluations import Evaluation, EvaluationContract
from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.personalizer.judging import judge
from marginbandits.service.personalizer.kept import Text
from marginbandits.service.personalizer.operations import DONE, Operations
from marginbandits.service.personalizer.policies import Contract, learning
from marginbandits.service.personalizer.times import microseconds
from marginbandits.service.records import Policy

__all__ = ["Judgements"]

Word = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
MOST = 2**31 - 1


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """A policy of an evaluation."""

    evaluation_id: Word
    policy_name: Word


class Judgements:
    """Each takes a call."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._journal = operations, operations.journal

    async def list(self, call: Call) -> Response:
        """All of them: an array, or, in the dialect of 2022, a page."""
        every = await run_in_threadpool(evaluations.kept, self._journal, call.loop.name)
        if call.dialect is not Dialect.V2022:
            return json_answer([one.v1() for one in every])
        skip, top = call.number("skip", 0), call.number("top", MOST)
        told = every if evaluations.filtered(call.query("filter")) else []
        page: dict[str, object] = {"value": [one.head("Succeeded") for one in told[skip : skip + top]]}
        if 0 < top < len(told) - skip:
            at = call.request.url.include_query_params(skip=skip + top, top=top)
            page["nextLink"] = str(at)
        return json_answer(page)

    async def make(self, call: Call) -> Response:
        """Judge policies by the log: by POST the id is given here, by PUT it is in the path."""
        wanted = msgspec.json.decode(call.body, type=EvaluationContract)
        name = call.named if call.dialect is Dialect.V2022 else str(uuid.uuid4())
        if not 1 <= len(name) <= LONGEST:
            raise ValueError(f"an evaluation's id must have 1 to {LONGEST} characters, got {len(name)}")
        made = await run_in_threadpool(self._make, call.loop, name, wanted)
        if call.dialect is Dialect.V2022:
            return Response(status_code=200)
        at = f"{str(call.request.url.replace(query='')).rstrip('/')}/{quote(name, safe='')}"
        return json_answer(made.v1(), 201, {"Location": at})

    def _make(self, loop: Loop, name: str, wanted: EvaluationContract) -> Evaluation:
        start, end = wanted.range()
        if self._journal.fact(f"personalizer-evaluation/{loop.name}/{name}") is not None:
            raise FaultError("InvalidEvaluationContract", f"Evaluation with id {name} already exists.")
        service = self._operations.service
        deciding = service.deciding(loop.name)
        custom = {one.name: (one.arguments, _rival(one, loop, deciding.since)) for one in wanted.policies}
        there = self._journal.span(loop.name)
        if there is None or end <= there[0] or start > there[1]:  # what is refused was no question
            raise FaultError("NoLogsExistInDateRange")
        for _, rival in custom.values():
            if isinstance(rival.policy, Policy):
                # one more that may look better by chance
                turn(service, loop.name, rival.policy, deciding, rival.exploration)
        online = Text.of(self._journal, loop.name).arguments
        judged = judge(self._journal, loop.name, start, end, online, custom)
        if not judged[0].sums:
            raise FaultError("NoLogsExistInDateRange")
        made = Evaluation(name, wanted.name, start, end, now(), judged)
        made.v1()  # what cannot be told is not kept
        evaluations.keep(self._journal, loop.name, name, made)
        return made

    async def look(self, call: Call) -> Response:
        """One of them; in the dialect of 2022, by intervals."""
        one = await run_in_threadpool(evaluations.found, self._journal, call.loop.name, call.named)
        if call.dialect is not Dialect.V2022:
            return json_answer(one.v1())
        start, end = call.query("startTime"), call.query("endTime")
        if start is None or end is None:
            raise FaultError("BadRequest", "startTime and endTime must be given")
        minutes, window = call.number("intervalInMinutes", 5), call.query("window") or "Expanding"
        return json_answer(one.v2022(microseconds(start), microseconds(end), minutes, window))

    async def delete(self, call: Call) -> Response:
        """One of them."""

        def act() -> None:
            evaluations.found(self._journal, call.loop.name, call.named)
            evaluations.keep(self._journal, call.loop.name, call.named, None)

        await run_in_threadpool(act)
        return Response(status_code=DONE)

    async def apply(self, call: Call) -> Response:
        """Learn by what an evaluation has judged: a policy of one's own, or that which is online already."""
        wanted = msgspec.json.decode(call.body, type=Reference)

        def act() -> None:
            judged = evaluations.found(self._journal, call.loop.name, wanted.evaluation_id).judged
            named = [one for one in judged if one.name == wanted.policy_name and one.arguments]
            if not named:
                raise FaultError("LearningSettingsNotFound")
            why = f"Personalizer applyFromEvaluation of {wanted.evaluation_id[:80]!r}"
            self._operations.learn_by(call.loop, Text(named[-1].name, named[-1].arguments), why)

        await run_in_threadpool(act)
        return Response(status_code=DONE)


def _rival(contract: Contract, loop: Loop, since: int) -> Rival:
    """As it would be if it were applied."""
    learner, parameters, exploration = learning(contract.arguments)
    policy = Policy(learner, parameters, loop.settings.reward_range, since)
    built(policy)
    return Rival(policy, exploration)
