"""Rank, reward and activate in each dialect, as they go over the wire."""

from urllib.parse import quote

import pytest

from tests.service.personalizer.speaking import BASES, V1_0, V1_1, Shop, actions


@pytest.mark.parametrize("base", BASES)
def test_an_event_in_every_dialect(there: Shop, base: str) -> None:
    wanted = {"actions": actions("hat", "shoe", "bag"), "excludedActions": ["hat"], "contextFeatures": [{"age": 31}]}
    answer = there.ask(base, "POST", "rank", wanted)
    assert answer.status_code == 201
    told = answer.json()
    assert set(told) == {"ranking", "eventId", "rewardActionId"}
    chances = {one["id"]: one["probability"] for one in told["ranking"]}
    assert set(chances) == {"hat", "shoe", "bag"}
    assert chances["hat"] == 0.0
    assert sum(chances.values()) == pytest.approx(1.0)
    assert told["rewardActionId"] == told["ranking"][0]["id"] != "hat"
    for path, body in (("reward", {"value": 0.5}), ("activate", None)):
        done = there.ask(base, "POST", f"events/{told['eventId']}/{path}", body)
        assert (done.status_code, done.content) == (204, b"")
    empty = there.ask(base, "POST", "events/e/activate", headers={"Content-Type": "application/json"})
    assert empty.status_code == 204


def test_ids_are_told_as_they_were_sent_and_unknown_fields_are_ignored(there: Shop) -> None:
    told = there.rank(
        actions=[*actions(7, "8"), {"id": 2**40, "features": [{"_id": 1}, None]}],
        excludedActions=[7, "nobody"],
        positionFeatures=[],
        contextFeatures=None,
        eventId=None,
        deferActivation=None,
    )
    assert {one["id"] for one in told["ranking"]} == {7, "8", 2**40}
    assert {one["id"]: one["probability"] for one in told["ranking"]}[7] == 0.0


def test_a_client_can_say_whom_an_event_is_for_and_have_it_forgotten(there: Shop) -> None:
    """In the request, or in a header, which Microsoft's clients can add; the request's word holds."""
    first = there.rank(unit="visitor 1")["eventId"]
    headers = {"x-marginbandits-unit": "visitor 2"}
    events = [first] + [
        there.ask(V1_1, "POST", "rank", {"actions": actions("hat")} | more, headers=headers).json()["eventId"]
        for more in ({}, {"unit": "visitor 1"})
    ]
    found = there.closed()
    assert [found[one].decided.unit for one in events] == ["visitor 1", "visitor 2", "visitor 1"]
    admin = {"Authorization": f"Bearer {there.key}"}
    erased = there.client.post("/loops/shop/erase", json={"unit": "visitor 1"}, headers=admin).json()
    assert erased["events"] == 2
    too_long = there.ask(V1_1, "POST", "rank", {"actions": actions("hat"), "unit": "x" * 257})
    assert too_long.status_code == 400


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_unit_in_a_header_is_any_text(there: Shop, encoding: str) -> None:
    unit = f"Zoë by {encoding}"
    headers = {"x-marginbandits-unit": unit.encode(encoding)}
    there.ask(V1_1, "POST", "rank", {"actions": actions("hat")}, headers=headers).raise_for_status()
    admin = {"Authorization": f"Bearer {there.key}"}
    assert there.client.post("/loops/shop/erase", json={"unit": unit}, headers=admin).json()["events"] == 1


@pytest.mark.parametrize("event", ["ev/1 é", "a?b#c", "100%", "..", "{}", "x" * 256, "\n", "reward"])
def test_any_event_id_finds_its_event(there: Shop, event: str) -> None:
    assert there.rank(eventId=event, deferActivation=True)["eventId"] == event
    assert there.closed()[event].reason == "inactive"
    quoted = quote(event, safe="").replace(".", "%2E")
    assert there.raw("POST", f"{V1_0}/events/{quoted}/activate")[0] == 204
    assert there.raw("POST", f"{V1_0}/events/{quoted}/reward", {"value": 0.5})[0] == 204
    assert (there.closed()[event].reason, there.closed()[event].reward) == ("rewarded", 0.5)


def test_an_endpoint_that_ends_with_a_slash_is_one(there: Shop) -> None:
    assert there.raw("POST", f"/{V1_0}/rank", {"actions": actions("hat")})[0] == 201


def test_a_retry_is_the_same_event_and_counts_once(there: Shop) -> None:
    there.set(aggregation="sum")
    retried = {"x-ms-client-request-id": "8b1a9953-c461"}
    body = {"actions": actions("hat", "shoe", "bag")}
    one, again = (there.ask(V1_1, "POST", "rank", body, headers=retried).json() for _ in range(2))
    assert one == again
    assert there.rank()["eventId"] != one["eventId"]
    for _ in range(2):
        path = f"events/{one['eventId']}/reward"
        assert there.ask(V1_1, "POST", path, {"value": 0.25}, headers=retried).status_code == 204
    there.reward(one["eventId"], 0.5)
    assert there.closed()[one["eventId"]].reward == 0.75
    other = there.ask(V1_1, "POST", "events/another/reward", {"value": 0.25}, headers=retried)
    assert (other.status_code, other.json()["error"]["code"]) == (400, "InvalidRewardRequest")
    other = there.ask(V1_1, "POST", "rank", body | {"eventId": "another"}, headers=retried)
    assert other.status_code == 409
    long = there.ask(V1_1, "POST", "rank", body, headers={"x-ms-client-request-id": "x" * 257})
    assert long.status_code == 400


def test_a_sum_may_be_beyond_the_range_and_is_learnt_as_its_end(there: Shop) -> None:
    there.set(aggregation="sum")
    event = there.rank()["eventId"]
    for value in (0.5, 0.75, 3.0):
        there.reward(event, value)
    closed = there.closed()[event]
    assert (closed.reward, closed.clipped) == (1.0, True)


@pytest.mark.parametrize("base", BASES)
def test_an_event_id_is_for_one_request(there: Shop, base: str) -> None:
    """409 has one code in the specification, which is of ranks; what is Invalid comes with 400."""
    event, retried = f"once{base}", {"x-ms-client-request-id": f"id{base}"}
    first = there.rank(base, eventId=event)
    assert there.rank(base, eventId=event) == first
    assert there.ask(base, "POST", "rank", {"actions": actions("hat")}, headers=retried).status_code == 201
    for asked, headers, why in (
        ({"actions": actions("hat"), "eventId": event}, {}, f"event '{event}' was decided for another request"),
        ({"actions": actions("bag")}, retried, "was decided for another request"),
    ):
        other = there.ask(base, "POST", "rank", asked, headers=headers)
        told = other.json()["error"]
        assert (other.status_code, told.get("innerError", told)["code"]) == (409, "ModelRankingError")
        assert why in told["message"]
    for value, status in ((0.5, 204), (0.5, 204), (0.75, 400)):
        rewarded = there.ask(base, "POST", f"events/{quote(event, safe='')}/reward", {"value": value}, headers=retried)
        assert rewarded.status_code == status
    told = rewarded.json()["error"]
    assert told.get("innerError", told)["code"] == "InvalidRewardRequest"
    assert "was used for something else" in told["message"]


def test_a_reward_for_an_event_that_nobody_knows_is_taken(there: Shop) -> None:
    assert there.ask(V1_0, "POST", "events/nobody/reward", {"value": 1}).status_code == 204
    there.set(strict=True)
    for path, body in (("reward", {"value": 1}), ("activate", None)):
        refused = there.ask(V1_0, "POST", f"events/nobody/{path}", body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "ResourceNotFound")
    there.set(strict=False)


@pytest.mark.parametrize("mode", ["Apprentice", "LoggingOnly"])
def test_the_baseline_is_served_always(there: Shop, mode: str) -> None:
    there.set(mode=mode)
    for k in range(60):
        left_out = ["hat"] if k % 2 else []
        told = there.rank(excludedActions=left_out, contextFeatures=[{"k": k}])
        assert told["rewardActionId"] == ("shoe" if k % 2 else "hat")
    there.set(mode="Online")
    assert {there.rank()["rewardActionId"] for _ in range(60)} == {"hat", "shoe", "bag"}
