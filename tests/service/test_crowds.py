"""Many at once: windows that close together keep no decision waiting, and open events are not more than they may be."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marginbandits.service.core import Service
from marginbandits.service.journal import Journal
from marginbandits.service.loop import LARGEST, LESSONS
from marginbandits.service.model import Model
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Offer, Settings
from marginbandits.service.replay import verified
from marginbandits.service.requests import Ask
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.writer import FullError
from tests.service.made import Shop, web
from tests.service.test_following import until

HATS = {"actions": ["hat", "shoe"]}


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events were learnt at once, each time."""
    found, learn = list[int](), Model.learn

    def noted(self: Model, events: Any) -> None:
        found.append(len(events))
        learn(self, events)

    monkeypatch.setattr(Model, "learn", noted)
    return found


def test_windows_that_close_together_are_learnt_in_groups(opened: Callable[..., Shop], groups: list[int]) -> None:
    shop = opened(Settings(window=5))
    for _ in range(3 * LESSONS + 7):
        shop.decide()
    shop.pass_by(10.0)
    assert groups == [LESSONS, LESSONS, LESSONS, 7]
    assert shop.loop.model.learnt == 3 * LESSONS + 7
    assert verified(shop.service.journal).faults == []


def test_large_ones_in_smaller_groups(opened: Callable[..., Shop], groups: list[int]) -> None:
    shop, large = opened(Settings(window=5)), {"text": "x" * (LARGEST // 4)}
    for context in (large, large, large, large, large, {}, dict.fromkeys("abc", "x" * 80_000), {}):
        shop.decide(context=context)
    shop.pass_by(10.0)
    assert groups == [3, 3, 1, 1]


def test_decisions_are_made_in_between(opened: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants a law while a group is learnt gets it after that group, though another is to be learnt at once."""
    shop, learn = opened(Settings(window=5)), Model._learn
    for _ in range(10 * LESSONS):
        shop.decide()
    model, seen, ended = shop.loop.model, set[int](), threading.Event()

    def slow(self: Model, lessons: Any) -> None:
        time.sleep(0.05)  # while it has the lock
        learn(self, lessons)

    def asks() -> None:
        while not ended.is_set():
            seen.add(model.law({}, [Offer("hat"), Offer("shoe")])[1])

    monkeypatch.setattr(Model, "_learn", slow)
    asking = threading.Thread(target=asks)
    asking.start()
    shop.pass_by(10.0)
    ended.set()
    asking.join()
    assert seen >= {k * LESSONS for k in range(1, 10)}


def test_more_open_events_than_there_may_be_are_refused(opened: Callable[..., Shop]) -> None:
    shop = opened(Settings(window=60, most_open=3))
    client = web(shop)
    for k in range(3):
        assert client.post("/loops/shop/decide", json={**HATS, "event_id": str(k)}).status_code == 200
    refused = client.post("/loops/shop/decide", json=HATS)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.json()["error"] == "3 events of this loop are open, and it may have 3 (most_open)"
    told = client.post("/personalizer/v1.0/rank", json={"actions": [{"id": "a", "features": [{"x": 1}]}]})
    assert (told.status_code, told.headers["Retry-After"]) == (429, "1")
    assert client.post("/loops/shop/reward", json={"event_id": "1", "value": 1.0}).status_code == 200
    shop.pass_by(61.0)
    assert client.post("/loops/shop/decide", json=HATS).status_code == 200
    assert client.put("/loops/shop", json={"settings": {"most_open": 0}}).status_code == 400


def test_what_the_learner_has_not_taken_in_is_open_too(
    opened: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is made anew keeps the learner for minutes, in which decisions go on."""
    shop = opened(Settings(window=60, most_open=5))
    with monkeypatch.context() as held:
        held.setattr(Service, "_catch_up", lambda _: False)
        client = web(shop)
        time.sleep(0.1)  # a turn that is under way ends
        told = [client.post("/loops/shop/decide", json=HATS).status_code for _ in range(40)]
        assert told == [200] * 5 + [429] * 35
    shop.pass_by(61.0)
    assert client.post("/loops/shop/decide", json=HATS).status_code == 200


def test_what_was_decided_has_its_answer_also_where_more_may_not_be_open(opened: Callable[..., Shop]) -> None:
    shop = opened(Settings(window=60, most_open=2))
    client = web(shop)

    def told(key: str | None, **more: str) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return client.post("/loops/shop/decide", json={**HATS, **more}, headers=headers)

    by_id, by_key = told(None, event_id="e"), told("k")
    shop.service.settle()
    last = shop.service.journal.last()
    assert (told(None, event_id="e").json(), told("k").json()) == (by_id.json(), by_key.json())
    assert told(None, event_id="e", baseline="shoe").status_code == 409
    assert told("k", event_id="e").status_code == 409
    assert [told("other", event_id=event).status_code for event in ("e", "f", "\0")] == [200, 429, 400]
    assert (told("other").status_code, told(None).status_code) == (429, 429)
    assert shop.service.journal.last() == last


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_so_they_are_after_a_restart_and_where_another_process_learns(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = "" if kind == "sqlite" else request.getfixturevalue("postgres").database()

    def journal() -> Journal:
        return Postgres(url) if url else Sqlite(tmp_path)

    one = Service(journal(), checkpoints=0.05)
    one.set("shop", Settings(window=600, most_open=2))
    asks = one.asked(one.loop("shop"), [(Ask(actions=["hat"]), None)] * 2)
    one.writer.put_all([draft for draft, _ in asks]).result()
    one.settle()
    if not url:
        one.close()
    other = Service(journal(), checkpoints=0.05)
    try:
        until(lambda: _full(other))
    finally:
        other.close()
        if url:
            one.close()


def _full(service: Service) -> bool:
    try:
        service.loop("shop").room(service.untaken)
    except FullError:
        return True
    return False
