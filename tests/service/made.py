"""A service in this process, whose clock the test moves."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from starlette.testclient import TestClient

from marginbandits.service import following, store
from marginbandits.service import journal as journals
from marginbandits.service.app import application
from marginbandits.service.core import Service
from marginbandits.service.records import Policy, Settings
from marginbandits.service.requests import Answer, Ask
from marginbandits.service.sqlite import Sqlite

__all__ = ["Clock", "Shop", "web"]

T = TypeVar("T")


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1_700_000_000_000_000
        for module in (following, store):
            monkeypatch.setattr(module, "now", lambda: self.at)
        monkeypatch.setattr(journals._CLOCK, "begin", lambda last: None)  # commands have the machine's

    def sleep(self, seconds: float) -> None:
        self.at += round(seconds * 1e6)


class Shop:
    """A service with one loop, "shop"."""

    def __init__(
        self, folder: Path, clock: Clock, settings: Settings | None = None, policy: Policy | None = None
    ) -> None:
        self.clock, journal = clock, Sqlite(folder)
        try:
            self.service = Service(journal, checkpoints=1e9)
        except BaseException:
            journal.close()
            raise
        if settings is not None:
            self.service.set("shop", settings, policy)

    @property
    def loop(self) -> Any:
        return self.service.loop("shop")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    def decide(self, **ask: Any) -> Answer:
        given = {"actions": ["hat", "shoe"], **ask}
        return self.run(self.service.decide("shop", Ask(**given)))

    def reward(self, event: str, value: float, key: str | None = None) -> Any:
        return self.run(self.service.reward("shop", event, value, key))

    def pass_by(self, seconds: float) -> None:
        """Time goes on, and what closes is learnt."""
        self.service.settle()
        self.clock.sleep(seconds)
        while self.service._overdue():
            self.service._wake.set()
            time.sleep(0.001)
        self.service.settle()

    def play(self, n: int, *, unit: bool = False) -> None:
        """Visitors who like what they like, rewarded at once."""
        for k in range(n):
            likes = "hat" if k % 2 else "shoe"
            more = {"unit": f"visitor {k % 5}"} if unit else {}
            answer = self.decide(context={"likes": likes}, **more)
            self.reward(answer.event_id, float(answer.action == likes))
            self.clock.sleep(1.0)
            if k % 10 == 9:
                self.pass_by(0.0)
        self.pass_by(1000.0)

    def close(self) -> None:
        self.service.close()
        assert self.service.failure is None


def web(shop: Shop) -> TestClient:
    """Requests from this machine, that raise nothing but what is answered."""
    here = ("127.0.0.1", 50000)
    app = application(shop.service)
    return TestClient(app, base_url="http://127.0.0.1", client=here, raise_server_exceptions=False)
