"""The client: what it sends again, and what it does not."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

from marginbandits.service.client import Client, ServiceError


class Flaky(BaseHTTPRequestHandler):
    """Answers as it is told to, one after another; None breaks the connection."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[list[tuple[int, dict[str, Any]] | None]] = []
    asked: ClassVar[list[Any]] = []

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
        if status == 429:
            self.send_header("Retry-After", "0")
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


def test_an_address_must_be_one() -> None:
    with pytest.raises(ValueError, match="got 'shop'"):
        Client("shop", "shop")
