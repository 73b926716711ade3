"""The client: what it sends again, and what it does not."""

import json
import math
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from marginbandits.service import client as client_module
from marginbandits.service.client import Client, ServiceError
from marginbandits.service.records import Offer
from tests.service.running import served


class Flaky(BaseHTTPRequestHandler):
    """Answers as it is told to, one after another; None breaks the connection."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[list[tuple[int, dict[str, Any]] | None]] = []
    asked: ClassVar[list[Any]] = []
    retry = "0"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(json.loads(body))
        answer = self.answers.pop(0)
        if answer is None:
            self.connection.close()
            self.close_connection = True
            return
        status, told = answer
        text = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if status in (429, 503) and self.retry:
            self.send_header("Retry-After", self.retry)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *given: Any) -> None:
        """Nothing."""


@pytest.fixture
def flaky() -> Iterator[Callable[..., tuple[Client, list[Any]]]]:
    server = HTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    clients: list[Client] = []

    def client(*answers: Any) -> tuple[Client, list[Any]]:
        Flaky.answers, Flaky.asked = list(answers), []
        clients.append(Client(f"http://127.0.0.1:{server.server_port}", "shop", tries=3, timeout=5.0))
        return clients[-1], Flaky.asked

    yield client
    for one in clients:
        one.close()
    server.shutdown()
    thread.join()
    server.server_close()


RECORDED = (200, {"status": "recorded", "known": True})


def test_what_broke_is_sent_again_with_the_same_key(flaky: Any) -> None:
    client, asked = flaky(None, (429, {"error": "too fast"}), RECORDED)
    assert client.reward("e", 1.0).known
    assert len(asked) == 3
    assert asked[0] == asked[1] == asked[2]


def test_what_is_refused_is_not(flaky: Any) -> None:
    client, asked = flaky((409, {"error": "used for something else"}), RECORDED)
    with pytest.raises(ServiceError, match="409: used for something else"):
        client.reward("e", 1.0)
    assert len(asked) == 1


def test_the_last_try_tells_why(flaky: Any) -> None:
    client, asked = flaky(*[(500, {"error": "our fault"})] * 3)
    with pytest.raises(ServiceError, match="500: our fault"):
        client.decide({}, ["a"])
    assert len({one["event_id"] for one in asked}) == 1


def test_no_answer_is_an_error_of_the_service_after_its_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=waits.append))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", "shop") as client:
        for ask in (lambda: client.decide({}, ["a"]), lambda: client.erase("somebody")):
            waits.clear()
            with pytest.raises(ServiceError, match=rf"0: no answer from 127.0.0.1:{port} \(try 8\): ConnectionRefused"):
                ask()
            assert sum(waits) > 5.0, "longer than a restart takes"
            assert max(waits) <= client_module.LONGEST


@pytest.mark.parametrize("told", ["9" * 400, "3600"])
def test_waits_are_bounded_whatever_is_told(flaky: Any, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    waits: list[float] = []
    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=waits.append))
    monkeypatch.setattr(Flaky, "retry", told)
    client, _ = flaky((429, {"error": "too fast"}), RECORDED)
    client.reward("e", 1.0)
    assert 0.0 < waits[0] <= client_module.LONGEST


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=found.append))
    return found


@pytest.mark.parametrize("status", [429, 503])
def test_it_comes_again_when_it_is_told_to(
    flaky: Any, monkeypatch: pytest.MonkeyPatch, waits: list[float], status: int
) -> None:
    monkeypatch.setattr(Flaky, "retry", "2")
    client, asked = flaky((status, {"error": "not now"}), (status, {"error": "not now"}), RECORDED)
    client.reward("e", 1.0)
    assert waits == [2.0, 2.0]
    assert asked[0] == asked[1] == asked[2], "with the same key"


@pytest.mark.parametrize("status", [429, 503])
def test_it_comes_again_by_itself_where_it_is_told_nothing(
    flaky: Any, monkeypatch: pytest.MonkeyPatch, waits: list[float], status: int
) -> None:
    monkeypatch.setattr(Flaky, "retry", "")
    client, _ = flaky(*[(status, {"error": "not now"})] * 3)
    with pytest.raises(ServiceError, match=f"{status}: not now"):
        client.reward("e", 1.0)
    assert len(waits) == 2
    assert 0.05 <= waits[0] <= 0.15
    assert 0.1 <= waits[1] <= 0.3


def test_what_erases_comes_again_after_429_and_not_after_503(
    flaky: Any, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """Refused for its rate it was not done; told 503 it may have been written."""
    monkeypatch.setattr(Flaky, "retry", "3")
    done = (200, {"events": 1, "entries": 2, "complete": True, "model_sha256": "ab"})
    client, asked = flaky((429, {"error": "too fast"}), done)
    assert client.erase("somebody").events == 1
    assert (waits, len(asked)) == ([3.0], 2)
    client.close()  # the server has one connection at a time
    client, asked = flaky((503, {"error": "it is written, but not taken in yet"}), done)
    with pytest.raises(ServiceError, match="503: it is written"):
        client.erase("somebody")
    assert (waits, len(asked)) == ([3.0], 1)


def test_every_decision_has_an_id(flaky: Any) -> None:
    client, asked = flaky(None, (500, {"error": "x"}), (409, {"error": "seen"}))
    with pytest.raises(ServiceError):
        client.decide({}, ["a"], event_id=None)
    assert len({one["event_id"] for one in asked}) == 1
    assert asked[0]["event_id"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda one: one.decide({"user": {"age": math.nan}}), r"context\.user\.age must be a finite number, got nan"),
        (
            lambda one: one.decide({}, {"hat": {"price": [1.0, math.inf]}}),
            r"actions\[0\]\.features\.price\[1\] must be a finite number, got inf",
        ),
        (lambda one: one.reward("e1", math.nan), "value must be a finite number, got nan"),
        (lambda one: one.reward("e1", np.float64("nan")), "value must be a finite number, got nan"),
        (lambda one: one.decide({"at": datetime(2026, 1, 2)}), r"context\.at must be a number, a string, .*2026"),
        (lambda one: one.decide({"at": np.datetime64("2026-01-02")}), r"context\.at must be a number, a string, "),
        (lambda one: one.decide({"at": np.timedelta64(3, "s")}), r"context\.at must be a number, a string, "),
        (lambda one: one.decide({"a": {"raw": b"abc"}}), r"context\.a\.raw must be a number, .* got b'abc'"),
        (lambda one: one.decide({"price": Decimal("1.5")}), r"context\.price must be a number, .*Decimal"),
        (lambda one: one.decide({}, {"hat": {"id": uuid.UUID(int=3)}}), r"actions\[0\]\.features\.id must be a number"),
        (lambda one: one.decide({"x": 1j}), r"context\.x must be a number, .* got 1j"),
        (lambda one: one.decide({"x": {3, "a"}}), r"context\.x must be a number, "),
        (lambda one: one.decide({"x": {3: 1.0}}), r"context\.x must have strings for names, got 3"),
        (lambda one: one.set(window=math.nan), r"settings\.window must be a finite number, got nan"),
    ],
)
def test_what_is_no_number_is_not_sent(flaky: Any, asked: Callable[[Client], object], message: str) -> None:
    client, sent = flaky(RECORDED)
    with pytest.raises(ValueError, match=message):
        asked(client)
    assert not sent


def test_what_numpy_and_sets_hold_is_sent(flaky: Any) -> None:
    client, sent = flaky((409, {"error": "seen"}))
    context = {"a": np.float64(1.5), "b": np.int64(3), "c": np.bool_(True), "d": np.float32(0.5), "e": np.str_("x")}
    more = {"f": np.arange(3), "g": ("u", "v"), "h": {"y", "x"}, "i": None, "j": np.longdouble(2.5), "k": True}
    with pytest.raises(ServiceError, match="409"):
        client.decide(context | more, {"hat": {"price": np.float64(9)}})
    told = {"a": 1.5, "b": 3, "c": True, "d": 0.5, "e": "x", "f": [0, 1, 2], "g": ["u", "v"], "h": ["x", "y"]}
    assert sent[0]["context"] == told | {"i": None, "j": 2.5, "k": True}
    assert [type(one) for one in sent[0]["context"].values()][:3] == [float, int, bool]
    assert sent[0]["actions"] == [{"id": "hat", "features": {"price": 9.0}}]


def test_what_erases_is_not_sent_again_once_it_may_have_arrived(flaky: Any) -> None:
    client, asked = flaky(None, RECORDED)
    with pytest.raises(ServiceError, match="0: no answer"):
        client.erase("somebody")
    assert len(asked) == 1


def test_everything_that_can_be_asked(tmp_path: Path) -> None:
    with served(tmp_path) as (http, _), Client(str(http.base_url), "shop") as shop:
        with pytest.raises(ServiceError, match="404: there is no loop 'shop'"):
            shop.set(window=0.2)
        made = shop.set(window=0.2, holdback=0.1, policy={"learner": "Uniform"}, new=True)
        assert made.policy.learner == "Uniform"
        offered = shop.set(actions={"hat": {"price": 3.0}}).settings.actions
        assert offered == [Offer("hat", {"price": 3.0})]
        assert shop.set(window=0.1).settings.holdback == 0.1
        for k in range(5):
            event = shop.decide({"k": k}, ["a", "b"], unit="somebody").event_id
            shop.reward(event, 1.0)
        deadline = time.monotonic() + 30
        while shop.state().learnt < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        rivals = [one.rival for one in shop.evaluate({"new": {"learner": "RegCB"}})]
        assert rivals == ["deciding", "baseline", "uniform", "new"]
        assert not shop.promote("RegCB").promoted
        for asked in ("LinUCBB", {"learner": "LinUCBB"}):
            for ask in (shop.promote, shop.set, lambda one: shop.evaluate({"new": one})):
                with pytest.raises(ServiceError, match="400: no learner is called 'LinUCBB'; did you mean 'LinUCB'"):
                    ask(asked)
        assert shop.promote({"learner": "RegCB", "parameters": {"seed": 3}}, force=True).promoted
        assert shop.state().policy.parameters == {"seed": 3}
        assert shop.back(1).policy.learner == "Uniform"
        assert [one.learner for one in shop.policies()] == ["Uniform", "RegCB", "Uniform"]
        assert shop.erase("somebody").events == 5
        with pytest.raises(ServiceError, match="404: there is no loop"), Client(str(http.base_url), "nobody") as nobody:
            nobody.state()


def test_an_address_must_be_one() -> None:
    with pytest.raises(ValueError, match="got 'shop'"):
        Client("shop", "shop")
