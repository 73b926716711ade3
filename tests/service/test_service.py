"""The service as its users meet it: over HTTP, in a process of its own."""

import time
from pathlib import Path
from typing import Any

import httpx

from tests.service.running import served


def decided(client: httpx.Client, **ask: Any) -> Any:
    answer = client.post("/loops/shop/decide", json=ask)
    assert answer.status_code == 200, answer.text
    return answer.json()


def learnt(client: httpx.Client, n: int) -> Any:
    for _ in range(200):
        state = client.get("/loops/shop").json()
        if state["learnt"] >= n:
            return state
        time.sleep(0.05)
    raise AssertionError(f"{n} events should have been learnt: {state}")


def test_what_is_rewarded_is_played_and_a_restart_changes_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as (client, _):
        client.put("/loops/shop", json={"new": True, "settings": {"window": 2.0}}).raise_for_status()
        for k in range(60):
            one = decided(client, context={"likes": "hat" if k % 2 else "shoe"}, actions=["hat", "shoe"])
            assert abs(sum(chance["probability"] for chance in one["ranking"]) - 1.0) < 1e-9
            value = float(one["action"] == ("hat" if k % 2 else "shoe"))
            client.post("/loops/shop/reward", json={"event_id": one["event_id"], "value": value}).raise_for_status()
        before = learnt(client, 60)
        sure = decided(client, context={"likes": "hat"}, actions=["hat", "shoe"], event_id="sure")
        assert {one["id"]: one["probability"] for one in sure["ranking"]}["hat"] > 0.8
    with served(tmp_path) as (client, _):
        again = learnt(client, 60)
        assert again["policy"] == before["policy"]
        assert again["counts"]["rewarded"] == 60
        assert decided(client, context={"likes": "hat"}, actions=["hat", "shoe"], event_id="sure") == sure
        other = client.post("/loops/shop/decide", json={"context": {}, "actions": ["hat"], "event_id": "sure"})
        assert other.status_code == 409
