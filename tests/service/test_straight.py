"""The short way from the socket to the writer: the answers of the long one, and nothing that only one of them takes."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from marginbandits.service.app import application
from marginbandits.service.journal import DECISION, REWARD, TICK, JournalError, LostError
from marginbandits.service.keys import Keys
from marginbandits.service.loop import read
from marginbandits.service.records import Settings
from marginbandits.service.straight import straight
from marginbandits.service.writer import FullError
from tests.service.made import Shop

ASK: dict[str, Any] = {"context": {"likes": "hat"}, "actions": ["hat", "shoe"]}


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    return opened(Settings(window=60))


class Transport(asyncio.Transport):
    """A socket that keeps what is written to it."""

    def __init__(self, peer: str = "127.0.0.1") -> None:
        super().__init__({"peername": (peer, 50000), "sockname": ("127.0.0.1", 80)})
        self.written, self.closed, self.reads = b"", False, True

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def answers(self) -> list[tuple[int, Any]]:
        """Status and JSON of all that is there whole."""
        found, rest = [], self.written
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            found.append((int(head.split()[1]), json.loads(rest[:length])))
            rest = rest[length:]
        return found


class Line:
    """A connection to a shop's service; `long` is how many requests went the long way."""

    def __init__(self, shop: Shop, peer: str = "127.0.0.1", most: int | None = None) -> None:
        self.long = 0
        app = application(shop.service)

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            self.long += 1
            await app(scope, receive, send)

        kind, state = straight(shop.service, app.state.door, most), ServerState()
        self.door = app.state.door
        config = uvicorn.Config(counted, http=kind, log_level="critical", lifespan="off")
        config.load()
        self._made: Callable[[], Any] = lambda: kind(config, state, {}, asyncio.get_running_loop())
        self.protocol, self.transport = self.connected(peer)

    def connected(self, peer: str = "127.0.0.1") -> tuple[Any, Transport]:
        """One more connection to the same."""
        protocol, transport = self._made(), Transport(peer)
        protocol.connection_made(transport)
        return protocol, transport

    def beside(self) -> "Line":
        """Another connection to the same."""
        other = object.__new__(Line)
        other.long, other.door, other._made = 0, self.door, self._made
        other.protocol, other.transport = self.connected()
        return other

    async def ask(self, *parts: bytes) -> tuple[int, Any]:
        """The answer to what comes in these parts."""
        n = len(self.transport.answers())
        for part in parts:
            self.protocol.data_received(part)
            await asyncio.sleep(0)
        return (await self.told(n + 1))[n]

    async def told(self, n: int) -> list[tuple[int, Any]]:
        """All answers, when there are n."""
        for _ in range(2000):
            if len(self.transport.answers()) >= n:
                break
            await asyncio.sleep(0.005)
        return self.transport.answers()


def request(path: str, body: Any, *headers: str, method: str = "POST") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


ASKED = request("/loops/shop/decide", ASK)


def decide(event: str, **more: Any) -> bytes:
    return request("/loops/shop/decide", {**ASK, "event_id": event, **more})


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def test_decisions_and_rewards_take_it_and_are_told_what_was_written(shop: Shop) -> None:
    async def work() -> None:
        line = Line(shop)
        status, told = await line.ask(decide("e1"))
        assert (status, told["event_id"], line.long) == (200, "e1", 0)
        entry = shop.service.journal.find("shop", "e1")
        assert entry is not None
        body = json.loads(entry.body or b"")
        assert told["probability"] == body["probabilities"][body["chosen"]]
        assert told["action"] == ASK["actions"][body["chosen"]]
        reward = request("/loops/shop/reward", {"event_id": "e1", "value": 1.0})
        assert await line.ask(reward) == (200, {"status": "recorded", "known": True})
        keyed = request("/loops/shop/reward", {"event_id": "e1", "value": 1.0}, "Idempotency-Key: k")
        assert (await line.ask(keyed))[1]["status"] == "recorded"
        assert (await line.ask(keyed))[1]["status"] == "repeated"
        assert await line.ask(decide("e1")) == (200, told), "the same request has the same answer"
        assert line.long == 0
        one = Line(shop)
        assert await one.ask(*[bytes([byte]) for byte in decide("e1")]) == (200, told)
        assert one.long == 1, "byte by byte it goes the long way, to the same answer"

    run(work())


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (request("/loops/nobody/decide", ASK), 404),
        (request("/loops/shop/decide", b"{"), 400),
        (request("/loops/shop/decide", {**ASK, "more": 1}), 400),
        (request("/loops/shop/decide", {"actions": ["x", "x"]}), 400),
        (request("/loops/shop/decide", {"context": {"a": 1e300}, "actions": ["x"]}), 400),
        (request("/loops/shop/decide", {"actions": ["x"], "event_id": "\ud800"}), 400),
        (request("/loops/shop/decide", ASK, "Host: evil.example"), 400),
        (request("/loops/shop/decide", ASK, "Sec-Fetch-Site: cross-site"), 403),
        (request("/loops/shop/decide", b"2\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 400),
        (request("/loops/shop/decide", ASK, "Content-Length: 3"), 400),
        (request("/loops/shop/decide", ASK, "Expect: nothing"), 200),
        (request("/loops/shop/decide", ASK, "Connection: close"), 200),
        (request("/loops/shop/decide", ASK, "X_Y: 1"), 200),
        (request("/loops/sh%6Fp/decide", ASK), 200),
        (request("/loops/shop/decide?a=1", ASK), 200),
        (request("/loops/shop/decide", ASK, method="PUT"), 405),
        (request("/loops/shop/reward", {"event_id": "e", "value": 1e16}), 400),
    ],
)
def test_whatever_is_out_of_the_ordinary_goes_the_long_way(shop: Shop, asked: bytes, status: int) -> None:
    async def work() -> None:
        line = Line(shop)
        line.protocol.data_received(asked)
        for _ in range(2000):
            if line.transport.written:
                break
            await asyncio.sleep(0.005)
        assert int(line.transport.written.split()[1]) == status
        assert line.long == 1 or status == 400  # what is no HTTP does not get that far
        before = line.long
        if not line.transport.closed and b"close" not in asked:
            assert (await line.ask(decide("after")))[0] == 200
            assert line.long == before, "the next goes the short way again"

    run(work())


def test_it_says_what_is_wrong_with_an_id(shop: Shop) -> None:
    async def work() -> None:
        line = Line(shop)
        await line.ask(decide("e1"))
        status, told = await line.ask(decide("e1", context={"likes": "shoe"}))
        assert (status, line.long) == (409, 0)
        assert "another request" in told["error"]

    run(work())


def test_a_head_that_was_admitted_once_is_not_for_ever(shop: Shop) -> None:
    async def work() -> None:
        line, keys = Line(shop), Keys(shop.service.journal)
        assert (await line.ask(decide("free")))[0] == 200
        secret = keys.make("shop", ["decide"])
        line.door.keys._until = 0.0  # two seconds later
        assert (await line.ask(decide("free again")))[0] == 401
        asked = request("/loops/shop/decide", ASK, f"Authorization: Bearer {secret}")
        before = line.long
        assert [(await line.ask(asked))[0] for _ in range(3)] == [200] * 3
        assert line.long == before
        other = request("/loops/shop/reward", {"event_id": "e", "value": 1.0}, f"Authorization: Bearer {secret}")
        assert (await line.ask(other))[0] == 403
        keys.make("*", ["admin"])
        keys.revoke(keys.find(secret).sha256)  # type: ignore[union-attr]  # it is there
        line.door.keys._until = 0.0
        assert (await line.ask(asked))[0] == 401

    run(work())


def test_another_machine_is_refused_by_it_too(shop: Shop) -> None:
    async def work() -> None:
        assert (await Line(shop, peer="192.0.2.7").ask(decide("e1")))[0] == 403

    run(work())


def test_a_loop_with_a_rate_keeps_to_it(shop: Shop) -> None:
    shop.service.set("shop", Settings(most_per_second=2.0))

    async def work() -> None:
        line = Line(shop)
        found = [(await line.ask(decide(f"e{k}")))[0] for k in range(6)]
        assert found[:2] == [200, 200]
        assert 429 in found

    run(work())


def test_nobody_is_told_before_it_is_written_and_what_comes_meanwhile_waits(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        line, held = Line(shop), []
        own = shop.service.writer.ask_all
        monkeypatch.setattr(shop.service.writer, "ask_all", lambda *given: held.append(given))
        line.protocol.data_received(decide("e1"))
        line.protocol.data_received(decide("e2") + decide("e3"))
        await asyncio.sleep(0.01)
        assert (line.transport.written, len(held), line.transport.reads) == (b"", 1, False)
        line.protocol.shutdown()
        assert not line.transport.closed, "an answer is owed"
        line.protocol._ends = False
        monkeypatch.setattr(shop.service.writer, "ask_all", own)
        own(*held[0])
        assert [told["event_id"] for _, told in await line.told(3)] == ["e1", "e2", "e3"]
        assert line.transport.reads
        held.clear()
        monkeypatch.setattr(shop.service.writer, "ask_all", lambda *given: held.append(given))
        last = Line(shop)
        last.protocol.data_received(decide("e4"))
        last.protocol.shutdown()
        await asyncio.sleep(0)
        own(*held[0])
        assert [told["event_id"] for _, told in await last.told(1)] == ["e4"]
        assert last.transport.closed

    run(work())


def test_requests_of_one_turn_are_decided_together_and_a_bad_one_alone_is_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, own = list[int](), shop.service.asked

    def counted(loop: Any, asked: Any) -> Any:
        together.append(len(asked))
        return own(loop, asked)

    monkeypatch.setattr(shop.service, "asked", counted)

    async def work() -> None:
        one = Line(shop)
        lines = [one] + [one.beside() for _ in range(4)]
        for k, line in enumerate(lines):
            line.protocol.data_received(decide(f"e{k}"))
        assert [(await line.told(1))[0][1]["event_id"] for line in lines] == [f"e{k}" for k in range(5)]
        assert together == [5]
        for k, line in enumerate(lines):
            line.protocol.data_received(decide(f"f{k}", **({"context": {"age": 1e200}} if k == 2 else {})))
        assert [(await line.told(2))[1][0] for line in lines] == [200, 200, 400, 200, 200]
        assert together[1:6] == [5, 1, 1, 1, 1]
        assert sum(line.long for line in lines) == 1

    run(work())


def test_a_disk_that_is_full_is_told(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise FullError("too much waits for the disk")

    async def work() -> None:
        line = Line(shop)
        monkeypatch.setattr(shop.service.writer, "ask_all", full)
        assert (await line.ask(decide("e1")))[0] == 429

    def fails(drafts: Any) -> Any:
        raise JournalError("journal.sqlite3: database or disk is full")

    async def broken() -> None:
        line = Line(shop)
        monkeypatch.setattr(shop.service.journal, "append", fails)
        status, told = await line.ask(decide("e2"))
        assert (status, line.long) == (503, 0)
        assert "disk" not in told["error"]
        assert b"\r\nretry-after: 1\r\n" in line.transport.written

    run(work())
    monkeypatch.undo()
    run(broken())


@pytest.mark.parametrize("error", [JournalError("the connection is gone"), LostError("the lock is gone"), OSError()])
@pytest.mark.parametrize("what", [request("/loops/shop/reward", {"event_id": "e", "value": 1.0}), ASKED])
def test_what_may_be_on_disk_is_not_written_again(
    shop: Shop, what: bytes, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, own, failed = shop.service.journal, shop.service.journal.append, list[int]()

    def commits(drafts: Any) -> Any:
        found = own(drafts)
        if not failed and drafts[0].kind != TICK:
            failed.append(len(drafts))
            raise error
        return found

    async def work() -> None:
        line = Line(shop)
        before = n_events(journal)
        monkeypatch.setattr(journal, "append", commits)
        status, told = await line.ask(what)
        assert (status, line.long, failed) == (500 if isinstance(error, OSError) else 503, 0, [1])
        assert told["error"]
        assert line.door.refused[status] == 1
        assert n_events(journal) == before + 1
        assert (await line.ask(decide("next")))[0] == 200
        assert line.long == 0, "the line goes on"

    run(work())


def n_events(journal: Any) -> int:
    return sum(one.kind in (DECISION, REWARD) for one in read(journal))


def test_who_says_nothing_is_let_go_and_who_speaks_is_not(shop: Shop) -> None:
    async def work() -> None:
        line = Line(shop)
        await line.ask(decide("e1"))
        line.protocol.timeout_keep_alive_handler()
        assert not line.transport.closed
        line.protocol._heard -= 60.0
        line.protocol.timeout_keep_alive_handler()
        assert line.transport.closed

    run(work())


@pytest.mark.parametrize(
    "half", [b"", b"POST /loops/shop/dec", decide("e1")[:-3], b"GET /health HTTP/1.1\r\nContent-Length: 9\r\n"]
)
def test_who_sends_a_half_is_let_go_and_who_waits_for_an_answer_is_not(
    shop: Shop, half: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        line = Line(shop)
        await line.ask(decide("e0"))
        if half:
            line.protocol.data_received(half)
            await asyncio.sleep(0)
        line.protocol._look()
        assert not line.protocol.transport.closed, "there is time left"
        line.protocol._heard -= 31.0
        line.protocol._look()
        assert line.protocol.transport.closed
        other, held = Line(shop), []
        monkeypatch.setattr(shop.service.writer, "ask_all", lambda *given: held.append(given))
        other.protocol.data_received(decide("e2"))
        other.protocol._heard -= 31.0
        other.protocol._look()
        await asyncio.sleep(0)
        assert held
        assert not other.transport.closed, "it is we who owe something"

    run(work())


def test_half_a_body_is_no_failure_of_ours(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        line = Line(shop)
        line.protocol.data_received(request("/loops/shop/decide", ASK)[:-3])
        await asyncio.sleep(0.05)
        line.protocol.connection_lost(None)
        await asyncio.sleep(0.05)
        assert line.long == 1
        assert "failed" not in caplog.text

    run(work())


def test_a_key_of_many_characters_is_refused(shop: Shop) -> None:
    async def work() -> None:
        line = Line(shop)
        asked = request("/loops/shop/decide", ASK, f"Idempotency-Key: {'k' * 257}")
        status, told = await line.ask(asked)
        assert (status, line.long) == (400, 1)
        assert told["error"] == "Idempotency-Key must have 1 to 256 characters, got 257"
        asked = request("/loops/shop/decide", ASK, f"Idempotency-Key: {'k' * 256}")
        assert (await line.ask(asked))[0] == 200

    run(work())


def test_a_new_connection_takes_the_place_of_the_one_that_is_silent_longest(shop: Shop) -> None:
    async def work() -> None:
        line = Line(shop, most=2)
        await asyncio.sleep(0.01)
        _, silent = line.connected()
        await asyncio.sleep(0.01)
        assert (await line.ask(decide("e1")))[0] == 200
        _, last = line.connected()
        assert [one.closed for one in (line.transport, silent, last)] == [False, True, False]

    run(work())


def test_strangers_and_long_heads_fill_no_memory(shop: Shop) -> None:
    async def work() -> None:
        line = Line(shop)
        assert (await line.ask(request("/loops/shop/decide", ASK, f"X-More: {'x' * 2000}")))[0] == 200
        assert (line.long, len(line.protocol._heads)) == (0, 0)
        assert (await line.ask(decide("e1")))[0] == 200
        assert len(line.protocol._heads) == 1
        other = Line(shop, peer="10.0.0.1")
        assert (await other.ask(decide("e2")))[0] == 403
        assert other.protocol._heads == {}

    run(work())
