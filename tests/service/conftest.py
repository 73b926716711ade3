from collections.abc import Iterator

import pytest

from tests.service.postgres import Server, programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests of a process."""
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL: neither its programs initdb and pg_ctl nor pgserver are installed")
    server = Server(found)
    yield server
    server.close()
