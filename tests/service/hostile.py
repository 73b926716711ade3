"""Requests that are all to be refused, as bytes: most with a right key, for a loop that exists, spoilt in one place.

Bodies are good ones with one thing wrong; paths, queries and headers are strange where what they are of is there. A
request is sent over a connection of its own, through everything that a service has but the socket, and a spy says how
far it came: which decoder was the last that looked at it.
"""

import asyncio
import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

from marginbandits.service import app, page, straight
from marginbandits.service.door import LARGEST
from marginbandits.service.personalizer import operations, routes
from marginbandits.service.personalizer.calls import Call
from marginbandits.service.personalizer.configuration import Configuration
from marginbandits.service.personalizer.evaluations import EvaluationContract
from marginbandits.service.personalizer.judgements import Reference
from marginbandits.service.personalizer.policies import Contract
from tests.service.test_straight import Line

__all__ = ["NOTHING", "PATH", "QUERY", "Hostile", "Reached", "drawn", "sent"]

V1_0, V2022 = "/personalizer/v1.0", "/personalizer"
VERSION = "api-version=2022-09-01-preview"
SPAN = {"startTime": "2020-01-01T00:00:00Z", "endTime": "2030-01-01T00:00:00Z"}
NOTHING, PATH, QUERY = "nothing", "a path", "a query"
"""What a request reached last: no decoder, as the door, or what makes requests of bytes, had turned it away; or one."""
_ASKED = {Configuration, Contract, EvaluationContract, Reference}


class Hostile(NamedTuple):
    """A request as it is sent, and how it was made; one of which half is missing ends before its answer."""

    data: bytes
    how: str
    half: bool = False


class Target(NamedTuple):
    """What takes a body, a body that it takes, and the names that it must have."""

    method: str
    path: str
    body: dict[str, Any]
    needs: tuple[str, ...] = ()


ASK = {"context": {"likes": "hat", "age": 31}, "actions": [{"id": "hat", "features": {"price": 20}}, "shoe"]}
RANK = {"actions": [{"id": one, "features": [{"price": 20}]} for one in ("hat", "shoe")], "contextFeatures": [{"x": 1}]}
CONFIGURATION = {
    "rewardWaitTime": "PT10M",
    "defaultReward": 0.0,
    "rewardAggregation": "earliest",
    "explorationPercentage": 0.2,
    "modelExportFrequency": "PT5M",
    "logRetentionDays": 90,
}
TARGETS = (
    Target("POST", "/loops/shop/decide", ASK | {"event_id": "new", "baseline": "hat", "unit": "u"}, ("actions",)),
    Target("POST", "/loops/shop/reward", {"event_id": "e1", "value": 1.0, "key": "k"}, ("event_id", "value")),
    Target("POST", "/loops/shop/activate", {"event_id": "e1"}, ("event_id",)),
    Target("PUT", "/loops/shop", {"settings": {"window": 9.0}, "policy": {"learner": "Uniform"}, "new": True}),
    Target("POST", "/loops/shop/policies", {"policy": {"learner": "Uniform"}, "force": True}, ("policy",)),
    Target("POST", "/loops/shop/back", {"number": 1}, ("number",)),
    Target("POST", "/loops/shop/evaluate", {"policies": {"mine": {"learner": "Uniform"}}}),
    Target("POST", "/loops/shop/erase", {"unit": "u"}, ("unit",)),
    Target("POST", f"{V1_0}/rank", RANK | {"eventId": "new"}, ("actions",)),
    Target("POST", f"{V1_0}/events/e1/reward", {"value": 1.0}, ("value",)),
    Target("PUT", f"{V1_0}/configurations/service", CONFIGURATION, tuple(CONFIGURATION)),
    Target("PUT", f"{V1_0}/configurations/policy", {"name": "p", "arguments": "--cb_explore_adf"}, ("name",)),
    Target("POST", f"{V1_0}/evaluations", SPAN | {"name": "n"}, ("name", "startTime", "endTime")),
    Target(
        "POST",
        f"{V2022}/configurations/applyFromEvaluation?{VERSION}",
        {"evaluationId": "e", "policyName": "p"},
        ("evaluationId", "policyName"),
    ),
)
POLICIES = [{"name": f"p{n}", "arguments": f"--cb_explore_adf --bag {n}"} for n in (2, 999_999)]
OTHERWISE: list[tuple[str, str, Any]] = [
    ("POST", "/loops/shop/decide", ASK | {"excluded": ["hat", "shoe"]}),
    ("POST", "/loops/shop/decide", ASK | {"excluded": ["coat"]}),
    ("POST", "/loops/shop/decide", ASK | {"event_id": "e1"}),  # which was another request's
    ("POST", "/loops/shop/decide", {"actions": ["hat", "hat"]}),
    ("POST", "/loops/shop/decide", {"actions": [str(k) for k in range(1001)]}),
    ("POST", "/loops/shop/decide", {"actions": ["hat\0"]}),
    ("POST", "/loops/shop/decide", {"actions": ["hat"], "context": {str(k): k for k in range(20_000)}}),
    ("POST", "/loops/shop/reward", {"event_id": "e1\0", "value": 1.0}),
    ("POST", "/loops/shop/reward", {"event_id": "e" * 257, "value": 1.0}),
    ("POST", "/loops/shop/reward", {"event_id": "e1", "value": -1e16}),
    ("PUT", "/loops/shop", {"settings": {"reward_range": [1, 0]}}),
    ("PUT", "/loops/shop", {"settings": {"window": -1}}),
    ("PUT", "/loops/shop", {"settings": {"widow": 9}}),
    ("PUT", "/loops/shop", {"settings": {"window": 9}, "policy": {"learner": "Mixture"}}),
    ("POST", "/loops/shop/policies", {"policy": {"learner": "LogisticTS", "parameters": {"n_particles": 10**9}}}),
    ("POST", "/loops/shop/policies", {"policy": {"learner": "SquareCB", "since": 10**9}, "force": True}),
    ("POST", "/loops/shop/back", {"number": 99}),
    ("POST", "/loops/shop/back", {"number": 1}),  # which decides already
    ("POST", "/loops/shop/evaluate", {"policies": {"mine": {"learner": "Uniform"}, "baseline": {}}}),
    ("POST", "/loops/shop/evaluate", {"policies": {"mine": {"learner": "Uniform"}, "other": {"learner": "Me"}}}),
    ("POST", f"{V1_0}/rank", {"actions": [{"id": str(k), "features": [{"x": 1}]} for k in range(51)]}),
    ("POST", f"{V1_0}/rank", RANK | {"contextFeatures": [{"": 1}]}),
    ("PUT", f"{V1_0}/configurations/service", CONFIGURATION | {"rewardWaitTime": "P3D"}),
    ("PUT", f"{V1_0}/configurations/policy", {"name": "p", "arguments": "--cb_explore_adf --bag 999999999"}),
    ("POST", f"{V1_0}/evaluations", SPAN | {"name": "n", "endTime": "2021-01-01T00:00:00Z", "policies": POLICIES[:1]}),
    ("POST", f"{V1_0}/evaluations", SPAN | {"name": "n", "policies": POLICIES}),
    ("POST", f"{V1_0}/evaluations", SPAN | {"name": "n", "policies": [{"name": "p", "arguments": "--cats 'x"}]}),
]
"""What is JSON as it should be, and not what can be."""

STRANGE = [
    *("%00", "%FF", "%ED%A0%80", "..%2F..%2Fetc%2Fpasswd", "x" * 257, "%C0%AF", "e1%00", "x" * 5000),
    *("'%3B%20DROP%20TABLE%20entry%3B--", "%3Cscript%3E", "%F0%9D%95%8A" * 300),
]
PATHS = [
    *(
        (f"{V1_0}/events/{one}/{what}", "POST")
        for one in ("%00", "%FF", "", "x" * 257)
        for what in ("reward", "activate")
    ),
    *((f"{V1_0}/{path}", "POST") for path in ("events/e1", "events/e1/reward/more", "rank/rank", "%72ank%00", "%FF")),
    *((f"/personalizer/{one}/rank", "POST") for one in ("v1.1-preview.9", "%76", "v1.0%2F", "%00")),
    *((f"/loops/shop{one}/decide", "POST") for one in ("%00", "%2F", ";x", "%FF", "%20", "/../shop", "/.", "//")),
    *((f"/loops/{one}/decide", "POST") for one in STRANGE),
    *((f"/page/{one}", "GET") for one in STRANGE),
]
"""Paths that lead nowhere, and how they are asked for; and ids that are none, in paths that lead somewhere."""

QUERIES = [
    *((f"/page/shop/event?id={one}", "GET") for one in STRANGE),
    *((f"/page/shop/event{one}", "GET") for one in ("", "?", "?id=", "?id=e1&id=%00", "?id[]=e1", "?%69%64=x;y")),
    *(
        (f"{V2022}/evaluations?{VERSION}&{name}={one}", "GET")
        for name in ("top", "skip")
        for one in ("-1", "x", "9" * 40, "")
    ),
    *((f"{V2022}/evaluations?{VERSION}&filter={one}", "GET") for one in ("name%20eq%201", "%00", "x" * 5000)),
    *((f"{V2022}/evaluations/made?{VERSION}{one}", "GET") for one in ("", "&startTime=x&endTime=y", "&startTime=%FF")),
    *(
        (f"{V2022}/evaluations/made?{VERSION}&startTime=2020-01-01&endTime=2030-01-01&{one}", "GET")
        for one in ("intervalInMinutes=7", "intervalInMinutes=1e9", "window=Rolling", "intervalInMinutes=%E0%A5%AC")
    ),
    *((f"{V2022}/rank?api-version={one}", "POST") for one in ("", "2021", "%00", "%FF", "x" * 5000)),
]
"""Of what is there, by what it cannot have."""

HEADERS = [
    *(("Idempotency-Key", one) for one in ("", "k" * 257, "\x00", "k" * 10_000)),
    *(("x-ms-client-request-id", "k" * n) for n in (257, 10_000)),
    ("x-marginbandits-unit", "u" * 257),
    *(("Content-Length", one) for one in ("-1", "x", "9" * 400, "0x10", str(LARGEST + 1), "1, 2")),
    *(("Transfer-Encoding", one) for one in ("chunked", "gzip", "chunked, chunked", "identity")),
]
TOKENS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "01",
    "1.",
    "0x10",
    "+1",
    '"\\ud800"',
    '"\\udc00x"',
    "undefined",
    "'x'",
]
BYTES = [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\x00"', b'"\x1f"', b'"\\x"', b"\xff\xfe", b"1" + b"0" * 400]
KINDS: dict[type, list[Any]] = {
    str: [7, True, ["x"], {"x": 1}, "x" * 1025],
    float: ["1", True, [1.0], {"x": 1.0}],
    int: ["1", True, 1.5, [1]],
    bool: ["true", 1, [True], {}],
    list: ["x", 7, True, {"x": 1}],
    dict: ["x", 7, True, ["x"]],
}
"""What is none of a kind; the last of a text is too long for any."""


def _deep(rng: random.Random) -> bytes:
    depth, (opens, closes) = rng.choice([3000, 30_000]), rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return opens * depth + b"1" + closes * depth * rng.randrange(2)


def _spoilt(rng: random.Random, target: Target) -> tuple[str, bytes]:
    """A body with one thing wrong, and what that is."""
    body, name = target.body, rng.choice(list(target.body))
    whole = json.dumps(body).encode()

    def with_value(text: bytes, more: bytes = b"") -> bytes:
        rest = {one: value for one, value in body.items() if one != name}
        inner = json.dumps(rest).encode()[1:-1]
        return b"{" + more + (inner + b", " if inner else b"") + json.dumps(name).encode() + b": " + text + b"}"

    def zipped() -> bytes:
        packed = gzip.compress(whole)
        return packed[: rng.randrange(2, len(packed))]

    wrong = json.dumps(rng.choice(KINDS[type(body[name])])).encode()
    right = b"%b: %b, " % (json.dumps(name).encode(), json.dumps(body[name]).encode())
    makers: dict[str, Callable[[], bytes]] = {
        "cut short": lambda: whole[: rng.randrange(len(whole))],
        "more than one": lambda: whole + rng.choice([b"}", b"\0", b"x", whole, b"]"]),
        "another encoding": lambda: whole.decode().encode(rng.choice(["utf-16", "utf-32", "utf-16-le", "utf-8-sig"])),
        "no number": lambda: with_value(rng.choice(TOKENS).encode()),
        "no text": lambda: with_value(rng.choice(BYTES)),
        "deep": lambda: with_value(_deep(rng)),
        "another kind": lambda: with_value(wrong),
        "twice, then wrong": lambda: with_value(wrong, right),
        "no object": lambda: rng.choice([b"null", b"[]", b'"x"', b"0", b"true", b"", b" \n", b"[" + whole + b"]"]),
        "zipped, and cut": zipped,
        "a form": lambda: rng.choice([b"event_id=e1&value=1", b"--x\r\n\r\n1\r\n--x--", b"<reward>1</reward>"]),
        "long": lambda: with_value(b"[" + b"[]," * 20_000 + b"[]]") if not isinstance(body[name], list) else b"{",
    }
    if target.needs:
        missing = rng.choice(target.needs)
        makers["missing"] = lambda: json.dumps({k: v for k, v in body.items() if k != missing}).encode()
    if target.path.startswith("/loops"):  # what Personalizer does not know it ignores
        makers["unknown"] = lambda: json.dumps(
            body | {rng.choice(["__proto__", "", "Event_Id", "x" * 999]): 1}
        ).encode()
    how = rng.choice(list(makers))
    return how, makers[how]()


def _bytes(method: str, path: str, body: bytes, key: str, *more: tuple[str, str], length: int | None = None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}"]
    if not {"Content-Length", "Transfer-Encoding"} & {name for name, _ in more}:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    lines += [f"{name}: {value}" for name, value in more]
    return "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body


def drawn(rng: random.Random, key: str, other: str) -> Hostile:
    """One of them; `key` opens the loop, `other` is for no more than reading."""
    kind = rng.choices(["body", "otherwise", "path", "query", "header", "key", "frame"], [58, 12, 9, 9, 4, 5, 3])[0]
    target = rng.choice(TARGETS)
    good = json.dumps(target.body).encode()
    if kind == "body":
        how, body = _spoilt(rng, target)
        said = rng.choice(["application/json", "text/plain", "application/x-www-form-urlencoded", "image/png", "x"])
        more = [("Content-Type", said)] + [("Content-Encoding", "gzip")] * (how == "zipped, and cut")
        return Hostile(_bytes(target.method, target.path, body, key, *more), f"{how}: {target.path}")
    if kind == "otherwise":
        method, path, asked = rng.choice(OTHERWISE)
        return Hostile(_bytes(method, path, json.dumps(asked).encode(), key), f"otherwise: {path}")
    if kind in ("path", "query"):
        path, method = rng.choice(PATHS if kind == "path" else QUERIES)
        body = json.dumps(ASK | {"value": 1.0}).encode() if method == "POST" else b""
        return Hostile(_bytes(method, path, body, key), f"{kind}: {path[:80]}")
    if kind == "header":
        name, value = rng.choice(HEADERS)
        path = "/loops/shop/decide" if name == "Idempotency-Key" else f"{V1_0}/rank"
        body = json.dumps(ASK if name == "Idempotency-Key" else RANK).encode()
        return Hostile(
            _bytes("POST", path, body, key, (name, value)),
            f"header {name}: {value[:40]!r}",
            value == "chunked",
        )
    if kind == "key":
        wrong = rng.choice(["mb_" + "x" * 43, other, "", "é" * 9, key[:-1], key.swapcase(), "x" * 5000])
        return Hostile(_bytes(target.method, target.path, good, wrong), f"key: {target.path}")
    half = _bytes(target.method, target.path, good, key, length=len(good) + rng.randrange(1, 1000))
    junk = [
        b"\x16\x03\x01\x02\x00\x01",
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n" * 9,
        b"A" * 70_000 + b"\r\n\r\n",
    ]
    return Hostile(half, "half", True) if rng.random() < 0.5 else Hostile(rng.choice(junk), "no request", True)


class Reached:
    """A spy: the last decoder that looked at the request that is under way, and how often that was which."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.last, self.counts = NOTHING, Counter[str]()

        def by(holder: Any, name: str, what: Callable[..., str | None]) -> None:
            own = getattr(holder, name)

            def spied(*given: Any, **more: Any) -> Any:
                self.last = what(*given, **more) or self.last
                return own(*given, **more)

            monkeypatch.setattr(holder, name, spied)

        by(app, "decoded", lambda decoder, text: _body(decoder.type))
        by(msgspec.json, "decode", lambda text, type=object, **more: _body(type) if type in _ASKED else None)
        by(routes, "told", lambda *given: PATH)
        by(page, "event_page", lambda *given: QUERY)
        by(Call, "query", lambda *given: QUERY)
        for holder, name in ((operations, "_RANK"), (operations, "_REWARD"), (straight, "_ASK"), (straight, "_REWARD")):
            monkeypatch.setattr(holder, name, _Spied(getattr(holder, name), self))

    def count(self) -> None:
        """That request is over."""
        self.counts[self.last] += 1
        self.last = NOTHING


class _Spied:
    """A decoder that is told of."""

    def __init__(self, decoder: Any, spy: Reached) -> None:
        self._decoder, self._spy = decoder, spy

    def decode(self, text: bytes) -> Any:
        self._spy.last = _body(self._decoder.type)
        return self._decoder.decode(text)


def _body(kind: type) -> str:
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


async def sent(line: Line, one: Hostile) -> bytes:
    """All that is answered, over a connection of its own."""
    protocol, transport = line.connected()
    protocol.data_received(one.data)
    for turn in range(5000):
        if transport.closed or _whole(transport.written) or (one.half and turn > 20):
            break
        await asyncio.sleep(0.0 if turn < 50 else 0.002)
    protocol.connection_lost(None)
    await asyncio.sleep(0.0)
    return transport.written


def _whole(written: bytes) -> bool:
    head, ends, body = written.partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
    return bool(ends) and length.isdigit() and len(body) >= int(length)
