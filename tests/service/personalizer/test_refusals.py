"""What is refused, with Personalizer's own codes and words, and that nothing is written then."""

from typing import Any

import pytest

from tests.service.personalizer.speaking import BASES, V1_0, V1_1, V2022, Shop, actions

FEATURES = "Features are not in key value pair format."
NUMBERS = "Features should not contain array with non-number items."
EMPTY = "Context features and action features cannot use the empty string as an id."
NONE = "Every action should have at least one non-null action feature."
COUNT = "Action count should be between 1 and 50."
NO_ID = "Action ids must not be empty."
RANKS: list[tuple[Any, str]] = [
    ({}, COUNT),
    ({"actions": []}, COUNT),
    ({"actions": None}, COUNT),
    ({"actions": actions(*range(51))}, COUNT),
    ({"actions": actions("")}, NO_ID),
    ({"actions": [{"features": [{"x": 1}]}]}, NO_ID),
    ({"actions": [*actions("a"), None]}, "Actions contains null value."),
    ({"actions": actions("a"), "eventId": ""}, "EventId should be non-empty or null."),
    ({"actions": [{"id": "a"}]}, NONE),
    ({"actions": [{"id": "a", "features": []}]}, NONE),
    ({"actions": [{"id": "a", "features": [None]}]}, NONE),
    ({"actions": [{"id": "a", "features": ["x"]}]}, FEATURES),
    ({"actions": actions("a"), "contextFeatures": [[1]]}, FEATURES),
    ({"actions": actions("a"), "contextFeatures": [None]}, "Context features contains null value."),
    ({"actions": [{"id": "a", "features": [{"tags": ["new"]}]}]}, NUMBERS),
    ({"actions": actions("a"), "contextFeatures": [{"user": {"tags": [True]}}]}, NUMBERS),
    ({"actions": actions("a"), "contextFeatures": [{"": 1}]}, EMPTY),
    ({"actions": actions("a"), "contextFeatures": [{"user": {"": 1}}]}, EMPTY),
    ({"actions": actions("a", "a")}, "Invalid request. actions must have ids that differ"),
    (
        {"actions": actions("a"), "eventId": "x" * 257},
        "Invalid request. EventId should have at most 256 characters, got 257",
    ),
    ({"actions": actions("x" * 257)}, "Invalid request. Action ids should have at most 256 characters, got 257"),
    ({"actions": actions("a"), "excludedActions": ["a"]}, "Invalid request. at least one action must not be excluded"),
    ([], "Invalid request. Expected `object`, got `array`"),
]


def error(answer: Any) -> Any:
    assert set(answer.json()) == {"error"}, answer.text
    return answer.json()["error"]


@pytest.mark.parametrize("base", BASES)
def test_ranks_that_are_none(there: Shop, base: str) -> None:
    there.until(lambda: there.state()["open"] > 0)
    before = there.state()["open"]
    for asked, message in RANKS:
        answer = there.ask(base, "POST", "rank", asked)
        assert answer.status_code == 400, (asked, answer.text)
        told = error(answer)
        assert told["message"] == message, asked
        if base == V1_0:
            assert (told["code"], told["innerError"]["code"]) == ("BadRequest", "InvalidRankRequest")
        else:
            assert told["code"] == "InvalidRankRequest"
    for content in (b"", b"{", b'{"actions": "\xff"}', b"[" * 100_000):
        assert there.ask(base, "POST", "rank", content=content).status_code == 400
    assert there.state()["open"] == before


def test_as_much_as_is_allowed(there: Shop) -> None:
    assert len(there.rank(actions=actions(*range(50)))["ranking"]) == 50
    assert there.rank(actions=actions("x" * 256))["rewardActionId"] == "x" * 256


def test_rewards_and_events_that_are_none(there: Shop) -> None:
    for asked in ({}, {"value": None}, {"value": "1"}, {"value": 1e300}):
        told = error(there.ask(V1_1, "POST", "events/e/reward", asked))
        assert told["code"] == "InvalidRewardRequest"
        assert told["message"].startswith("Invalid reward request. ")
    assert error(there.ask(V1_1, "POST", "events//reward", {"value": 1})) == {
        "code": "InvalidRewardRequest",
        "message": "EventId should be non-empty or null.",
    }
    long = error(there.ask(V1_1, "POST", f"events/{'x' * 257}/activate"))
    assert long["code"] == "InvalidEventIdToActivate"
    assert there.raw("POST", f"{V1_1}/events/%FF/activate")[0] == 400


@pytest.mark.parametrize("base", BASES)
def test_what_is_too_large(there: Shop, base: str) -> None:
    answer = there.ask(base, "POST", "rank", content=b"x" * 1_000_001)
    told = error(answer)
    assert (answer.status_code, told["message"]) == (400, "Exceeds maximum allowed payload size.")
    assert told.get("innerError", told)["code"] == "PayloadSizeExceeded"


@pytest.mark.parametrize("base", BASES)
def test_keys(there: Shop, base: str) -> None:
    for key in ("", "mb_wrong", "é"):
        answer = there.ask(base, "POST", "rank", {}, headers={"Ocp-Apim-Subscription-Key": key.encode()})
        assert answer.status_code == 401
        assert error(answer)["code"] == "401"
        assert error(answer)["message"].startswith(
            "Access denied due to invalid subscription key or wrong API endpoint."
        )


@pytest.mark.parametrize("base", [V1_1, V2022])
def test_several_slots_are_not_served(there: Shop, base: str) -> None:
    for path in ("rank", "events/e/reward", "events/e/activate"):
        answer = there.ask(base, "POST", f"multislot/{path}", {})
        told = error(answer)
        assert (answer.status_code, told["code"]) == (400, "InvalidMultiSlotApiAccess")
        assert told["message"].startswith("Multi-slot feature is currently disabled. ")


def test_what_else_is_not_served(there: Shop) -> None:
    refused: list[tuple[str, str, str, int, str]] = [
        (V1_1, "POST", "logs/interactions", 403, "InvalidApiAccess"),
        (V1_1, "POST", "logs/observations", 403, "InvalidApiAccess"),
        (V1_1, "PUT", "model", 403, "ModelFileAccessDenied"),
        (V2022, "PUT", "model", 403, "ModelFileAccessDenied"),
        (V2022, "GET", "featureImportances/x", 404, "FeatureImportanceNotFound"),
        (V2022, "DELETE", "featureImportances/x", 404, "FeatureImportanceNotFound"),
        (V2022, "PUT", "featureImportances/x", 403, "InvalidApiAccess"),
        (V2022, "POST", "logs/interactions", 404, "ResourceNotFound"),
        (V1_0, "POST", "multislot/rank", 404, "ResourceNotFound"),
        (V1_0, "GET", "featureImportances", 404, "ResourceNotFound"),
        (V1_1, "GET", "status", 404, "ResourceNotFound"),
        (V2022, "GET", "", 404, "ResourceNotFound"),
        (V2022, "GET", "events/e", 404, "ResourceNotFound"),
        (V2022, "GET", "multislot", 404, "ResourceNotFound"),
    ]
    for base, method, path, status, code in refused:
        answer = there.ask(base, method, path)
        assert (answer.status_code, error(answer)["code"]) == (status, code), (base, path)
    assert there.ask(V2022, "GET", "featureImportances").json() == {"value": []}


@pytest.mark.parametrize("base", BASES)
def test_no_path_ends_with_a_slash(there: Shop, base: str) -> None:
    for method, path in (("POST", "rank/"), ("GET", "evaluations/"), ("POST", "events/e/reward/"), ("GET", "")):
        answer = there.ask(base, method, path, follow_redirects=False)
        told = error(answer)
        assert (answer.status_code, told["code"]) == (404, "ResourceNotFound"), path
        assert told["message"] == "Requested resource does not exist on the server. No path ends with a slash."


@pytest.mark.parametrize("path", ["", "/", "/v1.0/rank", "/rank"])
def test_nothing_is_below_a_slash(there: Shop, path: str) -> None:
    status, told = there.raw("GET", f"/personalizer/{path}")
    assert (status, told["error"]["code"]) == (404, "ResourceNotFound")


def test_methods_and_versions(there: Shop) -> None:
    answer = there.ask(V1_0, "POST", "configurations/service")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, PATCH, PUT")
    for version in ("", "?api-version=2021-01-01"):
        answer = there.client.post(f"/personalizer/rank{version}", json={})
        assert answer.status_code == 400
        assert "api-version must be 2022-09-01-preview" in error(answer)["message"]
