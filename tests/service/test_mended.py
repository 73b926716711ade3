"""What changes with settings, and what must not: decisions that are there, actions, policies, the log, the client."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from marginbandits.service.client import Client
from marginbandits.service.core import ConflictError
from marginbandits.service.deploying import promote
from marginbandits.service.explaining import decoded
from marginbandits.service.journal import JournalError
from marginbandits.service.keys import Keys
from marginbandits.service.records import NARROWEST, Settings
from marginbandits.service.requests import Ask, Candidate, Wanted
from marginbandits.service.writer import FullError
from tests.service.made import Shop, web

Opened = Callable[..., Shop]


@pytest.mark.parametrize("actions", [["hat", "cap"], None])
@pytest.mark.parametrize("again", [{"event_id": "e1"}, {}])
def test_a_decision_that_is_there_is_told_again_whatever_the_loop_is_set_to(
    opened: Opened, actions: list[str] | None, again: dict[str, Any]
) -> None:
    shop = opened(Settings(actions=["hat", "shoe"]))
    ask = Ask(excluded=["shoe"], **again)
    first = shop.run(shop.service.decide("shop", ask, "k"))
    shop.service.set("shop", {"actions": actions})
    assert shop.run(shop.service.decide("shop", ask, "k")) == first
    with pytest.raises(ValueError, match=r"excluded|actions"):
        shop.run(shop.service.decide("shop", Ask(excluded=["shoe"], context={"age": 3}, **again), "k"))
    with pytest.raises(ValueError, match=r"excluded|actions"):
        shop.run(shop.service.decide("shop", Ask(excluded=["shoe"]), "other"))
    with pytest.raises(ConflictError):
        shop.run(shop.service.decide("shop", Ask(event_id="e2", actions=["hat"]), "k"))
    assert shop.loop.watch.look().decisions == 1


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ([{"id": "a", "features": {"x": {"y": [[1]]}}}, "b"], "x.y"),
        ([{"id": "a", "features": {"x": "long " * 60_000}}, "b"], "characters"),
        ([], "at least 1 entry"),
    ],
)
def test_actions_nobody_could_choose_among_are_refused_when_they_are_set(
    opened: Opened, actions: list[Any], told: str
) -> None:
    shop = opened(Settings(actions=["hat"]))
    answer = web(shop).put("/loops/shop", json={"settings": {"actions": actions}})
    assert answer.status_code == 400, answer.text
    assert told in answer.json()["error"]
    assert shop.loop.settings.actions == ["hat"]


def test_a_policy_without_a_learner_is_the_one_that_decides(opened: Opened) -> None:
    shop, path = opened(), "/loops/loop"
    given = {"learner": "LogisticTS", "parameters": {"scale": 1.0}}
    web(shop).put(path, json={"new": True, "settings": {"window": 3}, "policy": given})
    answer = web(shop).put(path, json={"policy": {"since": "now"}}).json()["policy"]
    assert (answer["learner"], answer["parameters"]) == ("LogisticTS", {"scale": 1.0})
    answer = web(shop).put(path, json={"policy": {"parameters": {"scale": 2.0}}}).json()["policy"]
    assert (answer["learner"], answer["parameters"]) == ("LogisticTS", {"scale": 2.0})
    answer = web(shop).put(path, json={"policy": {"learner": "RegCB"}}).json()["policy"]
    assert (answer["learner"], answer["parameters"]) == ("RegCB", {})


def test_who_decides_already_is_no_candidate(opened: Opened) -> None:
    shop = opened(Settings(window=5))
    shop.play(10)
    before = shop.service.last_entry()
    found = promote(shop.service, "shop", Candidate(Wanted("SquareCB")))
    assert (found.promoted, found.reason) == (False, "policy 1, which decides, is no other")
    assert shop.service.last_entry() == before  # so nothing was asked


def test_the_log_says_what_a_setting_was_and_nothing_twice(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "marginbandits.service")
    shop = opened(Settings(window=3, mode="Apprentice"))
    shop.service.set("shop", {"mode": "Online"})
    shop.service.set("shop", {"segment": "a\n2026 INFO stopped\x1b[2J"})
    promote(shop.service, "shop", Candidate(Wanted("RegCB"), force=True))
    told = [one.getMessage() for one in caplog.records if "settings" in one.getMessage()]
    assert told == [
        "shop: settings: window 3.0, mode Apprentice, all else as usual",
        "shop: settings: mode Apprentice → Online",
        "shop: settings: segment None → a\\n2026 INFO stopped\\x1b[2J",
    ]


def test_a_share_that_may_have_been_a_percentage_is_told(opened: Opened) -> None:
    shop = opened(Settings())
    notes = web(shop).put("/loops/shop", json={"settings": {"holdback": 1}}).json()["notes"]
    assert notes[-1] == "holdback: of all decisions 100% are the baseline, whatever is learnt"
    assert len(web(shop).put("/loops/shop", json={"settings": {"holdback": 0.1}}).json()["notes"]) == 1


def test_a_range_in_which_nothing_could_be_told_apart_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="at least 1e-100 wide"):
        msgspec.convert({"reward_range": [0.0, 5e-324]}, Settings)
    assert msgspec.convert({"reward_range": [0.0, NARROWEST]}, Settings).reward_range == (0.0, NARROWEST)


def test_minus_zero_is_zero(opened: Opened) -> None:
    shop = opened(Settings(window=60))
    event = shop.decide().event_id
    assert shop.reward(event, 0.0, key="z").status == "recorded"
    assert shop.reward(event, -0.0, key="z").status == "repeated"


def test_rewards_of_nothing_are_bounded_and_others_go_on(opened: Opened) -> None:
    shop = opened(Settings(window=600, most_open=3))
    event = shop.decide().event_id
    for k in range(3):
        shop.reward("undefined", 1.0, key=f"{k}")
        shop.service.settle()
    for told in (shop.service.reward("shop", "undefined", 1.0), shop.service.activate("shop", "undefined")):
        with pytest.raises(FullError, match="3 rewards and activations wait for their decisions"):
            shop.run(told)
    assert shop.reward(event, 1.0).known
    shop.pass_by(121)
    assert shop.loop.joiner.n_early == 0
    assert shop.loop.joiner.counts["orphans"] == 3
    assert shop.reward("undefined", 1.0).status == "recorded"


def test_half_a_character_is_not_an_end() -> None:
    decoder = msgspec.json.Decoder(Ask)
    with pytest.raises(ValueError, match="half of one"):
        decoded(decoder, b'{"event_id": "\\ud800"}')
    with pytest.raises(ValueError, match="ends before it is whole, after 14 bytes"):
        decoded(decoder, b'{"event_id": "')


def test_keys_that_were_damaged_are_said_to_be(opened: Opened) -> None:
    shop = opened(Settings())
    keys = Keys(shop.service.journal)
    keys.make("*", ["admin"])
    shop.service.journal.put("key/*/admin/0", b"xy")
    with pytest.raises(JournalError, match="the keys cannot be read"):
        Keys(shop.service.journal).all()
    with pytest.raises(JournalError, match="the keys cannot be read"):
        keys.revoke("0" * 8)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"key": "mb_x\n y"}, "key must be one line"),
        ({"loop": ""}, "loop must be the name of a loop, got ''"),
        ({"tries": "a"}, "tries must be a whole number at least 1, got 'a'"),
        ({"timeout": -1}, "timeout must be a number of seconds above 0, got -1"),
    ],
)
def test_what_a_client_cannot_be_made_with(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"key|loop|tries|timeout") as error:
        Client("http://127.0.0.1:1", **{"loop": "shop", **given})
    assert told in str(error.value)
    assert "mb_x" not in str(error.value)


def test_a_client_takes_the_last_line_of_a_file_for_a_key() -> None:
    assert Client("http://127.0.0.1:1", "shop", "mb_x\n")._headers["Authorization"] == "Bearer mb_x"
    with pytest.raises(ValueError, match="policies must be by labels of yours"):
        Client("http://127.0.0.1:1", "shop").evaluate("RegCB")  # type: ignore[arg-type]


def test_counts_are_there_while_an_erasure_is_taken_in(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others look at them meanwhile; so does `most_open`."""
    from marginbandits.service import loop

    shop = opened(Settings(window=10_000, most_open=20))
    for k in range(20):
        shop.decide(event_id=f"{k}", unit="alice" if k == 0 else "bob")
    shop.service.settle()
    seen, read = [], loop.read

    def slowly(*given: Any) -> Any:
        for one in read(*given):
            seen.append(shop.loop.joiner.n_open)
            yield one

    monkeypatch.setattr(loop, "read", slowly)
    shop.service.erase("shop", "alice")
    assert seen
    assert min(seen) >= 19
    assert shop.loop.joiner.n_open == 19


def test_a_note_of_the_disk_that_is_of_another_journal_is_not_believed(opened: Opened, tmp_path: Path) -> None:
    """As after a lost tail: what is erased then is gone from the disk before that is said."""
    shop = opened(Settings(window=60))
    shop.decide(event_id="one", unit="alice", context={"w": "SECRETWORD"})
    shop.service.settle()
    shop.service.journal.keep("scrubbed", b"64")
    shop.close()
    shop = opened()
    assert shop.service.journal.fact("scrubbed") == b"0"
    assert shop.service.erase("shop", "alice").complete
    files = [one for one in tmp_path.iterdir() if one.is_file()]
    assert not [one for one in files if b"SECRETWORD" in one.read_bytes()]


def test_what_is_kept_of_an_event_is_all_of_it(opened: Opened) -> None:
    """A reward that came before its decision, which is kept for a while longer."""
    shop = opened(Settings(window=5, retention_days=1))
    shop.reward("e1", 1.0)
    shop.clock.sleep(60)
    shop.decide(event_id="e1")
    shop.pass_by(86_400 - 30)
    shop.service._retire()
    shop.decide()
    shop.service.settle()
    assert [one.kind for one in shop.service.journal.entries(0, 1000) if one.id == "e1"] == ["reward", "decision"]
    shop.pass_by(3600)
    shop.service._retire()
    shop.decide()  # which is written after what that has written
    shop.pass_by(0.0)
    assert not [one for one in shop.service.journal.entries(0, 1000) if one.id == "e1"]


def test_a_secret_that_was_damaged_stops_a_service(opened: Opened) -> None:
    shop = opened(Settings())
    shop.service.journal.put("secret/shop", b"x" * 65)
    shop.close()
    with pytest.raises(JournalError, match="the secret of loop 'shop' is not what was written"):
        opened()
