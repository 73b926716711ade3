"""The journal in a database: what it is told, what it survives, and who leads where several serve it."""

import itertools
import subprocess
import sys

import psycopg
import pytest

from marginbandits.service.journal import (
    JournalError,
)
from marginbandits.service.loop import read
from marginbandits.service.postgres import Postgres
from tests.service.drafts import broken, decision
from tests.service.postgres import Server


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
