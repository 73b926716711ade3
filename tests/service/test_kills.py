"""`kill -9` at random moments under load: what was acknowledged is there, once; the model is what the journal says."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.marks import at_length
from tests.service.child import WINDOW, Child, Line
from tests.service.killing import Load, checked, killed
from tests.service.postgres import Server
from tests.service.running import served

FEW, MANY = 6, 50


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path)
    server: Server = request.getfixturevalue("postgres")
    return server.database()


@pytest.mark.parametrize("seed", [0, *at_length(range(1, 4))])
def test_a_killed_service_loses_nothing(where: str, seed: int) -> None:
    killed(where, seed, FEW if seed == 0 else MANY)


@pytest.mark.parametrize("processes", at_length([3]))
def test_several_processes_of_which_one_after_another_is_killed_lose_nothing(postgres: Server, processes: int) -> None:
    killed(postgres.database(), 0, MANY, processes)


def test_a_killed_database_loses_nothing(postgres: Server) -> None:
    rng, load, url = random.Random(0), Load(0), postgres.database()
    child = Child(url)

    def end() -> None:
        for _ in range(3):
            time.sleep(rng.uniform(0.05, 0.3))
            postgres.stop("immediate")
            postgres.start()
        time.sleep(1.0)
        child.kill()

    load.run(lambda: Line(child.port), end)
    assert load.errors > 0
    assert checked(url, load) > 10


def test_another_process_learns_when_the_one_that_did_is_killed(postgres: Server) -> None:
    url, load = postgres.database(), Load(0)
    one, other, third = Child(url), Child(url), Child(url)
    assert [child.ask({"kind": "state"})["leads"] for child in (one, other, third)] == [True, False, False]
    load.run(lambda: Line(other.port), lambda: _until(lambda: other.ask({"kind": "state"})["learnt"] >= 20))
    one.kill()
    _until(lambda: sum(child.ask({"kind": "state"})["leads"] for child in (other, third)) == 1)
    before = third.ask({"kind": "state"})["learnt"]
    load.run(lambda: Line(third.port), lambda: _until(lambda: third.ask({"kind": "state"})["learnt"] >= before + 20))
    told = other.ask({"kind": "decide", "context": {}, "actions": ["hat", "shoe"]})
    assert int(told["model"].partition(".")[2]) > 0, "it decides by what another process learnt, or learnt itself"
    other.kill()
    third.kill()
    load.decisions[told["event_id"]] = told
    checked(url, load)


class Http:
    """The same questions, of `marginbandits serve`."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def ask(self, what: dict[str, Any]) -> Any:
        body = {key: value for key, value in what.items() if key != "kind"}
        try:
            return self._client.post(f"/loops/shop/{what['kind']}", json=body).raise_for_status().json()
        except httpx.TransportError as error:
            raise ConnectionError(str(error)) from None


@pytest.mark.parametrize("kills", at_length([10]))
def test_a_killed_server_loses_nothing(where: str, kills: int) -> None:
    rng, load = random.Random(kills), Load(kills)
    for _ in range(kills):
        with served(where) as (client, process):

            @contextmanager
            def connected(address: httpx.URL = client.base_url) -> Iterator[Http]:
                with httpx.Client(base_url=address, timeout=60.0) as own:
                    yield Http(own)

            def end(process: Any = process) -> None:
                load.answered.wait(60)
                time.sleep(rng.uniform(0.005, 0.5))
                process.kill()

            client.put("/loops/shop", json={"new": True, "settings": {"window": WINDOW}}).raise_for_status()
            load.run(connected, end)
    assert len(load.decisions) > kills
    checked(where, load)


def _until(holds: Any) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it should have held by now")
