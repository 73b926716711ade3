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
import sys
import time

import msgspec

from marginbandits.service.journal import CANDIDATE, ERASURE, POLICY, SETTINGS, Entry
from marginbandits.service.records import Erased, Policy, Settings, Tried, decode
from marginbandits.service.wording import called

__all__ = ["LOG", "begin", "line"]

LOG = logging.getLogger("marginbandits.service")


def begin() -> None:
    """From now on the log goes to standard error, with times in UTC; who has told it where to go is asked first."""
    if not LOG.handlers:
        handler, form = logging.StreamHandler(sys.stderr), logging.Formatter("%(asctime)sZ %(levelname)s %(message)s")
        form.converter = time.gmtime
        form.default_msec_format = "%s.%03d"
        handler.setFormatter(form)
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)


def line(entry: Entry) -> str | None:
    """What an entry changes; None if it is an event."""
    if entry.body is None or entry.kind not in _LINES:
        return None
    try:
        return f"{entry.loop}: {_LINES[entry.kind](entry.body)}"
    except (ValueError, RecursionError):
        return f"{entry.loop}: entry {entry.seq} ({entry.kind}) cannot be read"


def _settings(body: bytes) -> str:
    usual, own = Settings(), decode(Settings, body)
    told = [
        f"{name} {f'{len(value)} of them' if name == 'actions' else value}"
        for name, value in msgspec.structs.asdict(own).items()
        if value != getattr(usual, name)
    ]
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
