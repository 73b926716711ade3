"""A client in a few lines of Python, whose tries never count twice.

Every decision and reward carries a key of its own, the same at every try: what was written before the connection broke
is not written again. Between tries it waits, twice as long each time, or as long as the service says (Retry-After), but
never longer than `LONGEST` seconds; all tries together outlast a restart. What sets, judges or erases is sent once, and
again only where it cannot have arrived; it may take long, and is waited for `PATIENT` seconds, whatever `timeout` is.

    with Client("http://127.0.0.1:8080", "shop") as shop:
        decision = shop.decide({"age": 31}, ["hat", "shoe"])
        shop.reward(decision.event_id, 1.0)
"""

import http.client
import math
import numbers
import random
import time
import urllib.parse
import uuid
from collections.abc import Mapping, Set
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np

from marginbandits.service.records import Policy
from marginbandits.service.requests import Answer, Erasure, Judged, LoopState, Promotion, Receipt
from marginbandits.wording import quoted

__all__ = ["Client", "ServiceError"]

Asked = str | dict[str, Any]
"""A policy: the name of a learner, or {"learner": …, "parameters": {…}, "since": "now"}."""

LONGEST, PATIENT = 10.0, 600.0
"""Seconds between two tries at most, and those that an evaluation, or an erasure, may take."""
_AGAIN = {429, 500, 502, 503, 504}


class ServiceError(Exception):
    """The service refused: its status, and what it said; or, with status 0, it did not answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Client:
    """One loop of a service; one connection, for one thread."""

    def __init__(self, url: str, loop: str, key: str | None = None, *, tries: int = 8, timeout: float = 10.0) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be http://… or https://…, got {url!r}")
        key = None if key is None else key.strip()  # a file's last line ends with more than the key
        _refuse(loop, key, tries, timeout)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection, self._timeout = kind(parts.hostname, parts.port, timeout=timeout), timeout
        self._where = f"{parts.hostname}:{self._connection.port}"
        self._path = f"{parts.path.rstrip('/')}/loops/{urllib.parse.quote(loop, safe='')}"
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._tries = tries

    def set(self, policy: Asked | None = None, *, new: bool = False, **settings: Any) -> LoopState:
        """Set the loop otherwise: what is named, as in the interface; everything else stays as it is.

        One that is not there is made only if it may be `new`. What follows beside is in `notes`. A policy decides at
        once, and is not judged: `promote` judges.
        """
        if isinstance(settings.get("actions"), dict):
            settings["actions"] = _offers(settings["actions"])
        asked = {"settings": settings, "new": new} | ({} if policy is None else {"policy": _policy(policy)})
        return msgspec.json.decode(self._send("PUT", "", asked, once=True), type=LoopState)

    def state(self) -> LoopState:
        """The loop as it is."""
        return msgspec.json.decode(self._send("GET", "", None), type=LoopState)

    def policies(self) -> list[Policy]:
        """All that the loop ever had, in order; the last decides."""
        return msgspec.json.decode(self._send("GET", "/policies", None), type=list[Policy])

    def evaluate(self, policies: dict[str, Asked] | None = None) -> list[Judged]:
        """What policies, by labels of yours, would have earned; so do who decides, the baseline, an even choice.

        All that there is in the journal is judged, which may take minutes: it is waited for `PATIENT` seconds.
        """
        if not isinstance(policies or {}, Mapping):
            raise ValueError(f'policies must be by labels of yours, {{"mine": "RegCB"}}, got {quoted(policies)}')
        asked = {label: _policy(one) for label, one in (policies or {}).items()}
        found = self._send("POST", "/evaluate", {"policies": asked}, once=True)
        return msgspec.json.decode(found, type=list[Judged])

    def promote(self, policy: Asked, *, force: bool = False) -> Promotion:
        """Judge a policy by the loop's journal, and let it decide if it earns more; if it is forced, at once."""
        asked = {"policy": _policy(policy), "force": force}
        return msgspec.json.decode(self._send("POST", "/policies", asked, once=True), type=Promotion)

    def back(self, number: int) -> LoopState:
        """Let a policy of the past decide again."""
        return msgspec.json.decode(self._send("POST", "/back", {"number": number}, once=True), type=LoopState)

    def erase(self, unit: str) -> Erasure:
        """Forget whom a unit stands for."""
        return msgspec.json.decode(self._send("POST", "/erase", {"unit": unit}, once=True), type=Erasure)

    def decide(
        self,
        context: dict[str, Any] | None,
        actions: list[Any] | dict[str, dict[str, Any]] | None = None,
        **more: Any,
    ) -> Answer:
        """An action for this context: of ids, or of ids with features; `more` as in the interface (event_id, unit…)."""
        if isinstance(actions, dict):
            actions = _offers(actions)
        event = more.pop("event_id", None)
        event = uuid.uuid4().hex if event is None else event
        asked = {"context": context, "actions": actions, "event_id": event, **more}
        return msgspec.json.decode(self._send("POST", "/decide", asked), type=Answer)

    def reward(self, event_id: str, value: float, key: str | None = None) -> Receipt:
        """What an event was worth."""
        told = {"event_id": event_id, "value": value, "key": key or uuid.uuid4().hex}
        return msgspec.json.decode(self._send("POST", "/reward", told), type=Receipt)

    def activate(self, event_id: str) -> Receipt:
        """A deferred decision was used."""
        return msgspec.json.decode(self._send("POST", "/activate", {"event_id": event_id}), type=Receipt)

    def _send(self, method: str, what: str, asked: dict[str, Any] | None, *, once: bool = False) -> bytes:
        body, wait = None if asked is None else msgspec.json.encode(_said(asked, "")), 0.1
        if once:
            self._connection.close()  # an old connection may be gone, and then nobody knows what has arrived
        self._connection.timeout = PATIENT if once else self._timeout
        for left in reversed(range(self._tries)):
            try:
                self._connection.request(method, self._path + what, body, self._headers)
                answer = self._connection.getresponse()
                found, status, told = answer.read(), answer.status, answer.headers.get("Retry-After", "")
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if not left or (once and not isinstance(error, ConnectionRefusedError)):
                    tried = self._tries - left
                    raise ServiceError(0, f"no answer from {self._where} (try {tried}): {error!r}") from error
                told = ""
            else:
                if status == 200:
                    return found
                if status not in ({429} if once else _AGAIN) or not left:
                    raise ServiceError(status, _message(found))
            given = float(told) if told.isdecimal() and told.isascii() and len(told) < 10 else 0.0
            time.sleep(min(given or wait * (0.5 + random.random()), LONGEST))
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


def _refuse(loop: Any, key: str | None, tries: Any, timeout: Any) -> None:
    """What cannot be, by name; of a key nothing is shown."""
    if not isinstance(loop, str) or not loop:
        raise ValueError(f"loop must be the name of a loop, got {quoted(loop)}")
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise ValueError("key must be one line, as `marginbandits keys make` prints it")
    if not isinstance(tries, int) or tries < 1:
        raise ValueError(f"tries must be a whole number at least 1, got {quoted(tries)}")
    if not isinstance(timeout, int | float) or not 0.0 < timeout < math.inf:
        raise ValueError(f"timeout must be a number of seconds above 0, got {quoted(timeout)}")


def _offers(actions: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": one, "features": features} for one, features in actions.items()]


def _policy(asked: Asked) -> dict[str, Any]:
    return {"learner": asked} if isinstance(asked, str) else asked


def _said(given: Any, where: str) -> Any:
    """The same as JSON has it, NumPy's numbers as numbers; what it has no way to say is refused by name.

    >>> _said({"age": np.float64(31), "tags": ("new", "sale")}, "")
    {'age': 31.0, 'tags': ['new', 'sale']}
    >>> _said({"context": {"age": [31, float("nan")]}}, "")
    Traceback (most recent call last):
    ValueError: context.age[1] must be a finite number, got nan
    """
    if isinstance(given, np.generic | np.ndarray) and given.dtype.kind in "biufU":
        given = given.tolist() if given.dtype.itemsize <= 8 or given.dtype.kind == "U" else given.astype(float).tolist()
    if given is None or isinstance(given, bool | str | int):
        return given
    known = not isinstance(given, np.generic)  # others of NumPy's are times, which call themselves numbers
    if known and isinstance(given, numbers.Real):
        if not math.isfinite(given):
            raise ValueError(f"{where} must be a finite number, got {given}")
        return float(given)
    if isinstance(given, msgspec.Struct):
        given = msgspec.to_builtins(given)
    if isinstance(given, Mapping):
        for name in given:
            if not isinstance(name, str):
                raise ValueError(f"{where} must have strings for names, got {quoted(name)}")
        return {name: _said(one, f"{where}.{name}" if where else name) for name, one in given.items()}
    if isinstance(given, Set) and all(isinstance(one, str) for one in given):
        return sorted(given)
    if isinstance(given, list | tuple):
        return [_said(one, f"{where}[{place}]") for place, one in enumerate(given)]
    rule = "a number, a string, a boolean, a list or a mapping of these, or None"
    raise ValueError(f"{where} must be {rule}, got {quoted(given)}")


def _message(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body)["error"])
    except (msgspec.DecodeError, TypeError, KeyError):
        return body[:200].decode("utf-8", "replace")
