"""A journal that is removed, moved or replaced while it is served: nothing is acknowledged that nobody would find."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from marginbandits.service import following
from marginbandits.service.journal import DECISION
from marginbandits.service.loop import read
from marginbandits.service.records import Settings
from marginbandits.service.replay import verified
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Clock, Shop, web
from tests.service.running import served
from tests.service.test_hostile import until

Opened = Callable[..., Shop]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRYING", "_LONGEST_PAUSE"):
        monkeypatch.setattr(following, name, 0.05)


def _replaced(folder: Path) -> None:
    file = folder / "journal.sqlite3"
    shutil.copy(file, folder / "copy")
    (folder / "copy").rename(file)


@pytest.mark.parametrize(
    ("lost", "lose"),
    [
        ("lock", lambda folder: (folder / "lock").unlink()),
        ("journal.sqlite3", shutil.rmtree),
        ("journal.sqlite3", lambda folder: (folder / "journal.sqlite3").unlink()),
        ("journal.sqlite3", _replaced),
        ("journal.sqlite3-wal", lambda folder: (folder / "journal.sqlite3-wal").unlink()),
    ],
    ids=["lock", "folder", "file", "file, by another", "log"],
)
def test_what_nobody_would_find_is_not_acknowledged(
    tmp_path: Path, clock: Clock, lost: str, lose: Callable[[Path], Any]
) -> None:
    folder = tmp_path / "here"
    shop = Shop(folder, clock, Settings(window=5))
    try:
        here, event = web(shop), shop.decide().event_id
        lose(folder)
        asks: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/loops/shop/decide", {"actions": ["a"]}),
            ("POST", "/loops/shop/reward", {"event_id": event, "value": 1.0}),
            ("POST", "/loops/shop/activate", {"event_id": event}),
            ("PUT", "/loops/shop", {"settings": {"window": 6}}),
        ]
        for method, path, asked in asks:
            told = here.request(method, path, json=asked)
            assert told.status_code == 503, told.text
            assert told.json()["error"].startswith(f"{lost} was removed or replaced while it was served")
        health = here.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "not writing")
        assert health.json()["failure"].startswith(f"{lost} was removed or replaced")
        assert str(folder) not in health.text, "where it is, is nobody's affair"
    finally:
        shop.service.close()


def test_it_is_told_though_nobody_asks(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=5))
    here = web(shop)
    elsewhere = tmp_path.with_name(f"{tmp_path.name} elsewhere")
    tmp_path.rename(elsewhere)
    until(lambda: here.get("/health").json()["status"] == "not writing")
    elsewhere.rename(tmp_path)
    until(lambda: here.get("/health").json()["status"] == "ok")


def test_one_that_comes_back_goes_on_with_what_it_has(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=5))
    here, elsewhere = web(shop), tmp_path.with_name(f"{tmp_path.name} elsewhere")
    told = [here.post("/loops/shop/decide", json={"actions": ["a"], "event_id": f"e{k}"}) for k in range(3)]
    tmp_path.rename(elsewhere)
    told += [here.post("/loops/shop/decide", json={"actions": ["a"], "event_id": f"e{k}"}) for k in range(3, 6)]
    assert [one.status_code for one in told] == [200] * 3 + [503] * 3
    elsewhere.rename(tmp_path)
    told = [here.post("/loops/shop/decide", json={"actions": ["a"], "event_id": f"e{k}"}) for k in range(6)]
    assert [one.status_code for one in told] == [200] * 6
    until(lambda: here.get("/health").json()["status"] == "ok")
    shop.pass_by(10)
    assert shop.loop.model.learnt == 6
    assert verified(shop.service.journal).faults == []


def test_one_that_goes_while_it_is_written_is_not_acknowledged(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed all the same is found when it comes back, and counts once."""
    shop = opened(Settings(window=5))
    journal, elsewhere = shop.service.journal, tmp_path.with_name(f"{tmp_path.name} elsewhere")
    here, after = web(shop), journal._next  # type: ignore[attr-defined]  # of a store

    def moved(*given: Any) -> Any:
        monkeypatch.setattr(journal, "_next", after)
        tmp_path.rename(elsewhere)
        return after(*given)

    monkeypatch.setattr(journal, "_next", moved)
    ask = {"actions": ["a", "b"], "event_id": "e"}
    assert here.post("/loops/shop/decide", json=ask).status_code == 503
    elsewhere.rename(tmp_path)
    assert here.post("/loops/shop/decide", json=ask).status_code == 200
    assert len([one for one in read(journal) if one.kind == DECISION]) == 1


def test_without_its_lock_a_server_leaves_the_journal_to_the_next(tmp_path: Path) -> None:
    def decided(client: httpx.Client, event: str) -> int:
        return client.post("/loops/shop/decide", json={"actions": ["a", "b"], "event_id": event}).status_code

    with served(tmp_path) as (one, _):
        one.put("/loops/shop", json={"new": True, "settings": {"window": 600}}).raise_for_status()
        assert decided(one, "a1") == 200
        (tmp_path / "lock").unlink()
        with served(tmp_path) as (other, _):
            found = [decided(client, f"{name}{k}") for k in range(3) for name, client in (("a2", one), ("b", other))]
            assert found == [503, 200] * 3
            assert one.get("/health").json()["status"] == "not writing"
            assert other.get("/health").json()["status"] == "ok"
        assert decided(one, "a3") == 503
    with closing(Sqlite(tmp_path, serving=False)) as journal:
        assert [entry.id for entry in read(journal) if entry.kind == DECISION] == ["a1", "b0", "b1", "b2"]
        assert verified(journal).faults == []
