"""How old the model is by which a process decides that does not learn: two seconds at most, by the test's clock."""

import asyncio
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from marginbandits.service import following
from marginbandits.service.app import application
from marginbandits.service.checkpoint import opened as checkpoint
from marginbandits.service.core import Service
from marginbandits.service.records import Settings
from marginbandits.service.requests import Ask
from marginbandits.service.serving import opened
from tests.service.postgres import Server
from tests.service.test_leaders import until

OLDEST = 2.0
"""Seconds; beside them there is only what it takes to write a checkpoint and to read it."""
ASK = Ask(context={"x": 1}, actions=["hat", "shoe"])


class Steady:
    """The clock by which checkpoints are kept and looked for; the journal's own goes on as it does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.sleep = 1000.0, time.sleep
        monkeypatch.setattr(following, "time", self)

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> Steady:
    return Steady(monkeypatch)


@pytest.fixture
def process(postgres: Server, steady: Steady) -> Iterator[Callable[[], Service]]:
    """One more process of a database."""
    url = postgres.database()
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(Service(opened(url, serving=True))))


def learnt(service: Service) -> int:
    return int(service.loop("shop").model.learnt)


def told(service: Service) -> dict[str, Any]:
    """What it says of its model, to who asks it about itself, and what it would decide."""
    here = TestClient(application(service), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    ((_, decided),) = service.loop("shop").decide([(ASK, None)])
    page = here.get("/page/shop").text
    return {
        "state": here.get("/loops/shop").json()["learnt"],
        "page": page[page.index("has taken in") :].partition(" event")[0],
        "model": (decided.policy, decided.learnt),
        "law": decided.law,
    }


class Passing:
    """An event that nobody sets: who waits for it has waited as long as he would. It ends when its time has come."""

    def __init__(self, steady: Steady, end: float = math.inf) -> None:
        self._steady, self._end = steady, end

    def wait(self, seconds: float) -> None:
        self._steady.at += seconds

    def is_set(self) -> bool:
        return self._steady.at >= self._end

    def clear(self) -> None:
        """It never was."""


@pytest.mark.parametrize("leads", [True, False])
def test_checkpoints_are_kept_and_read_every_second_where_nothing_else_happens(steady: Steady, leads: bool) -> None:
    """Pauses included: who learns and who reads look when it is time, and not when they would have looked anyway."""
    service, found = object.__new__(Service), list[float]()

    def look() -> list[Any]:
        found.append(steady.at)
        return []

    journal = SimpleNamespace(lead=lambda: leads, changes=look, last=lambda: None)
    writer = SimpleNamespace(failure=None, waiting=0)
    state = {"leads": leads, "loops": {}, "seen": 1, "kept": 0, "failure": None, "_clean": 0, "_retiring": math.inf}
    clocks = {"_due": steady.at, "_checkpoints": following.SHARED, "_ticking": 0.0, "_changing": threading.RLock()}
    events = {"_wake": Passing(steady), "_ended": Passing(steady, steady.at + 100.0)}
    vars(service).update(state, **clocks, **events, journal=journal, writer=writer, _catch_up=lambda: True, _keep=look)
    service._follow()
    gaps = [later - earlier for earlier, later in itertools.pairwise(found[:-1])]  # the last is of the end
    assert min(gaps) > OLDEST / 4
    assert max(gaps) <= OLDEST / 2
    assert len(gaps) > 90


async def visited(service: Service, n: int) -> None:
    for _ in range(n):
        decided = await service.decide("shop", ASK)
        await service.reward("shop", decided.event_id, float(decided.action == "hat"))


def test_it_is_two_seconds_old_at_most(process: Callable[[], Service], steady: Steady) -> None:
    """What is learnt just after a checkpoint was kept is known everywhere when the next has been kept, and read."""
    leader, other = process(), process()
    assert (leader.leads, other.leads) == (True, False)

    def a_second_passes() -> None:
        """And each of them has done what it does then."""
        steady.at += following.SHARED
        until(lambda: all(one._due > steady.at for one in (leader, other)))

    leader.set("shop", Settings(window=0.01, exploration=0.0))
    a_second_passes()
    for n in (30, 60):
        asyncio.run(visited(leader, 30))
        until(lambda n=n: learnt(leader) == n)  # type: ignore[misc]
        learnt_at = steady.at
        assert told(other)["state"] == learnt(other) == n - 30, "nothing was read meanwhile"
        a_second_passes()
        assert checkpoint(leader.journal.fact("checkpoint/shop") or b"").learnt == n
        a_second_passes()
        assert steady.at - learnt_at <= OLDEST
        assert other.loop("shop").model.dumps() == leader.loop("shop").model.dumps()
        assert told(other) == told(leader)
        assert told(other) | {"law": 0} == {"state": n, "page": f"has taken in {n}", "model": (1, n), "law": 0}
