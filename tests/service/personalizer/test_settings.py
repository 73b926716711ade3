"""Service configuration, policy, model and logs, in each dialect."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from marginbandits.learners.loading import load
from tests.service.personalizer.speaking import BASES, V1_0, V1_1, V2022, Shop

ASKED: dict[str, Any] = {
    "rewardWaitTime": "PT1H30M",
    "defaultReward": -0.5,
    "rewardAggregation": "average",
    "explorationPercentage": 0.3,
    "modelExportFrequency": "PT3M",
    "logRetentionDays": 7,
}
USUAL = "--cb_explore_adf --epsilon 0.2 --power_t 0 -l 0.001 --cb_type mtr -q ::"


@pytest.mark.parametrize("base", BASES)
def test_a_configuration_is_what_was_put(there: Shop, base: str) -> None:
    put = there.ask(base, "PUT", "configurations/service", ASKED | {"logMirrorEnabled": True, "unknown": 1})
    assert put.status_code == 200, put.text
    told = put.json()
    assert told.items() >= (ASKED | {"logMirrorEnabled": True, "learningMode": "Online"}).items()
    assert "unknown" not in told
    assert "lastConfigurationEditDate" in told
    assert ("modelRetrainDays" in told) == (base == V2022)
    assert there.ask(base, "GET", "configurations/service").json() == told
    settings = there.state()["settings"]
    assert (settings["window"], settings["default"], settings["aggregation"]) == (5400.0, -0.5, "mean")
    assert (settings["exploration"], settings["retention_days"]) == (0.3, 7.0)
    for ever in ({"rewardWaitTime": "P2D", "logRetentionDays": -1}, {"rewardWaitTime": "PT5S", "logRetentionDays": 2}):
        again = there.ask(base, "PUT", "configurations/service", ASKED | ever)
        assert again.json().items() >= ever.items()


@pytest.mark.parametrize(
    ("other", "code", "message"),
    [
        ({"rewardWaitTime": "P3D"}, "InvalidRewardWaitTime", "Reward wait time should be two days or less."),
        ({"rewardWaitTime": "PT4S"}, "InvalidRewardWaitTime", "Reward wait time should be five seconds or more."),
        ({"rewardWaitTime": "1:00"}, "InvalidServiceConfiguration", "Invalid service configuration. a duration must"),
        ({"logRetentionDays": 1}, "InvalidLogRetentionDays", "Log Retention Days must be -1 to store indefinitely or"),
        ({"defaultReward": 2}, "InvalidServiceConfiguration", "Invalid service configuration. Expected `float` <= 1"),
        ({"rewardAggregation": "last"}, "InvalidServiceConfiguration", "Invalid service configuration. Invalid enum"),
        ({"explorationPercentage": 1.1}, "InvalidServiceConfiguration", "Invalid service configuration. Expected"),
        ({"modelRetrainDays": 8}, "InvalidServiceConfiguration", "Model retrain days must be between 0 and the number"),
        (
            {"learningMode": "Apprentice", "defaultReward": 0.0},
            "InvalidLearningModeServiceConfiguration",
            "Updating defaultReward, rewardWaitTime and rewardAggregation when changing learning mode",
        ),
    ],
)
def test_a_configuration_that_is_none(there: Shop, other: Any, code: str, message: str) -> None:
    assert there.ask(V1_1, "PUT", "configurations/service", ASKED).status_code == 200
    before = there.state()["settings"]
    answer = there.ask(V1_1, "PUT", "configurations/service", ASKED | other)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert answer.json()["error"]["message"].startswith(message)
    assert there.state()["settings"] == before


def test_a_configuration_needs_all_that_is_required(there: Shop) -> None:
    for left_out in ASKED:
        some = {name: value for name, value in ASKED.items() if name != left_out}
        answer = there.ask(V2022, "PUT", "configurations/service", some)
        assert answer.json()["error"]["code"] == "InvalidServiceConfiguration"
        assert left_out in answer.json()["error"]["message"]


def test_apprentice_by_configuration_tells_how_often_it_imitates(there: Shop) -> None:
    there.ask(V2022, "PUT", "configurations/service", ASKED)
    for mode in ("Apprentice", "Online"):
        told = there.ask(V2022, "PUT", "configurations/service", ASKED | {"learningMode": mode}).json()
        assert told["learningMode"] == mode
        assert "latestApprenticeModeMetrics" not in told
    there.set(mode="Apprentice", window=0.2)
    for k in range(10):
        there.reward(there.rank()["eventId"], k / 10)

    def metrics() -> Any:
        return there.ask(V2022, "GET", "configurations/service").json().get("latestApprenticeModeMetrics", {})

    there.until(lambda: metrics().get("numberOfEvents") == 10)
    assert 0 <= metrics()["numberOfImitatedEvents"] <= 10
    assert metrics()["sumOfRewards"] <= 4.5
    assert metrics()["sumOfImitatedRewards"] <= metrics()["sumOfRewards"]
    there.set(mode="Online")


@pytest.mark.parametrize("base", BASES)
def test_policies(there: Shop, base: str) -> None:
    usual = {"name": "shop", "arguments": USUAL}
    assert there.ask(base, "DELETE", "configurations/policy").json() == usual
    wanted = {"name": "mine", "arguments": "--cb_explore_adf --bag 4 --epsilon 0.05 -q AB"}
    for _ in range(2):
        assert there.ask(base, "PUT", "configurations/policy", wanted).json() == wanted
    assert there.ask(base, "GET", "configurations/policy").json() == wanted
    state = there.state()
    assert (state["policy"]["learner"], state["policy"]["parameters"]) == ("Bag", {"n_policies": 4})
    assert state["settings"]["exploration"] == 0.05
    reset = there.ask(base, "DELETE", "configurations/policy")
    assert (reset.status_code, reset.json()) == (200, usual)
    assert there.state()["policy"]["learner"] == "SquareCB"
    assert there.state()["settings"]["exploration"] == 0.2


@pytest.mark.parametrize("base", BASES)
def test_patch_puts_as_in_the_oldest_preview(there: Shop, base: str) -> None:
    """All of it, as by PUT: what is required is missing if it is not there."""
    put = there.ask(base, "PATCH", "configurations/service", ASKED | {"rewardWaitTime": "PT20M"})
    assert (put.status_code, put.json()["rewardWaitTime"]) == (200, "PT20M")
    refused = there.ask(base, "PATCH", "configurations/service", {"rewardWaitTime": "PT30M"})
    assert refused.status_code == 400
    wanted = {"name": "patched", "arguments": "--cb_explore_adf --regcb --epsilon 0.2"}
    assert there.ask(base, "PATCH", "configurations/policy", wanted).json() == wanted
    assert there.ask(base, "DELETE", "configurations/policy").json()["arguments"] == USUAL


@pytest.mark.parametrize(
    ("arguments", "learner", "parameters"),
    [
        ("--cb_explore_adf --squarecb --gamma_scale 500", "SquareCB", {"scale": 500.0}),
        ("--cb_explore_adf --regcb --mellowness=0.1", "RegCB", {"play": "elimination", "mellowness": 0.1}),
        ("--cb_explore_adf --regcbopt", "RegCB", {"play": "optimistic"}),
        ("--cb_explore_adf --cover 3 --psi 0.2", "Cover", {"n_policies": 3, "psi": 0.2}),
        ("--cb_explore_adf --epsilon 0", "SquareCB", {}),
    ],
)
def test_which_learner_a_policy_is(there: Shop, arguments: str, learner: str, parameters: Any) -> None:
    put = there.ask(V1_0, "PUT", "configurations/policy", {"name": "mine", "arguments": arguments})
    assert put.status_code == 200, put.text
    policy = there.state()["policy"]
    assert (policy["learner"], policy["parameters"]) == (learner, parameters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epsilon 0.2", "The learning policy must contain --cb_explore_adf or --cats."),
        ("--cats 4", "Invalid policy configuration. no learner here explores by --cats"),
        ("--cb_explore_adf --bag x", "Invalid policy configuration. --bag must have a number after it, got 'x'"),
        ("--cb_explore_adf --bag 0", "Invalid policy configuration. n_policies must be"),
        ("--cb_explore_adf --bag 2 --cover 2", "Invalid policy configuration. one way of exploring must be given"),
        ("--cb_explore_adf --epsilon 2", "Invalid policy configuration. --epsilon must be between 0 and 1"),
        ("--cb_explore_adf '", "Invalid policy configuration. No closing quotation"),
    ],
)
def test_policies_that_are_none(there: Shop, arguments: str, message: str) -> None:
    before = there.ask(V1_1, "GET", "configurations/policy").json()
    answer = there.ask(V1_1, "PUT", "configurations/policy", {"name": "mine", "arguments": arguments})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "InvalidPolicyConfiguration"
    assert answer.json()["error"]["message"].startswith(message)
    assert there.ask(V1_1, "GET", "configurations/policy").json() == before


@pytest.mark.parametrize("base", BASES)
def test_the_model_is_a_file_and_is_forgotten(there: Shop, base: str) -> None:
    there.set(window=0.1)
    there.rank()
    there.until(lambda: there.state()["learnt"] > 0)
    got = there.ask(base, "GET", "model")
    assert (got.status_code, got.headers["content-type"]) == (200, "application/octet-stream")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.npz").write_bytes(got.content)
        assert type(load(Path(folder) / "model.npz")).__name__ == there.state()["policy"]["learner"]
    before = there.ask(base, "GET", "model/properties").json()
    assert set(before) == {"creationTime", "lastModifiedTime"}
    there.until(lambda: there.state()["open"] == 0 or there.state()["learnt"] > 0)
    done = there.ask(base, "DELETE", "model")
    assert (done.status_code, done.content) == (204, b"")
    assert there.state()["learnt"] == 0
    assert there.ask(base, "GET", "model/properties").json()["creationTime"] > before["creationTime"]


@pytest.mark.parametrize("base", BASES)
def test_logs_are_deleted(there: Shop, base: str) -> None:
    there.set(window=600.0)
    event = there.rank(contextFeatures=[{"secret": "nobody-else-is-called-so"}])["eventId"]
    there.reward(event, 1.0)
    there.reward("never ranked", 0.123456789)
    told = there.ask(base, "GET", "logs/properties").json()["dateRange"]
    assert told["from"] <= told["to"]
    done = there.ask(base, "DELETE", "logs")
    assert (done.status_code, done.content) == (204, b"")
    assert (there.state()["open"], there.state()["learnt"]) == (0, 0)
    for kept in (one for one in there.folder.iterdir() if one.is_file()):
        assert b"nobody-else-is-called-so" not in kept.read_bytes(), kept
        assert b"0.123456789" not in kept.read_bytes(), kept
    none = there.ask(base, "GET", "logs/properties")
    assert none.status_code == 404
    told = none.json()["error"]
    assert json.dumps(told).count("LogsPropertiesNotFound") == 1
    assert told["message"] == "Log properties not found."


def test_status(there: Shop) -> None:
    told = there.ask(V1_0, "GET", "status").json()
    assert set(told) == {"service", "apiStatus", "apiStatusMessage"}
