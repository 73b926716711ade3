"""What every request passes: its size, its key, its loop's rate, its JSON; and what every error becomes.

    400  what was asked is not as it should be, and why     409  an id was used for something else, or
    401  no key, or none that is known                           another policy decides since
    403  the key is for something else                      413  too large
    404  no such loop or event                              429  too much, or too fast: Retry-After says when
    503  it is written, but not taken in yet; or            500  our fault; it is in the server's log, not in the answer
         the journal cannot be written, or waits

A service without keys answers requests that come from its own machine alone, also where it listens to others and its
last key was taken away; and only such as name it as their host: a page of the web that makes a browser ask for it names
another, or the browser says that it is another's.
"""

import base64
import ipaddress
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from marginbandits.service.core import ConflictError, LateError, Service, UnknownError
from marginbandits.service.journal import JournalError, LostError
from marginbandits.service.keys import Keys, Scope
from marginbandits.service.logbook import Seldom
from marginbandits.service.requests import Problem
from marginbandits.service.writer import FullError

__all__ = ["Door", "RefusedError", "json_answer", "problem"]

LARGEST, LONGEST_KEY = 1_000_000, 256
"""Bytes of a request, and characters of what makes a second try of it count once."""
_LOG = logging.getLogger("marginbandits.service")
_SELDOM = Seldom()
_HERE = {"127.0.0.1", "localhost", "[::1]"}


class RefusedError(Exception):
    """A request that is answered with a status, a message, and perhaps when to come again."""

    def __init__(self, status: int, message: str, retry: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry = status, message, retry


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def problem(error: RefusedError) -> Response:
    """Why something was refused, by the service's own interface."""
    headers = {} if error.retry is None else {"Retry-After": str(error.retry)}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return json_answer(Problem(error.message), error.status, headers)


def _password(told: str) -> str | None:
    try:
        return base64.b64decode(told, validate=True).decode().partition(":")[2]
    except ValueError:
        return None


class Door:
    """The checks of one service."""

    def __init__(self, service: Service) -> None:
        self.service, self.keys = service, Keys(service.journal)
        self.refused = Counter[int]()
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    async def body(self, request: Request, largest: int = LARGEST) -> bytes:
        """The bytes of a request."""
        told = request.headers.get("content-length", "0")
        if not told.isdigit() or int(told) > largest:
            raise RefusedError(413, f"a request must have at most {largest:,} bytes")
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > largest:
                raise RefusedError(413, f"a request must have at most {largest:,} bytes")
            parts.append(part)
        return b"".join(parts)

    @staticmethod
    def again(request: Request) -> str | None:
        """What makes a second try of a request count once."""
        given = request.headers.get("idempotency-key")
        if given is not None and not 1 <= len(given) <= LONGEST_KEY:
            raise RefusedError(400, f"Idempotency-Key must have 1 to {LONGEST_KEY} characters, got {len(given)}")
        return given

    def secret(self, request: Request) -> str | None:
        """The key of a request; of one that only reads, it may be a browser's password."""
        given = request.headers.get("ocp-apim-subscription-key")
        if given is None:
            scheme, _, told = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer":
                given = told.strip()
            elif scheme.lower() == "basic" and request.method == "GET":  # browsers send it unasked: never to write
                given = _password(told.strip())
        return given or None

    def admit(self, request: Request, scope: Scope, loop: str | None) -> str | None:
        """Whether a request may do this; the loop that its key is for, if it is for one."""
        if not self.keys.all():
            if not _near(request):
                raise RefusedError(403, "a service without keys answers its own machine alone: make a key")
            if _host(request) not in _HERE:
                told = "the header Host must be localhost or 127.0.0.1: make a key"
                raise RefusedError(403, f"a service without keys answers its own machine alone, and {told}")
            if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
                raise RefusedError(403, "a service without keys answers no pages of others: make a key")
            origin = request.headers.get("origin")  # of browsers that do not say more, also where they change something
            if origin is not None and origin.partition("//")[2].lower() != request.headers.get("host", "").lower():
                raise RefusedError(403, "a service without keys answers no pages of others: make a key")
            return None
        secret = self.secret(request)
        if secret is None and request.headers.get("authorization"):
            raise RefusedError(401, "Authorization must be: Bearer <key>")
        if secret is None:
            raise RefusedError(401, "a key is needed: Authorization: Bearer <key>")
        key = self.keys.find(secret)
        if key is None:
            raise RefusedError(401, "this key is not known: it was never made here, or it was taken away")
        if scope not in key.scopes and "admin" not in key.scopes:
            raise RefusedError(403, f"this key is not for {scope}")
        if loop is not None and key.loop not in ("*", loop):
            raise RefusedError(403, "this key is for another loop")
        return None if key.loop == "*" else key.loop

    def admit_to_all(self, request: Request, scope: Scope) -> None:
        """The same for what is of all loops, which a key for one of them does not open."""
        if self.admit(request, scope, None) is not None:
            raise RefusedError(403, "this key is for one loop")

    def slow_down(self, loop: str) -> None:
        """Refuse what is faster than a loop allows."""
        found = self.service.loops.get(loop)
        rate = None if found is None else found.settings.most_per_second
        if rate is None:
            return
        with self._lock:
            left, at = self._buckets.get(loop, (max(rate, 1.0), time.monotonic()))
            left = min(left + (time.monotonic() - at) * rate, max(rate, 1.0))
            self._buckets[loop] = (left - 1.0 if left >= 1.0 else left, time.monotonic())
        if left < 1.0:
            raise RefusedError(429, f"this loop takes {rate:g} requests a second", math.ceil(1.0 / rate))

    async def answered(
        self, act: Callable[[], Awaitable[Response]], refusal: Callable[[RefusedError], Response]
    ) -> Response:
        """What is answered, whatever happens."""
        try:
            return await act()
        except Exception as error:
            return refusal(self.why(error))

    def why(self, error: BaseException) -> RefusedError:
        """What a request is told that ended with this."""
        refused = _why(error)
        self.refused[refused.status] += 1
        return refused


def _why(error: BaseException) -> RefusedError:
    match error:
        case RefusedError():
            return error
        case ClientDisconnect():
            return RefusedError(400, "the request did not come whole")  # nobody hears it
        case msgspec.DecodeError() | ValueError() | RecursionError():
            return RefusedError(400, str(error)[:1000] or "this cannot be read")
        case UnknownError():
            return RefusedError(404, str(error))
        case ConflictError():
            return RefusedError(409, str(error))
        case FullError():
            return RefusedError(429, str(error), 1)
        case LateError() | LostError():
            return RefusedError(503, str(error), 10)
        case JournalError():
            _SELDOM.warning(f"a request failed: {error}")
            return RefusedError(503, "the journal cannot be read or written now: ask again", 1)
    _LOG.error("a request failed", exc_info=error)
    return RefusedError(500, "this failed, and is in the server's log")


def _near(request: Request) -> bool:
    """Whether a request comes from this machine."""
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def _host(request: Request) -> str:
    """Whom a request is for, by its own word, without the port."""
    told = request.headers.get("host", "").lower()
    return told[: told.find("]") + 1] if told.startswith("[") else told.partition(":")[0]
