from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from marginbandits.service.core import Service
from marginbandits.service.records import Policy, Settings
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Clock, Shop
from tests.service.postgres import Server, programs


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Shop]]:
    """Shops on one folder, one after another; all are closed at the end."""
    made: list[Shop] = []

    def shop(settings: Settings | None = None, policy: Policy | None = None) -> Shop:
        for one in made:
            one.close()
        made[:] = [Shop(tmp_path, clock, settings, policy)]
        return made[0]

    yield shop
    for one in made:
        one.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    one = Service(Sqlite(tmp_path, durability="process", serving=True))
    yield one
    one.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests of a process."""
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL: neither its programs initdb and pg_ctl nor pgserver are installed")
    try:
        server = Server(found)
    except (OSError, RuntimeError) as error:
        pytest.skip(f"PostgreSQL of {found} does not start: {error}")
    yield server
    server.close()
