"""Several processes on one database, of which some stop without going: what they hold is taken from them."""

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from marginbandits.service import journal as journals
from marginbandits.service import postgres as database
from marginbandits.service.clock import Clock, Told
from marginbandits.service.core import Service
from marginbandits.service.doctor import looked_at
from marginbandits.service.journal import DECISION, Draft, JournalError
from marginbandits.service.loop import read
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Settings
from marginbandits.service.replay import verified
from marginbandits.service.sqlite import Sqlite
from tests.service.child import Child, Line
from tests.service.killing import Load, checked
from tests.service.made import Shop
from tests.service.postgres import Server

WRITES, LEADS = "SELECT pg_advisory_xact_lock(7236946, 1)", "SELECT pg_advisory_lock(7236946, 2)"


def decision(event: str) -> Draft:
    return Draft("shop", DECISION, event, b"{}")


def until(holds: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it should have held by now"
        time.sleep(0.05)


@contextmanager
def journal_at(url: str, *, serving: bool = True) -> Iterator[Postgres]:
    with closing(Postgres(url, serving=serving)) as journal:
        yield journal


@contextmanager
def silent(url: str, *asked: str) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """One who has a lock, has set nothing that would end it, and says no more."""
    with closing(psycopg.connect(url, autocommit=True)) as db:
        for one in asked:
            db.execute(one.encode())
        yield db


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives no sign of life is ended after four seconds; others give one much more often."""
    monkeypatch.setattr(database, "_SILENT", database._SILENT.replace(f"'{database._FROZEN} s'", "'4 s'"))
    monkeypatch.setattr(database, "_BEAT", 0.2)
    assert "'4 s'" in database._SILENT


def test_one_who_is_silent_in_his_transaction_loses_it_and_knows(postgres: Server) -> None:
    url = postgres.database()
    with journal_at(url) as frozen, journal_at(url) as other:
        waited: list[float] = []

        def goes_on() -> None:
            with frozen._writing.open() as db, db.transaction():
                database._locked(db)
                start = time.monotonic()
                other.append([decision("other")])
                waited.append(time.monotonic() - start)
                db.execute(b"INSERT INTO fact VALUES ('never', '')")

        with pytest.raises(JournalError, match=r"terminat|closed|idle-in-transaction"):
            goes_on()
        assert 2.0 < waited[0] < 5.0
        assert frozen.fact("never") is None
        assert [entry.id for entry, _ in frozen.append([decision("after")])] == ["after"]
        assert [one.id for one in read(other)] == ["other", "after"]


def test_who_waits_for_a_lock_fails_after_seconds(postgres: Server) -> None:
    url = postgres.database()
    with journal_at(url) as journal, silent(url, "BEGIN", WRITES):
        start = time.monotonic()
        with pytest.raises(JournalError, match="lock timeout"):
            journal.append([decision("a")])
        assert time.monotonic() - start < 10.0


@pytest.mark.parametrize("lock", [WRITES, LEADS])
def test_a_lock_is_taken_from_one_who_gives_no_sign_of_life(postgres: Server, soon: None, lock: str) -> None:
    """Also where the database does not end his transaction, as where a statement does not come whole."""
    url = postgres.database()
    with journal_at(url) as journal, silent(url, "BEGIN", lock) as db:
        leads = journal.lead()
        assert leads == (lock == WRITES)
        until(journal.lead)
        journal.append([decision("a")])
        with pytest.raises(psycopg.OperationalError):
            db.execute(b"SELECT 1")


def test_a_lock_is_not_taken_from_one_who_lives(postgres: Server, soon: None) -> None:
    url = postgres.database()
    with journal_at(url) as one, journal_at(url) as other:
        assert one.lead()
        for _ in range(60):  # the first asks for nothing meanwhile
            assert not other.lead()
            time.sleep(0.1)
        one.keep("checkpoint/shop", b"still")


def test_to_read_takes_no_lock(postgres: Server) -> None:
    url = postgres.database()
    Postgres(url).close()
    with silent(url, "BEGIN", WRITES):
        start = time.monotonic()
        with journal_at(url, serving=False) as journal:
            looked_at(journal)
            assert verified(journal).faults == []
        Postgres(url).close()
        assert time.monotonic() - start < 3.0


def test_who_has_been_replaced_keeps_nothing(postgres: Server) -> None:
    url = postgres.database()
    with journal_at(url) as one, journal_at(url) as other:
        assert one.lead()
        one.keep("checkpoint/shop", b"before")
        _ended(url, one)
        until(other.lead)
        other.keep("checkpoint/shop", b"after")
        for _ in range(2):
            with pytest.raises(JournalError):
                one.keep("checkpoint/shop", b"before")
            with pytest.raises(JournalError):
                one.scrub()
        assert not one.lead()
        assert other.fact("checkpoint/shop") == b"after"


def test_who_has_been_replaced_is_told_once(postgres: Server) -> None:
    """Though his connection has been made again meanwhile, by the sign of life."""
    url = postgres.database()
    with journal_at(url) as one:
        assert one.lead()
        held = one._held
        _ended(url, one)
        until(lambda: one._leading._connection not in (None, held))
        with pytest.raises(JournalError, match="was lost"):
            one.lead()
        assert one.lead()


def _ended(url: str, journal: Postgres) -> None:
    with journal._leading.open() as db:
        pid = db.info.backend_pid
    with closing(psycopg.connect(url, autocommit=True)) as behind:
        behind.execute(b"SELECT pg_terminate_backend(%s)", (pid,))


def test_one_moment_ends_with_its_connection(postgres: Server) -> None:
    url = postgres.database()
    with journal_at(url) as journal:
        journal.append([decision("a")])
        with journal.still() as still:
            assert len(still.entries(0, 9)) == 1
            journal.append([decision("b")])
            with still._reading.open() as db:
                pid = db.info.backend_pid
            with closing(psycopg.connect(url, autocommit=True)) as behind:
                behind.execute(b"SELECT pg_terminate_backend(%s)", (pid,))
            for why in ("terminat", "closed", "closed"):
                with pytest.raises(JournalError, match=why):
                    still.entries(0, 9)
        assert len(journal.entries(0, 9)) == 2


def test_a_moment_may_last(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_SECONDS", re.sub(r"=\ds", "=100ms", database._SECONDS))
    with journal_at(postgres.database()) as journal, journal.still() as still:
        time.sleep(0.3)
        assert still.last() is None


def test_a_frozen_leader_is_replaced_and_follows_when_it_goes_on(postgres: Server) -> None:
    url, load = postgres.database(), Load(0)
    one, other = Child(url), Child(url)
    try:
        assert [child.ask({"kind": "state"})["leads"] for child in (one, other)] == [True, False]
        load.run(lambda: Line(one.port), lambda: until(lambda: one.ask({"kind": "state"})["learnt"] >= 20))
        os.kill(one.pid, signal.SIGSTOP)
        until(lambda: other.ask({"kind": "state"})["leads"])
        load.run(lambda: Line(other.port), lambda: until(load.answered.is_set))
        os.kill(one.pid, signal.SIGCONT)
        until(lambda: not one.ask({"kind": "state"})["leads"])
        load.run(lambda: Line(one.port), lambda: until(load.answered.is_set))
        assert other.ask({"kind": "state"})["leads"]
        until(lambda: other.ask({"kind": "state"})["learnt"] == one.ask({"kind": "state"})["learnt"])
    finally:
        for child in (one, other):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGCONT)
            child.kill()
    checked(url, load)


def test_a_checkpoint_from_before_an_erasure_is_noticed_and_made_again(
    opened: Callable[..., Shop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = opened(Settings(window=5))
    shop.play(10, unit=True)
    shop.service._keep()
    journal = shop.service.journal
    before = journal.fact("checkpoint/shop")
    assert before is not None
    assert shop.service.erase("shop", "visitor 3").complete
    assert verified(journal).faults == []
    journal.put("checkpoint/shop", before)
    (fault,) = verified(journal).faults
    assert "it is from before erasure" in fault
    report = looked_at(journal)
    assert report.ill
    assert any("it is from before erasure" in one for one in report.advice)
    (tmp_path / "copy").mkdir()
    journal.backup(str(tmp_path / "copy" / "journal.sqlite3"))
    scrub, scrubs = Sqlite.scrub, list[Sqlite]()

    def spied(self: Sqlite) -> bool:
        scrubs.append(self)
        return scrub(self)

    monkeypatch.setattr(Sqlite, "scrub", spied)
    with closing(Service(Sqlite(tmp_path / "copy"), checkpoints=1e9)) as again:
        assert again.journal.fact("checkpoint/shop") != before, "though it has nothing to do"
        assert again.scrubbed()
        assert scrubs == [again.journal]
        assert again.loop("shop").model.dumps() == shop.loop.model.dumps()
        assert verified(again.journal).faults == []
        assert not looked_at(again.journal).ill


class TestTime:
    def test_it_is_the_databases(self, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real() + 600 * 10**9)
        monkeypatch.setattr(journals, "_CLOCK", Clock())
        with journal_at(postgres.database()) as journal:
            ((entry, _),) = journal.append([decision("a")])
            assert abs(entry.at - real() // 1000) < 1_000_000
            assert abs(journals.now() - real() // 1000) < 1_000_000

    def test_it_is_asked_again_and_a_slow_answer_is_not_believed(self) -> None:
        steady, took = [0], [0]

        def tell(day: int) -> Callable[[], int]:
            def told() -> int:
                steady[0] += took[0]
                return day

            return told

        day = Told(lambda: steady[0])
        took[0] = 10**8
        day.ask(tell(5_000_000))
        assert day() == 5 * 10**9 + 10**8 // 2, "it was asked in the middle, as far as is known"
        steady[0] += 10**9
        took[0] = 2 * 10**9
        day.ask(tell(90_000_000))
        assert day() == 8 * 10**9 + 10**8 // 2
        took[0] = 0
        day.ask(tell(90_000_000))
        assert day() == 90 * 10**9

    def test_it_is_asked_every_second(self, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = threading.Event()
        with journal_at(postgres.database()) as journal:
            monkeypatch.setattr(journal._day, "ask", lambda tell: asked.set())
            journal.lead()
            assert asked.wait(10)
