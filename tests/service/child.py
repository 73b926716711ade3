"""`marginbandits serve` in a process that is forked from one which has imported everything: its start costs little.

All of it is there, the door, uvicorn and the short way; only what a command reads of its line is not. It keeps a
checkpoint ten times a second, so that those are killed, too, and says nothing but what is an error.
"""

import contextlib
import http.client
import json
import logging
import multiprocessing
import os
from multiprocessing.connection import Connection
from typing import Any

from marginbandits.service import following
from marginbandits.service.logbook import LOG
from marginbandits.service.serving import listening, opened, serve

__all__ = ["WINDOW", "Child", "Line"]

CHECKPOINTS = 0.1
WINDOW = 0.05
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "tests.service.warm"])


class Child:
    """A server of one journal, which listens when this returns; the loop "shop" is there."""

    def __init__(self, where: str) -> None:
        here, there = _FORKS.Pipe()
        self._process = _FORKS.Process(target=_serve, args=(where, there), daemon=True)
        self._process.start()
        there.close()
        address = os.read(here.fileno(), 100).decode()
        here.close()
        assert address.startswith("http://"), "it said where it listens"
        assert self._process.pid is not None
        self.port, self.pid = int(address.rpartition(":")[2]), self._process.pid
        with Line(self.port) as line:
            line.make()

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
    """A connection to a server, over HTTP."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, what: dict[str, Any]) -> Any:
        """The answer, or `error` where it is a refusal; OSError if there is none."""
        if what["kind"] == "state":
            metrics = self._told("GET", "/metrics")[1]
            leads = b"\nmarginbandits_leads 1\n" in metrics
            return {"leads": leads, "learnt": self._json("GET", "/loops/shop")["learnt"]}
        body = {name: value for name, value in what.items() if name != "kind"}
        return self._json("POST", f"/loops/shop/{what['kind']}", body)

    def make(self) -> None:
        """The loop, if it is not there."""
        if self._told("GET", "/loops/shop")[0] == 404:
            told = self._json("PUT", "/loops/shop", {"new": True, "settings": {"window": WINDOW}})
            assert "error" not in told, told

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self._told(method, path, body)[1])

    def _told(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body))
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:  # it ended in the middle of an answer
            raise ConnectionError(str(error)) from None


def _serve(where: str, told: Connection) -> None:
    following.CHECKPOINTS = following.SHARED = CHECKPOINTS
    LOG.addHandler(logging.StreamHandler())
    LOG.setLevel(logging.ERROR)
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(listening(where, "127.0.0.1", 0))
        journal = opened(where, serving=True)
        stack.enter_context(contextlib.redirect_stdout(os.fdopen(told.fileno(), "w", closefd=False)))
        serve(journal, found, where)
