"""The server's log: a line for whatever changes what a service does, without secrets, and without anybody's name.

Requests are not in it: what was decided is in the journal. Whoever leads tells what it takes in, whoever wrote it.

>>> from marginbandits.service.journal import START, Draft, linked
>>> changes = {"settings": b'{"window":60.0,"actions":["hat"]}', "policy": b'{"number":2,"reason":"back to 1"}'}
>>> for kind, body in changes.items():
...     print(line(linked(START, 1, 5, Draft("shop", kind, "", body), None, b"")))
shop: settings: window 60.0, actions 1 of them, all else as usual
shop: policy 2 decides: SquareCB; back to 1
"""

import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from marginbandits.service.journal import CANDIDATE, ERASURE, POLICY, SETTINGS, Entry
from marginbandits.service.records import Erased, Policy, Settings, Tried, decode
from marginbandits.service.wording import called, printable

__all__ = ["LOG", "Seldom", "begin", "line"]

LOG = logging.getLogger("marginbandits.service")


_TEXTS = 100
"""Different warnings that are remembered."""


def begin() -> None:
    """From now on the log goes to standard error, with times in UTC; who has told it where to go is asked first."""
    if not LOG.handlers:
        handler, form = logging.StreamHandler(sys.stderr), logging.Formatter("%(asctime)sZ %(levelname)s %(message)s")
        form.converter = time.gmtime
        form.default_msec_format = "%s.%03d"
        handler.setFormatter(form)
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)


class Seldom:
    """Warnings that may come thousands of times a second: each is told once in a while, with how often it came since.

    >>> told = []
    >>> seldom = Seldom(told.append, pause=3600.0)
    >>> for _ in range(1000):
    ...     seldom.warning("the disk is full")
    >>> told
    ['the disk is full']
    """

    def __init__(self, tell: Callable[[str], object] = LOG.warning, pause: float = 10.0) -> None:
        self._tell, self._pause, self._lock = tell, pause, threading.Lock()
        self._said: dict[str, tuple[float, int]] = {}  # when, and how often it was not told since

    def warning(self, text: str) -> None:
        """Tell it, unless it was told a moment ago."""
        with self._lock:
            at, more = self._said.get(text, (-math.inf, 0))
            if time.monotonic() - at < self._pause:
                self._said[text] = at, more + 1
                return
            if len(self._said) >= _TEXTS:
                self._said.clear()
            self._said[text] = time.monotonic(), 0
        self._tell(text + f" (and {more:,} times since that was told)" * (more > 0))


def line(entry: Entry, before: Settings | None = None) -> str | None:
    """What an entry changes of the settings there were `before`, or otherwise; None if it is nothing, or an event."""
    if entry.body is None or entry.kind not in _LINES:
        return None
    try:
        if entry.kind == SETTINGS and before is not None:
            changes = _changes(before, decode(Settings, entry.body))
            return printable(f"{entry.loop}: settings: {changes}") if changes else None
        return printable(f"{entry.loop}: {_LINES[entry.kind](entry.body)}")
    except (ValueError, RecursionError):
        return f"{entry.loop}: entry {entry.seq} ({entry.kind}) cannot be read"


def _changes(before: Settings, after: Settings) -> str:
    there = msgspec.structs.asdict(before)
    both = ((name, there[name], value) for name, value in msgspec.structs.asdict(after).items())
    return ", ".join(f"{name} {_said(name, was)} → {_said(name, value)}" for name, was, value in both if was != value)


def _said(name: str, value: Any) -> str:
    return f"{len(value)} of them" if name == "actions" and value is not None else str(value)


def _settings(body: bytes) -> str:
    usual, own = Settings(), decode(Settings, body)
    all_of_them = msgspec.structs.asdict(own).items()
    told = [f"{name} {_said(name, value)}" for name, value in all_of_them if value != getattr(usual, name)]
    return f"settings: {', '.join([*told, 'all else as usual'])}"


def _policy(body: bytes) -> str:
    policy = decode(Policy, body)
    since = f", from entry {policy.since} on" if policy.since else ""
    return f"policy {policy.number} decides: {called(policy)}{since}{f'; {policy.reason}' if policy.reason else ''}"


def _candidate(body: bytes) -> str:
    tried = decode(Tried, body)
    return f"a candidate is judged beside policy {tried.deciding}: {called(Policy(tried.learner, tried.parameters))}"


def _erasure(body: bytes) -> str:
    erased = decode(Erased, body)
    if erased.until:
        return f"all events up to entry {erased.until} are forgotten, but {len(erased.spared)} that open ones need"
    return f"somebody is forgotten: {len(erased.entries):,} entries and what speaks of them"


_LINES = {SETTINGS: _settings, POLICY: _policy, CANDIDATE: _candidate, ERASURE: _erasure}
