from collections.abc import Iterator

import pytest

from tests.service.postgres import Server, programs


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
