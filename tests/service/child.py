"""A service in a process that is forked from one which has imported everything: to start it again costs milliseconds.

It is the service without HTTP: a line of JSON asks, a line of JSON answers. What it does not share with
`marginbandits serve` is uvicorn and the door; those are killed by a test of their own.
"""

import asyncio
import json
import multiprocessing
import socket
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from marginbandits.service.core import Service
from marginbandits.service.records import Settings
from marginbandits.service.requests import Ask
from marginbandits.service.serving import opened

__all__ = ["Child"]

CHECKPOINTS = 0.1
WINDOW = 0.05
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "tests.service.warm"])


class Child:
    """A service of one journal, which listens when this returns."""

    def __init__(self, where: str) -> None:
        here, there = _FORKS.Pipe()
        self._process = _FORKS.Process(target=_serve, args=(where, there), daemon=True)
        self._process.start()
        there.close()
        self.port: int = here.recv()
        assert self._process.pid is not None
        self.pid = self._process.pid
        here.close()

    def ask(self, what: dict[str, Any]) -> Any:
        """One question on a connection of its own."""
        with Line(self.port) as line:
            return line.ask(what)

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.join()
        self._process.close()


class Line:
    """A connection to a child."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rwb")

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, what: dict[str, Any]) -> Any:
        """The answer; OSError if there is none."""
        self._file.write(json.dumps(what).encode() + b"\n")
        self._file.flush()
        told = self._file.readline()
        if not told.endswith(b"\n"):
            raise ConnectionError("it is gone")
        return json.loads(told)


def _serve(where: str, told: Connection) -> None:
    service = Service(opened(where, serving=True), checkpoints=CHECKPOINTS)
    if "shop" not in service.loops:
        service.set("shop", Settings(window=WINDOW))
    asyncio.run(_listen(service, told))


async def _listen(service: Service, told: Connection) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while asked := await reader.readline():
            try:
                answer = msgspec.to_builtins(await _answered(service, json.loads(asked)))
            except Exception as error:
                answer = {"error": str(error)}
            writer.write(json.dumps(answer).encode() + b"\n")

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    told.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _answered(service: Service, asked: dict[str, Any]) -> Any:
    kind = asked.pop("kind")
    if kind == "decide":
        return await service.decide("shop", msgspec.convert(asked, Ask))
    if kind == "reward":
        return await service.reward("shop", asked["event_id"], asked["value"], asked["key"])
    loop = service.loop("shop")
    return {"leads": service.leads, "learnt": loop.model.learnt, "seen": service.seen}
