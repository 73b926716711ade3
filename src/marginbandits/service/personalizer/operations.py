"""What Personalizer can be asked about events, and about what a loop is set to and has learnt."""

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from marginbandits.service.core import Change, Service
from marginbandits.service.door import json_answer
from marginbandits.service.journal import POLICY, now
from marginbandits.service.loop import Loop
from marginbandits.service.personalizer.calls import LONGEST, Call
from marginbandits.service.personalizer.configuration import Configuration, configuration
from marginbandits.service.personalizer.dialects import Dialect
from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.personalizer.judging import imitation
from marginbandits.service.personalizer.kept import Fields, Text
from marginbandits.service.personalizer.policies import Contract, learning
from marginbandits.service.personalizer.ranks import NO_EVENT, Rank
from marginbandits.service.personalizer.times import moment
from marginbandits.service.records import Number, Policy, Settings

__all__ = ["Operations", "refused"]

DONE = 204
STATUS = {
    "service": "personalizer",
    "apiStatus": "Valid",
    "apiStatusMessage": "Api Key is valid, no action needed.",
}


class Reward(msgspec.Struct, frozen=True):
    """What an event was worth."""

    value: Number


_RANK, _REWARD = msgspec.json.Decoder(Rank), msgspec.json.Decoder(Reward)


def refused(code: str) -> "Refused":
    """An operation that is not served."""
    return Refused(code)


class Refused:
    """Answers with a code, whatever is asked."""

    def __init__(self, code: str) -> None:
        self._code = code

    async def __call__(self, call: Call) -> Response:
        """Refuse."""
        raise FaultError(self._code)


class Operations:
    """Each takes a call; most read or write the journal, and do so in a thread of their own."""

    def __init__(self, service: Service) -> None:
        self.service, self.journal = service, service.journal

    # Events.

    async def rank(self, call: Call) -> Response:
        """Choose an action."""
        wanted = _RANK.decode(call.body)
        ask = wanted.ask(call.header("x-marginbandits-unit"))
        return json_answer(wanted.told(await self.service.decide(call.loop.name, ask, call.key)), 201)

    async def reward(self, call: Call) -> Response:
        """Say what an event was worth."""
        value = _REWARD.decode(call.body).value
        await self.service.reward(call.loop.name, _event(call, "InvalidRewardRequest"), value, call.key)
        return Response(status_code=DONE)

    async def activate(self, call: Call) -> Response:
        """Say that a deferred event was used; what the request holds is not looked at."""
        await self.service.activate(call.loop.name, _event(call, "InvalidEventIdToActivate"))
        return Response(status_code=DONE)

    async def status(self, call: Call) -> Response:
        """The key is one, as the call came here."""
        return json_answer(STATUS)

    # Configuration.

    async def configuration(self, call: Call) -> Response:
        """What the loop is set to."""
        return json_answer(await run_in_threadpool(self._configuration, call.loop, call.dialect))

    def _configuration(self, loop: Loop, dialect: Dialect) -> dict[str, object]:
        told = configuration(loop.settings, Fields.of(self.journal, loop.name), dialect)
        if dialect is Dialect.V2022 and loop.settings.mode == "Apprentice":
            metrics = imitation(self.journal, loop.name)
            if metrics is not None:
                times = {"startTime": metrics.start_time, "lastProcessedEventTime": metrics.last_processed_event_time}
                told["latestApprenticeModeMetrics"] = msgspec.to_builtins(metrics) | {
                    name: moment(at) for name, at in times.items()
                }
        return told

    async def configure(self, call: Call) -> Response:
        """Set it otherwise."""

        def act() -> dict[str, object]:
            wanted = msgspec.json.decode(call.body, type=Configuration)
            note = Fields(wanted.fields(), now()).note()
            loop = self.service.change(call.loop.name, lambda before, _: Change(wanted.settings(before), note=note))
            return self._configuration(loop, call.dialect)

        return json_answer(await run_in_threadpool(act))

    async def policy(self, call: Call) -> Response:
        """The learning settings."""
        return json_answer(_policy(await run_in_threadpool(Text.of, self.journal, call.loop.name), call.loop))

    async def set_policy(self, call: Call) -> Response:
        """Learn by others."""
        wanted = msgspec.json.decode(call.body, type=Contract)
        text = Text(wanted.name, wanted.arguments)
        return json_answer(await run_in_threadpool(self.learn_by, call.loop, text))

    async def reset_policy(self, call: Call) -> Response:
        """Learn by the usual ones."""
        return json_answer(await run_in_threadpool(self.learn_by, call.loop, Text()))

    def learn_by(self, loop: Loop, text: Text, why: str = "Personalizer policy") -> dict[str, str]:
        """The learner of these arguments decides, once it has learnt what the one before had: it is not judged."""
        learner, parameters, exploration = learning(text.arguments)
        settings = {} if exploration is None else {"exploration": exploration}

        def change(_: Settings, before: Policy) -> Change:
            same = (learner, parameters) == (before.learner, before.parameters)
            policy = msgspec.structs.replace(before, learner=learner, parameters=parameters, reason=f"forced: {why}")
            return Change(settings, None if same else policy, text.note())

        return _policy(text, self.service.change(loop.name, change))

    # Model and logs.

    async def model(self, call: Call) -> Response:
        """What has been learnt, as a file of `marginbandits`."""
        file, _ = await run_in_threadpool(call.loop.model.dumps)
        return Response(file, media_type="application/octet-stream")

    async def reset_model(self, call: Call) -> Response:
        """Forget what was learnt: the same learner learns from here on."""

        def act() -> None:
            since = self.service.last_entry()

            def change(_: Settings, before: Policy) -> Change:
                return Change({}, msgspec.structs.replace(before, since=since, reason="Personalizer reset"))

            self.service.change(call.loop.name, change)

        await run_in_threadpool(act)
        return Response(status_code=DONE)

    async def model_properties(self, call: Call) -> Response:
        """When the model was made, and when it learnt last."""

        def act() -> dict[str, str]:
            made = max(one.at for one in self.journal.changes() if (one.loop, one.kind) == (call.loop.name, POLICY))
            return {"creationTime": moment(made), "lastModifiedTime": moment(max(made, call.loop.closed_at))}

        return json_answer(await run_in_threadpool(act))

    async def logs(self, call: Call) -> Response:
        """From when to when there are decisions."""

        def act() -> dict[str, object]:
            times = self.journal.span(call.loop.name)
            if times is None:
                raise FaultError("LogsPropertiesNotFound")
            return {"dateRange": {"from": moment(times[0]), "to": moment(times[1])}}

        return json_answer(await run_in_threadpool(act))

    async def delete_logs(self, call: Call) -> Response:
        """Forget all events, and what was learnt of them."""
        await run_in_threadpool(self.service.erase_all, call.loop.name)
        return Response(status_code=DONE)


def _event(call: Call, code: str) -> str:
    if not call.named:
        raise FaultError(code, NO_EVENT)
    if len(call.named) > LONGEST:
        raise ValueError(f"EventId should have at most {LONGEST} characters, got {len(call.named)}")
    return call.named


def _policy(text: Text, loop: Loop) -> dict[str, str]:
    return {"name": text.name or loop.name, "arguments": text.arguments}
