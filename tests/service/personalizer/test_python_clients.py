"""Conformance with Microsoft's own clients in Python: every operation that each of them has.

azure-cognitiveservices-personalizer    v1.0
azure-ai-personalizer                   2022-09-01-preview
"""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.service.personalizer.speaking import Shop

CLIENTS = "azure-cognitiveservices-personalizer and azure-ai-personalizer"
INSTALL = f'install {CLIENTS} (pip install -c constraints.txt -e ".[dev]")'
WHY = f"{INSTALL}: Microsoft's clients in Python were not tried"


def needed(module: str) -> Any:
    return pytest.importorskip(module, reason=WHY)


of_v1 = needed("azure.cognitiveservices.personalizer")
models = needed("azure.cognitiveservices.personalizer.models")
of_2022 = needed("azure.ai.personalizer")
CognitiveServicesCredentials = needed("msrest.authentication").CognitiveServicesCredentials
AzureKeyCredential = needed("azure.core.credentials").AzureKeyCredential
errors = needed("azure.core.exceptions")

EVENT = "ev/1 é?#%"
ACTIONS = [{"id": one, "features": [{"price": k}, {"of": {"season": one}}]} for k, one in enumerate(("hat", "shoe"))]


class Noted:
    """A client, and which of its operations were called."""

    def __init__(self, client: Any, called: set[str]) -> None:
        self._client, self._called = client, called

    def __getattr__(self, name: str) -> Any:
        self._called.add(name)
        return getattr(self._client, name)


@pytest.mark.parametrize("end", ["", "/"])
def test_everything_of_v1_0(there: Shop, end: str) -> None:
    client: Any = of_v1.PersonalizerClient(there.url + end, CognitiveServicesCredentials(there.key))
    offered = [models.RankableAction(id=one["id"], features=one["features"]) for one in ACTIONS]
    asked = models.RankRequest(
        actions=offered,
        context_features=[{"user": {"age": 31}}],
        excluded_actions=["hat"],
        event_id=EVENT + end,
        defer_activation=True,
    )
    told = client.rank(asked)
    assert (told.event_id, told.reward_action_id) == (EVENT + end, "shoe")
    assert {one.id: one.probability for one in told.ranking} == {"hat": 0.0, "shoe": 1.0}
    client.events.activate(EVENT + end)
    client.events.reward(EVENT + end, 0.5)
    assert (there.closed()[EVENT + end].reason, there.closed()[EVENT + end].reward) == ("rewarded", 0.5)
    with pytest.raises(models.ErrorResponseException) as caught:
        client.rank(models.RankRequest(actions=[models.RankableAction(id="hat", features=[])]))
    error = caught.value.error.error
    assert error.message == "Every action should have at least one non-null action feature."
    assert (error.code, error.inner_error.code) == ("BadRequest", "InvalidRankRequest")
    stranger: Any = of_v1.PersonalizerClient(there.url, CognitiveServicesCredentials("none"))
    with pytest.raises(models.ErrorResponseException) as caught:
        stranger.rank(asked)
    assert caught.value.error.error.code == "401"


def events(there: Shop, client: Any) -> None:
    event = "2022 " + EVENT
    asked = {"actions": ACTIONS, "contextFeatures": [{"age": 31}], "eventId": event, "deferActivation": True}
    told = client.rank(asked)
    assert told["eventId"] == event
    assert sum(one["probability"] for one in told["ranking"]) == pytest.approx(1.0)
    client.activate(event)
    client.reward(event, {"value": -0.25})
    assert (there.closed()[event].reason, there.closed()[event].reward) == ("rewarded", -0.25)
    with pytest.raises(errors.HttpResponseError, match="Action count should be between 1 and 50"):
        client.rank({"actions": []})
    stranger = of_2022.PersonalizerClient(there.url, AzureKeyCredential("none"))
    with pytest.raises(errors.ClientAuthenticationError):
        stranger.rank(asked)


def several_slots_are_not_served(client: Any) -> None:
    slots = {"actions": ACTIONS, "slots": [{"id": "first", "baselineAction": "hat"}]}
    rewards = {"reward": [{"slotId": "first", "value": 1.0}]}
    for act, given in (
        (client.rank_multi_slot, (slots,)),
        (client.reward_multi_slot, ("e", rewards)),
        (client.activate_multi_slot, ("e",)),
    ):
        with pytest.raises(errors.HttpResponseError) as caught:
            act(*given)
        assert caught.value.status_code == 400
        assert caught.value.error.code == "InvalidMultiSlotApiAccess"


def settings(admin: Any) -> None:
    before = admin.get_service_configuration()
    wanted = before | {"rewardWaitTime": "PT5S", "explorationPercentage": 0.5, "logRetentionDays": 30}
    after = admin.update_service_configuration(wanted)
    assert after.items() >= wanted.items()
    assert admin.get_service_configuration() == after
    policy = {"name": "mine", "arguments": "--cb_explore_adf --regcb"}
    assert admin.update_policy(policy) == policy == admin.get_policy()
    assert admin.reset_policy()["arguments"].startswith("--cb_explore_adf --epsilon 0.2")
    with pytest.raises(errors.HttpResponseError, match="must contain --cb_explore_adf or --cats"):
        admin.update_policy({"name": "mine", "arguments": "--bag 5"})


def model_and_logs(client: Any, admin: Any) -> None:
    client.rank({"actions": ACTIONS})
    for signed in (False, True):
        assert b"".join(admin.export_model(signed=signed)).startswith(b"PK")
    properties = admin.get_model_properties()
    assert properties["creationTime"] <= properties["lastModifiedTime"]
    admin.reset_model()
    with pytest.raises(errors.HttpResponseError) as caught:
        admin.import_model(io.BytesIO(b"a model"))
    assert caught.value.status_code == 403
    dates = admin.get_log_properties()["dateRange"]
    assert dates["from"] <= dates["to"]
    admin.delete_logs()
    with pytest.raises(errors.ResourceNotFoundError, match="Log properties not found"):
        admin.get_log_properties()


def evaluations(there: Shop, client: Any, admin: Any) -> None:
    there.set(window=0.2)
    for _ in range(20):
        there.reward(client.rank({"actions": ACTIONS})["eventId"], 0.5)
    there.until(lambda: there.state()["open"] == 0)
    now = datetime.now(UTC)
    start, end = now - timedelta(hours=1), now + timedelta(hours=1)
    policies = [{"name": "bag", "arguments": "--cb_explore_adf --bag 2"}]
    wanted = {"name": "mine", "startTime": start.isoformat(), "endTime": end.isoformat(), "policies": policies}
    for name in ("first/1", "second", "third"):
        admin.create_evaluation(name, wanted)
    assert [one["id"] for one in admin.list_evaluations()] == ["third", "second", "first/1"]
    assert [one["id"] for one in admin.list_evaluations(top=2)] == ["third", "second", "first/1"], "pages follow"
    manual = admin.list_evaluations(filter_expression="evaluationType eq 'Manual'", skip=1)
    assert [one["id"] for one in manual] == ["second", "first/1"]
    for more in ({}, {"interval_in_minutes": 60, "window": "Rolling"}):
        told = admin.get_evaluation("first/1", start_time=start, end_time=end, **more)
        assert told["status"] == "Succeeded"
        sources = [one["policySource"] for one in told["content"]["value"]]
        assert sources == ["Online", "Baseline", "Random", "Custom"]
        assert all(one["timeseries"]["data"] for one in told["content"]["value"])
    admin.apply_from_evaluation({"evaluationId": "first/1", "policyName": "bag"})
    assert admin.get_policy() == policies[0]
    for name in ("first/1", "second", "third"):
        admin.delete_evaluation(name)
    assert list(admin.list_evaluations()) == []
    with pytest.raises(errors.ResourceNotFoundError):
        admin.get_evaluation("second", start_time=start, end_time=end)


def feature_importances(admin: Any) -> None:
    assert list(admin.list_feature_importances(top=5)) == []
    job = {"name": "mine", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-02T00:00:00Z"}
    with pytest.raises(errors.HttpResponseError, match="Api is currently disabled for the instance"):
        admin.create_feature_importance("mine", job)
    for act in (admin.get_feature_importance, admin.delete_feature_importance):
        with pytest.raises(errors.ResourceNotFoundError, match="Feature importance not found"):
            act("mine")


def test_everything_of_2022(there: Shop) -> None:
    kinds, called = (of_2022.PersonalizerClient, of_2022.PersonalizerAdministrationClient), set[str]()
    client, admin = (Noted(kind(there.url, AzureKeyCredential(there.key)), called) for kind in kinds)
    events(there, client)
    several_slots_are_not_served(client)
    settings(admin)
    model_and_logs(client, admin)
    evaluations(there, client, admin)
    feature_importances(admin)
    known = {name for kind in kinds for name in dir(kind) if not name.startswith("_")} - {"close", "send_request"}
    assert known - called == set()
    assert len(known) == 26
