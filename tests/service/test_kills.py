"""Servers killed by `kill -9` at random moments under load: what was acknowledged is there once, and verified.

They speak HTTP. `make soak` kills 370 of them; the command in docs/service.md kills a thousand on each store.
"""

import random
import time
from pathlib import Path
from typing import Any

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


def test_what_is_lost_or_other_than_was_told_is_found(tmp_path: Path) -> None:
    """That what holds above could fail: clients that were told something else find out."""
    load = killed(str(tmp_path), 0, 1)
    event, told = next(iter(load.decisions.items()))
    key, value = next(iter(load.rewards.items()))
    changed: list[tuple[dict[str, Any], str, Any, str]] = [
        (load.decisions, "lost", told, "no acknowledged decision is lost"),
        (load.decisions, event, {**told, "probability": 0.5}, "it is what was told"),
        (load.rewards, "lost", 0.5, "no acknowledged reward is lost"),
        (load.rewards, key, value / 2, "its value is what was told"),
    ]
    for kind, name, wrong, why in changed:
        right = dict(kind)
        kind[name] = wrong
        with pytest.raises(AssertionError, match=why):
            checked(str(tmp_path), load)
        kind.clear()
        kind.update(right)
    checked(str(tmp_path), load)


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


@pytest.mark.parametrize("kills", at_length([10]))
def test_a_killed_command_loses_nothing(where: str, kills: int) -> None:
    """As others are killed, but each is started by the command, which takes seconds."""
    rng, load = random.Random(kills), Load(kills)
    for _ in range(kills):
        with served(where) as (client, process):
            port = client.base_url.port
            assert port is not None

            def end(process: Any = process) -> None:
                load.answered.wait(60)
                time.sleep(rng.uniform(0.005, 0.5))
                process.kill()

            client.put("/loops/shop", json={"new": True, "settings": {"window": WINDOW}}).raise_for_status()
            load.run(lambda port=port: Line(port), end)  # type: ignore[misc]
    assert len(load.decisions) > kills
    checked(where, load)


def _until(holds: Any) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it should have held by now")
