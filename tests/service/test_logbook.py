"""The server's log: a line for what changes what it does, and nobody's name."""

import logging
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from marginbandits.service.deploying import back_to, promote
from marginbandits.service.journal import ERASURE, START, Draft, linked
from marginbandits.service.keys import Keys
from marginbandits.service.logbook import line
from marginbandits.service.loop import Loop
from marginbandits.service.records import Settings
from marginbandits.service.requests import Candidate, Wanted
from tests.service.made import Shop
from tests.service.test_following import until

Opened = Callable[..., Shop]


def test_what_changes_is_a_line_each(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "marginbandits.service")
    shop = opened(Settings(window=5, actions=["hat", "shoe"]))
    shop.play(10, unit=True)
    promote(shop.service, "shop", Candidate(Wanted("RegCB", {"mellowness": 0.01})))
    promote(shop.service, "shop", Candidate(Wanted("RegCB"), force=True))
    back_to(shop.service, "shop", 1)
    shop.service.erase("shop", "visitor 3")
    last = shop.service.last_entry()
    shop.service.erase_all("shop")
    told = [one.getMessage() for one in caplog.records]
    assert [one for one in told if "policy" not in one] == [
        "shop: settings: window 5.0, actions 2 of them, all else as usual",
        "shop: somebody is forgotten: 4 entries and what speaks of them",
        "shop: erased 2 events (4 entries of the journal), and nothing is left on the disk",
        f"shop: all events up to entry {last} are forgotten, but 0 that open ones need",
    ]
    assert [one for one in told if "policy" in one] == [
        "shop: policy 1 decides: SquareCB",
        "shop: a candidate is judged beside policy 1: RegCB(mellowness=0.01)",
        "shop: policy 2 decides: RegCB; forced, and not judged",
        "shop: policy 3 decides: SquareCB; back to 1",
    ]
    assert "visitor" not in caplog.text
    assert all("\n" not in one for one in told)


def test_learning_that_fails_and_goes_on(
    opened: Opened, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "marginbandits.service")
    shop = opened(Settings(window=5))

    def fails(self: Loop, *given: Any) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_count", fails)
        shop.decide()
        until(lambda: shop.service.failure is not None)
    until(lambda: shop.service.failure is None)
    found = [one.getMessage() for one in caplog.records]
    assert any("learning has failed and is tried again" in one for one in found)
    until(lambda: caplog.records[-1].getMessage() == "learning goes on")


def test_keys_that_come_and_go(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "marginbandits.service")
    shop = opened(Settings(window=5))
    keys, other = Keys(shop.service.journal), Keys(shop.service.journal)
    first = other.make("*", ["admin"])
    keys.watch()
    assert "key" not in caplog.text, "it was there"
    secret = other.make("shop", ["decide", "reward"])
    made = other.find(secret)
    assert made is not None
    until(lambda: f"key {made.sha256[:8]} was made: decide, reward of shop" in caplog.text)
    other.revoke(made.sha256[:8])
    until(lambda: f"key {made.sha256[:8]} was revoked: decide, reward of shop" in caplog.text)
    assert secret not in caplog.text
    assert first not in caplog.text


def test_a_change_that_cannot_be_read_is_a_line_too() -> None:
    entry = linked(START, 7, 5, Draft("shop", ERASURE, "", b"{"), None, b"")
    assert line(entry) == "shop: entry 7 (erasure) cannot be read"


def test_the_server_says_when_it_starts_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "marginbandits", "serve", "--data", str(tmp_path), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    assert httpx.get(f"{address}/health").status_code == 200
    server.send_signal(signal.SIGTERM)
    _, told = server.communicate(timeout=60)
    new, started, stopped = told.splitlines()
    assert new.endswith(f"Z INFO the journal is new: nothing was in {tmp_path}")
    assert started.endswith(f"Z INFO started at {address}; loops: none yet")
    assert stopped.endswith("Z INFO stopped")
