"""What every store promises, of both."""

import itertools
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec
import psycopg
import pytest

from marginbandits.service import store
from marginbandits.service.journal import (
    ACTIVATION,
    DECISION,
    ERASURE,
    POLICY,
    REWARD,
    SETTINGS,
    TICK,
    Draft,
    Entry,
    Journal,
    JournalError,
)
from marginbandits.service.loop import read
from marginbandits.service.postgres import Postgres
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.writer import Writer
from tests.service.drafts import broken, decision
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
