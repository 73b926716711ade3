"""Who may do what: keys of 32 random bytes, of which only a hash is kept.

A key is for one loop, or for all ("*"), and has scopes. A loop has at most two keys of the same scopes, so that one can
be replaced without a pause: there are two places for them, and who takes one has it, whoever else tries. Where a
service has no keys at all, everybody who reaches it may do everything: such a service listens to its own machine alone.

    decide   decisions, activations       reward   rewards
    read     the page, states, metrics    admin    everything
"""

import hashlib
import hmac
import secrets
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from marginbandits.service.journal import Journal, JournalError, now
from marginbandits.service.logbook import LOG
from marginbandits.service.records import named
from marginbandits.wording import suggestion

__all__ = ["SCOPES", "Key", "Keys", "Scope", "scoped"]

Scope = Literal["decide", "reward", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
MOST, SHOWN = 2, 8
"""Keys of the same scopes for a loop; digits of a hash by which a key is known."""
_FRESH = 2.0
"""Seconds after which keys that another process made or took away are seen."""


class Key(msgspec.Struct, frozen=True):
    """What is kept of a key."""

    sha256: str
    loop: str
    scopes: list[Scope]
    made: int


def scoped(loop: str, scopes: Iterable[str]) -> list[Scope]:
    """The scopes of a key that is wanted for a loop, in order; or why there can be none."""
    if loop != "*":
        named(loop)
    given = set(scopes)
    for scope in given - set(SCOPES):
        raise ValueError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if not given:
        raise ValueError(f"scopes must be one or more of {', '.join(SCOPES)}")
    return [scope for scope in SCOPES if scope in given]


class Keys:
    """The keys of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: list[Key] = []
        self._until, self._watched = 0.0, False

    def watch(self) -> None:
        """From now on a thread reads them, every second: `all` waits for no database; while one hangs, it is behind."""
        self.all()
        self._watched = True
        threading.Thread(target=_watch, args=(weakref.ref(self),), name="keys", daemon=True).start()

    def all(self) -> list[Key]:
        """Those that are valid."""
        if not self._watched or self._until == 0.0:  # not yet, or what this process has just made or taken away
            self.look()
        return self._known

    def look(self) -> None:
        """Read them, if that was too long ago."""
        if time.monotonic() >= self._until:
            facts = self._journal.facts("key/").values()
            before, self._known = self._known, sorted(_read(facts), key=lambda one: one.made)
            if self._watched:
                _tell(before, self._known)
            self._until = time.monotonic() + _FRESH / 2.0

    def make(self, loop: str, scopes: Iterable[str], *, new: bool = False) -> str:
        """A key, that is told once, and never again; for a loop that is not there yet, only if it may be `new`."""
        wanted = scoped(loop, scopes)
        there = {one.loop for one in self._journal.changes()}
        if loop != "*" and not new and loop not in there:
            near = suggestion(loop, there) if there else ""
            raise ValueError(f"there is no loop {loop!r} (--new is for one that is yet to be made){near}")
        secret = "mb_" + secrets.token_urlsafe(32)
        key = msgspec.json.encode(Key(_hashed(secret), loop, wanted, now()))
        places = (f"key/{loop}/{'+'.join(wanted)}/{place}" for place in range(MOST))
        if not any(self._journal.first(place, key) == key for place in places):
            raise ValueError(f"{loop!r} has two keys for {', '.join(wanted)}: take one away first")
        self._until = 0.0
        return secret

    def revoke(self, beginning: str) -> Key:
        """Take away the key whose hash begins so."""
        if len(beginning) < SHOWN:
            raise ValueError(f"give {SHOWN} digits of a key's hash, as `keys list` shows them, got {beginning!r}")
        facts = self._journal.facts("key/")
        keys = zip(facts, _read(facts.values()), strict=True)
        found = [(place, key) for place, key in keys if key.sha256.startswith(beginning)]
        if len(found) != 1:
            raise ValueError(f"{len(found) or 'no'} keys have hashes that begin with {beginning[:64]!r}")
        ((place, key),) = found
        self._journal.put(place, None)
        self._until = 0.0
        return key

    def find(self, secret: str) -> Key | None:
        """The key, if it is one; every known one is looked at, in the same time."""
        digest, found = _hashed(secret), None
        for one in self.all():
            if hmac.compare_digest(one.sha256, digest):
                found = one
        return found


def _read(facts: Iterable[bytes]) -> list[Key]:
    try:
        return [msgspec.json.decode(one, type=Key) for one in facts]
    except (msgspec.MsgspecError, ValueError, TypeError):  # SQLite gives text, if somebody wrote text
        raise JournalError("the keys cannot be read: some are not what was written") from None


def _tell(before: list[Key], after: list[Key]) -> None:
    """The log, of keys that are new, or gone."""
    for what, some, others in (("made", after, before), ("revoked", before, after)):
        for one in some:
            if one not in others:
                opens = "all loops" if one.loop == "*" else one.loop
                LOG.info("key %s was %s: %s of %s", one.sha256[:SHOWN], what, ", ".join(one.scopes), opens)


def _watch(keys: "weakref.ref[Keys]") -> None:
    """Until nobody has them any more."""
    while (one := keys()) is not None:
        try:
            one.look()
        except Exception:  # a database that fails; others say so, and it is asked again
            LOG.debug("keys could not be read", exc_info=True)
        del one
        time.sleep(_FRESH / 4.0)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
