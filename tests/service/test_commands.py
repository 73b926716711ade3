"""The commands around a journal: what they print, and that nothing a user can cause is a traceback."""

import contextlib
import re
import socket
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from marginbandits.cli import main
from marginbandits.service.journal import POLICY
from marginbandits.service.keys import Keys
from marginbandits.service.records import Policy, Settings, decode
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture
def folder(opened: Callable[..., Shop], tmp_path: Path) -> Path:
    """A folder with a loop of twelve events, that nobody serves."""
    shop = opened(Settings(window=5))
    shop.play(12)
    shop.close()
    shop.close = lambda: None  # type: ignore[method-assign]  # it is
    return tmp_path


def test_a_sound_journal(folder: Path) -> None:
    told = run("replay", str(folder), "--verify")
    assert told.exit_code == 0, told.output
    assert "12 decisions were drawn, 12 laws were made again" in told.output
    assert re.search(r"model of shop: [0-9a-f]{64} \(policy 1 after 12 events, as kept at entry \d+\)\n", told.output)
    told = run("doctor", str(folder))
    assert told.exit_code == 0, told.output
    assert "the chain is whole" in told.output
    entries = [
        run(*words).output.partition(" entries")[0] for words in (["doctor", str(folder)], ["replay", str(folder)])
    ]
    assert entries[0] == entries[1], "both count the same"
    assert "shop: 12 decisions, 0 open; 12 rewarded" in told.output


def test_an_altered_entry_is_named_and_nothing_is_called_chained(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3")) as db:
        db.execute("UPDATE entry SET body = x'7b7d' WHERE seq = 6")
        db.commit()
    told = run("replay", str(folder), "--verify")
    assert told.exit_code == 1
    assert re.match(r"the chain of \d+ entries is broken, and nothing was made again from it\n", told.output), (
        told.output
    )
    assert "are chained" not in told.output
    assert "wrong: entry 6 (" in told.output
    told = run("doctor", str(folder))
    assert told.exit_code == 1
    assert "look: entry 6: not what was written; a backup that is whole has it\n" in told.output
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3")) as db:
        db.execute("UPDATE entry SET body = x'7b7d'")
        db.commit()
    assert re.search(
        r"look: entries 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and \d+ more: not", run("doctor", str(folder)).output
    )


def test_a_backup_to_no_folder_blames_that(folder: Path) -> None:
    told = run("journal", "backup", str(folder), str(folder / "nowhere" / "copy.sqlite3"))
    assert told.exit_code == 2
    assert f"there is no folder {folder / 'nowhere'}" in told.output
    assert "the journal of" not in told.output


def test_out_copied_and_in_again(folder: Path) -> None:
    told = run("journal", "export", str(folder), str(folder / "shop.jsonl"), "--loop", "shop")
    assert "12 events" in told.output, told.output
    other = folder / "other"
    other.mkdir()
    told = run("journal", "backup", str(folder), str(other / "journal.sqlite3"))
    assert told.exit_code == 0, told.output
    assert run("replay", str(other), "--verify").exit_code == 0
    wanted = ["journal", "warm", str(other), str(folder / "shop.jsonl"), "--loop", "new"]
    assert "has no loop 'new': is it spelt so? --new makes it" in run(*wanted).output
    told = run(*wanted, "--new", "--learner", "LogisticTS(scale=1)")
    assert "12 events learnt, 0 were there already" in told.output, told.output
    assert "--learner is of a loop that is made, and 'new' is there" in run(*wanted, "--learner", "RegCB").output
    told = run(*wanted)
    assert "0 events learnt, 12 were there already" in told.output, told.output
    assert run("replay", str(other), "--verify").exit_code == 0
    with contextlib.closing(Sqlite(other, serving=False)) as journal:
        policies = [decode(Policy, one.body or b"") for one in journal.changes() if one.kind == POLICY]
    assert (policies[-1].learner, policies[-1].parameters) == ("LogisticTS", {"scale": 1})


def test_the_model_is_told_with_what_it_is_of(opened: Callable[..., Shop], tmp_path: Path) -> None:
    """Until the next checkpoint the model that is kept is that of the policy before."""
    shop = opened(Settings(window=5))
    shop.play(12)
    shop.service._keep()
    shop.service.set("shop", {}, Policy("RegCB"))
    told = run("replay", str(tmp_path)).output
    assert re.search(
        r"\(policy 1 after 12 events, as kept at entry (\d+), of \d+: what came since is not kept yet\)", told
    )
    shop.service._keep()
    assert "(policy 2 after 12 events, as kept at entry" in run("replay", str(tmp_path)).output


def test_a_key_before_anything_else(tmp_path: Path) -> None:
    data = str(tmp_path / "new")
    wanted = ["keys", "make", "--data", data, "--loop", "shop", "--scope", "decide", "--scope", "reward"]
    assert "has no journal" in run(*wanted).output
    assert not (tmp_path / "new").exists(), "a folder that is not there is perhaps another's name, mistyped"
    told = run(*wanted, "--new")
    secret = told.stdout.strip()
    assert secret.startswith("mb_")
    assert "from now on every request needs a key" in told.stderr
    second = run(*wanted, "--new")
    assert "from now on" not in second.stderr
    listed = run("keys", "list", "--data", data).output
    for line, one in zip(listed.splitlines(), (told, second), strict=True):
        assert f"revoked by {line.split()[0]}" in one.stderr
    assert "'shop' has two keys for decide, reward" in run(*wanted, "--new").output
    assert "revoked" in run("keys", "revoke", "--data", data, listed.splitlines()[1].split()[0]).output
    listed = run("keys", "list", "--data", data).output
    assert "decide,reward" in listed
    assert secret not in listed
    assert "revoked" in run("keys", "revoke", "--data", data, listed.split()[0]).output
    assert run("keys", "list", "--data", data).output == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replay", "nowhere"], "nowhere has no journal"),
        (["doctor", "nowhere"], "nowhere has no journal"),
        (["journal", "export", "nowhere", "x.jsonl", "--loop", "shop"], "nowhere has no journal"),
        (["keys", "list", "--data", "nowhere"], "nowhere has no journal"),
        (["keys", "list"], "give either --data FOLDER or --database URL"),
        (["serve"], "give either --data FOLDER or --database URL"),
        (["serve", "--data", "new", "--host", "0.0.0.0"], "without a key, only this machine is served"),
        (["serve", "--database", "mysql://x:hush@y"], "--database must be postgresql://…, got 'mysql://'"),
        (["keys", "list", "--database", "shop"], "--database must be postgresql://…, got 'shop'"),
        (["doctor", "mysql://x:hush@y"], "a journal is in a folder or at postgresql://…, and mysql://… is neither"),
        (["doctor", "postgres//x:hush@y"], "a journal is in a folder or at postgresql://…, and postgres//… is neither"),
        (["doctor", "postgresql:/x"], "a journal is in a folder or at postgresql://…, and postgresql:/… is neither"),
        (["doctor", "postgres"], "a journal is in a folder or at postgresql://…, and postgres… is neither"),
        (["serve", "--data", "postgresql://x"], "and postgresql:/… is neither"),
        (["keys", "make", "--data", "new", "--scope", "read", "--loop", "", "--new"], "a loop's name must be"),
        (["keys", "make", "--data", "new", "--scope", "all", "--new"], "scope must be one of"),
        (
            ["keys", "make", "--data", "new", "--scope", "everything"],
            "scope must be one of decide, reward, read, admin",
        ),
        (["replay", "postgresql://nobody:hush@127.0.0.1:1/none"], "database 'none' at 127.0.0.1"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = run(*words)
    assert told.exit_code in (1, 2)
    assert isinstance(told.exception, SystemExit), told.exception
    assert message in told.output
    assert "hush" not in told.output
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_start_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = run("serve", "--data", str(tmp_path / "new"), "--port", str(taken.getsockname()[1]))
    assert "cannot be listened on" in told.output
    assert not (tmp_path / "new").exists()


def test_a_key_for_a_loop_that_is_not_there(folder: Path) -> None:
    wanted = ["keys", "make", "--data", str(folder), "--scope", "decide", "--loop"]
    told = "there is no loop 'shp' (--new is for one that is yet to be made); did you mean 'shop'?"
    assert told in run(*wanted, "shp").output
    assert run("keys", "list", "--data", str(folder)).output == ""
    assert run(*wanted, "shop").exit_code == 0


def test_two_of_a_kind_though_many_try_at_once(folder: Path) -> None:
    def make(k: int) -> bool:
        with contextlib.closing(Sqlite(folder, serving=False)) as journal:
            try:
                return bool(Keys(journal).make("shop", ["read"]))
            except ValueError:
                return False

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(make, range(8))) == 2
    assert len(run("keys", "list", "--data", str(folder)).output.splitlines()) == 2


def test_a_file_is_no_folder(folder: Path) -> None:
    file = folder / "journal.sqlite3"
    for words in (["doctor"], ["replay"]):
        told = run(*words, str(file))
        assert f"{file} is a file, and a journal is named by its folder: say {folder}" in told.output
    run("journal", "backup", str(folder), str(folder / "copy"))
    assert "a copy is served as journal.sqlite3 in one" in run("doctor", str(folder / "copy")).output


def test_a_learner_of_a_fixed_number_of_actions_is_told_why(folder: Path) -> None:
    run("journal", "export", str(folder), str(folder / "shop.jsonl"), "--loop", "shop")
    words = ["journal", "warm", str(folder), str(folder / "shop.jsonl"), "--loop", "other", "--new", "--learner"]
    told = run(*words, "Mixture").output
    assert "Mixture cannot be served: it chooses among a fixed number of actions" in told
    assert "no learner is called 'Mixtur'" in run(*words, "Mixtur").output


def test_a_copy_ends_however_much_is_written(folder: Path) -> None:
    """A thread writes all the while, faster than a thousand pages are copied."""
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3", timeout=30)) as db:
        db.execute("CREATE TABLE filler (body BLOB)")
        db.executemany("INSERT INTO filler VALUES (?)", ((bytes(100_000),) for _ in range(100)))
        db.commit()
    ended = threading.Event()

    def write() -> None:
        with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3", timeout=30)) as db:
            db.execute("PRAGMA synchronous = OFF")
            while not ended.is_set():
                db.execute("INSERT INTO filler VALUES (?)", (b"more",))
                db.commit()

    writing = threading.Thread(target=write)
    writing.start()
    copying = threading.Thread(target=run, args=("journal", "backup", str(folder), str(folder / "copy")), daemon=True)
    copying.start()
    copying.join(20)
    ended.set()
    writing.join()
    assert not copying.is_alive()
    assert not list(folder.glob(".*.partial*"))
    with contextlib.closing(sqlite3.connect(folder / "copy")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_help_says_that_a_database_is_a_place_too() -> None:
    for words in (["replay"], ["doctor"], ["journal"]):
        assert "postgresql://" in run(*words, "--help").output
    told = run("serve", "--help").output
    assert "\\b" not in told
    assert '\'{"new": true, "settings": {"window": 60}}\'\n' in told, "a line of its own"


def test_a_folder_that_is_served_is_not_served_twice(opened: Callable[..., Shop], tmp_path: Path) -> None:
    opened(Settings())
    told = run("serve", "--data", str(tmp_path))
    assert told.exit_code == 1
    assert "is served by another process" in told.output
    assert isinstance(told.exception, SystemExit)
