"""The bad logs that users meet: each is caught, and named with its row."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import marginbandits as mb
from marginbandits.environments.logs.order import Order
from marginbandits.environments.logs.seen import Seen
from tests.logs.examples import csv_log, event, json_log

GOOD: dict[str, Any] = {"x": 1.0, "action": "a", "reward": 0.5, "probability": 0.5, "key": "k0"}
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"probability": 0}, "probability is 0", "probability must be a number above 0 and at most 1, got .*0"),
    ({"probability": 1.5}, "probability outside (0, 1]", "probability must be .*, got .*1.5"),
    ({"probability": -0.5}, "probability outside (0, 1]", "probability must be .*, got .*-0.5"),
    ({"probability": None}, "no probability", "probability must be .*, got (None|''|nan)"),
    ({"reward": None}, "no reward", r"reward must be a number in \[0, 1\], got (None|''|nan)"),
    (
        {"reward": 2},
        "reward outside its range",
        r"reward must be .* \[0, 1\], or say reward_range=.*, got .*2",
    ),
    ({"action": "z"}, "unknown action", r"action must be one of \['a', 'b'\], got 'z'"),
    ({"action": None}, "unknown action", "action must be one of .*, got (None|'')"),
    ({"key": "k0"}, "the same decision twice", "key 'k0' was there before, with the same reward"),
    (
        {"key": "k0", "reward": 1},
        "two losses for one decision",
        "two losses for one decision: key 'k0' had reward 0.5 before, 1 now",
    ),
]


def log_of(rows: list[dict[str, Any]], kind: str, folder: Path) -> Any:
    if kind == "csv":
        lines = [",".join("" if one[name] is None else str(one[name]) for name in GOOD) for one in rows]
        return csv_log(folder, lines, ",".join(GOOD))
    if kind == "jsonl":
        return json_log(folder, rows)
    frame = pa.table({name: [one[name] for one in rows] for name in GOOD})
    if kind == "frame":
        return frame
    pq.write_table(frame, folder / "log.parquet")
    return folder / "log.parquet"


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv", "jsonl"])
@pytest.mark.parametrize(("change", "reason", "message"), BAD, ids=[str(one[0]) for one in BAD])
def test_bad_rows_are_named_or_counted(
    kind: str, change: dict[str, Any], reason: str, message: str, tmp_path: Path
) -> None:
    rows = [
        GOOD,
        *(GOOD | {"key": f"k{k}"} for k in range(1, 5)),
        GOOD | {"key": "new"} | change,
        GOOD | {"key": "end"},
    ]
    source = log_of(rows, kind, tmp_path)
    place = {"frame": "the frame, row 6", "csv": "log.csv, line 7", "jsonl": "log.jsonl, line 6"}.get(kind, "row 6")
    for chunk in (2, 100):
        options: dict[str, Any] = {"actions": ["a", "b"], "chunk": chunk}
        with pytest.raises(ValueError, match=f"1 row is bad.*\n.*{place}: {message}"):
            mb.read_log(source, **options).rounds()
        log = mb.read_log(source, **options, bad="skip")
        assert len(log.rounds()) == 6
        assert log.report is not None
        assert log.report.skipped == {reason: 1}
        assert place in str(log.report)
    good = [one for k, one in enumerate(rows) if k != 5]
    assert len(mb.read_log(log_of(good, kind, tmp_path), actions=["a", "b"]).rounds()) == 6


def test_nan_rewards_are_named() -> None:
    frame = pa.table({"x": [1.0, 2.0], "action": [0, 1], "reward": [1.0, np.nan], "probability": [0.5, 0.5]})
    with pytest.raises(ValueError, match=r"row 2: reward must be .*, got nan"):
        mb.read_log(frame).rounds()


def test_an_action_that_was_not_available_is_named() -> None:
    frame = pa.table({"x": [1.0], "action": ["c"], "loss": [1.0], "probability": [0.5], "available": [["a", "b"]]})
    with pytest.raises(ValueError, match="row 1: action must be among those available, got 'c'"):
        mb.read_log(frame, actions=["a", "b", "c"]).rounds()
    with pytest.raises(ValueError, match=r"row 1: available must be a list of labels, or 2 booleans, got \['a', 'b'\]"):
        mb.read_log(frame, actions=["a", "c"]).rounds()


def test_several_bad_rows_are_shown_together(tmp_path: Path) -> None:
    path = csv_log(tmp_path, ["1,a,1,0.5", "1,a,1,0"] * 20)
    with pytest.raises(ValueError, match="20 rows are bad") as caught:
        mb.read_log(path).rounds()
    assert [line for line in str(caught.value).splitlines() if "log.csv, line" in line][9].startswith(
        f"  {path}, line 21: probability"
    )
    assert "and 10 more" in str(caught.value)


def test_a_line_cut_short_is_named(tmp_path: Path) -> None:
    whole = json.dumps(GOOD)
    path = json_log(tmp_path, [whole, whole[:-9].replace("k0", "k1"), whole.replace("k0", "k2")])
    with pytest.raises(ValueError, match=r"log.jsonl, line 2: not JSON: .*was the line cut short?"):
        mb.read_log(path).rounds()
    log = mb.read_log(path, bad="skip")
    assert len(log.rounds()) == 2
    path = json_log(tmp_path, [event(), json.dumps(event(EventId="e2"))[:-5]], "log.dsjson")
    with pytest.raises(ValueError, match=r"log.dsjson, line 2: not JSON: .*cut short"):
        mb.read_log(path, reward_range=(0, 1)).rounds()


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.vw"])
def test_mixed_encodings_are_named_with_their_byte(name: str, tmp_path: Path) -> None:
    head, good, bad = {
        "log.csv": (b"x,action,loss,probability\n", b"\xc3\xa9,a,1,0.5\n", b"caf\xe9,a,1,0.5\n"),
        "log.jsonl": (b"", b'{"x":"1","action":"a","loss":1,"probability":1}\n', b'{"caf\xe9":1}\n'),
        "log.vw": (b"", b"1:0:0.5 | caf\xc3\xa9\n", b"1:0:0.5 | caf\xe9\n"),
    }[name]
    (tmp_path / name).write_bytes(head + good + bad + good)
    line, byte = (head.count(b"\n") + 2), bad.index(b"\xe9") + 1
    with pytest.raises(ValueError, match=f"{name}, line {line}: not UTF-8: byte {byte} of the line is 0xe9"):
        mb.read_log(tmp_path / name).rounds()
    log = mb.read_log(tmp_path / name, bad="skip")
    assert len(log.rounds()) == 2
    assert log.report is not None
    assert log.report.skipped == {"not UTF-8": 1}


def test_a_log_sorted_by_reward_is_noted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rewards = (rng.random(400) < 0.3).astype(int)
    for values, noted in ((np.sort(rewards), True), (np.sort(rewards)[::-1], True), (rewards, False)):
        log = mb.read_log(csv_log(tmp_path, [f"1,a,{one},0.5" for one in values]), chunk=37)
        log.rounds()
        assert log.report is not None
        assert ("is the log sorted by reward?" in str(log.report)) is noted


def test_random_order_is_seldom_taken_for_a_sorted_log() -> None:
    """Fewer than one in a thousand: none of 3,000, and with rate 1/1000 that would have probability 0.05.

    A normal approximation alone would take two rare rewards that are neighbours for an order (negative control).
    """
    rng = np.random.default_rng(0)
    for k in range(3000):
        n = (60, 200, 1000)[k % 3]
        losses = (rng.random(n) < (0.5, 0.1, 0.01)[k // 3 % 3]).astype(float) if k % 2 else rng.random(n)
        order = Order()
        order.add(losses[: n // 3])
        order.add(losses[n // 3 :])
        assert not order.sorted
    two = Order()
    two.add(np.repeat([0.0, 1.0, 0.0], [99, 2, 99]))
    assert two.correlation * np.sqrt(200) > 5
    assert not two.sorted


def test_correlation_of_parts_is_that_of_the_whole() -> None:
    losses = np.random.default_rng(1).random(50)
    losses.sort()
    order = Order()
    for part in np.split(losses, [1, 7, 7, 30]):
        order.add(part)
    centred = losses - losses.mean()
    assert abs(order.correlation - (centred[1:] * centred[:-1]).sum() / (centred**2).sum()) < 1e-12
    same = Order()
    same.add(np.full(100, 0.1))
    assert same.correlation == 0


def test_keys_cost_sixteen_bytes_each() -> None:
    seen, plain = Seen(), dict[str, float]()
    rng = np.random.default_rng(0)
    for _ in range(60):
        keys = [f"key {k}" for k in rng.integers(1500, size=50)]
        losses = rng.random(50)
        before = seen.add(keys, losses)
        for key, loss, known in zip(keys, losses.tolist(), before.tolist(), strict=True):
            assert plain.get(key) == (None if np.isnan(known) else known)
            plain.setdefault(key, loss)
    assert seen.n_bytes == 16 * len(plain)


# Hostile files.


def test_huge_lines_and_deep_nesting_cost_nothing(tmp_path: Path) -> None:
    good = json.dumps({"x": 1, "action": "a", "loss": 0, "probability": 1})
    path = tmp_path / "log.jsonl.gz"
    with gzip.open(path, "wb") as file:
        for line in (good, '{"x": "' + "y" * 30_000_000 + '"}', "[" * 100_000, '{"a":' * 20_000, good):
            file.write(line.encode() + b"\n")
    tracemalloc.start()
    log = mb.read_log(path, bad="skip", chunk=2)
    rounds = log.rounds()
    assert tracemalloc.get_traced_memory()[1] < 80e6
    tracemalloc.stop()
    assert len(rounds) == 2
    assert log.report is not None
    assert log.report.skipped == {"line too long": 1, "not JSON": 2}
    assert "line 2: more than 10,000,000 bytes" in str(log.report)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"x,action,loss,probability\n", "has no rounds"),
        (b"x,x,action,loss,probability\n1,1,a,1,1\n", "two columns named 'x'"),
        (b"x,action,loss,probability\n1,a,1\n", "line 2: 3 cells, the header has 4"),
        (b'x,action,loss,probability\n"1,a,1,1\n' + b"1,a,1,1\n" * 20_000, "line 2: not CSV: field larger"),
        (b"x,action,loss,probability\n1e200,a,1,1\n", "line 2: context column 'x' has 1e.200: it must be within"),
        (b"x,action,loss,probability\n1,a,1,1\nw,a,1,1\n", "named=False needs contexts of numbers alone"),
        (b"caf\xe9,action,loss,probability\n1,a,1,1\n", "line 1: not UTF-8: byte 4"),
        (b"x,action,loss,probability\n" + b"".join(b"1,a%d,1,1\n" % k for k in range(20_500)), "more than 10,000"),
    ],
)
def test_strange_csv_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        mb.read_log(tmp_path / "log.csv", named=False).rounds()


def test_a_word_among_numbers_is_bad_once_columns_are_settled(tmp_path: Path) -> None:
    path = csv_log(tmp_path, ["1,a,1,0.5"] * 5 + ["many,a,1,0.5"])
    with pytest.raises(ValueError, match="line 7: column 'age' has 'many' among numbers"):
        mb.read_log(path, chunk=3).rounds()


def test_tampered_files_are_refused(tmp_path: Path) -> None:
    frame = pa.table({"x": [1.0] * 100, "action": [0, 1] * 50, "loss": [1.0] * 100, "probability": [0.5] * 100})
    pq.write_table(frame, tmp_path / "log.parquet")
    content = (tmp_path / "log.parquet").read_bytes()
    for damaged in (b"", content[:50], content[:-20], b"PAR1" + bytes(100) + b"PAR1"):
        (tmp_path / "log.parquet").write_bytes(damaged)
        with pytest.raises(ValueError, match="no sound Parquet file"):
            mb.read_log(tmp_path / "log.parquet")
    packed = gzip.compress(b"1:0:0.5 | a\n" * 1000)
    (tmp_path / "log.vw.gz").write_bytes(packed[:-10])
    with pytest.raises(ValueError, match="compressed file is damaged"):
        mb.read_log(tmp_path / "log.vw.gz").rounds()
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match="two columns named 'x'"):
        mb.read_log(tmp_path / "twice.parquet")


def test_dates_are_no_contexts(tmp_path: Path) -> None:
    when = pa.array([0], pa.timestamp("s"))
    frame = pa.table({"when": when, "action": [0], "loss": [1.0], "probability": [0.5]})
    with pytest.raises(ValueError, match=r"column 'when' holds neither numbers nor text .*time="):
        mb.read_log(frame).rounds()
    assert mb.read_log(frame, time="when").rounds().times == when.to_pylist()
