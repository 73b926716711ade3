"""What `replay --verify` finds: each thing that is not what the journal makes, alone."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from marginbandits.service.checkpoint import Checkpoint
from marginbandits.service.doctor import looked_at
from marginbandits.service.journal import DECISION, START, Draft, JournalError, linked, unbroken
from marginbandits.service.loop import read
from marginbandits.service.model import Model
from marginbandits.service.records import Policy, Settings
from marginbandits.service.replay import Verdict, verified
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.watch import Watch
from tests.service.made import Clock, Shop

Change = Callable[[sqlite3.Connection], object]
GONE = "UPDATE entry SET id = '', key = NULL, body = NULL, salt = NULL WHERE "


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop of thirty events, ten of an apprentice, with a late reward, that nobody serves; nobody was erased."""
    folder = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        shop = Shop(folder, Clock(patch), Settings(window=5, exploration=0.1, holdback=0.2))
        shop.play(20)
        shop.service.set("shop", Settings(window=5, mode="Apprentice"))
        shop.play(10)
        shop.reward(next(one.id for one in read(shop.service.journal) if one.kind == DECISION), 0.25)
        shop.close()
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    """A copy."""
    (tmp_path / "journal.sqlite3").write_bytes((sound / "journal.sqlite3").read_bytes())
    return tmp_path


def ended(shop: Shop) -> None:
    shop.close()
    shop.close = lambda: None  # type: ignore[method-assign]  # it is


def verdict(folder: Path) -> Verdict:
    with closing(Sqlite(folder, serving=False)) as journal:
        return verified(journal)


def behind(folder: Path, change: Change) -> None:
    with closing(sqlite3.connect(folder / "journal.sqlite3")) as db, db:
        change(db)


def kept(**new: Any) -> Change:
    """Something else was kept of the loop; what is a function gets the checkpoint."""

    def change(db: sqlite3.Connection) -> None:
        ((value,),) = db.execute("SELECT value FROM fact WHERE name = 'checkpoint/shop'").fetchall()
        found = msgspec.msgpack.decode(value, type=Checkpoint)
        made = {name: one(found) if callable(one) else one for name, one in new.items()}
        value = msgspec.msgpack.encode(msgspec.structs.replace(found, **made))
        db.execute("UPDATE fact SET value = ? WHERE name = 'checkpoint/shop'", (value,))

    return change


def relinked(of: str, edit: Callable[[dict[str, Any]], object], first: int = 0) -> Change:
    """Bodies of a kind from an entry on are others, and the whole chain is made again; nothing is kept."""

    def change(db: sqlite3.Connection) -> None:
        before, changed = START, False
        columns = "seq, at, loop, kind, id, key, of, body, salt"
        for seq, at, loop, kind, id, key, of_seq, body, salt in db.execute(
            f"SELECT {columns} FROM entry ORDER BY seq"
        ).fetchall():
            if kind == of and seq >= first and body is not None and not changed:
                told = msgspec.json.decode(body)
                changed = edit(told) is not False
                body = msgspec.json.encode(told)
            entry = linked(before, seq, at, Draft(loop, kind, id, body or b"", key), of_seq, salt or b"")
            if body is None:  # what was erased keeps its own hash
                ((told_sha256,),) = db.execute("SELECT told_sha256 FROM entry WHERE seq = ?", (seq,)).fetchall()
                entry = msgspec.structs.replace(entry, body=None, salt=None, told_sha256=told_sha256)
                link = before + msgspec.msgpack.encode((seq, at, loop, kind, of_seq, told_sha256))
                entry = msgspec.structs.replace(entry, sha256=hashlib.sha256(link).digest())
                assert unbroken(before, entry)
            given = entry.body, entry.told_sha256, entry.sha256, seq
            db.execute("UPDATE entry SET body = ?, told_sha256 = ?, sha256 = ? WHERE seq = ?", given)
            before = entry.sha256
        assert changed
        db.execute("DELETE FROM fact WHERE name = 'checkpoint/shop'")

    return change


def another(found: Checkpoint) -> bytes:
    return Model(Policy(number=found.policy)).dumps()[0]


def hashed(found: Checkpoint) -> str:
    return hashlib.sha256(another(found)).hexdigest()


def forged(found: Checkpoint) -> bytes:
    watch = Watch.loads(found.watch)
    for _ in range(300):
        watch._seen.stand.bandit.add(1.0)
    return watch.dumps()


def put(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda told: told.update({name: value(told) if callable(value) else value})


def shadow(told: dict[str, Any]) -> object:
    return put("shadow", lambda told: 1 - told["shadow"])(told) if told.get("mode") == "Apprentice" else False


LOST = "gone, and no erasure names it"
WRONG: dict[str, tuple[Change, str]] = {
    "another model is kept": (kept(model=another, sha256=hashed), "is not the one that the journal makes"),
    "it says that it learnt more": (kept(learnt=lambda one: one.learnt + 1000), "1030 learnt"),
    "its bytes are others": (kept(model=b"no model"), "not what was written"),
    "it is of a policy that never was": (kept(policy=7), "policy 7, which it never had"),
    "the page's sums are others": (kept(watch=forged), "what was counted of 'shop'"),
    "the counts are others": (kept(counts={"rewarded": 1}), "what was counted of 'shop'"),
    "open events are lost": (kept(first=lambda one: one.first - 1), "what was counted of 'shop'"),
    "nothing of it can be read": (
        lambda db: db.execute("UPDATE fact SET value = x'00' WHERE name = 'checkpoint/shop'"),
        "cannot be read",
    ),
    "it is of another loop": (
        lambda db: db.execute(
            "INSERT INTO fact SELECT 'checkpoint/none', value FROM fact WHERE name = 'checkpoint/shop'"
        ),
        "a loop 'none', which is not in the journal",
    ),
    "the end is missing": (
        lambda db: db.execute("DELETE FROM entry WHERE seq > (SELECT max(seq) - 10 FROM entry)"),
        "which is missing now",
    ),
    "a late reward is gone": (
        lambda db: db.execute(GONE + "seq = (SELECT max(seq) FROM entry WHERE kind = 'reward')"),
        LOST,
    ),
    "the last decision is gone": (
        lambda db: db.execute(GONE + "seq = (SELECT max(seq) FROM entry WHERE kind = 'decision')"),
        LOST,
    ),
    "settings are gone": (lambda db: db.execute(GONE + "kind = 'settings'"), LOST),
    "policies are gone": (lambda db: db.execute(GONE + "kind = 'policy'"), LOST),
    "held back or not": (relinked(DECISION, put("held", lambda told: not told.get("held", False))), "was not drawn"),
    "an apprentice would do otherwise": (relinked(DECISION, shadow), "was not drawn"),
    "other probabilities": (relinked(DECISION, put("probabilities", [0.123, 0.877])), "was not drawn"),
    "another law": (relinked(DECISION, put("law", [0.5, 0.25])), "was not drawn"),
    "a law too short": (relinked(DECISION, put("law", [1.0])), "was not drawn"),
    "a baseline that is not there": (relinked(DECISION, put("baseline", 9)), "was not drawn"),
    "other settings": (relinked(DECISION, put("window", 6.0)), "settings that 'shop' did not have"),
    "another range": (relinked(DECISION, put("reward_range", [0.0, 2.0])), "settings that 'shop' did not have"),
    "another policy": (relinked(DECISION, put("policy", 9)), "policy 9, which 'shop' did not have"),
    "learnt before it closed": (relinked(DECISION, put("learnt", 20)), "which came later"),
    "learnt what never closed": (relinked(DECISION, put("learnt", 99)), "which had not closed"),
    "no decision": (relinked(DECISION, put("chosen", "x")), "cannot be read"),
    "no reward": (relinked("reward", put("value", None)), "cannot be read"),
    "no settings": (relinked("settings", put("window", -1)), "cannot be read"),
    "no secret": (lambda db: db.execute("DELETE FROM fact WHERE name = 'secret/shop'"), "was not drawn"),
    "of no kind": (lambda db: db.execute("UPDATE entry SET kind = 'x' WHERE seq = 5"), "is not what was written"),
}


def test_a_sound_one_has_no_faults(folder: Path) -> None:
    found = verdict(folder)
    assert (found.faults, found.decisions, found.laws, found.erased) == ([], 30, 30, 0)
    behind(folder, relinked(DECISION, lambda told: None))
    assert verdict(folder).faults == [], "a chain that is made again from the same is the same"


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_found(folder: Path, what: str) -> None:
    change, message = WRONG[what]
    behind(folder, change)
    found = verdict(folder)
    assert any(message in one for one in found.faults), found.faults


def test_an_erasure_hides_nothing_else(opened: Callable[..., Shop], tmp_path: Path) -> None:
    """Draws from before it are still drawn again; laws from before whoever went are made again."""
    shop = opened(Settings(window=5))
    shop.play(20)
    shop.decide(unit="alice")
    shop.pass_by(10)
    shop.play(5)
    shop.service.erase("shop", "alice")
    shop.play(5)
    ended(shop)
    found = verdict(tmp_path)
    assert (found.faults, found.decisions, found.laws, found.erased) == ([], 31, 25, 6)
    with closing(Sqlite(tmp_path, serving=False)) as journal:
        erased = next(one.seq for one in read(journal) if one.body is None)
    for first in (3, erased):
        copy = tmp_path / f"copy {first}"
        copy.mkdir()
        (copy / "journal.sqlite3").write_bytes((tmp_path / "journal.sqlite3").read_bytes())
        behind(copy, relinked(DECISION, put("chosen", lambda told: 1 - told["chosen"]), first))
        assert any("was not drawn" in one for one in verdict(copy).faults)
    behind(tmp_path, relinked("erasure", put("entries", [])))
    assert any(LOST in one for one in verdict(tmp_path).faults)


def test_what_an_erasure_names_must_be_gone(folder: Path, opened: Callable[..., Shop]) -> None:
    shop = opened()
    shop.decide(unit="alice")
    shop.service.erase("shop", "alice")
    shop.decide()
    shop.pass_by(10)
    ended(shop)
    assert verdict(folder).faults == []
    ((seq,),) = [(one.seq,) for one in _entries(folder) if one.body is None]
    with closing(Sqlite(folder, serving=False)) as journal:
        checkpoint = journal.fact("checkpoint/shop") or b""
    behind(folder, relinked("erasure", put("entries", [seq, 5])))
    assert not any("was to be erased" in one for one in verdict(folder).faults), "it may not have been taken in yet"
    head = _entries(folder)[-1]
    found = msgspec.structs.replace(msgspec.msgpack.decode(checkpoint, type=Checkpoint), head=head.sha256)
    given = "checkpoint/shop", msgspec.msgpack.encode(found)
    behind(folder, lambda db: db.execute("INSERT INTO fact VALUES (?, ?)", given))
    assert any("entry 5 (decision of 'shop') was to be erased" in one for one in verdict(folder).faults)


def _entries(folder: Path) -> list[Any]:
    with closing(Sqlite(folder, serving=False)) as journal:
        return list(read(journal))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DELETE FROM entry WHERE seq > (SELECT max(seq) - 3 FROM entry)", "which is missing now"),
        ("UPDATE entry SET sha256 = x'00' WHERE seq = (SELECT max(seq) FROM entry)", "which is another one now"),
    ],
)
def test_a_journal_whose_end_is_missing_is_not_served(
    folder: Path, opened: Callable[..., Shop], change: str, message: str
) -> None:
    behind(folder, lambda db: db.execute(change))
    with pytest.raises(JournalError, match=f"{message}.*Take a backup that is; or, .* delete 'checkpoint/shop'"):
        opened()
    with closing(Sqlite(folder, serving=False)) as journal:
        assert looked_at(journal).ill
    behind(folder, lambda db: db.execute("DELETE FROM fact WHERE name = 'checkpoint/shop'"))
    assert opened().loop.model.learnt > 20
