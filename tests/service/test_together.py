"""What comes together: loops that two make at once, settings of several clients, and what is noted beside them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from marginbandits.service.core import Change, Service
from marginbandits.service.following import Follower
from marginbandits.service.journal import CANDIDATE, NOTE, POLICY, SETTINGS, JournalError
from marginbandits.service.loop import settings_of
from marginbandits.service.personalizer.calls import AT_FIRST, Loops
from marginbandits.service.personalizer.kept import Fields, Text
from marginbandits.service.personalizer.operations import Operations
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Note, Policy, Settings, Tried, decode
from marginbandits.service.replay import verified
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop, web
from tests.service.postgres import Server

V1_1 = "/personalizer/v1.1-preview.3"
CONFIGURATION = {
    "rewardWaitTime": "PT10M",
    "defaultReward": 0.0,
    "rewardAggregation": "earliest",
    "explorationPercentage": 0.3,
    "modelExportFrequency": "PT3M",
    "logRetentionDays": -1,
}
SQUARE, REG = "--cb_explore_adf --squarecb --epsilon 0.1", "--cb_explore_adf --regcb --epsilon 0.4"


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    return opened(AT_FIRST)


def kinds(shop: Shop) -> list[str]:
    return [one.kind for one in shop.service.journal.changes()]


class TestWhoMakesALoop:
    """The settings of one who was faster are not taken back by one who has not heard of the loop."""

    def test_one_of_two_processes(self, postgres: Server) -> None:
        url = postgres.database()
        one, other = (Service(Postgres(url), checkpoints=0.1) for _ in range(2))
        try:
            assert one.made("shop", Settings(window=9.0), Policy("RegCB"))
            assert "shop" not in other.loops, "it has not been told yet"
            assert Loops(other)._make("shop").settings.window == 9.0
            assert not other.made("shop", AT_FIRST)
            assert [(one.kind, one.loop) for one in one.journal.changes()] == [(SETTINGS, "shop"), (POLICY, "shop")]
        finally:
            other.close()
            one.close()

    @pytest.mark.parametrize("read_before", [False, True])
    def test_another_was_faster(self, shop: Shop, monkeypatch: pytest.MonkeyPatch, read_before: bool) -> None:
        """Also where the journal was read before the other wrote."""
        shop.service.set("shop", {"window": 9.0})
        monkeypatch.setattr(shop.service, "loops", {})
        if read_before:
            monkeypatch.setattr(shop.service, "_settings", lambda name: [])
        assert Loops(shop.service)._make("shop").settings.window == 9.0
        assert kinds(shop) == [SETTINGS, POLICY, SETTINGS]
        assert shop.service.made("news", AT_FIRST)
        assert shop.service.loop("news").settings == AT_FIRST

    def test_a_name_that_is_none_makes_nothing(self, shop: Shop) -> None:
        with pytest.raises(ValueError, match="a loop's name must be"):
            Loops(shop.service)._make("a b")
        assert kinds(shop) == [SETTINGS, POLICY]


class TestNotes:
    """What Personalizer keeps is written with the settings that it came with, or not at all."""

    def test_whoever_is_killed_when_settings_are_written_has_written_it(
        self, shop: Shop, opened: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            _killed_when_written(patched)
            for act in (
                lambda: Operations(shop.service).learn_by(shop.loop, Text("mine", REG)),
                lambda: shop.service.change("shop", lambda *_: Change({"window": 8.0}, note=Fields({"a": 1}).note())),
            ):
                with pytest.raises(SystemExit):
                    act()
        again = opened()
        journal = again.service.journal
        assert Text.of(journal, "shop") == Text("mine", REG)
        assert Fields.of(journal, "shop").fields == {"a": 1}
        assert (again.loop.settings.window, again.loop.settings.exploration) == (8.0, 0.4)
        assert again.service.deciding("shop").learner == "RegCB"
        assert verified(journal).faults == []

    def test_what_is_refused_leaves_neither(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(shop.service.journal, "append", _full)
            with pytest.raises(JournalError, match="full"):
                Operations(shop.service).learn_by(shop.loop, Text("mine", REG))
        assert Text.of(shop.service.journal, "shop") == Text()
        assert kinds(shop) == [SETTINGS, POLICY]

    def test_each_loop_has_its_own_and_the_last_holds(self, shop: Shop) -> None:
        shop.service.set("news", AT_FIRST)
        for loop, name in (("shop", "a"), ("news", "b"), ("shop", "c")):
            Operations(shop.service).learn_by(shop.service.loop(loop), Text(name, SQUARE))
        told = [Text.of(shop.service.journal, loop).name for loop in ("shop", "news", "none")]
        assert told == ["c", "b", None]
        assert _noted(shop) == ["a", "b", "c"]


class TestSettingsOfSeveralClients:
    """They are put one after another: what the second rests on is what the first has left."""

    def test_a_configuration_rests_on_what_the_journal_says(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        """A mode that is not named stays what another process has set; two changes in one are refused by that."""
        client, stale = web(shop), shop.loop
        shop.service.set("shop", {"mode": "Apprentice"})
        monkeypatch.setattr(stale, "settings", AT_FIRST)  # as a process sees it that has not been told yet
        answer = client.put(f"{V1_1}/configurations/service", json=CONFIGURATION)
        assert answer.status_code == 200
        assert _settings(shop).mode == "Apprentice"
        monkeypatch.setattr(stale, "settings", AT_FIRST)
        asked = {**CONFIGURATION, "learningMode": "Online", "rewardWaitTime": "PT5M"}
        refused = client.put(f"{V1_1}/configurations/service", json=asked)
        assert refused.json()["error"]["code"] == "InvalidLearningModeServiceConfiguration"

    def test_a_policy_is_another_than_the_one_that_decides_by_the_journal(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client, stale = web(shop), shop.loop
        before = stale.model
        shop.service.set("shop", {}, Policy("RegCB"))
        with monkeypatch.context() as patched:
            patched.setattr(stale, "model", before)
            patched.setattr(shop.service, "settle", lambda: None)
            put = client.put(f"{V1_1}/configurations/policy", json={"name": "mine", "arguments": SQUARE})
        assert put.json() == {"name": "mine", "arguments": SQUARE}
        assert [one.learner for one in shop.service.policies("shop")] == ["SquareCB", "RegCB", "SquareCB"]

    def test_what_is_told_is_what_was_put_last(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another client's policy is written between reading and writing: this one's comes after it, as a whole."""
        with _between(monkeypatch, lambda: Operations(shop.service).learn_by(shop.loop, Text("theirs", REG))):
            Operations(shop.service).learn_by(shop.loop, Text("ours", SQUARE))
        assert Text.of(shop.service.journal, "shop").name == "ours"
        assert _noted(shop) == ["theirs", "ours"]
        assert _settings(shop).exploration == 0.1
        assert [one.learner for one in shop.service.policies("shop")] == ["SquareCB", "RegCB", "SquareCB"]
        wanted = {name: value for name, value in CONFIGURATION.items() if name != "learningMode"}
        client = web(shop)
        with _between(monkeypatch, lambda: shop.service.set("shop", {"mode": "LoggingOnly", "holdback": 0.2})):
            assert client.put(f"{V1_1}/configurations/service", json=wanted).status_code == 200
        settings = _settings(shop)
        assert (settings.mode, settings.holdback, settings.exploration) == ("LoggingOnly", 0.2, 0.3)


def test_a_rival_is_as_it_would_be_if_it_were_applied(shop: Shop) -> None:
    """Where the model was forgotten, a policy that is applied learns from there on: so does one that is judged.

    The hat is worth more, always; but whoever begins now knows nothing of that, and does as an even choice would.
    """
    client = web(shop)
    shop.service.set("shop", {"window": 5.0, "exploration": 1.0})
    _hats(shop)
    asked = {"name": "judge", "startTime": "2000-01-01T00:00:00Z", "endTime": "2100-01-01T00:00:00Z"}
    rival = {"name": "own", "arguments": "--cb_explore_adf --squarecb --epsilon 0"}

    def judged() -> tuple[float, float]:
        made = client.post(f"{V1_1}/evaluations", json={**asked, "policies": [rival]})
        assert made.status_code == 201, made.text
        mean = {one["name"]: one["totalSummary"]["averageReward"] for one in made.json()["policyResults"]}
        return mean["own"], mean["Random"]

    own, random = judged()
    assert own > random + 0.2
    assert client.delete(f"{V1_1}/model").status_code == 204
    since = shop.service.deciding("shop").since
    assert since > 0
    own, random = judged()
    assert own == pytest.approx(random)
    tried = [decode(Tried, one.body or b"") for one in shop.service.journal.changes() if one.kind == CANDIDATE]
    assert [one.since for one in tried] == [0, since]
    put = client.put(f"{V1_1}/configurations/policy", json={"name": "own", "arguments": SQUARE + " --gamma_scale 9"})
    assert put.status_code == 200
    assert shop.service.deciding("shop").since == since


def _hats(shop: Shop) -> None:
    for k in range(120):
        answer = shop.decide()
        shop.reward(answer.event_id, 0.9 if answer.action == "hat" else -0.9)
        shop.clock.sleep(1.0)
        if k % 10 == 9:
            shop.pass_by(0.0)
    shop.pass_by(100.0)


def _noted(shop: Shop) -> list[str]:
    """Names of policies, as they were noted."""
    notes = [one for one in shop.service.journal.changes() if one.kind == NOTE and one.id == Text.NAME]
    return [decode(Note, one.body or b"").told["name"] for one in notes]


def _settings(shop: Shop) -> Settings:
    found = settings_of("shop", shop.service.journal.changes())
    assert found is not None
    return found


def _killed_when_written(patched: pytest.MonkeyPatch) -> None:
    """From now on nothing is done after settings have been written."""

    def dies(*given: Any) -> None:
        raise SystemExit

    patched.setattr(Sqlite, "put", dies)
    patched.setattr(Follower, "settle", dies)


def _full(*given: Any) -> None:
    raise JournalError("the disk is full")


@contextmanager
def _between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> Iterator[None]:
    """What is done once, between reading what a loop is set to and writing what it is to be."""
    drafts, done = Service._drafts, list[bool]()

    def slow(self: Service, *given: Any) -> Any:
        found = drafts(self, *given)
        if not done:
            done.append(True)
            act()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Service, "_drafts", slow)
        yield
    assert done


def test_a_folder_of_the_version_before_is_refused_by_its_format(tmp_path: Path) -> None:
    """It had what Personalizer keeps elsewhere, and would be told wrongly."""
    Sqlite(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "journal.sqlite3")) as db:
        db.execute("PRAGMA user_version = 3")
    with pytest.raises(JournalError, match="is a journal of format 3; this is for format 5"):
        Sqlite(tmp_path)
