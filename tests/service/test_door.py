"""Who gets in, with what, and what everybody else is told."""

import re
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from marginbandits.service import door
from marginbandits.service.door import LARGEST, Door, RefusedError
from marginbandits.service.keys import Keys
from marginbandits.service.records import Settings
from tests.service.made import Shop, web

ASK = {"context": {"a": 1}, "actions": ["x", "y"]}


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    return opened(Settings(window=60))


@pytest.fixture
def client(shop: Shop) -> TestClient:
    return web(shop)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class TestKeys:
    def test_scopes_and_loops(self, shop: Shop, client: TestClient) -> None:
        keys = Keys(shop.service.journal)
        decide, admin = keys.make("shop", ["decide"]), keys.make("*", ["admin"])
        other, reads = keys.make("other", ["decide", "reward"], new=True), keys.make("shop", ["read"])
        told = [{}, bearer("mb_wrong"), {"Authorization": f"Token {decide}"}, {"Authorization": decide}]
        refused = [client.post("/loops/shop/decide", json=ASK, headers=one) for one in told]
        assert [one.status_code for one in refused] == [401] * 4
        words = [one.json()["error"].partition(":")[0] for one in refused]
        assert words == ["a key is needed", "this key is not known", *["Authorization must be"] * 2]
        assert client.post("/loops/shop/decide", json=ASK, headers=bearer(decide)).status_code == 200
        assert client.post("/loops/shop/decide", json=ASK, headers=bearer(other)).status_code == 403
        reward = {"event_id": "e", "value": 1.0}
        assert client.post("/loops/shop/reward", json=reward, headers=bearer(decide)).status_code == 403
        assert client.post("/loops/shop/reward", json=reward, headers=bearer(admin)).status_code == 200
        assert client.get("/loops", headers=bearer(other)).status_code == 403
        assert client.get("/metrics", headers=bearer(decide)).status_code == 403
        assert client.get("/metrics", headers=bearer(admin)).status_code == 200
        assert client.get("/loops/shop", headers=bearer(reads)).status_code == 200
        assert client.get("/metrics", headers=bearer(reads)).status_code == 403, "it tells of other loops, too"

    def test_two_of_a_kind_and_one_can_be_replaced(self, shop: Shop) -> None:
        keys = Keys(shop.service.journal)
        first, second = (keys.make("shop", ["decide"]) for _ in range(2))
        with pytest.raises(ValueError, match="two keys"):
            keys.make("shop", ["decide"])
        found = keys.find(first)
        assert found is not None
        keys.revoke(found.sha256[:12])
        assert keys.find(first) is None
        assert keys.find(second) is not None
        assert keys.make("shop", ["decide"]) not in (first, second)

    def test_only_hashes_are_kept(self, shop: Shop) -> None:
        secret = Keys(shop.service.journal).make("*", ["admin"])
        assert all(secret.encode() not in value for value in shop.service.journal.facts("").values())

    def test_without_keys_only_this_machine_by_its_own_name(self, client: TestClient) -> None:
        assert client.post("/loops/shop/decide", json=ASK).status_code == 200
        refused = client.post("/loops/shop/decide", json=ASK, headers={"Host": "evil.example"})
        assert refused.status_code == 403
        far = TestClient(client.app, base_url="http://127.0.0.1", client=("192.0.2.7", 50000))
        assert far.post("/loops/shop/decide", json=ASK).status_code == 403, "whatever host it names"
        elsewhere = client.post("/loops/shop/decide", json=ASK, headers={"Sec-Fetch-Site": "cross-site"})
        assert elsewhere.status_code == 403


class TestRefusals:
    @pytest.mark.parametrize(
        ("body", "status", "message"),
        [
            (b"", 400, "there is no json: the request is empty"),
            (b'{"context": {"a', 400, "the json ends before it is whole, after 15 bytes"),
            (b"[]", 400, "object"),
            (b'{"context": 1}', 400, "context"),
            (b'{"actions": []}', 400, "actions"),
            (b'{"actions": [1]}', 400, "actions[0] must be a string or an object of id, features, got a whole number"),
            (b'{"actions": ["x"], "unit": 3}', 400, "unit must be a string or null, got a whole number"),
            (b'{"actions": ["x"], "more": 1}', 400, "more"),
            (b'{"actions": ["\xff"]}', 400, "utf-8"),
            (b'{"actions": ["x"], "context": {"a": 1e999}}', 400, ""),
            (b'{"actions": ["x"], "context": ' + b'{"a": ' * 5000 + b"1" + b"}" * 5000 + b"}", 400, ""),
            (b" " * (LARGEST + 1), 413, "at most"),
        ],
    )
    def test_bad_bodies(self, shop: Shop, client: TestClient, body: bytes, status: int, message: str) -> None:
        before = shop.service.journal.last()
        answer = client.post("/loops/shop/decide", content=body)
        assert answer.status_code == status
        assert message in answer.json()["error"].lower()
        assert shop.service.journal.last() == before

    def test_nowhere(self, client: TestClient) -> None:
        assert client.post("/loops/nobody/decide", json=ASK).status_code == 404
        assert client.get("/nothing").json()["error"].startswith("there is nothing here")
        near = client.post("/loops/shop/decid", json=ASK)
        assert (near.status_code, near.json()["error"]) == (404, "there is nothing here; did you mean 'decide'?")
        for method, path in (("POST", "/loops/shop/decide/"), ("GET", "/loops/"), ("GET", "/nothing/")):
            slash = client.request(method, path, json=ASK, follow_redirects=False)
            told = {"error": "there is nothing here: no path but / ends with a slash"}
            assert (slash.status_code, slash.json()) == (404, told), path
        assert client.get("/loops/shop/decide").status_code == 405
        assert client.get("/loops/shop/decide").json()["error"] == "GET is not for this, but POST"
        refused = client.delete("/loops/shop")
        assert refused.json()["error"] == "DELETE is not for this, but GET, HEAD, PUT"
        assert refused.headers["Allow"] == "GET, HEAD, PUT"
        assert client.put("/loops/a%2Fb", json={}).status_code in (400, 404)
        assert client.put("/loops/" + "a" * 65, json={}).status_code == 400

    def test_what_is_too_fast(self, shop: Shop, client: TestClient) -> None:
        shop.service.set("shop", Settings(most_per_second=3.0))
        shop.service.settle()
        found = [client.post("/loops/shop/decide", json=ASK) for _ in range(8)]
        assert [one.status_code for one in found[:3]] == [200] * 3
        assert found[-1].status_code == 429
        assert int(found[-1].headers["Retry-After"]) >= 1

    def test_who_hammers_gets_what_the_rate_allows_and_no_less(
        self, shop: Shop, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop.service.set("shop", Settings(most_per_second=2.0))
        at, slow_down = [1000.0], Door(shop.service).slow_down
        monkeypatch.setattr(door, "time", SimpleNamespace(monotonic=lambda: at[0]))
        admitted = 0
        for _ in range(200):
            at[0] += 0.1
            try:
                slow_down("shop")
                admitted += 1
            except RefusedError:
                pass
        assert admitted == pytest.approx(2 * 20 + 2, abs=2)

    def test_a_zero_is_in_no_id(self, shop: Shop, client: TestClient) -> None:
        shop.service.set("shop", {"strict": True})
        for path in ("reward", "activate", "decide"):
            body = {
                "event_id": "a\0",
                **({"value": 1.0} if path == "reward" else {}),
                **(ASK if path == "decide" else {}),
            }
            assert client.post(f"/loops/shop/{path}", json=body).status_code == 400, path
        assert client.get("/page/shop/event?id=%00").status_code == 404
        for path in ("events/a%00/reward", "events/%00/activate", "evaluations/%00"):
            method = "GET" if path.startswith("ev") and path.endswith("%00") else "POST"
            asked = client.request(method, f"/personalizer/v1.0/{path}", json={"value": 1.0})
            assert asked.status_code == 400, path

    def test_what_is_asked_again_is_said_when(self, shop: Shop, client: TestClient) -> None:
        shop.service.set("shop", {"most_per_second": 0.01})
        found = [client.post("/loops/shop/decide", json=ASK) for _ in range(2)]
        assert found[1].headers["Retry-After"] == "100"

    def test_who_reads_does_not_evaluate(self, shop: Shop, client: TestClient) -> None:
        shop.play(3)
        labelled = {"policies": {"baseline": {"learner": "Uniform"}}}
        reads, admin = (Keys(shop.service.journal).make("shop", [scope]) for scope in ("read", "admin"))
        refused = client.post("/loops/shop/evaluate", json=labelled, headers=bearer(admin))
        assert refused.status_code == 400
        assert "give yours another label" in refused.json()["error"]
        assert client.post("/loops/shop/evaluate", json={}, headers=bearer(reads)).status_code == 403

    def test_counts_are_told_in_full(self, shop: Shop, client: TestClient) -> None:
        shop.service.writer.appended = 12_345_678
        assert "marginbandits_entries_total 12345678\n" in client.get("/metrics").text

    def test_what_came_again_is_counted_once_and_told(self, shop: Shop, client: TestClient) -> None:
        """By the short way, too, which calls the same."""
        for _ in range(3):
            assert client.post("/loops/shop/decide", json={**ASK, "event_id": "e", "deferred": True}).status_code == 200
        assert client.post("/loops/shop/decide", json={"actions": ["other"], "event_id": "e"}).status_code == 409
        for value, status in ((0.5, 200), (0.5, 200), (0.75, 409)):
            body = {"event_id": "e", "value": value, "key": "k"}
            assert client.post("/loops/shop/reward", json=body).status_code == status
        for _ in range(2):
            assert client.post("/loops/shop/activate", json={"event_id": "e"}).status_code == 200
        told = client.get("/metrics").text
        for kind, n in (("decision", 2), ("reward", 1), ("activation", 1)):
            assert f'marginbandits_repeated_total{{loop="shop",kind="{kind}"}} {n}\n' in told
        page = client.get("/page/shop").text
        assert '<dt>repeated</dt><dd class="count">4</dd>' in page

    def test_how_long_writing_takes_is_told(self, shop: Shop, client: TestClient) -> None:
        name, before = "marginbandits_commit_seconds", shop.service.writer.groups
        append = shop.service.journal.append

        def slow(drafts: Any) -> Any:
            time.sleep(0.021)
            return append(drafts)

        shop.service.journal.append = slow  # type: ignore[method-assign]
        shop.decide()
        told = client.get("/metrics").text
        found = dict(re.findall(rf'^{name}_bucket{{le="(.*)"}} (\d+)$', told, re.MULTILINE))
        within = [int(n) for n in found.values()]
        assert [*found][-1] == "+Inf"
        assert within == sorted(within), "each is counted in all that are longer"
        assert within[-1] == shop.service.writer.groups == before + 1
        assert within[-1] > int(found["0.02"]), "it took longer"
        assert f"{name}_count {within[-1]}\n" in told
        assert float(re.findall(rf"^{name}_sum (.*)$", told, re.MULTILINE)[0]) > 0.02

    def test_rewards_are_told_in_their_own_units(self, shop: Shop, client: TestClient) -> None:
        shop.service.set("shop", {"reward_range": [0, 10], "holdback": 0.5, "window": 1})
        assert "marginbandits_reward{" not in client.get("/metrics").text
        for k in range(20):
            event = shop.decide(event_id=str(k)).event_id
            shop.reward(event, 5.0)
        shop.pass_by(2)
        told = client.get("/metrics").text
        assert 'marginbandits_reward{loop="shop",arm="bandit"} 5\n' in told
        assert 'marginbandits_reward{loop="shop",arm="holdback"} 5\n' in told
        assert 'marginbandits_lift{loop="shop",end="value"} 0\n' in told
        document = client.get("/openapi.json").json()
        assert {"/metrics", "/page/{loop}", "/page/{loop}/event"} <= set(document["paths"])
        health, decide = document["paths"]["/health"]["get"], document["paths"]["/loops/{loop}/decide"]["post"]
        assert health["responses"]["503"]["content"]["application/json"]["schema"]["$ref"].endswith("/Health")
        assert "Retry-After" in decide["responses"]["429"]["headers"]

    def test_a_failure_tells_nothing_of_itself(
        self, shop: Shop, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*given: Any) -> Any:
            raise RuntimeError("a secret of the server")

        monkeypatch.setattr(shop.loop, "decide", fails)
        answer = client.post("/loops/shop/decide", json=ASK)
        assert answer.status_code == 500
        assert "secret" not in answer.text


def test_pages_of_others_are_not_answered_without_keys(client: TestClient) -> None:
    own = {"Host": "localhost:8080", "Origin": "http://localhost:8080"}
    assert client.post("/loops/shop/decide", json=ASK, headers=own).status_code == 200
    for origin in ("https://evil.example", "null", "http://localhost:9999"):
        refused = client.post("/loops/shop/decide", json=ASK, headers={**own, "Origin": origin})
        assert refused.status_code == 403
        assert "no pages of others" in refused.json()["error"]


def test_one_key_is_for_one_event(client: TestClient) -> None:
    again = {"Idempotency-Key": "k"}
    assert client.post("/loops/shop/decide", json={**ASK, "event_id": "one"}, headers=again).status_code == 200
    assert client.post("/loops/shop/decide", json={**ASK, "event_id": "one"}, headers=again).status_code == 200
    other = client.post("/loops/shop/decide", json={**ASK, "event_id": "two"}, headers=again)
    assert other.status_code == 409
    assert "'one'" in other.json()["error"]
    assert "'two'" in other.json()["error"]
