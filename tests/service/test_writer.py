"""Nobody is told before the disk has it."""

import threading
import time
from typing import Any, cast

import pytest

from marginbandits.service import writer as writer_module
from marginbandits.service.journal import Draft, Journal
from marginbandits.service.writer import MOST_WAITING, FullError, StalledError, Writer


class Slow:
    """A journal whose disk is done when the test says so."""

    def __init__(self) -> None:
        self.begun, self.done = threading.Event(), threading.Event()
        self.groups: list[int] = []

    def append(self, drafts: list[Draft]) -> list[Any]:
        self.groups.append(len(drafts))
        self.begun.set()
        assert self.done.wait(30)
        if any(one.id == "bad" for one in drafts):
            raise OSError("the disk is full")
        return [(one, True) for one in drafts]


def draft(name: str) -> Draft:
    return Draft("shop", "decision", name, b"{}")


def test_answers_wait_for_the_disk_and_those_who_wait_are_one_group() -> None:
    slow = Slow()
    writer = Writer(cast(Journal, slow), lambda found: None)
    first = writer.put(draft("first"))
    assert slow.begun.wait(30)
    more = [writer.put(draft(str(k))) for k in range(5)]
    assert not first.done()
    assert not any(one.done() for one in more)
    slow.done.set()
    assert [cast(Any, one.result(30)[0]).id for one in (first, *more)] == ["first", "0", "1", "2", "3", "4"]
    assert slow.groups == [1, 5]
    writer.close()


def test_who_waits_for_a_group_that_fails_is_told_and_the_next_is_written() -> None:
    slow = Slow()
    slow.done.set()
    writer = Writer(cast(Journal, slow), lambda found: None)
    with pytest.raises(OSError, match="full"):
        writer.put(draft("bad")).result(30)
    assert cast(Any, writer.put(draft("good")).result(30)[0]).id == "good"
    writer.close()


def test_what_is_under_way_for_long_is_a_failure_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "STALLED", 0.05)
    slow = Slow()
    writer = Writer(cast(Journal, slow), lambda found: None)
    first = writer.put(draft("first"))
    assert slow.begun.wait(30)
    time.sleep(0.1)
    assert isinstance(writer.failure, StalledError)
    slow.done.set()
    first.result(30)
    writer.close()
    assert writer.failure is None


def test_at_the_end_nobody_waits_for_one_failure_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "LARGEST_GROUP", 1)
    slow = Slow()
    writer = Writer(cast(Journal, slow), lambda found: None)
    several = [writer.put(draft(name)) for name in ("good", "bad", "later", "last")]
    ends = threading.Thread(target=writer.close)
    ends.start()
    while not writer._ended:
        time.sleep(0.001)
    slow.done.set()
    ends.join(30)
    assert cast(Any, several[0].result(0)[0]).id == "good"
    for one in several[1:]:
        with pytest.raises(OSError, match="full"):
            one.result(0)
    assert slow.groups == [1, 1]


def test_what_belongs_together_is_in_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the group before is full, and of three that fail all are told."""
    monkeypatch.setattr(writer_module, "LARGEST_GROUP", 4)
    slow = Slow()
    writer = Writer(cast(Journal, slow), lambda found: None)
    writer.put(draft("first"))
    assert slow.begun.wait(30)
    for k in range(3):
        writer.put(draft(str(k)))
    both, bad = writer.put_all([draft("one"), draft("other")]), writer.put_all([draft("a"), draft("bad"), draft("b")])
    slow.done.set()
    assert [cast(Any, entry).id for entry, _ in both.result(30)] == ["one", "other"]
    with pytest.raises(OSError, match="full"):
        bad.result(30)
    assert slow.groups == [1, 3, 2, 3]
    with pytest.raises(ValueError, match="drafts must be 1 to 4, got 5"):
        writer.put_all([draft("")] * 5)
    writer.close()


def test_more_than_can_wait_is_refused_at_once() -> None:
    slow = Slow()
    writer = Writer(cast(Journal, slow), lambda found: None)
    writer.put(draft("first"))
    assert slow.begun.wait(30)
    for k in range(MOST_WAITING):
        writer.put(draft(str(k)))
    with pytest.raises(FullError, match="too much"):
        writer.put(draft("one more"))
    slow.done.set()
    writer.close()
