"""The follower: what goes wrong is said and tried again, who waits for it does not wait for ever."""

import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient

from marginbandits.service import following, store
from marginbandits.service.app import application
from marginbandits.service.clock import Clock
from marginbandits.service.core import LateError
from marginbandits.service.journal import POLICY, SETTINGS, Draft, JournalError
from marginbandits.service.loop import Loop
from marginbandits.service.records import Policy, Settings
from marginbandits.service.replay import verified
from tests.service.made import Shop

Opened = Callable[..., Shop]


def until(holds: Callable[[], bool]) -> None:
    for _ in range(2000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it should have held by now")


def client(shop: Shop) -> TestClient:
    return TestClient(application(shop.service), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))


def test_a_loop_that_is_made_while_others_are_kept_stops_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, keep = opened(Settings(window=5)), Loop.keep

    def slow(self: Loop, journal: Any) -> None:
        keep(self, journal)
        if "other" not in shop.service.loops:
            threading.Thread(target=shop.service.set, args=("other", Settings(window=5))).start()
            until(lambda: "other" in shop.service.loops)

    monkeypatch.setattr(Loop, "keep", slow)
    shop.service._due = 0.0
    shop.play(10)
    until(lambda: "other" in shop.service.loops)
    assert shop.service.failure is None
    assert shop.loop.model.learnt == 10


def test_what_fails_is_said_and_tried_again_until_it_does_not(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = opened(Settings(window=5))
    shop.play(10)
    web, count, failed = client(shop), Loop._count, []
    assert web.get("/health").json() == {"status": "ok", "waiting": 0, "behind": 0, "ahead": 0.0, "failure": None}
    monkeypatch.setattr(following, "FAILING", 0.1)

    def fails(self: Loop, *given: Any) -> None:
        failed.append(time.monotonic())
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Loop, "_count", fails)
    decided = shop.decide(context={"likes": "hat"})
    until(lambda: len(failed) > 3)
    found = web.get("/health")
    assert found.status_code == 503
    assert (found.json()["status"], found.json()["failure"]) == ("not learning", "OperationalError")
    assert found.json()["behind"] >= 1
    assert "disk is full" not in found.text
    assert shop.decide(context={"likes": "hat"}).probability == decided.probability, "decisions go on"
    answer = web.put("/loops/shop", json={"settings": {"window": 5, "exploration": 0.5}})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    assert "learning fails (OperationalError)" in answer.json()["error"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(failed)]
    assert gaps[-1] > gaps[0] > 0.1, "pauses grow"
    monkeypatch.setattr(Loop, "_count", count)
    until(lambda: shop.service.failure is None)
    shop.pass_by(10)
    assert (shop.loop.model.learnt, shop.loop.settings.exploration) == (12, 0.5)
    assert web.get("/health").status_code == 200
    assert verified(shop.service.journal).faults == []


def test_nobody_waits_for_ever(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when another process leads, and is stopped: the follower here does nothing, and fails in nothing."""
    shop = opened(Settings(window=5))
    monkeypatch.setattr(shop.service, "_take_turn", lambda: None)
    for name, leads in (("LONGEST", True), ("ELSEWHERE", False)):
        monkeypatch.setattr(following, name, 0.2)
        monkeypatch.setattr(shop.service, "leads", leads)
        shop.decide()
        with pytest.raises(LateError, match="it is written, but has not been taken in yet"):
            shop.service.settle()


def test_health_waits_for_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = opened(Settings(window=5))

    def hangs(*given: Any) -> None:
        raise AssertionError("it should not be asked")

    web = client(shop)
    with monkeypatch.context() as patch:
        patch.setattr("starlette.concurrency.run_in_threadpool", hangs)
        patch.setattr("marginbandits.service.app.run_in_threadpool", hangs)
        assert web.get("/health").status_code == 200


def test_health_says_that_nothing_can_be_written_while_it_waits(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another process holds the lock of a database; nobody is asked to write meanwhile."""
    monkeypatch.setattr("marginbandits.service.writer.STALLED", 0.1)
    monkeypatch.setattr(following, "TRYING", 0.05)
    shop = opened(Settings(window=5))
    web, append, goes_on = client(shop), shop.service.journal.append, threading.Event()
    groups: list[int] = []

    def waits(drafts: Sequence[Draft]) -> Any:
        groups.append(len(drafts))
        assert goes_on.wait(30)
        return append(drafts)

    monkeypatch.setattr(shop.service.journal, "append", waits)
    deciding = threading.Thread(target=shop.decide)
    deciding.start()
    until(lambda: web.get("/health").json()["status"] == "not writing")
    found = web.get("/health")
    assert (found.status_code, found.json()["failure"]) == (503, "StalledError")
    assert "marginbandits_writing 0" in web.get("/metrics").text
    time.sleep(1.0)
    assert shop.service.writer.waiting <= 1
    goes_on.set()
    deciding.join(30)
    until(lambda: web.get("/health").json()["status"] == "ok")


def test_a_database_that_fails_is_not_the_requests_fault(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = opened(Settings(window=5))

    def fails(drafts: object) -> None:
        raise JournalError("database 'shop' at here: canceling statement due to lock timeout")

    with monkeypatch.context() as patch:
        patch.setattr(shop.service.journal, "append", fails)
        answer = client(shop).post("/loops/shop/decide", json={"actions": ["a"]})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "lock timeout" not in answer.text


def test_settings_and_their_policy_are_written_together(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = opened(Settings(window=5))
    groups: list[list[str]] = []
    append = shop.service.journal.append

    def spied(drafts: Sequence[Draft]) -> Any:
        groups.append([one.kind for one in drafts])
        return append(drafts)

    monkeypatch.setattr(shop.service.journal, "append", spied)
    shop.service.set("other", Settings(reward_range=(0.0, 20.0)))
    shop.service.set("shop", Settings(window=5, reward_range=(0.0, 20.0)))
    shop.service.set("shop", Settings(window=6, reward_range=(0.0, 20.0)), Policy(learner="Uniform"))
    assert [one for one in groups if SETTINGS in one] == [[SETTINGS, POLICY]] * 3
    assert shop.loop.model.policy == Policy(
        "Uniform", reward_range=(0.0, 20.0), number=3, reason="forced, and not judged"
    )


def test_two_processes_give_policies_numbers_that_differ(opened: Opened) -> None:
    shop = opened(Settings(window=5))
    assert [shop.service._numbered("shop") for _ in range(3)] == [2, 3, 4], "as if none had been written yet"
    shop.service.set("shop", Settings(window=5), Policy(learner="Uniform"))
    assert [one.number for one in shop.service.policies("shop")] == [1, 5]


def test_a_process_does_not_take_back_what_another_sets_in_the_same_instant(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = opened(Settings(window=5))
    own, late = shop.service.journal.changes, [shop.service.journal.changes()]
    shop.service.set("shop", {"holdback": 0.2}, Policy(learner="RegCB"))
    monkeypatch.setattr(shop.service.journal, "changes", lambda: late.pop() if late else own())
    shop.service.set("shop", {"window": 9.0}, Policy(learner="Uniform"))
    assert not late, "it has looked before the other was there"
    assert (shop.loop.settings.window, shop.loop.settings.holdback) == (9.0, 0.2)
    assert [one.learner for one in shop.service.policies("shop")] == ["SquareCB", "RegCB", "Uniform"]
    assert len([one for one in own() if one.kind == SETTINGS]) == 3


@pytest.mark.parametrize("parameters", [{"n_particles": 10**9}, {"moves": 1e9}, {"memory": 10**8}])
def test_a_policy_that_would_make_everybody_wait_is_refused(opened: Opened, parameters: dict[str, float]) -> None:
    shop = opened(Settings(window=5))
    with pytest.raises(ValueError, match=r"must be at most .* in a service, got"):
        shop.service.set("shop", {}, Policy(learner="HingeLMC", parameters=parameters))
    assert len(shop.service.policies("shop")) == 1


def test_a_policy_must_be_one_that_can_be_made_again(opened: Opened) -> None:
    shop = opened(Settings(window=5))
    with pytest.raises(ValueError, match="seed must be a number, got null"):
        shop.service.set("shop", Settings(window=5), Policy(learner="LinTS", parameters={"seed": None}))
    shop.service.set("shop", Settings(window=5), Policy(learner="LinTS", parameters={"seed": 3}))


class TestTime:
    def test_a_clock_that_is_wrong_for_a_moment_closes_nothing(
        self, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = [1_700_000_000_000_000_000, 0]
        clock = Clock(lambda: told[0], lambda: told[1])
        for module in (following, store):
            monkeypatch.setattr(module, "now", clock.now)

        def after(seconds: float, wrong: float = 0.0) -> None:
            told[1] += round(seconds * 1e9)
            told[0] = 1_700_000_000_000_000_000 + told[1] + round(wrong * 1e9)

        shop = opened(Settings(window=60))
        event = shop.decide().event_id
        after(10, wrong=365 * 86400.0)
        shop.decide()
        shop.service.settle()
        after(10)
        shop.reward(event, 1.0)
        shop.service.settle()
        assert shop.loop.joiner.n_open == 2
        assert shop.service.ahead == 0.0
        after(60)
        until(lambda: shop.loop.model.learnt == 2)
        assert shop.loop.joiner.counts["rewarded"] == 1

    def test_a_journal_that_is_ahead_of_the_clock_says_so(
        self, opened: Opened, caplog: pytest.LogCaptureFixture
    ) -> None:
        shop = opened(Settings(window=60))
        shop.clock.sleep(3600.0)
        shop.decide()
        shop.clock.sleep(-3600.0)
        web = client(shop)
        assert (web.get("/health").json()["status"], web.get("/health").json()["ahead"]) == ("clock behind", 3600.0)
        assert web.get("/health").status_code == 200
        assert "The journal&#x27;s clock is 1 hour ahead" in web.get("/page/shop").text.replace("'", "&#x27;")
        shop.service.settle()
        opened()
        assert "the journal is 3600 s ahead of the clock" in caplog.text
