"""The journal in a folder: served once, left alone where it is none, copied, and read where nothing may be written."""

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from marginbandits.cli import main
from marginbandits.service.journal import (
    JournalError,
)
from marginbandits.service.loop import read
from marginbandits.service.sqlite import Sqlite, _beside
from tests.service.drafts import decision


def test_a_folder_is_served_once(tmp_path: Path) -> None:
    one = Sqlite(tmp_path)
    with pytest.raises(JournalError, match="served by another process"):
        Sqlite(tmp_path)
    Sqlite(tmp_path, serving=False).close()
    one.close()
    Sqlite(tmp_path).close()


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="has no journal"):
        Sqlite(tmp_path / "none", serving=False)
    Sqlite(tmp_path).close()
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(JournalError, match="format 9"):
        Sqlite(tmp_path)
    (tmp_path / "journal.sqlite3").write_bytes(b"no journal" * 1000)
    with pytest.raises(JournalError, match="cannot be read"):
        Sqlite(tmp_path)


def test_what_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "journal.sqlite3"
    file.touch()
    with pytest.raises(JournalError, match="is no journal: it is empty"):
        Sqlite(tmp_path, serving=False)
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE mine (a)")
    before = file.read_bytes()
    for serving in (False, True):
        with pytest.raises(JournalError, match="is no journal: it has other tables"):
            Sqlite(tmp_path, serving=serving)
    assert file.read_bytes() == before


def test_of_two_backups_to_one_place_at_once_the_first_stays(tmp_path: Path) -> None:
    """What is written until then has a name that says of what: one who is killed leaves it."""
    file = tmp_path / "copy.sqlite3"
    with ExitStack() as slow:
        slow.enter_context(_beside(str(file))).write_bytes(b"slow")
        with _beside(str(file)) as fast:
            fast.write_bytes(b"fast")
            names = {path.name for path in tmp_path.iterdir()}
        with pytest.raises(JournalError, match="never replaces"):
            slow.close()
    assert len(names) == 2
    assert all(name.startswith("copy.sqlite3.") and name.endswith(".partial") for name in names)
    assert file.read_bytes() == b"fast"
    assert [path.name for path in tmp_path.iterdir()] == ["copy.sqlite3"]


def test_what_was_closed_is_read_where_nothing_may_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, copy = tmp_path / "here", tmp_path / "copy.sqlite3"
    journal = Sqlite(here)
    entries = [entry for entry, _ in journal.append([decision(f"e{k}") for k in range(3)])]
    journal.close()
    before = sorted(here.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or Path(path) != here)
    with closing(Sqlite(here, serving=False)) as found:
        assert sorted(here.iterdir()) == before, "nothing is made there"
        assert list(read(found)) == entries
        with found.still() as still:
            assert list(read(still)) == entries
        found.backup(str(copy))
        assert sorted(here.iterdir()) == before
    assert copy.exists()
    told = CliRunner().invoke(main, ["keys", "make", "--data", str(here), "--scope", "read"])
    assert told.output == f"Error: the journal of {here}: attempt to write a readonly database\n"
    (here / "journal.sqlite3-wal").mkdir()  # that there is one says that it was not closed; it cannot be opened
    with pytest.raises(JournalError, match="its folder may not be written, and it was not closed: copy all of"):
        Sqlite(here, serving=False)
