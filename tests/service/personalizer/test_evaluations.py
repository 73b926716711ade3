"""Offline evaluations say what the log says: beside the same numbers computed from what was sent and answered."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.service.personalizer.speaking import BASES, V1_1, V2022, Shop, actions

HOUR = timedelta(hours=1)
N = 40


def written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def contract(**other: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    wanted = {"name": "mine", "startTime": written(now - HOUR), "endTime": written(now + HOUR), "policies": []}
    return wanted | other


@pytest.fixture(scope="module")
def events(there: Shop) -> list[tuple[Any, float]]:
    """Answers to ranks, and the rewards: a hat is worth something."""
    there.ask(V1_1, "DELETE", "logs")
    there.set(window=2.0)
    done = []
    for k in range(N):
        told = there.rank(excludedActions=["bag"])
        reward = (0.8 if told["rewardActionId"] == "hat" else 0.1) - k / 1000
        there.reward(told["eventId"], reward)
        done.append((told, reward))
    there.until(lambda: there.state()["open"] == 0)
    joined = there.closed()
    return [(told, joined[told["eventId"]].reward) for told, _ in done]


def naive(events: list[tuple[Any, float]], weight: Any) -> tuple[float, float, float]:
    pairs = [(weight(told) / told["ranking"][0]["probability"], reward) for told, reward in events]
    return sum(w * r for w, r in pairs), sum(w for w, _ in pairs), sum((w * r) ** 2 for w, r in pairs)


WEIGHTS: dict[str, Any] = {
    "Online": lambda told: told["ranking"][0]["probability"],
    "Baseline": lambda told: float(told["rewardActionId"] == "hat"),
    "Random": lambda told: 0.5,
}


@pytest.mark.parametrize("base", BASES[:-1])
def test_what_the_log_says(there: Shop, events: list[tuple[Any, float]], base: str) -> None:
    asked = contract(policies=[{"name": "even", "arguments": "--cb_explore_adf --squarecb --epsilon 1.0"}])
    answer = there.ask(base, "POST", "evaluations", asked)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert answer.headers["Location"] == f"{there.url}{base}/evaluations/{told['id']}"
    assert there.ask(base, "GET", f"evaluations/{told['id']}").json() == told
    assert told in there.ask(base, "GET", "evaluations").json()
    assert (told["status"], told["evaluationType"], told["name"]) == ("completed", "Manual", "mine")
    results = {one["name"]: one for one in told["policyResults"]}
    assert [one["policySource"] for one in told["policyResults"]] == ["Online", "Baseline", "Random", "Custom"]
    for name, weight in WEIGHTS.items():
        total = results[name]["totalSummary"]
        wr, w, wwrr = naive(events, weight)
        assert total["ipsEstimatorNumerator"] == pytest.approx(wr)
        assert total["ipsEstimatorDenominator"] == N
        assert total["snipsEstimatorDenominator"] == pytest.approx(w)
        assert total["averageReward"] == pytest.approx(wr / w)
        assert total["sumOfSquares"] == pytest.approx(wwrr)
        assert sum(one["ipsEstimatorNumerator"] for one in results[name]["summary"]) == pytest.approx(wr)
    even, own = results["Random"]["totalSummary"], results["even"]["totalSummary"]
    assert own == pytest.approx(even), "who explores always is as good as chance"
    deleted = there.ask(base, "DELETE", f"evaluations/{told['id']}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    for method in ("GET", "DELETE"):
        gone = there.ask(base, method, f"evaluations/{told['id']}")
        assert gone.status_code == 404
        assert gone.json()["error"]["message"] == "Offline Evaluation not found."


def test_in_the_dialect_of_2022(there: Shop, events: list[tuple[Any, float]]) -> None:
    for name in ("one/1", "two", "three"):
        made = there.ask(V2022, "PUT", f"evaluations/{name.replace('/', '%2F')}", contract(name=name))
        assert (made.status_code, made.content) == (200, b"")
    again = there.ask(V2022, "PUT", "evaluations/two", contract())
    assert again.json()["error"]["message"] == "Evaluation with id two already exists."
    page = there.ask(V2022, "GET", "evaluations", params={"top": 2}).json()
    assert [one["id"] for one in page["value"]] == ["three", "two"]
    rest = there.client.get(page["nextLink"], headers={"Ocp-Apim-Subscription-Key": there.key}).json()
    assert [one["id"] for one in rest["value"]] == ["one/1"]
    assert "nextLink" not in rest
    for kind, n in (("Manual", 3), ("Auto", 0)):
        some = there.ask(V2022, "GET", "evaluations", params={"filter": f"evaluationType eq '{kind}'"})
        assert len(some.json()["value"]) == n
    wrong = there.ask(V2022, "GET", "evaluations", params={"filter": "name eq 1"})
    assert wrong.json()["error"]["message"].startswith("Error in the filter expression. ")
    now = datetime.now(UTC)
    asked = {"startTime": written(now - HOUR), "endTime": written(now + HOUR)}
    for interval in ({}, {"intervalInMinutes": 1440, "window": "Rolling"}):
        told = there.ask(V2022, "GET", "evaluations/one%2F1", params=asked | interval).json()
        assert (told["status"], told["content"]["intervalInMinutes"]) == (
            "Succeeded",
            interval.get("intervalInMinutes", 5),
        )
        for one in told["content"]["value"]:
            wr, w, _ = naive(events, WEIGHTS[one["name"]])
            low, high = one["summary"]["confidenceInterval"]
            assert one["summary"]["expectedReward"] == pytest.approx(wr / w)
            assert low < wr / w < high
            if len(one["timeseries"]["data"]) == 1 or not interval:  # midnight may be between
                assert one["timeseries"]["data"][-1].items() >= one["summary"].items()
    for bad in ({"window": "Rolling"}, {"intervalInMinutes": 60}, {"intervalInMinutes": 7, "window": "Rolling"}):
        answer = there.ask(V2022, "GET", "evaluations/two", params=asked | bad)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("Incompatible intervalInMinutes and window parameters.")
    assert there.ask(V2022, "GET", "evaluations/two").status_code == 400
    for name in ("one%2F1", "two", "three"):
        assert there.ask(V2022, "DELETE", f"evaluations/{name}").status_code == 204


def test_what_was_judged_can_be_applied(there: Shop, events: list[tuple[Any, float]]) -> None:
    arguments = "--cb_explore_adf --cover 3"
    asked = contract(policies=[{"name": "covered", "arguments": arguments}])
    name = there.ask(V1_1, "POST", "evaluations", asked).json()["id"]
    for base in (V1_1, V2022):
        done = there.ask(
            base, "POST", "configurations/applyFromEvaluation", {"evaluationId": name, "policyName": "covered"}
        )
        assert (done.status_code, done.content) == (204, b"")
        assert there.ask(base, "GET", "configurations/policy").json() == {"name": "covered", "arguments": arguments}
    assert there.state()["policy"]["learner"] == "Cover"
    assert there.state()["policy"]["reason"] == f"forced: Personalizer applyFromEvaluation of {name!r}"
    for evaluation, policy, code in (
        (name, "Baseline", "LearningSettingsNotFound"),
        ("x", "covered", "EvaluationNotFound"),
    ):
        wanted = {"evaluationId": evaluation, "policyName": policy}
        refused = there.ask(V1_1, "POST", "configurations/applyFromEvaluation", wanted)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, code)


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"endTime": "2019-01-12T00:00:00Z"}, "InvalidEvaluationContract"),
        ({"startTime": "yesterday"}, "InvalidEvaluationContract"),
        ({"name": ""}, "InvalidEvaluationContract"),
        (
            {"policies": [{"name": str(k), "arguments": "--cb_explore_adf"} for k in range(11)]},
            "InvalidEvaluationContract",
        ),
        ({"policies": [{"name": "a", "arguments": "--cb_explore_adf"}] * 2}, "DuplicateCustomPolicyNames"),
        ({"policies": [{"name": "a", "arguments": "--epsilon 1"}]}, "InvalidPolicyConfiguration"),
        ({"startTime": "2019-01-12T00:00:00Z", "endTime": "2019-01-13T00:00:00Z"}, "NoLogsExistInDateRange"),
    ],
)
def test_contracts_that_are_none(there: Shop, other: Any, code: str) -> None:
    for base, method, path in ((V1_1, "POST", "evaluations"), (V2022, "PUT", "evaluations/none")):
        answer = there.ask(base, method, path, contract(**other))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_a_learner_of_ones_own_is_played_through_the_log(there: Shop) -> None:
    """With no share of chance, what it would have done is what it learnt; the hat is worth more."""
    there.ask(V1_1, "DELETE", "logs")
    there.ask(V1_1, "DELETE", "configurations/policy")
    there.set(window=2.0, exploration=1.0)
    for _ in range(3):  # it knows what had closed by then, which is nothing of the first third
        for _ in range(50):
            told = there.rank(actions=actions("hat", "shoe"))
            there.reward(told["eventId"], 0.9 if told["rewardActionId"] == "hat" else -0.9)
        there.until(lambda: there.state()["open"] == 0)
    asked = contract(policies=[{"name": "own", "arguments": "--cb_explore_adf --squarecb --epsilon 0"}])
    results = {one["name"]: one for one in there.ask(V1_1, "POST", "evaluations", asked).json()["policyResults"]}
    mean = {name: one["totalSummary"]["averageReward"] for name, one in results.items()}
    assert mean["own"] > mean["Random"] + 0.3
    assert mean["Baseline"] > mean["own"]
