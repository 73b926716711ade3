"""The short way for the two requests that come all the time: decisions and rewards, from the socket to the writer.

    POST /loops/{loop}/decide      POST /loops/{loop}/reward

A request takes it if it is there whole when it is read, if its head is as plain as can be, and if its loop has no rate
to keep to. It passes the same door, is decoded by the same types and written by the same writer as any other. Whatever
is out of the ordinary (a body in parts, an unknown loop, a key that does not fit, too much that waits) goes the long
way from its beginning: through uvicorn and the application, which say what is wrong. But what the writer has been given
may be on disk, also where it says that it failed, and is not given to it again: why it failed is said here.

Requests that come in one turn of the event loop are decided together, by one call of compiled code, and handed to the
writer together. If one of them is refused, each is tried by itself.

A client sends the same heads again and again, so what was read of one is kept with the connection, once it has been
admitted: strangers fill no memory. It is admitted again whenever keys are read again. While a request is being written,
nothing more is taken from its connection. A request that is not there whole `PATIENCE` seconds after the connection
began, or its last answer, ends the connection: those who send halves, or nothing, do not keep others out. Nor do those
who ask for nothing now: where there are as many connections as there may be files, the one that has been silent longest
is ended for a new one.
"""

import re
import resource
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

import h11
import msgspec
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from marginbandits.service.core import Service
from marginbandits.service.door import LARGEST, Door, problem
from marginbandits.service.journal import Draft
from marginbandits.service.keys import Scope
from marginbandits.service.loop import Loop
from marginbandits.service.requests import Ask, Reward
from marginbandits.service.writer import Appended

__all__ = ["straight"]

PATIENCE = 30.0
"""Seconds that a request may take to come."""

_LINE = re.compile(rb"POST (/loops/([A-Za-z0-9][A-Za-z0-9_.-]*)/(decide|reward)) HTTP/1\.1\Z")
_HEADER = re.compile(rb"([A-Za-z0-9-]+): ?([!-~](?:[ -~]*[!-~])?)\Z")
_UNUSUAL = {b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"}
_MOST_HEADS, _LARGEST_HEAD = 4, 1024
"""Kept of a connection, and bytes of one of them: larger ones are read again."""
_OTHERS = 100
"""Files that are not connections: the journal, and what is opened meanwhile."""
_ASK, _REWARD = msgspec.json.Decoder(Ask), msgspec.json.Decoder(Reward)
_ENCODER = msgspec.json.Encoder()
_HEADER_LINE = b"%b: %b\r\n"
_OK = b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\ncontent-type: application/json\r\n\r\n%b"


class _Head:
    """What a plain head says; `admitted` are the keys there were when it was."""

    __slots__ = ("admitted", "key", "length", "loop", "request", "scope")

    def __init__(self, request: Request, loop: str, scope: Scope, length: int) -> None:
        self.request, self.loop, self.scope, self.length = request, loop, scope, length
        self.key = Door.again(request)
        self.admitted: object = None


class _Asked(NamedTuple):
    """A request that goes the short way: of which connection, what came, what it asks of which loop, with which key."""

    connection: Any
    data: bytes
    loop: Loop
    what: Ask | Reward
    key: str | None


def _read(head: bytes, client: tuple[str, int] | None) -> _Head | None:
    """A head, up to its empty line, if it is plain."""
    first, *lines = head.split(b"\r\n")
    asked, headers = _LINE.match(first), {}
    for line in lines:
        header = _HEADER.match(line)
        if header is None or header[1].lower() in headers or header[1].lower() in _UNUSUAL:
            return None
        headers[header[1].lower()] = header[2]
    length = headers.get(b"content-length", b"")
    if asked is None or not length.isdigit() or b"host" not in headers or int(length) > LARGEST:
        return None
    if headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    scope = {"type": "http", "method": "POST", "path": asked[1].decode(), "headers": [*headers.items()]}
    kind: Scope = "decide" if asked[3] == b"decide" else "reward"
    return _Head(Request({**scope, "client": client}), asked[2].decode(), kind, int(length))


def straight(service: Service, door: Door, most: int | None = None) -> type[H11Protocol]:
    """What uvicorn is to speak: HTTP as it speaks it, with a short way; to so many at once."""
    limit = most or max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHERS, 16)
    waiting: list[_Asked] = []

    def asked(connection: Any, data: bytes, head: _Head, body: bytes) -> _Asked | None:
        """What a request asks of which loop; None if it is to go the long way."""
        keys, loop = door.keys.all(), service.loops.get(head.loop)
        if loop is None or loop.settings.most_per_second is not None:
            return None
        if head.admitted is not keys:
            door.admit(head.request, head.scope, head.loop)
            head.admitted = keys
        if head.scope != "decide" and (loop.settings.strict or loop.crowded):
            return None  # whether its event is there is asked of the journal, and nobody here may wait for that
        return _Asked(connection, data, loop, (_ASK if head.scope == "decide" else _REWARD).decode(body), head.key)

    def drafted(loop: Loop, group: list[_Asked]) -> list[tuple[Draft, Callable[[Appended], Any]]]:
        """What is to be written for requests of one kind, and what is to be told then; if one is refused, all are."""
        asks = [(one.what, one.key) for one in group if isinstance(one.what, Ask)]
        rewards = [(one.what, one.key) for one in group if isinstance(one.what, Reward)]
        told = [service.rewarded(loop, one.event_id, one.value, one.key or key) for one, key in rewards]
        return [*service.asked(loop, asks), *told] if asks else told

    def write(group: list[_Asked]) -> None:
        several = zip(group, drafted(group[0].loop, group), strict=True)
        drafts = [(draft, partial(one.connection._tell, answer)) for one, (draft, answer) in several]
        service.writer.ask_all(drafts, group[0].connection.loop)

    def settle() -> None:
        """All requests that came in one turn of the event loop: laws and rows are made of many at once."""
        groups: dict[tuple[str, type], list[_Asked]] = {}
        for one in waiting:
            groups.setdefault((one.loop.name, type(one.what)), []).append(one)
        waiting.clear()
        for group in groups.values():
            try:
                write(group)
            except Exception:
                for one in group:
                    try:
                        write([one])
                    except Exception:  # whatever it is, the long way says it
                        one.connection._refuse(one.data)

    class Straight(H11Protocol):
        """A connection."""

        _waits = _ends = _long = False
        _heard = 0.0
        _later = b""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._heads: dict[bytes, _Head] = {}
            self._heard = self.loop.time()
            self._watching = self.loop.call_later(PATIENCE, self._look)
            if len(self.connections) > limit:
                idle = [one for one in self.connections if isinstance(one, Straight) and one._owed()]
                min(idle, key=lambda one: one._heard).transport.close()  # this one is among them

        def connection_lost(self, exc: Exception | None) -> None:
            self._watching.cancel()
            super().connection_lost(exc)

        def _look(self) -> None:
            """End the connection if a request has not come for too long."""
            left = self._heard + PATIENCE - self.loop.time()
            if self._owed() and left <= 0.0:
                self.transport.close()
            else:
                self._watching = self.loop.call_later(left if left > 0.0 else PATIENCE, self._look)

        def _owed(self) -> bool:
            """Whether it is the other's turn: nothing that came whole waits for its answer."""
            cycle: Any = self.cycle
            return not self._waits and (cycle is None or cycle.response_complete or cycle.more_body)

        def data_received(self, data: bytes) -> None:
            if self._waits:
                self._later += data
                self.transport.pause_reading()
            elif self._long or self.flow.write_paused or not self._take(data):
                self._long = True
                super().data_received(data)

        def _take(self, data: bytes) -> bool:
            """Whether it goes the short way."""
            at = data.find(b"\r\n\r\n")
            if at < 0:
                return False
            text = data[:at]
            try:
                head = self._heads.get(text) or _read(text, self.client)
                if head is None or len(data) != at + 4 + head.length:
                    return False
                found = asked(self, data, head, data[at + 4 :])
                if found is None:
                    return False
                if text not in self._heads and at <= _LARGEST_HEAD:
                    if len(self._heads) >= _MOST_HEADS:
                        self._heads.clear()
                    self._heads[text] = head
            except Exception:  # whatever it is, the long way says it
                return False
            if not waiting:
                self.loop.call_soon(settle)
            waiting.append(found)
            self._waits = True
            return True

        def _tell(self, answer: Callable[[Appended], Any], written: Appended | BaseException) -> None:
            """What became of a request that the writer was given; it is not asked again, whatever it says."""
            self._waits = False
            if self.transport.is_closing():
                return
            headers = b"".join([_HEADER_LINE % one for one in self.server_state.default_headers])
            try:
                if isinstance(written, BaseException):
                    raise written
                body = _ENCODER.encode(answer(written))
                self._answer(_OK % (headers, len(body), body))
            except BaseException as error:
                told = problem(door.why(error))
                first = b"HTTP/1.1 %d %b\r\n" % (told.status_code, HTTPStatus(told.status_code).phrase.encode())
                headers += b"".join([_HEADER_LINE % one for one in told.raw_headers])
                self._answer(b"".join([first, headers, b"\r\n", told.body]))
            self._go_on()

        def _refuse(self, data: bytes) -> None:
            """The long way with a request that the writer was not given."""
            self._waits = False
            if not self.transport.is_closing():
                self._long = True
                super().data_received(data)
                self._go_on()

        def _go_on(self) -> None:
            if self._ends:
                self.shutdown()
            elif self._later:
                data, self._later = self._later, b""
                self.transport.resume_reading()
                self.data_received(data)

        def _answer(self, answer: bytes) -> None:
            self.transport.write(answer)
            self.server_state.total_requests += 1
            self._heard = self.loop.time()
            if self.timeout_keep_alive_task is None:
                self.timeout_keep_alive_handler()

        def timeout_keep_alive_handler(self) -> None:
            left = self._heard + self.timeout_keep_alive - self.loop.time()
            if self._waits or left > 0.0:
                self.timeout_keep_alive_task = self.loop.call_later(max(left, 1.0), self.timeout_keep_alive_handler)
            else:
                super().timeout_keep_alive_handler()

        def on_response_complete(self) -> None:
            self._heard = self.loop.time()
            super().on_response_complete()
            self._long = self.conn.their_state is not h11.IDLE or self.conn.trailing_data != (b"", False)

        def shutdown(self) -> None:
            self._ends = self._waits
            if not self._waits:
                super().shutdown()

    return Straight
