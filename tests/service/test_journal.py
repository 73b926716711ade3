"""What every store promises, of both."""

import itertools
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import psycopg
import pytest
from click.testing import CliRunner

from marginbandits.cli import main
from marginbandits.service import store
from marginbandits.service.journal import (
    ACTIVATION,
    DECISION,
    ERASURE,
    POLICY,
    REWARD,
    SETTINGS,
    START,
    TICK,
    Draft,
    Entry,
    Journal,
    JournalError,
    unbroken,
)
from marginbandits.service.loop import read
from marginbandits.service.postgres import Postgres
from marginbandits.service.sqlite import Sqlite, _beside
from marginbandits.service.writer import Writer
from tests.service.postgres import Server


class Place:
    """Where a journal is: it can be opened again, and its database be asked behind its back."""

    def __init__(self, open_again: Callable[[], Journal], behind: Callable[[str], None]) -> None:
        self._open, self.behind = open_again, behind
        self.journal = open_again()

    def again(self) -> Journal:
        self.journal.close()
        self.journal = self._open()
        return self.journal


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":

        def behind(statement: str) -> None:
            with sqlite3.connect(tmp_path / "here" / "journal.sqlite3") as db:
                db.execute(statement)
            db.close()

        found = Place(lambda: Sqlite(tmp_path / "here"), behind)
    else:
        server: Server = request.getfixturevalue("postgres")
        url = server.database()

        def asked(statement: str) -> None:
            with psycopg.connect(url, autocommit=True) as db:
                db.execute(statement.encode())

        found = Place(lambda: Postgres(url), asked)
    yield found
    found.journal.close()


def decision(event: str, body: bytes = b"{}", key: str | None = None, loop: str = "shop") -> Draft:
    return Draft(loop, DECISION, event, body, key)


def broken(journal: Journal) -> list[int]:
    """The entries at which the chain breaks."""
    before, found = START, []
    for entry in read(journal):
        if not unbroken(before, entry):
            found.append(entry.seq)
        before = entry.sha256
    return found


def test_entries_are_there_in_order_in_one_chain_and_after_opening_again(place: Place) -> None:
    drafts = [decision(f"e{k}", b'{"k": %d}' % k) for k in range(5)]
    told = place.journal.append(drafts[:2]) + place.journal.append(drafts[2:])
    assert all(fresh for _, fresh in told)
    entries = [entry for entry, _ in told]
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert all(one.at < other.at for one, other in itertools.pairwise(entries))
    for journal in (place.journal, None):
        journal = journal or place.again()
        assert list(read(journal)) == entries
        assert journal.entries(1, 2) == entries[1:3]
        assert journal.entries(1, 9, until=4) == entries[1:4]
        assert journal.last() == entries[-1]
        assert journal.find("shop", "e3") == entries[3]
        assert journal.find("other", "e3") is None
        assert broken(journal) == []
    after = place.journal.append([Draft("", TICK, "", b"{}")])[0][0]
    assert after.seq == 6
    assert broken(place.journal) == []


def test_an_empty_journal_has_nothing(place: Place) -> None:
    assert place.journal.last() is None
    assert place.journal.entries(0, 10) == []
    assert place.journal.append([]) == []
    assert place.journal.changes() == []


def test_who_reads_one_moment_sees_nothing_that_comes_after(place: Place) -> None:
    journal = place.journal
    journal.append([decision("e1")])
    with journal.still() as still:
        journal.append([decision("e2")])
        journal.erase([1])
        assert [one.id for one in still.entries(0, 9)] == ["e1"]
    assert [one.id for one in journal.entries(0, 9)] == ["", "e2"]


def test_an_event_is_decided_once(place: Place) -> None:
    (first, fresh), (again, new) = place.journal.append([decision("e", b"1"), decision("e", b"2")])
    assert (fresh, new) == (True, False)
    assert again == first
    assert place.journal.append([decision("e", b"3")]) == [(first, False)]
    (other, elsewhere), (reward, _) = place.journal.append([decision("e", loop="b"), Draft("shop", REWARD, "e", b"{}")])
    assert elsewhere
    assert (other.seq, reward.seq) == (2, 3)


def test_a_key_is_used_once_in_a_loop(place: Place) -> None:
    reward = Draft("shop", REWARD, "e", b"1", "k")
    (first, fresh), (same, new) = place.journal.append([reward, Draft("shop", REWARD, "f", b"2", "k")])
    assert (fresh, new, same) == (True, False, first)
    assert place.journal.append([reward, decision("g", key="k")]) == [(first, False), (first, False)]
    ((there, _),) = place.journal.append([decision("there")])
    assert place.journal.append([decision("there", key="k"), decision("there", key="l")]) == [
        (first, False),
        (there, False),
    ]
    assert (place.journal.keyed("shop", "k"), place.journal.keyed("shop", "l")) == (first, None)
    assert place.journal.append([Draft("b", REWARD, "e", b"1", "k")])[0][1]
    assert place.journal.append([Draft("shop", REWARD, "e", b"1")])[0][1]


def test_what_is_joined_to_what_is_there_already_is_not_appended(place: Place) -> None:
    journal = place.journal
    ((first, _),) = journal.append([Draft("shop", SETTINGS, "", b"{}", "settings:0")])
    later = [Draft("shop", SETTINGS, "", b"[]", "settings:0"), Draft("shop", POLICY, "1", b"{}", "p", joined=True)]
    assert journal.append(later) == [(first, False), (first, False)]
    new = [msgspec.structs.replace(later[0], key="settings:1"), later[1]]
    assert [fresh for _, fresh in journal.append(new)] == [True, True]
    assert [one.kind for one in journal.entries(0, 10)] == [SETTINGS, SETTINGS, POLICY]


def test_of_is_the_decision_that_was_there(place: Place) -> None:
    early = place.journal.append([Draft("shop", REWARD, "e", b"0")])[0][0]
    drafts = [decision("e"), Draft("shop", REWARD, "e", b"1"), Draft("shop", ACTIVATION, "e", b"{}")]
    one, reward, activation = (entry for entry, _ in place.journal.append(drafts))
    later = place.journal.append([Draft("shop", REWARD, "e", b"2"), Draft("b", REWARD, "e", b"3")])
    assert (early.of, one.of, reward.of, activation.of) == (None, None, one.seq, one.seq)
    assert [entry.of for entry, _ in later] == [one.seq, None]
    assert place.journal.of(one.seq) == [reward, activation, later[0][0]]


def test_changes_are_settings_policies_and_erasures(place: Place) -> None:
    kinds = [SETTINGS, DECISION, POLICY, REWARD, ERASURE, TICK]
    place.journal.append([Draft("shop", kind, "e", b"{}") for kind in kinds])
    assert [entry.kind for entry in place.journal.changes()] == [SETTINGS, POLICY, ERASURE]


@pytest.mark.parametrize(
    "change",
    [
        "body = '{\"k\": 9}'",
        "at = at + 1",
        "kind = 'tick'",
        "id = 'else'",
        "of = 1",
        "key = 'another'",
        "loop = 'another'",
        "told_sha256 = sha256",
        "salt = told_sha256",
        "body = NULL",
        "body = NULL, salt = NULL, key = NULL",
        "key = NULL",
    ],
)
def test_tampering_breaks_the_chain(place: Place, change: str) -> None:
    place.journal.append([decision(f"e{k}", b'{"k": 1}', f"k{k}") for k in range(4)])
    assert broken(place.journal) == []
    place.behind(f"UPDATE entry SET {change} WHERE seq = 2")
    assert broken(place.journal) == [2]


def test_an_entry_that_is_taken_out_breaks_the_chain(place: Place) -> None:
    place.journal.append([decision(f"e{k}") for k in range(4)])
    place.behind("DELETE FROM entry WHERE seq = 2")
    assert broken(place.journal) == [3]


def test_what_is_erased_is_gone_and_the_chain_holds(place: Place, tmp_path: Path) -> None:
    person = b"a person of note"
    drafts = [decision("e of " + person.decode(), b'{"who": "%b"}' % person, "k of " + person.decode())]
    place.journal.append([*drafts, decision("f", b"2")])
    assert place.journal.erase([1]) == 1
    assert place.journal.erase([1]) == 0
    gone, other = read(place.journal)
    assert (gone.id, gone.key, gone.body, gone.salt) == ("", None, None, None)
    assert (other.id, other.body) == ("f", b"2")
    assert broken(place.journal) == []
    assert place.journal.lead()
    assert place.journal.scrub()
    for file in (tmp_path / "here").glob("journal*"):
        assert person not in file.read_bytes()
    assert place.journal.append(drafts)[0][1], "nobody knows that its id was used"
    assert place.journal.append([decision("g")])[0][0].seq == 4


def test_what_was_erased_cannot_be_found_by_trying(place: Place) -> None:
    """The same entries have other hashes: without the salt, hashes of all that may have been say nothing."""
    reward = Draft("shop", REWARD, "e", b'{"value":0.25}')
    one, other = (entry for entry, _ in place.journal.append([reward, reward]))
    assert one.told_sha256 != other.told_sha256
    assert one.salt is not None
    assert len(one.salt) == 16
    place.journal.erase([1])
    gone = place.journal.entries(0, 1)[0]
    left = msgspec.structs.astuple(gone)
    assert not any(one.salt in value for value in left if isinstance(value, bytes))


def test_the_disk_forgets_when_nobody_reads(tmp_path: Path) -> None:
    """One who reads the file keeps the log from being emptied: that is said at once, and it is done afterwards."""
    journal = Sqlite(tmp_path)
    journal.append([decision("e", b'{"who": "a person of note"}'), decision("f")])
    with closing(sqlite3.connect(tmp_path / "journal.sqlite3", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchall()
        journal.erase([1])
        start = time.monotonic()
        assert not journal.scrub()
        assert time.monotonic() - start < 5.0
        journal.append([decision("g")])
        reader.execute("COMMIT")
    assert journal.scrub()
    assert all(b"a person of note" not in one.read_bytes() for one in tmp_path.iterdir())
    journal.close()


def test_what_is_looked_for_is_found_without_the_rest(place: Place) -> None:
    journal = place.journal
    assert journal.span("shop") is None
    bodies = [b'{"unit":"a%b"}', b'{"unit":"a%bc"}', b'{"unit":"A%B"}', b'{"unit":"x\\u0000","note":"\xff"}']
    drafts = [decision(f"e{k}", body) for k, body in enumerate(bodies)]
    drafts += [
        decision("other", bodies[0], loop="other"),
        Draft("shop", "reward", "e0", b"{}"),
        Draft("", "tick", "", b"{}"),
    ]
    entries = [entry for entry, _ in journal.append(drafts)]
    assert [one.id for one in journal.holding("shop", b'"a%b"')] == ["e0"]
    assert [one.id for one in journal.holding("shop", b"\xff")] == ["e3"]
    assert journal.kept("shop", 9) == [1, 2, 3, 4, 6]
    assert journal.span("shop") == (entries[0].at, entries[3].at)
    assert journal.speaking("shop", ["e0", "e2", "none"]) == [1, 3, 6]
    assert journal.speaking("shop", []) == []
    journal.erase([1, 4])
    assert journal.speaking("shop", ["e0"]) == [], "what speaks of a decision goes with it"
    assert journal.kept("shop", 5) == [2, 3]
    assert journal.holding("shop", b'"a%b"') == []
    assert journal.span("shop") == (entries[1].at, entries[2].at)


def test_facts_are_replaced_and_the_first_of_a_name_stays(place: Place) -> None:
    journal = place.journal
    journal.put("key/a", b"1")
    journal.put("key/a", b"2\x00")
    journal.put("key/b", b"3")
    journal.put("keys", b"4")
    assert journal.fact("key/a") == b"2\x00"
    assert journal.facts("key/") == {"key/a": b"2\x00", "key/b": b"3"}
    journal.put("key/a", None)
    assert journal.fact("key/a") is None
    assert (journal.first("once", b"1"), journal.first("once", b"2")) == (b"1", b"1")
    assert place.again().facts("") == {"key/b": b"3", "keys": b"4", "once": b"1"}


def test_time_grows_though_the_clock_goes_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1000, 400, 300, 5000, 7])
    monkeypatch.setattr(store, "now", lambda: next(clock))
    place.journal.append([decision("a"), decision("b")])
    place.journal.append([decision("c")])
    place.again().append([decision("d"), decision("e")])
    assert [entry.at for entry in read(place.journal)] == [1000, 1001, 1002, 5000, 5001]


def test_a_backup_is_a_journal_that_can_be_opened(place: Place, tmp_path: Path) -> None:
    place.journal.append([decision(f"e{k}", bytes([k])) for k in range(3)])
    place.journal.put("secret/shop", b"\x00\xff")
    file = tmp_path / "copy" / "journal.sqlite3"
    file.parent.mkdir()
    place.journal.backup(str(file))
    with pytest.raises(JournalError, match="never replaces"):
        place.journal.backup(str(file))
    copy = Sqlite(file.parent)
    assert list(read(copy)) == list(read(place.journal))
    assert copy.facts("") == {"secret/shop": b"\x00\xff"}
    assert broken(copy) == []
    assert copy.append([decision("e1"), decision("new")])[1][0].seq == 4
    copy.close()


def test_concurrent_appends_are_one_chain(place: Place) -> None:
    def some(part: int) -> list[tuple[Entry, bool]]:
        return [writer.put(decision(f"e{k}", key=f"{part}-{k}")).result() for k in range(40)]

    writer = Writer(place.journal, lambda found: None)
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(some, range(8)))
    writer.close()
    assert [sum(fresh for entries in told for entry, fresh in entries if entry.id == f"e{k}") for k in range(40)] == (
        [1] * 40
    )
    assert len(list(read(place.journal))) == 40
    assert broken(place.journal) == []


def test_ids_that_a_store_cannot_keep_are_refused_before_they_are_written() -> None:
    for id in ("a\0b", "\ud800"):
        with pytest.raises(ValueError, match="an id or key must be text"):
            decision(id)
        with pytest.raises(ValueError, match="an id or key must be text"):
            decision("e", key=id)
    assert decision("ä𝔘").id == "ä𝔘"


# One store's own.


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


def test_a_database_that_is_no_journal_is_refused(postgres: Server) -> None:
    url = postgres.database()
    with pytest.raises(JournalError, match="has no journal"):
        Postgres(url, serving=False)
    Postgres(url).close()
    Postgres(url, serving=False).close()
    with psycopg.connect(url) as db:
        db.execute("COMMENT ON TABLE entry IS 'format 9'")
    with pytest.raises(JournalError, match="format 9"):
        Postgres(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hid%20den@127.0.0.1:1/x",
        "postgresql://me:hid%20den@127.0.0.1:nowhere/x",
        "postgresql:/me:hid%20den@127.0.0.1:1/x",
        "host=127.0.0.1 port=1 password='hid den' dbname=x",
    ],
)
def test_an_error_never_tells_the_password(url: str) -> None:
    with pytest.raises(JournalError) as caught:
        Postgres(url)
    assert "hid" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_durability_is_what_the_database_is_told(postgres: Server) -> None:
    url = postgres.database()
    for durability, told in (("full", "on"), ("process", "off")):
        journal = Postgres(url, durability=durability)
        with journal._writing.open() as db:
            assert db.execute("SHOW synchronous_commit").fetchall() == [(told,)]
        journal.close()


def test_a_database_that_was_killed_is_found_again(postgres: Server) -> None:
    journal = Postgres(postgres.database())
    journal.append([decision("a")])
    assert journal.lead()
    postgres.stop("immediate")
    with pytest.raises(JournalError, match="database 'journal_"):
        journal.append([decision("b")])
    with pytest.raises(JournalError):
        journal.last()
    postgres.start()
    with pytest.raises(JournalError):
        journal.lead()
    assert journal.lead()
    assert [entry.id for entry in read(journal)] == ["a"]
    assert journal.append([decision("a"), decision("c")])[1][0].seq == 2
    assert broken(journal) == []
    journal.close()


def test_one_process_leads_at_a_time(postgres: Server) -> None:
    url = postgres.database()
    one, other = Postgres(url), Postgres(url)
    assert [one.lead(), other.lead(), one.lead(), other.lead()] == [True, False, True, False]
    one.close()
    while not other.lead():  # the database notices at once that the other has gone
        pass
    other.close()


_APPENDS = """
import sys
from marginbandits.service.journal import Draft
from marginbandits.service.postgres import Postgres
journal = Postgres(sys.argv[1])
journal.first("secret", sys.argv[2].encode())
for k in range(50):
    drafts = [Draft("shop", "decision", f"e{k}", b"{}"), Draft("shop", "decision", f"{sys.argv[2]}-{k}", b"{}")]
    print(sum(fresh for _, fresh in journal.append(drafts)))
"""


def test_processes_append_to_one_chain(postgres: Server) -> None:
    url = postgres.database()
    processes = [
        subprocess.Popen([sys.executable, "-c", _APPENDS, url, str(k)], stdout=subprocess.PIPE, text=True)
        for k in range(3)
    ]
    told = [process.communicate(timeout=120)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum(int(one) for lines in told for one in lines) == 50 + 3 * 50
    journal = Postgres(url)
    entries = list(read(journal))
    assert [entry.seq for entry in entries] == list(range(1, 201))
    assert len({entry.id for entry in entries}) == 200
    assert all(one.at < other.at for one, other in itertools.pairwise(entries))
    assert broken(journal) == []
    assert journal.fact("secret") in (b"0", b"1", b"2")
    journal.close()


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
