"""Who may do what: keys of 32 random bytes, of which only a hash is kept.

A key is for one loop, or for all ("*"), and has scopes. A loop has at most two keys of the same scopes, so that one can
be replaced without a pause. Where a service has no keys at all, everybody who reaches it may do everything: such a
service listens to its own machine alone.

    decide   decisions, activations       reward   rewards
    read     the page, metrics, exports   admin    everything
"""

import hashlib
import hmac
import secrets
import time
from typing import Literal, get_args

import msgspec

from marginbandits.service.journal import Journal, now

__all__ = ["SCOPES", "Key", "Keys", "Scope"]

Scope = Literal["decide", "reward", "read", "admin"]
SCOPES: tuple[str, ...] = get_args(Scope)
_FRESH = 2.0
"""Seconds after which keys that another process made or took away are seen."""


class Key(msgspec.Struct, frozen=True):
    """What is kept of a key."""

    sha256: str
    loop: str
    scopes: list[Scope]
    made: int


class Keys:
    """The keys of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: list[Key] = []
        self._until = 0.0

    def all(self) -> list[Key]:
        """Those that are valid."""
        if time.monotonic() >= self._until:
            facts = self._journal.facts("key/").values()
            self._known = sorted((msgspec.json.decode(one, type=Key) for one in facts), key=lambda one: one.made)
            self._until = time.monotonic() + _FRESH
        return self._known

    def make(self, loop: str, scopes: list[Scope]) -> str:
        """A new key: it is told once, and never again."""
        for scope in scopes:
            if scope not in SCOPES:
                raise ValueError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
        if not scopes:
            raise ValueError(f"scopes must be one or more of {', '.join(SCOPES)}")
        self._until = 0.0
        wanted = sorted(set(scopes))
        if sum((one.loop, sorted(one.scopes)) == (loop, wanted) for one in self.all()) >= 2:
            raise ValueError(f"{loop!r} has two keys for {', '.join(wanted)}: take one away first")
        secret = "mb_" + secrets.token_urlsafe(32)
        key = Key(_hashed(secret), loop, sorted(set(scopes)), now())
        self._journal.put(f"key/{key.sha256}", msgspec.json.encode(key))
        self._until = 0.0
        return secret

    def revoke(self, beginning: str) -> Key:
        """Take away the key whose hash begins so."""
        self._until = 0.0
        found = [one for one in self.all() if one.sha256.startswith(beginning)]
        if len(beginning) < 8 or len(found) != 1:
            raise ValueError(f"{len(found)} keys have hashes that begin with {beginning!r}: give 8 digits of one")
        self._journal.put(f"key/{found[0].sha256}", None)
        self._until = 0.0
        return found[0]

    def find(self, secret: str) -> Key | None:
        """The key, if it is one; every known one is looked at, in the same time."""
        digest, found = _hashed(secret), None
        for one in self.all():
            if hmac.compare_digest(one.sha256, digest):
                found = one
        return found


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
