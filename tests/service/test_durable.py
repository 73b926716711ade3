"""What is acknowledged is on the disk: asked of the connections that write, as the command opens them."""

import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from marginbandits.cli import main
from marginbandits.service import logbook, serving
from marginbandits.service.core import Service
from marginbandits.service.journal import Journal
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Settings
from tests.documented import scripted
from tests.service.postgres import Server

Served = Callable[..., Any]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """What the journal that a service writes to says, where `marginbandits serve` is called with these words."""

    def told(look: Callable[[Any], Any], *words: str) -> Any:
        found: list[Any] = []

        def serve(journal: Journal, listens: object, where: str, *, demo: bool) -> None:
            with closing(Service(journal)) as service:
                service.set("shop", Settings())
                found.append(look(service.writer._journal))

        monkeypatch.setattr(serving, "serve", serve)
        done = CliRunner().invoke(main, ["serve", "--port", "0", *words])
        assert done.exit_code == 0, done.output
        return found[0]

    return told


def pragmas(journal: Any) -> list[object]:
    return [journal._writing.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]


def commits(journal: Any) -> set[object]:
    """Of both connections that write: entries and facts, and what only the process that learns may keep."""
    told = set[object]()
    for line in (journal._writing, journal._leading):
        with line.open() as db:
            told |= set(db.execute("SHOW synchronous_commit").fetchone())
    return told


def test_a_folder_is_written_by_a_log_that_is_flushed_with_every_commit(served: Served, tmp_path: Path) -> None:
    full, normal = 2, 1
    assert served(pragmas, "--data", str(tmp_path / "shop")) == ["wal", full]
    assert served(pragmas, "--data", str(tmp_path / "shop")) == ["wal", full], "and so it stays"
    assert served(pragmas, "--data", str(tmp_path / "shop"), "--durability", "process") == ["wal", normal]


@pytest.mark.parametrize(
    ("usual", "full"), [("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply", "remote_apply")]
)
def test_a_database_that_does_not_wait_unless_told_is_told(
    served: Served, postgres: Server, usual: str, full: str
) -> None:
    """All but off wait for its own disk; the others are what its operator wants of other machines."""
    url = postgres.database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"ALTER DATABASE {db.info.dbname} SET synchronous_commit = {usual}".encode())
    assert served(commits, "--database", url) == {full}
    assert served(commits, "--database", url, "--durability", "process") == {"off"}


def test_a_connection_that_is_made_again_is_told_again(postgres: Server) -> None:
    url = postgres.database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"ALTER DATABASE {db.info.dbname} SET synchronous_commit = off".encode())
    with closing(Postgres(url)) as journal:
        for line in (journal._writing, journal._leading):
            line.close()
        assert commits(journal) == {"on"}


def test_a_database_that_cannot_be_made_to_wait_is_named(
    postgres: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of these tests has fsync off."""
    url = postgres.database()
    why = "fsync is off in the database: what has been acknowledged may be lost with the power of its machine"

    def begins(journal: Journal) -> None:
        raise InterruptedError

    monkeypatch.setattr(serving, "Service", begins)
    monkeypatch.setattr(logbook, "begin", lambda: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)
    with closing(Postgres(url)) as journal, socket.socket() as found, pytest.raises(InterruptedError):
        serving.serve(journal, found, "there")
    assert caplog.messages == [why]
    told = CliRunner().invoke(main, ["doctor", url])
    assert f"look: {why}" in told.output.splitlines()


def test_what_is_not_durable_is_not_measured(postgres: Server) -> None:
    words = ["benchmarks/service_load.py", "--stores", "postgres", "--database", postgres.database()]
    with pytest.raises(SystemExit, match=r"not measured, as its decisions would not be durable: fsync off, "):
        scripted(words)
