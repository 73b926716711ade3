"""What is set by name, and that nothing else is."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from marginbandits.service.deploying import promote
from marginbandits.service.explaining import decoded
from marginbandits.service.records import Settings
from marginbandits.service.requests import Ask, Candidate, Reward, Wanted
from tests.service.made import Shop, web

SETTINGS = Settings(window=60, holdback=0.25, reward_range=(0.0, 51.0), aggregation="sum", segment="user.country")


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    return opened(SETTINGS)


@pytest.fixture
def client(shop: Shop) -> TestClient:
    return web(shop)


def put(client: TestClient, body: dict[str, Any], loop: str = "shop") -> Any:
    return client.put(f"/loops/{loop}", json=body)


class TestWhatIsNotNamedStays:
    def test_one_setting_changes_one_setting(self, shop: Shop, client: TestClient) -> None:
        told = put(client, {"settings": {"window": 12}}).json()
        assert msgspec.convert(told["settings"], Settings) == msgspec.structs.replace(SETTINGS, window=12.0)
        assert told["policy"]["number"] == 1, "nothing is learnt anew"
        assert put(client, {}).json()["settings"] == told["settings"]

    def test_a_name_that_is_mistyped_makes_nothing(self, shop: Shop, client: TestClient) -> None:
        refused = put(client, {"settings": {"window": 12}}, "shp")
        assert refused.status_code == 404
        assert refused.json()["error"] == "there is no loop 'shp': is it spelt so? To make it, say \"new\": true"
        assert list(shop.service.loops) == ["shop"]
        for _ in range(2):
            assert put(client, {"new": True, "settings": {"window": 12}}, "news").json()["settings"]["window"] == 12

    def test_the_answer_says_what_else_changes(self, shop: Shop, client: TestClient) -> None:
        assert put(client, {"settings": {"window": 12}}).json()["notes"] == []
        notes = put(client, {"settings": {"segment": "device", "holdback": 0.5}}).json()["notes"]
        assert notes[0] == "segment: the table of segments by user.country is gone, that by device begins empty"
        assert notes[1].startswith("holdback: the page's rewards begin anew")
        (note,) = put(client, {"settings": {"reward_range": [0, 60]}}).json()["notes"]
        assert note.startswith("reward_range: the model learns everything again")
        assert note.endswith("begin anew with the first event of it that closes")
        assert client.get("/loops/shop").json()["notes"] == []

    def test_who_leaves_apprenticeship_is_told_to_begin_anew(self, shop: Shop, client: TestClient) -> None:
        put(client, {"settings": {"mode": "Apprentice"}})
        assert put(client, {"settings": {"mode": "Online"}}).json()["notes"] == [], "it has decided nothing there"
        shop.decide()
        put(client, {"settings": {"mode": "Apprentice"}})
        assert put(client, {"settings": {"mode": "Online"}}).json()["notes"] == [], "nor has it here"
        put(client, {"settings": {"mode": "Apprentice"}})
        shop.decide()
        for asked, said in (({}, True), ({"policy": {"since": "now"}}, False), ({"policy": {}}, True)):
            assert put(client, {"settings": {"mode": "Apprentice"}}).json()["notes"] == []
            notes = put(client, {"settings": {"mode": "Online"}, **asked}).json()["notes"]
            assert ["mode: " in one and '{"policy": {"since": "now"}}' in one for one in notes] == [True] * said
        assert put(client, {"settings": {"mode": "LoggingOnly"}}).json()["notes"] == []
        assert put(client, {"settings": {"mode": "Online"}}).json()["notes"] == [], "that has learnt nothing"

    def test_the_journal_has_the_reason_of_every_policy_but_the_first(self, shop: Shop, client: TestClient) -> None:
        put(client, {"policy": {"learner": "Uniform"}})
        client.post("/loops/shop/back", json={"number": 1})
        told = put(client, {"settings": {"reward_range": [0, 60]}}).json()["policy"]
        assert (told["learner"], told["reason"]) == ("SquareCB", "settings: another reward_range"), "nobody went back"
        put(client, {"settings": {"reward_range": [0, 61]}, "policy": {"learner": "RegCB"}})
        assert [one["reason"] for one in client.get("/loops/shop/policies").json()] == [
            "",
            "forced, and not judged",
            "back to 1",
            "settings: another reward_range",
            "forced, and not judged",
        ]

    def test_null_takes_away(self, shop: Shop, client: TestClient) -> None:
        assert put(client, {"settings": {"segment": None}}).json()["settings"]["segment"] is None

    def test_they_are_judged_together(self, shop: Shop, client: TestClient) -> None:
        assert put(client, {"settings": {"default": 5}}).status_code == 200, "it is within the loop's own range"
        refused = put(client, {"settings": {"reward_range": [0, 1]}})
        assert refused.status_code == 400
        assert "default must be within reward_range" in refused.json()["error"]
        assert shop.loop.settings.reward_range == (0.0, 51.0)

    def test_a_promotion_writes_no_settings_back(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        stale = shop.loop
        shop.service.set("shop", {"window": 7.0})
        monkeypatch.setattr(stale, "settings", SETTINGS)  # as a process sees them that does not lead
        assert promote(shop.service, "shop", Candidate(Wanted("Uniform"), force=True)).promoted
        assert shop.loop.settings.window == 7.0
        assert shop.loop.model.policy.reward_range == (0.0, 51.0)

    def test_actions_are_ids_or_ids_with_features(self, shop: Shop, client: TestClient) -> None:
        told = put(client, {"settings": {"actions": ["hat", {"id": "shoe", "features": {"price": 3}}]}})
        assert told.status_code == 200, told.text
        shop.service.settle()
        answer = client.post("/loops/shop/decide", json={})
        assert sorted(one["id"] for one in answer.json()["ranking"]) == ["hat", "shoe"]
        assert put(client, {"settings": {"actions": ["hat", {"id": "hat"}]}}).status_code == 400


class TestPoliciesThatAreAskedFor:
    @pytest.mark.parametrize("field", ["number", "reason", "reward_range"])
    def test_what_is_not_theirs_to_say(self, shop: Shop, client: TestClient, field: str) -> None:
        refused = put(client, {"policy": {"learner": "RegCB", field: 3}})
        assert refused.status_code == 400
        assert f"policy has no field '{field}'" in refused.json()["error"]

    def test_since_is_an_entry_there_is_or_now(self, shop: Shop, client: TestClient) -> None:
        last = shop.service.last_entry()
        refused = put(client, {"policy": {"since": last + 1}})
        assert refused.status_code == 400
        assert f"the last is {last}" in refused.json()["error"]
        assert put(client, {"policy": {"since": last}}).json()["policy"]["since"] == last
        shop.play(5)
        last = shop.service.last_entry()
        told = put(client, {"policy": {"since": "now"}}).json()
        assert (told["policy"]["since"], told["learnt"]) == (last, 0)


class TestMessages:
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({"settings": {"mode": "online"}}, "settings.mode must be one of Apprentice, LoggingOnly, Online"),
            ({"settings": {"holdbak": 0.1}}, "settings has no field 'holdbak'; did you mean 'holdback'?"),
            ({"setings": {}}, "there is no field 'setings'; did you mean 'settings'?"),
            ({"settings": {"window": "x"}}, "settings.window must be a number, got a string"),
            ({"settings": {"actions": {"a": {}}}}, "settings.actions must be a list or null, got an object"),
            ({"settings": {"most_per_second": 1e-300}}, "settings.most_per_second must be at least 0.01, got 1e-300"),
            ({"settings": {"retention_days": 1e300}}, "settings.retention_days must be at most 36500, got 1e+300"),
            ({"settings": {"holdback": 2}}, "settings.holdback must be at most 1, got 2"),
            ({"settings": {"window": 0}}, "settings.window must be above 0, got 0"),
            ({"settings": {"window": None}}, "settings.window must be a number, got null"),
            ({"settings": {"reward_range": [1]}}, "settings.reward_range must have exactly 2 entries, got 1"),
            ({"settings": {"actions": [{}]}}, "settings.actions[0].id is missing"),
            ({"settings": {"actions": ["a", ""]}}, "settings.actions[1] must have at least 1 character, got 0"),
            ({"policy": "RegCB"}, "policy must be an object of learner, parameters, since or null, got a string"),
            ({"policy": {"learner": "always:hat"}}, "no learner is called 'always:hat': a policy is an object such as"),
        ],
    )
    def test_they_say_what_there_is(self, client: TestClient, body: dict[str, Any], message: str) -> None:
        refused = put(client, body)
        assert refused.status_code == 400
        assert message in refused.json()["error"]

    @pytest.mark.parametrize(
        ("kind", "text", "message"),
        [
            (Reward, b'{"event_id": "e"}', "value is missing"),
            (Reward, b'{"event_id": "e", "value": 1e999}', "value must be a finite number, and this one is too large"),
            (Ask, b'{"context": {"ok": 1, "age": -1e999}}', "context.age must be a finite number, and this one is"),
            (Ask, b'{"context": {"a": {"b": [1, 2e999]}}}', "context.a.b[1] must be a finite number, and this one is"),
            (Ask, b'{"context": {"n": ' + b"9" * 5000 + b"}}", "context.n must be a finite number, and this one is"),
            (Ask, b'{"actions": ["a\\u0000"]}', "actions[0] must be text without zeros, got 'a\\x00'"),
            (Ask, b'{"actions": [1]}', "actions[0] must be a string or an object of id, features, got a whole number"),
            (Ask, b'{"context": {"a": "\xff"}}', "the JSON must be UTF-8, and a text in it is not"),
        ],
    )
    def test_of_each_kind_of_request_by_its_place(self, kind: Any, text: bytes, message: str) -> None:
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            decoded(msgspec.json.Decoder(kind), text)

    def test_of_a_policy_that_is_to_be_evaluated(self, client: TestClient) -> None:
        for policy, message in (
            ("always:hat", "policies.mine must be an object such as "),
            ({"learner": 3}, "policies.mine.learner must be a string or null, got a whole number"),
            ({"lerner": "RegCB"}, "policies.mine has no field 'lerner'; did you mean 'learner'?"),
            ({"learner": "Constant"}, "no learner is called 'Constant': a policy is an object such as "),
        ):
            error = client.post("/loops/shop/evaluate", json={"policies": {"mine": policy}}).json()["error"]
            assert error.startswith(message)
            assert ("marginbandits evaluate shop.jsonl --policy always:LABEL" in error) == ("such as" in message)

    def test_of_parts_of_a_list(self) -> None:
        with pytest.raises(ValueError, match=r"actions\[0\] has no field 'feature'; did you mean 'features'\?"):
            decoded(msgspec.json.Decoder(Ask), b'{"actions": [{"id": "hat", "feature": {}}]}')

    def test_a_loop_by_its_name(self, client: TestClient) -> None:
        for name in ("shop%0A", "-shop", "a" * 65):
            refused = put(client, {}, name)
            assert refused.status_code == 400, name
            assert "a loop's name must be 1 to 64 letters" in refused.json()["error"]


def test_the_document_has_the_settings(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["SetLoop"]["properties"]["settings"]["$ref"] == "#/components/schemas/Settings"
    assert "stay as they are" in schemas["SetLoop"]["description"]
    assert "window" in schemas["Settings"]["properties"]
    assert schemas["Evaluate"]["properties"]["policies"]["additionalProperties"]["$ref"].endswith("/Wanted")
    assert list(schemas["Wanted"]["properties"]) == ["learner", "parameters", "since"]
