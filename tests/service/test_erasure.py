"""Who is forgotten leaves nothing but a place in the chain; what is not a person's stays as it was."""

import asyncio
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from marginbandits.service import following, loop
from marginbandits.service.checkpoint import Checkpoint
from marginbandits.service.core import LateError, Service
from marginbandits.service.doctor import looked_at
from marginbandits.service.journal import DECISION, ERASURE, PAST, REWARD, Draft, Entry, Journal, linked
from marginbandits.service.loop import read
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Decided, Erased, Past, Policy, Settings, decode, encode
from marginbandits.service.replay import verified
from marginbandits.service.requests import Ask
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.store import INSERT
from marginbandits.service.watch import Seen, Watch
from tests.service.made import Shop
from tests.service.postgres import Server

Opened = Callable[..., Shop]
ALICE = "alice@example.com"


def traces(folder: Path, *texts: str) -> list[tuple[str, str]]:
    files = [one for one in folder.iterdir() if one.is_file()]
    return [(one.name, text) for one in files for text in texts if text.encode() in one.read_bytes()]


def kept(shop: Shop) -> Checkpoint:
    return msgspec.msgpack.decode(shop.service.journal.fact("checkpoint/shop") or b"", type=Checkpoint)


def left(journal: Journal) -> list[Entry]:
    return [one for one in read(journal) if one.id.startswith(ALICE)]


def test_nothing_of_whom_is_forgotten_is_left(opened: Opened, tmp_path: Path) -> None:
    """Early rewards, activations, ids, keys; in the journal, in what is kept, and in every file."""
    shop = opened(Settings(window=60))
    shop.play(60)
    shop.reward(f"{ALICE}/1", 0.123456, key=f"{ALICE}-r0")
    ask = {"event_id": f"{ALICE}/1", "unit": ALICE, "context": {"ssn": "SECRETCONTEXT"}, "actions": ["clinic", "b"]}
    shop.decide(**ask, deferred=True)
    shop.run(shop.service.activate("shop", f"{ALICE}/1"))
    shop.reward(f"{ALICE}/1", 0.654321, key=f"{ALICE}-r1")
    shop.pass_by(100)
    shop.reward(f"{ALICE}/1", 0.777777)
    shop.decide(event_id=f"{ALICE}/2", unit=ALICE, context={"ssn": "SECRETCONTEXT"})
    shop.decide(event_id="other", unit="bob")
    past = decode(Past, b'{"decided":%b,"reward":0.5}' % encode(_decided(shop)))
    shop.service.writer.put(Draft("shop", PAST, f"{ALICE}/0", encode(past))).result()
    shop.service.settle()
    shop.service._keep()
    assert shop.loop.model.learnt == 62
    texts = ALICE, "SECRETCONTEXT", "0.123456", "0.654321", "0.777777"
    assert {text for _, text in traces(tmp_path, *texts)} == set(texts), "they are there"
    assert shop.service.erase("shop", ALICE) == (3, 7, True)
    assert traces(tmp_path, *texts) == []
    found = kept(shop)
    assert (found.learnt, shop.loop.model.learnt) == (60, 60), "what is kept has not learnt them"
    assert not any(one.id.startswith(ALICE) for one in Watch.loads(found.watch).look().recent)
    assert Watch.loads(found.watch).decisions == 63, "they stay counted"
    assert verified(shop.service.journal).faults == []
    (erasure,) = (decode(Erased, one.body or b"") for one in read(shop.service.journal) if one.kind == ERASURE)
    assert len(erasure.entries) == 7
    assert len(erasure.subject) == 64
    assert shop.decide(**ask).event_id == f"{ALICE}/1", "who comes again is new"


def _decided(shop: Shop) -> Decided:
    found = [decode(Decided, one.body or b"") for one in read(shop.service.journal) if one.kind == DECISION]
    return next(one for one in found if one.unit == ALICE)


def test_whoever_is_not_there_is_no_work(opened: Opened) -> None:
    shop = opened(Settings(window=60))
    shop.play(5)
    before, model = shop.service.journal.last(), shop.loop.model
    assert shop.service.erase("shop", "nobody") == (0, 0, True)
    assert (shop.service.journal.last(), shop.loop.model) == (before, model)


def test_what_comes_while_one_is_erased_goes_too(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = opened(Settings(window=60))
    shop.decide(event_id=f"{ALICE}/1", unit=ALICE)
    holding = shop.service.journal.holding
    asked: list[int] = []

    def slow(*given: Any) -> list[Entry]:
        found: list[Entry] = holding(*given)
        if not asked:
            asked.append(1)
            shop.decide(event_id=f"{ALICE}/2", unit=ALICE)
            shop.reward(f"{ALICE}/1", 1.0)
            shop.reward(f"{ALICE}/2", 1.0)
        return found

    monkeypatch.setattr(shop.service.journal, "holding", slow)
    assert shop.service.erase("shop", ALICE) == (2, 4, True)
    assert left(shop.service.journal) == []
    assert verified(shop.service.journal).faults == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_reward_that_comes_at_whatever_moment_of_an_erasure_goes_with_its_event(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all has been found, and when the erasure is written, and bodies are about to go."""
    where: Journal = Sqlite(tmp_path) if kind == "sqlite" else Postgres(request.getfixturevalue("postgres").database())
    service = Service(where, checkpoints=1e9)
    service.set("shop", Settings(window=600))
    put, erase = service.writer.put, where.erase

    def written(draft: Draft) -> Any:
        if draft.kind == ERASURE:
            asyncio.run(service.reward("shop", f"{ALICE}/1", 0.25))
        return put(draft)

    def taken(seqs: Any) -> int:
        asyncio.run(service.reward("shop", f"{ALICE}/1", 0.5))
        return erase(seqs)

    try:
        ask = Ask(actions=["hat", "shoe"], unit=ALICE, event_id=f"{ALICE}/1")
        for event in (f"{ALICE}/1", "bob"):
            asyncio.run(service.decide("shop", msgspec.structs.replace(ask, event_id=event, unit=event[:-2])))
        monkeypatch.setattr(service.writer, "put", written)
        monkeypatch.setattr(where, "erase", taken)
        assert service.erase("shop", ALICE)[:2] == (1, 3)
        assert left(where) == []
        assert verified(where).faults == []
        monkeypatch.undo()
        asyncio.run(service.reward("shop", "bob", 1.0))
        assert service.erase_all("shop")
        assert [one.kind for one in read(where) if one.id] == ["policy"]
        assert verified(where).faults == []
    finally:
        service.close()


def test_what_speaks_of_one_that_was_erased_and_is_there_is_a_fault(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=60))
    shop.decide(event_id=f"{ALICE}/1", unit=ALICE)
    shop.service.erase("shop", ALICE)
    journal = shop.service.journal
    (decision,) = (one for one in read(journal) if one.kind == DECISION)
    rows = journal.last()
    assert rows is not None
    spoken = linked(
        rows.sha256, rows.seq + 1, rows.at + 1, Draft("shop", REWARD, "x", b'{"value":1.0}'), decision.seq, b"s"
    )
    shop.close()
    with closing(sqlite3.connect(tmp_path / "journal.sqlite3")) as db:
        db.execute(INSERT, msgspec.structs.astuple(spoken))
        db.commit()
    with closing(Sqlite(tmp_path, serving=False)) as again:
        assert verified(again).faults == [f"entry {spoken.seq} (reward of 'shop') was to be erased, and is there"]
    opened()


@pytest.mark.parametrize("segment", [None, "town"])
def test_actions_that_nobody_else_was_offered_are_not_named_any_more(
    opened: Opened, tmp_path: Path, segment: str | None
) -> None:
    shop = opened(Settings(window=5, segment=segment))
    for unit, action in (("bob", "hat"), ("alice", f"coupon of {ALICE}")):
        shop.decide(unit=unit, context={"town": "Rome"}, actions=[action, "shoe"])
    shop.pass_by(10)
    assert shop.service.erase("shop", "alice").complete
    assert traces(tmp_path, ALICE) == []
    found = seen(shop.service)
    for table in (found.actions, *(one.table for one in found.segments.values())):
        assert set(table.rows) == {"hat", "shoe"}
        assert sum(one.closed for one in (*table.rows.values(), table.rest)) == 2, "they stay counted"


def test_one_who_reads_keeps_the_disk_from_forgetting_and_nobody_from_deciding(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=60))
    shop.decide(unit=ALICE)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite3", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchall()
        told: list[Any] = []
        thread = threading.Thread(target=lambda: told.append(shop.service.erase("shop", ALICE)))
        thread.start()
        longest = 0.0
        while thread.is_alive():
            start = time.monotonic()
            shop.decide()
            longest = max(longest, time.monotonic() - start)
        assert told == [(1, 1, False)]
        assert longest < 5.0
        assert traces(tmp_path, ALICE)
        assert shop.service.erase("shop", ALICE) == (0, 0, False), "nobody is there any more, and the disk still knows"
        reader.execute("COMMIT")
    assert shop.service.scrubbed()
    assert traces(tmp_path, ALICE) == []


def test_what_was_counted_is_the_same_after_a_kill(opened: Opened, tmp_path: Path) -> None:
    """As soon as the receipt is there: a copy of the folder is what a kill would leave."""
    shop = opened(Settings(window=5, segment="likes"))
    shop.play(30, unit=True)
    before = seen(shop.service)
    shop.service.erase("shop", "visitor 3")
    assert (seen(shop.service).decisions, seen(shop.service).stand) == (30, before.stand)
    with killed(tmp_path) as again:
        assert seen(again) == seen(shop.service)
        assert again.loop("shop").joiner.counts == shop.loop.joiner.counts
        assert again.loop("shop").model.dumps() == shop.loop.model.dumps()


def test_an_erasure_that_is_interrupted_is_taken_up_again(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies are gone, and then the model cannot be learnt: what was counted before is not lost."""
    shop = opened(Settings(window=5))
    shop.play(30, unit=True)
    before, rebuilt = seen(shop.service), loop.rebuilt
    failed: list[int] = []

    def fails(*given: Any) -> Any:
        if len(failed) < 2:
            failed.append(len(left(shop.service.journal)))
            raise OSError("no")
        return rebuilt(*given)

    monkeypatch.setattr(loop, "rebuilt", fails)
    assert shop.service.erase("shop", "visitor 3").events == 6
    assert failed == [0, 0]
    assert seen(shop.service).stand == before.stand
    assert shop.loop.model.learnt == 24
    assert verified(shop.service.journal).faults == []


def test_there_is_no_receipt_while_it_cannot_be_done(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = opened(Settings(window=60))
    shop.decide(unit=ALICE)
    monkeypatch.setattr(following, "FAILING", 0.2)

    def full(*given: Any) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(shop.service.journal, "erase", full)
        with pytest.raises(LateError, match=r"learning fails \(OperationalError\)"):
            shop.service.erase("shop", ALICE)
        with pytest.raises(LateError):
            shop.service.set("shop", Settings(window=60, exploration=0.5))
    monkeypatch.setattr(following, "FAILING", 60.0)
    assert shop.service.erase("shop", ALICE).complete
    assert _units(shop.service.journal) == [None]
    assert shop.loop.settings.exploration == 0.5


def _units(journal: Journal) -> list[str | None]:
    bodies = [one.body for one in read(journal) if one.kind == DECISION]
    return [None if body is None else decode(Decided, body).unit for body in bodies]


def test_who_was_shown_something_and_goes_does_not_move_the_audit(opened: Opened, tmp_path: Path) -> None:
    """True draws; all who were shown a hat are forgotten. A test of those who remain alone would be sure of a fault."""
    shop = opened(Settings(window=5), Policy(learner="Uniform"))
    shown = {k: shop.decide(unit=f"u{k}").action for k in range(90)}
    shop.pass_by(10)
    evidence = shop.loop.watch.audit.evidence
    for k, action in shown.items():
        if action == "hat":
            shop.service.erase("shop", f"u{k}")
    assert shop.loop.watch.audit.evidence == evidence < 1e3
    assert not looked_at(shop.service.journal).ill
    shop.service.journal.put("checkpoint/shop", b"damaged")
    with killed(tmp_path) as again:
        assert again.loop("shop").watch.audit.evidence == 1.0
        assert seen(again).decisions == 0, "without what was kept, sums begin with the last erasure"
        again.writer.put(Draft("", "tick", "", b"{}")).result()
        again.settle()
        again._keep()
        assert verified(again.journal).faults == []
    shop.service._keep()


def test_an_open_event_stops_no_retention(opened: Opened) -> None:
    """It, its rewards, and what it needs that came before it, are spared, and it is learnt in the end."""
    shop = opened(Settings(window=60 * 86400.0, aggregation="sum"))
    shop.reward("long", 0.25)
    shop.decide(event_id="long")
    shop.reward("long", 0.5)
    shop.service.set("shop", Settings(window=5, retention_days=1))
    shop.play(10)
    shop.pass_by(20 * 86400.0)
    shop.play(3)
    shop.service._retire()
    assert shop.service.writer.put(Draft("", "tick", "", b"{}")).result()
    shop.service.settle()
    there = [one for one in read(shop.service.journal) if one.kind in (DECISION, REWARD) and one.body is not None]
    assert [one.id for one in there[:3]] == ["long"] * 3
    assert len(there) == 3 + 2 * 3
    assert (shop.loop.model.learnt, shop.loop.joiner.n_open) == (3, 1)
    assert verified(shop.service.journal).faults == []
    shop.clock.sleep(60 * 86400.0)
    shop.pass_by(0)
    assert shop.loop.joiner.counts["rewarded"] == 14
    (closed,) = (one for one in loop.closings(shop.service.journal, "shop") if one.id == "long")
    assert closed.reward == 0.75


def test_how_long_something_is_kept_is_a_number_of_days_that_there_are() -> None:
    for days in (0.0, -1.0, 36_501.0, 1e300):
        with pytest.raises(msgspec.ValidationError, match="retention_days"):
            msgspec.convert({"retention_days": days}, Settings)
    assert msgspec.convert({"retention_days": 36_500.0}, Settings).retention_days == 36_500.0


def test_all_of_a_loop_is_forgotten_with_what_is_open(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=60))
    shop.play(10)
    shop.reward(f"{ALICE}/1", 1.0)
    shop.decide(event_id=f"{ALICE}/2")
    shop.service.set("other", Settings(window=60))
    shop.run(shop.service.reward("other", "stays", 1.0))
    assert shop.service.erase_all("shop")
    assert (shop.loop.model.learnt, shop.loop.joiner.n_open) == (0, 0)
    assert [one.id for one in read(shop.service.journal) if one.kind == REWARD and one.body] == ["stays"]
    assert traces(tmp_path, ALICE) == []
    assert verified(shop.service.journal).faults == []


def test_a_process_that_does_not_lead_erases_too(postgres: Server) -> None:
    """By the one that does; a transaction that may still read what was there keeps the database from forgetting."""
    url = postgres.database()
    one = Service(Postgres(url), checkpoints=0.1)
    one.set("shop", Settings(window=0.1))
    other = Service(Postgres(url), checkpoints=0.1)
    try:
        assert (one.leads, other.leads) == (True, False)
        for k in range(5):
            ask = Ask(actions=["hat", "shoe"], unit=ALICE, event_id=f"{ALICE}/{k}")
            asyncio.run(other.decide("shop", ask))
        other.settle()
        with psycopg.connect(url) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM entry").fetchall()
            assert other.erase("shop", ALICE) == (5, 5, False)
        until(other.scrubbed)
        assert left(other.journal) == []
        asyncio.run(other.decide("shop", Ask(actions=["hat", "shoe"], unit=ALICE)))
        assert other.erase("shop", ALICE) == (1, 1, True)
        assert other.loop("shop").model.dumps() == one.loop("shop").model.dumps()
    finally:
        other.close()
        one.close()
    with closing(Postgres(url, serving=False)) as journal:
        assert verified(journal).faults == []


def until(holds: Callable[[], bool]) -> None:
    for _ in range(10):
        if holds():
            return
    raise AssertionError("it should have held by now")


def seen(service: Service) -> Seen:
    return service.loop("shop").watch.look()


@contextmanager
def killed(folder: Path) -> Iterator[Service]:
    """A service on what a kill of the other would leave."""
    copy = folder / "copy"
    copy.mkdir()
    for one in folder.glob("journal*"):
        shutil.copy(one, copy)
    service = Service(Sqlite(copy), checkpoints=1e9)
    yield service
    service.close()
