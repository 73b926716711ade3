"""A client in a few lines of Python: no dependency but the standard library, and tries that never count twice.

Every request that writes carries a key of its own, the same at every try: what was written before the connection broke
is not written again. Between tries it waits, twice as long each time, or as long as the service says (Retry-After).

    with Client("http://127.0.0.1:8080", "shop") as shop:
        decision = shop.decide({"age": 31}, ["hat", "shoe"])
        shop.reward(decision.event_id, 1.0)
"""

import http.client
import random
import time
import urllib.parse
import uuid
from types import TracebackType
from typing import Any, Self

import msgspec

from marginbandits.service.requests import Answer, LoopState, Receipt

__all__ = ["Client", "ServiceError"]

_AGAIN = {429, 500, 502, 503, 504}


class ServiceError(Exception):
    """The service refused: its status, and what it said."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Client:
    """One loop of a service; one connection, for one thread."""

    def __init__(self, url: str, loop: str, key: str | None = None, *, tries: int = 5, timeout: float = 10.0) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be http://… or https://…, got {url!r}")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._path = f"{parts.path.rstrip('/')}/loops/{urllib.parse.quote(loop, safe='')}"
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._tries = tries

    def set(self, **settings: Any) -> LoopState:
        """Make the loop, or set it otherwise: settings by name, as in the interface."""
        return msgspec.json.decode(self._send("PUT", "", {"settings": settings}), type=LoopState)

    def decide(
        self,
        context: dict[str, Any] | None,
        actions: list[Any] | dict[str, dict[str, Any]] | None = None,
        **more: Any,
    ) -> Answer:
        """An action for this context: of ids, or of ids with features; `more` as in the interface (event_id, unit…)."""
        if isinstance(actions, dict):
            actions = [{"id": one, "features": features} for one, features in actions.items()]
        asked = {"context": context, "actions": actions, "event_id": uuid.uuid4().hex, **more}
        return msgspec.json.decode(self._send("POST", "/decide", asked), type=Answer)

    def reward(self, event_id: str, value: float, key: str | None = None) -> Receipt:
        """What an event was worth."""
        told = {"event_id": event_id, "value": value, "key": key or uuid.uuid4().hex}
        return msgspec.json.decode(self._send("POST", "/reward", told), type=Receipt)

    def activate(self, event_id: str) -> Receipt:
        """A deferred decision was used."""
        return msgspec.json.decode(self._send("POST", "/activate", {"event_id": event_id}), type=Receipt)

    def _send(self, method: str, what: str, asked: dict[str, Any]) -> bytes:
        body, wait = msgspec.json.encode(asked), 0.1
        for left in reversed(range(self._tries)):
            try:
                self._connection.request(method, self._path + what, body, self._headers)
                answer = self._connection.getresponse()
                found, status, told = answer.read(), answer.status, answer.headers.get("Retry-After", "")
            except (OSError, http.client.HTTPException):
                self._connection.close()
                if not left:
                    raise
                told = ""
            else:
                if status == 200:
                    return found
                if status not in _AGAIN or not left:
                    raise ServiceError(status, _message(found))
            time.sleep(float(told) if told.isdigit() else wait * (0.5 + random.random()))
            wait *= 2.0
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _message(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body)["error"])
    except (msgspec.DecodeError, TypeError, KeyError):
        return body[:200].decode("utf-8", "replace")
