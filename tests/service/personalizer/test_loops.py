"""Which loop a request is for: that of its key; and what happens without one."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from marginbandits.service.keys import Keys
from marginbandits.service.personalizer.calls import Loops
from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop
from tests.service.personalizer.speaking import V1_0, V1_1, actions
from tests.service.running import served

RANK = {"actions": actions("hat", "shoe")}


def test_a_key_is_for_its_own_loop_and_for_what_it_says(tmp_path: Path) -> None:
    journal = Sqlite(tmp_path)
    keys = {name: Keys(journal).make(name, ["decide"], new=True) for name in ("hats", "shoes")}
    every = Keys(journal).make("*", ["read", "decide"])
    journal.close()
    with served(tmp_path) as (client, _):
        for name, key in keys.items():
            headers = {"Ocp-Apim-Subscription-Key": key}
            for _ in range(2 if name == "hats" else 1):
                assert client.post(f"{V1_0}/rank", json=RANK, headers=headers).status_code == 201
            answer = client.post(f"{V1_1}/events/e/reward", json={"value": 1}, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "InvalidApiAccess")
            assert client.put(f"{V1_1}/model", headers=headers).status_code == 403
            assert client.get(f"{V1_0}/status", headers=headers).status_code == 200
        told = client.get("/loops", headers={"Authorization": f"Bearer {every}"}).json()
        assert {one["name"] for one in told} == {"hats", "shoes"}
        several = client.post(f"{V1_1}/rank", json=RANK, headers={"Authorization": f"Bearer {every}"})
        assert (several.status_code, several.json()["error"]["code"]) == (400, "MissingAppId")


def test_without_keys_there_is_one_loop(tmp_path: Path) -> None:
    with served(tmp_path) as (client, _):
        assert client.post(f"{V1_0}/rank", json=RANK).status_code == 201
        (one,) = client.get("/loops").json()
        assert one["name"] == "default"
        settings = one["settings"]
        assert (settings["reward_range"], settings["window"], settings["exploration"]) == ([-1.0, 1.0], 600.0, 0.2)
        client.put("/loops/other", json={"new": True}).raise_for_status()
        assert client.post(f"{V1_0}/rank", json=RANK).status_code == 201
        counts = {one["name"]: one["open"] for one in client.get("/loops").json()}
        assert counts["other"] == 0
        elsewhere = client.post(f"{V1_0}/rank", json=RANK, headers={"Host": "example.org"})
        assert elsewhere.status_code == 403
    with served(tmp_path / "only") as (client, _):
        client.put("/loops/only", json={"new": True}).raise_for_status()
        assert client.post(f"{V1_0}/rank", json=RANK).status_code == 201
        assert [one["name"] for one in client.get("/loops").json()] == ["only"]


def test_a_loop_that_was_just_made_elsewhere_is_the_only_one(opened: Callable[..., Shop]) -> None:
    service = opened().service

    def found() -> str:
        """By a process that does not know of any yet."""
        service.loops = {}
        return asyncio.run(Loops(service).find(None)).name

    service.set("hats", {})
    assert (found(), found()) == ("hats", "hats")
    service.set("shoes", {})
    with pytest.raises(FaultError) as refused:
        found()
    assert refused.value.code == "MissingAppId"
    assert {one.loop for one in service.journal.changes()} == {"hats", "shoes"}
    service.set("default", {})
    assert found() == "default"
