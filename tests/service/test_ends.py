"""Whoever reads the journal reads what was there when it was asked for, and ends, though more is written meanwhile."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marginbandits.service import loop
from marginbandits.service.doctor import looked_at
from marginbandits.service.evaluating import Rival, judged
from marginbandits.service.exporting import export
from marginbandits.service.journal import TICK, Draft, Entry
from marginbandits.service.loop import Loop
from marginbandits.service.personalizer.judging import imitation, judge
from marginbandits.service.records import Policy, Settings
from marginbandits.service.replay import verified
from tests.service.made import Shop, web
from tests.service.test_following import until

Opened = Callable[..., Shop]
READ_AT_ONCE, MOST = 10, 150
READERS: dict[str, Callable[[Shop, Path], object]] = {
    "evaluate": lambda shop, _: judged(shop.service.journal, "shop", {"even": Rival("uniform")}, Policy(number=1)),
    "over HTTP": lambda shop, _: web(shop).post("/loops/shop/evaluate", json={}).raise_for_status(),
    "a candidate": lambda shop, _: (
        web(shop).post("/loops/shop/policies", json={"policy": {"learner": "RegCB"}}).raise_for_status()
    ),
    "Personalizer's": lambda shop, _: judge(shop.service.journal, "shop", 0, 2**62, "", {}),
    "Apprentice": lambda shop, _: imitation(shop.service.journal, "shop"),
    "export": lambda shop, folder: export(shop.service.journal, "shop", folder / "out.jsonl"),
    "doctor": lambda shop, _: looked_at(shop.service.journal),
    "replay": lambda shop, _: verified(shop.service.journal),
    "a loop that begins": lambda shop, _: Loop("shop", b"").restore(shop.service.journal, None),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_ends_under_traffic(
    reader: str, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, reads = opened(Settings(window=5)), list[Any]()
    shop.play(50)
    monkeypatch.setattr(shop.service, "_take_turn", lambda: None)  # who learns reads on, and should
    monkeypatch.setattr(shop.service, "settle", lambda: None)
    monkeypatch.setattr(loop, "AT_ONCE", READ_AT_ONCE)
    entries, last = type(shop.service.journal).entries, shop.service.last_entry()

    def busy(journal: Any, *given: Any) -> list[Entry]:
        reads.append(given)
        assert len(reads) < MOST, "it reads on and on"
        assert shop.service.writer.put_all([Draft("", TICK, "", b"{}")] * READ_AT_ONCE).result()
        return entries(journal, *given)

    monkeypatch.setattr(type(shop.service.journal), "entries", busy)
    READERS[reader](shop, tmp_path)
    monkeypatch.undo()
    assert len(reads) >= last // READ_AT_ONCE
    assert shop.service.last_entry() > last


def test_who_learns_keeps_what_is_due_under_traffic(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, turns = opened(Settings(window=5)), list[list[Entry]]()
    service, following = shop.service, shop.service._next

    def busy() -> list[Entry]:
        some = following()
        if len(turns) < MOST:
            service.writer.put(Draft("", TICK, "", b"{}")).result()
        turns.append(some)
        return some

    monkeypatch.setattr(service, "_next", busy)
    service._due = 0.0
    shop.decide()
    last = service.last_entry()
    until(lambda: service.kept >= last)
    assert len(turns) < MOST, "it ended its turn"
    until(lambda: len(turns) > MOST)


@pytest.mark.parametrize("reader", ["evaluate", "Personalizer's", "export", "doctor"])
def test_a_reader_sees_one_moment(reader: str, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of who is erased meanwhile it has all, decisions and rewards; or nothing."""
    shop, reads = opened(Settings(window=5)), list[Any]()
    shop.play(50, unit=True)

    def answer(folder: str) -> object:
        (tmp_path / folder).mkdir()
        found = READERS[reader](shop, tmp_path / folder)
        return (tmp_path / folder / "out.jsonl").read_text() if reader == "export" else found

    before = answer("before")
    monkeypatch.setattr(loop, "AT_ONCE", READ_AT_ONCE)
    entries = type(shop.service.journal).entries

    def erasing(journal: Any, *given: Any) -> list[Entry]:
        reads.append(given)
        if len(reads) == 5:
            assert shop.service.erase("shop", "visitor 3").events == 10
        return entries(journal, *given)

    monkeypatch.setattr(type(shop.service.journal), "entries", erasing)
    assert answer("meanwhile") == before
    monkeypatch.undo()
    assert len(reads) > 5
    assert answer("after") != before
