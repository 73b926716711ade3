"""What a hostile request, disk or clock must not do."""

import asyncio
import hashlib
import random
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from marginbandits.cli import main
from marginbandits.service import following, replay
from marginbandits.service import journal as journals
from marginbandits.service.clock import Clock
from marginbandits.service.core import UnknownError
from marginbandits.service.doctor import looked_at
from marginbandits.service.journal import CANDIDATE, DECISION, REWARD, Draft, JournalError
from marginbandits.service.keys import Keys
from marginbandits.service.records import Decided, Settings, decode
from marginbandits.service.replay import verified
from marginbandits.service.requests import Ask
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop, web

Opened = Callable[..., Shop]


def test_what_could_not_be_read_again_is_refused_whoever_asks(opened: Opened) -> None:
    shop = opened(Settings(window=5))
    with pytest.raises(ValueError, match="actions"):
        shop.run(shop.service.decide("shop", Ask(actions=["a\0"])))
    rank = {"actions": [{"id": "a\0", "features": [{"p": 1}]}]}
    shop.service.set("default", {"reward_range": (-1, 1)})
    before = shop.service.journal.last()
    assert web(shop).post("/personalizer/v1.0/rank", json=rank).status_code == 400
    assert shop.service.journal.last() == before


@pytest.mark.parametrize("kind", [DECISION, REWARD])
def test_an_event_that_cannot_be_read_stops_nobody(kind: str, opened: Opened) -> None:
    shop = opened(Settings(window=5))
    answer = shop.decide()
    event = answer.event_id if kind == REWARD else "odd"
    shop.service.writer.put(Draft("shop", kind, event, b'{"unit":"me"}')).result()
    shop.decide()
    shop.pass_by(10.0)
    assert shop.service.failure is None
    assert (shop.loop.joiner.counts["unreadable"], shop.loop.model.learnt) == (1, 2)
    if kind == DECISION:
        assert shop.service.erase("shop", "me").events == 1


def test_nothing_is_left_between_the_cells_of_a_page(tmp_path: Path) -> None:
    """Indices part and join their pages, and what was moved stays where it was: until the file is written anew."""
    with closing(Sqlite(tmp_path, durability="process")) as journal:
        chance, gone = random.Random(1), []
        for k in range(3000):
            event, mine = hashlib.md5(str(k).encode()).hexdigest(), chance.randrange(20) == 0
            told, key = (f"V{event}", f"VICTIMKEYV{event}") if mine else (event, f"k{event}")
            drafts = [Draft("shop", DECISION, told, b"{}" * 40, f"decide:{key}")]
            drafts += [Draft("shop", REWARD, told, b"{}", f"reward:{'R' * mine}{key}")] * (k % 2)
            for draft in drafts:
                ((entry, _),) = journal.append([draft])
                gone += [entry.seq] * mine
            if k % 50 == 0:
                journal.put("checkpoint/shop", bytes(chance.randrange(1000, 30000)))
        assert b"VICTIM" in (tmp_path / "journal.sqlite3").read_bytes()
        journal.erase(gone)
        assert journal.scrub()
        assert b"VICTIM" not in (tmp_path / "journal.sqlite3").read_bytes()


DAY = 86_400 * 10**9


@pytest.mark.parametrize(("wrong", "seconds"), [(4, 4), (1000, 60)])
def test_a_clock_that_is_far_ahead_at_the_start_is_watched_for_a_minute(wrong: int, seconds: int) -> None:
    """Put right after a while, it is followed at once; after a minute it is believed: the service was stopped long."""
    told = [500 * DAY, 0]

    def wait(_: float) -> None:
        told[1] += 10**9
        told[0] = (500 if told[1] < wrong * 10**9 else 100) * DAY + told[1]

    clock = Clock(lambda: told[0], lambda: told[1])
    clock.begin(100 * DAY // 1000, wait)
    assert told[1] == seconds * 10**9
    assert clock.now() == told[0] // 1000
    assert told[0] // DAY == (100 if wrong == 4 else 500)


def test_a_clock_that_is_wrong_in_several_ways_at_the_start_is_watched_for_a_minute_in_each() -> None:
    told = [500 * DAY, 0]

    def wait(_: float) -> None:
        told[1] += 10**9
        told[0] = (500 if told[1] < 50 * 10**9 else 900 if told[1] < 100 * 10**9 else 100) * DAY + told[1]

    clock = Clock(lambda: told[0], lambda: told[1])
    clock.begin(100 * DAY // 1000, wait)
    assert told[0] // DAY == 100
    assert told[1] == 100 * 10**9


@pytest.mark.parametrize(
    ("looks", "believed"),
    [
        ([(1, 2)] * 58 + [(1, 365 * 86400)] * 6, False),
        ([(1, 365 * 86400)] * 60, False),
        ([(1, 365 * 86400)] * 61, True),
        ([(1, 10**6), (3600, 10**6)], False),
        ([(1, 10**6), *[(10, 10**6)] * 6], True),
        ([(1, -(10**6)), *[(9, -(10**6))] * 6, (9, 10**6)], False),
    ],
    ids=["two ways", "not long enough", "long enough", "nobody looked", "looked at", "back, and ahead"],
)
def test_a_clock_is_believed_when_it_has_been_the_same_way_off_for_a_minute(
    looks: list[tuple[int, int]], believed: bool
) -> None:
    """Looks are seconds since the one before, and by how much the time of day is wrong then."""
    told = [0, 0]
    clock = Clock(lambda: told[0], lambda: told[1])
    for seconds, wrong in looks:
        told[1] += seconds * 10**9
        told[0] = told[1] + wrong * 10**9
        found = clock.now() * 1000 - told[1]
    assert found == (looks[-1][1] * 10**9 if believed else 0)


def test_a_service_looks_at_its_clock_all_along(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing is open, so that a clock that is put right is followed."""
    looks: list[float] = []
    shop = opened(Settings())
    at = shop.clock.at

    def look() -> int:
        looks.append(time.monotonic())
        return at

    monkeypatch.setattr(following, "now", look)
    until(lambda: len(looks) > 3)


def test_who_serves_or_teaches_waits_for_the_clock_first(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who reads does not."""
    shop = opened(Settings(window=5, retention_days=1))
    shop.play(10)
    last = shop.service.journal.last()
    shop.close()
    (tmp_path / "log.csv").write_text("age,action,reward,probability\n31,b,1,0.5\n")
    begun: list[int] = []

    def begin(at: int) -> None:
        begun.append(at)
        raise InterruptedError("still watching")

    monkeypatch.setattr(journals._CLOCK, "begin", begin)
    words = [["serve", "--data", str(tmp_path), "--port", "0"]]
    words += [["journal", "warm", str(tmp_path), str(tmp_path / "log.csv"), "--loop", "shop"]]
    assert last is not None
    for one in words:
        assert "still watching" in CliRunner().invoke(main, one).output
    assert begun == [last.at, last.at]
    with closing(Sqlite(tmp_path)) as journal:
        assert journal.last() == last, "nothing was closed and nothing forgotten"
    assert CliRunner().invoke(main, ["doctor", str(tmp_path)]).exit_code == 0


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 20.0
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    assert done()


def test_a_disk_that_is_full_is_told_and_tried_again(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "TRYING", 0.05)
    shop = opened(Settings(window=5))
    shop.decide()
    append, tries, here = shop.service.journal.append, [], web(shop)

    def full(drafts: object) -> None:
        tries.append(drafts)
        raise JournalError("journal.sqlite3: database or disk is full")

    monkeypatch.setattr(shop.service.journal, "append", full)
    assert here.post("/loops/shop/decide", json={"actions": ["a"]}).status_code == 503
    found = here.get("/health")
    assert (found.status_code, found.json()["status"], found.json()["failure"]) == (
        503,
        "not writing",
        "JournalError",
    )
    assert "marginbandits_writing 0" in here.get("/metrics").text
    until(lambda: len(tries) > 3)
    monkeypatch.setattr(shop.service.journal, "append", append)
    until(lambda: here.get("/health").json()["status"] == "ok")
    assert shop.service.failure is None


def test_what_waits_for_its_window_takes_little_more_room_than_it_has_on_disk(opened: Opened) -> None:
    shop = opened(Settings(window=5))
    context = {f"name {k}": [k, k + 1] for k in range(60)}
    shop.decide(context=context)
    shop.service.settle()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100):  # more than the page shows
            shop.decide(context=context)
        shop.service.settle()
        shop.loop.watch.look()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    last = shop.service.journal.last()
    assert last is not None
    written = len(last.body or b"")
    assert after - before < 3 * 100 * written, "as objects it would be 20 times as much"


def test_of_what_is_excluded_only_its_name_is_kept(opened: Opened) -> None:
    """Nothing else of it is read, so nothing else of it is looked at."""
    shop = opened(Settings(window=5))
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"x": deep}
    odd = {"id": "odd", "features": {"n": 10**400, "deep": deep}}
    answer = web(shop).post("/loops/shop/decide", json={"actions": ["a", "b", odd], "excluded": ["odd"]})
    assert answer.status_code == 200
    entry = shop.service.journal.find("shop", answer.json()["event_id"])
    assert entry is not None
    assert [one.features for one in decode(Decided, entry.body or b"").actions] == [None, None, None]
    shop.pass_by(10.0)
    assert shop.loop.model.learnt == 1


def test_who_hangs_in_the_database_holds_up_nobody_else(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, held, asked = opened(Settings(window=5, strict=True)), threading.Event(), threading.Event()
    facts, find = shop.service.journal.facts, shop.service.journal.find

    def hangs(*given: str) -> None:
        asked.set()
        held.wait()

    keys = Keys(shop.service.journal)
    keys.watch()
    monkeypatch.setattr(shop.service.journal, "facts", hangs)
    try:
        assert asked.wait(10.0), "they are read again"
        assert keys.all() == []
    finally:
        held.set()
        monkeypatch.setattr(shop.service.journal, "facts", facts)
    held.clear()
    asked.clear()
    monkeypatch.setattr(shop.service.journal, "find", hangs)

    async def work() -> None:
        waits = asyncio.create_task(shop.service.reward("shop", "nobody", 1.0))
        while not asked.is_set():
            await asyncio.sleep(0.01)
        assert (await shop.service.decide("shop", Ask(actions=["a"]))).action == "a"
        monkeypatch.setattr(shop.service.journal, "find", find)
        held.set()
        with pytest.raises(UnknownError):
            await waits

    asyncio.run(asyncio.wait_for(work(), 30.0))


PERSONALIZER = "/personalizer/v1.0"
CONTRACT = {"name": "n", "startTime": "2020-01-01T00:00:00Z", "endTime": "2030-01-01T00:00:00Z"}


@pytest.fixture
def personalizer(opened: Opened) -> Shop:
    shop = opened(Settings(window=5))
    shop.service.set("default", {"reward_range": (-1, 1), "window": 5})
    for _ in range(3):
        shop.run(shop.service.decide("default", Ask(actions=["a", "b"])))
    shop.pass_by(10.0)
    return shop


@pytest.mark.parametrize("odd", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_date_that_there_is_not_is_refused_and_nothing_is_kept(personalizer: Shop, odd: str) -> None:
    here = web(personalizer)
    other = {"startTime": odd} if odd.startswith("0") else {"endTime": odd}
    assert here.post(f"{PERSONALIZER}/evaluations", json=CONTRACT | other).status_code == 400
    assert here.get(f"{PERSONALIZER}/evaluations").json() == []
    assert here.post(f"{PERSONALIZER}/evaluations", json=CONTRACT).status_code == 201
    assert len(here.get(f"{PERSONALIZER}/evaluations").json()) == 1


def test_who_is_erased_while_a_journal_is_verified_is_no_damage(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, chain = opened(Settings(window=5)), replay._chain
    shop.play(10, unit=True)

    def slow(journal: Any, *given: Any) -> None:
        chain(journal, *given)
        shop.service.erase("shop", "visitor 1")

    monkeypatch.setattr(replay, "_chain", slow)
    found = verified(shop.service.journal)
    assert (found.faults, found.erased) == ([], 0)
    monkeypatch.setattr(replay, "_chain", chain)
    found = verified(shop.service.journal)
    assert found.faults == []
    assert found.erased > 0


def test_who_is_tried_through_personalizer_is_a_candidate(personalizer: Shop) -> None:
    here = web(personalizer)
    policies = [{"name": f"p{k}", "arguments": f"--cb_explore_adf --epsilon 0.{k}"} for k in (1, 2)]
    policies.append({"name": "square", "arguments": "--cb_explore_adf --squarecb"})
    assert here.post(f"{PERSONALIZER}/evaluations", json=CONTRACT | {"policies": policies}).status_code == 201
    assert len([one for one in personalizer.service.journal.changes() if one.kind == CANDIDATE]) == 3
    told = here.post("/loops/default/policies", json={"policy": {"learner": "LinUCB"}}).json()
    assert "candidate 4, by 3 events)" in told["reason"]


def test_a_segment_that_was_of_one_alone_goes_with_them(opened: Opened) -> None:
    shop = opened(Settings(window=5, segment="mail"))
    shop.decide(context={"mail": "alice@example.com"}, unit="alice")
    for unit in ("alice", "bob"):
        shop.decide(context={"mail": "all@example.com"}, unit=unit)
    shop.pass_by(10.0)
    assert sorted(shop.loop.watch.look().segments) == ["alice@example.com", "all@example.com"]
    shop.service.erase("shop", "alice")
    assert list(shop.loop.watch.look().segments) == ["all@example.com"]
    assert "alice@example.com" not in web(shop).get("/page/shop").text
    assert b"alice@example.com" not in (shop.service.journal.fact("checkpoint/shop") or b"")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"context": {"b": 2.0, "a": 1}}, 200),
        ({"actions": [{"id": "x"}, {"features": {"p": 3.0}, "id": "y"}]}, 200),
        ({"context": {"a": True, "b": 2}}, 409),
        ({"context": {"a": 1, "b": 3}}, 409),
        ({"actions": ["x", "y"]}, 409),
        ({"unit": "u"}, 409),
    ],
)
def test_the_same_request_written_otherwise_is_the_same(opened: Opened, more: dict[str, Any], status: int) -> None:
    asked = {"event_id": "e", "context": {"a": 1, "b": 2}, "actions": ["x", {"id": "y", "features": {"p": 3}}]}
    here = web(opened(Settings(window=5)))
    first = here.post("/loops/shop/decide", json=asked)
    again = here.post("/loops/shop/decide", json=asked | more)
    assert again.status_code == status
    assert (again.json() == first.json()) == (status == 200)


WIPED = "UPDATE entry SET id = '', key = NULL, body = NULL, salt = NULL WHERE seq = 4"


@pytest.mark.parametrize(
    ("damage", "doctor", "verify"),
    [
        ("UPDATE entry SET body = x'00' WHERE seq = 4", "entry 4: not what was written", "entry 4"),
        ("UPDATE entry SET sha256 = 'text' WHERE seq = 4", "entries 4, 5: not what was written", "entry 4"),
        ("UPDATE entry SET at = 'text' WHERE seq = 4", "1 of them altered", "entry 4"),
        ("UPDATE fact SET value = 'text' WHERE name LIKE 'checkpoint/%'", "not sound: it cannot be read", "not sound"),
        ("UPDATE fact SET value = 'text' WHERE name LIKE 'secret/%'", "its secret is not", "the secret of 'shop'"),
        (WIPED, "1 events are gone, and no erasure names them", "no erasure names it"),
    ],
)
def test_damage_is_named(opened: Opened, tmp_path: Path, damage: str, doctor: str, verify: str) -> None:
    shop = opened(Settings(window=5))
    shop.play(5)
    shop.service.close()
    with closing(sqlite3.connect(tmp_path / "journal.sqlite3")) as db:
        assert db.execute(damage).rowcount == 1
        db.commit()
    with closing(Sqlite(tmp_path, serving=False)) as journal:
        report, verdict = looked_at(journal), verified(journal)
    assert verify in verdict.faults[0]
    assert report.ill
    assert doctor in " ".join([*report.lines, *report.advice])
