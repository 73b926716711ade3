"""A disk that is full, a database that takes nothing: who asks is told when to come again, and nothing is half there.

The disk is full by SQLite's own account, which may not make the file larger; the database is one that takes no writes,
as one does that has become a copy of another.
"""

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from starlette.testclient import TestClient

from marginbandits.service import following
from marginbandits.service.app import application
from marginbandits.service.core import Service
from marginbandits.service.journal import TICK, Draft, JournalError
from marginbandits.service.loop import read
from marginbandits.service.replay import verified
from marginbandits.service.serving import opened
from tests.service.personalizer.speaking import BASES, V1_0, V2022, actions
from tests.service.postgres import Server
from tests.service.test_following import until


class Place(NamedTuple):
    """A service with the loop `shop`, who asks it, and its disk while it does not take anything."""

    service: Service
    here: TestClient
    refusing: Callable[[], AbstractContextManager[None]]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("TRYING", "_LONGEST_PAUSE"):
        monkeypatch.setattr(following, name, 0.05)
    where, database = str(tmp_path), request.param == "postgres"
    if database:
        server: Server = request.getfixturevalue("postgres")
        where = server.database()
    with closing(Service(opened(where, serving=True), checkpoints=1e9)) as service:
        service.set("shop", {"reward_range": (-1.0, 1.0), "window": 600.0})
        app = application(service)
        here = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000), raise_server_exceptions=False)
        journal: Any = service.journal
        yield Place(service, here, (lambda: read_only(where, journal)) if database else (lambda: full(journal)))


@contextmanager
def full(journal: Any) -> Iterator[None]:
    """There is no page left, and no room in the last ones for the shortest entry, or a short fact."""
    pages = journal._writing.execute("PRAGMA page_count").fetchone()[0]
    journal._writing.execute(f"PRAGMA max_page_count = {pages}")
    names = itertools.count()
    fill: list[Callable[[str], object]] = [
        lambda room: journal.append([Draft("", TICK, "", f"{{{room}}}".encode())]),
        lambda room: journal.put(f"{next(names)}", room.encode()),
    ]
    for one, size in itertools.product(fill, (500, 50, 0)):
        with pytest.raises(JournalError, match="database or disk is full"):
            deque(map(one, itertools.repeat(" " * size, 1000)), 0)
    yield
    journal._writing.execute("PRAGMA max_page_count = 1000000")


@contextmanager
def read_only(url: str, journal: Any) -> Iterator[None]:
    """From the next connections on."""
    with closing(psycopg.connect(url, autocommit=True)) as db:
        alter = f"ALTER DATABASE {db.info.dbname} SET default_transaction_read_only ="
        db.execute(f"{alter} on".encode())
        journal._writing.close()
        yield
        db.execute(f"{alter} off".encode())
        journal._writing.close()


def there(service: Service) -> list[tuple[str, str, bytes | None]]:
    """What is in the journal, but for ticks of the clock."""
    return [(one.kind, one.id, one.body) for one in read(service.journal) if one.kind != TICK]


def well(here: TestClient) -> bool:
    return bool(here.get("/health").json()["status"] == "ok")


NATIVE: list[tuple[str, str, Any]] = [
    ("POST", "decide", {"actions": ["a", "b"], "event_id": "e"}),
    ("POST", "reward", {"event_id": "e", "value": 1.0, "key": "k"}),
    ("POST", "activate", {"event_id": "e"}),
    ("PUT", "", {"settings": {"window": 60.0}, "policy": {"learner": "RegCB"}}),
]


def test_the_service_says_when_to_come_again(place: Place) -> None:
    service, here, refusing = place
    with refusing():
        before, facts = there(service), service.journal.facts("")
        for method, what, asked in NATIVE:
            told = here.request(method, f"/loops/shop/{what}".rstrip("/"), json=asked)
            assert (told.status_code, told.headers["Retry-After"]) == (503, "1"), told.text
            assert told.json() == {"error": "the journal cannot be read or written now: ask again"}
        assert here.get("/health").json()["status"] == "not writing"
        assert here.get("/loops/shop").json()["settings"]["window"] == 600.0, "it answers, and is what it was"
        assert (there(service), service.journal.facts("")) == (before, facts)
    until(lambda: well(here))
    for method, what, asked in NATIVE:
        assert here.request(method, f"/loops/shop/{what}".rstrip("/"), json=asked).status_code == 200
    kinds = Counter(kind for kind, *_ in there(service)[len(before) :])
    assert kinds == {"decision": 1, "reward": 1, "activation": 1, "settings": 1, "policy": 1}
    assert verified(service.journal).faults == []


CONFIGURATION = {
    "rewardWaitTime": "PT10M",
    "defaultReward": 0.0,
    "rewardAggregation": "earliest",
    "explorationPercentage": 0.3,
    "modelExportFrequency": "PT5M",
    "logRetentionDays": -1,
}
PERSONALIZER: list[tuple[str, str, Any, int]] = [
    ("POST", "rank", {"actions": actions("a", "b"), "eventId": "e"}, 201),
    ("POST", "events/e/reward", {"value": 1.0}, 204),
    ("POST", "events/e/activate", None, 204),
    ("PUT", "configurations/service", CONFIGURATION, 200),
    ("PUT", "configurations/policy", {"name": "mine", "arguments": "--cb_explore_adf --regcb"}, 200),
    ("DELETE", "configurations/policy", None, 200),
    ("DELETE", "model", None, 204),
    ("DELETE", "logs", None, 204),
]


def sent(here: TestClient, base: str, method: str, path: str, body: Any) -> Any:
    """A request as Microsoft's clients send it, each try with the same id."""
    query = "?api-version=2022-09-01-preview" if base == V2022 else ""
    headers = {"x-ms-client-request-id": f"{method} {path}"}
    return here.request(method, f"{base}/{path}{query}", json=body, headers=headers)


@pytest.mark.parametrize("base", BASES)
def test_so_it_does_in_each_dialect_of_personalizer(place: Place, base: str) -> None:
    service, here, refusing = place
    with refusing():
        before, facts = there(service), service.journal.facts("")
        for method, path, body, _ in PERSONALIZER:
            told = sent(here, base, method, path, body)
            assert (told.status_code, told.headers["Retry-After"]) == (503, "1"), (path, told.text)
            error = told.json()["error"]
            why = "This operation is not allowed at this time. the journal cannot be read or written now: ask again"
            assert error.pop("message") == why
            inner = {"code": "InternalServerError", "innerError": {"code": "OperationNotAllowed"}}
            assert error == (inner if base == V1_0 else {"code": "OperationNotAllowed"})
            assert told.json().keys() == {"error"}
        assert sent(here, base, "GET", "configurations/policy", None).status_code == 200
        assert (there(service), service.journal.facts("")) == (before, facts)
    until(lambda: well(here))
    for method, path, body, status in PERSONALIZER[:3] * 2:  # who was answered asks again, too
        assert sent(here, base, method, path, body).status_code == status
    kinds = Counter(kind for kind, *_ in there(service)[len(before) :])
    assert kinds == {"decision": 1, "reward": 1, "activation": 1}
    assert verified(service.journal).faults == []


def test_a_loop_that_cannot_be_made_is_not_there(place: Place) -> None:
    _, here, refusing = place
    with refusing():
        told = here.put("/loops/other", json={"new": True})
        assert (told.status_code, told.headers["Retry-After"]) == (503, "1")
        assert here.get("/loops/other").status_code == 404
    until(lambda: well(here))
    assert here.put("/loops/other", json={"new": True}).status_code == 200
