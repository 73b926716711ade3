"""A request of one of the dialects, taken apart: which loop it is for, what it names, what it holds.

The loop is that of the key. Without keys, or with a key for all loops, it is the only loop there is, or one called
"default". Personalizer has no operation that makes a loop: one that is not there is made when it is first used.
"""

from collections.abc import Collection
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from marginbandits.service.core import Service
from marginbandits.service.loop import Loop
from marginbandits.service.personalizer.dialects import Dialect
from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.records import Settings, named

__all__ = ["Call", "Loops"]

AT_FIRST = Settings(reward_range=(-1.0, 1.0), window=600.0, exploration=0.2, default=0.0)
LONGEST = 256


@dataclass(frozen=True)
class Call:
    """What an operation is given; `named` is the id in the path, if there is one."""

    request: Request
    dialect: Dialect
    loop: Loop
    named: str
    body: bytes

    @property
    def key(self) -> str | None:
        """What makes a second try of the same request count once: the clients send it again with every retry."""
        given = self.request.headers.get("x-ms-client-request-id")
        if given is not None and len(given) > LONGEST:
            raise FaultError("BadRequest", f"x-ms-client-request-id must have at most {LONGEST} characters")
        return given or None

    def header(self, name: str) -> str | None:
        """One that may hold any text: as UTF-8 where it is that, else as the Latin-1 that HTTP had once."""
        given = self.request.headers.get(name)
        if given is None:
            return None
        try:
            return given.encode("latin-1").decode()
        except UnicodeDecodeError:
            return given

    def query(self, name: str) -> str | None:
        """A parameter after the question mark."""
        return self.request.query_params.get(name)

    def number(self, name: str, usual: int) -> int:
        """One that is a whole number."""
        given = self.query(name)
        if given is None:
            return usual
        if not given.isascii() or not given.isdigit() or len(given) > 10:
            raise FaultError("BadRequest", f"{name} must be a whole number, got {given[:40]!r}")
        return int(given)


class Loops:
    """Finds the loop of a request."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def find(self, own: str | None) -> Loop:
        """The loop that a key is for, or the one there is."""
        there = self._service.loops
        found = there.get(_only(there) if own is None else own)
        return await run_in_threadpool(self._make, own) if found is None else found

    def _make(self, own: str | None) -> Loop:
        """The journal knows of loops that another process has made."""
        name = _only({one.loop for one in self._service.journal.changes()}) if own is None else own
        self._service.made(named(name), AT_FIRST)
        return self._service.loop(name)


def _only(there: Collection[str]) -> str:
    """The loop that nobody names, among those that there are."""
    if len(there) > 1 and "default" not in there:
        raise FaultError("MissingAppId")
    return next(iter(there)) if len(there) == 1 else "default"
