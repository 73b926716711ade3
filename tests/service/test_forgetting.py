"""The disk is made to forget where it can be, and as rarely as others must wait for it."""

import shutil
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from marginbandits.service import following
from marginbandits.service.records import Settings
from tests.service.made import Shop


def test_where_there_is_no_room_to_forget_nobody_waits_for_it(
    opened: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, asked = opened(Settings(window=60)), list[str]()
    shop.play(50, unit=True)
    shop.service.journal._writing.set_trace_callback(asked.append)  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=50_000))
        assert not shop.service.erase("shop", "visitor 3").complete
        assert "VACUUM" not in asked
    assert shop.service.erase("shop", "visitor 3") == (0, 0, True)
    assert asked.count("VACUUM") == 1


def test_pauses_between_tries_to_forget_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [0.0]
    monkeypatch.setattr(following, "time", SimpleNamespace(monotonic=lambda: at[0]))
    pauses, tries = following._Pauses(), []
    for second in range(2000):
        at[0] = float(second)
        if pauses.over(7):
            tries.append(second)
    assert tries == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111, 1411, 1711]
    assert pauses.over(8), "another erasure is tried at once"
    assert not pauses.over(8)
