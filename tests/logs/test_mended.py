"""Logs that once passed without a word, and numbers that were sure of what nobody knows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.evaluation.off_policy.evidence import Evidence
from marginbandits.evaluation.off_policy.judging import value

HEADER = "action,reward,probability,note\n"


def test_a_quote_left_open_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text(HEADER + "a,1,.5,hi\n" * 10 + 'b,0,.5,"hi\n' + "b,0,.5,hi\n" * 500)
    with pytest.raises(ValueError, match=r"line 12: not CSV.*501 lines in one cell: was a quote left open"):
        mb.read_log(file).rounds()
    file.write_text(HEADER + "a,1,.5,hi\n" + 'b,0,.5,"hi\n' + "b,0,.5,hi\n" * 500 + 'b,0,.5,"hi"\n' + "b,0,.5,hi\n")
    with pytest.raises(ValueError, match="was a quote left open"):
        mb.read_log(file).rounds()
    file.write_text(HEADER + 'a,1,.5,"two\nlines"\nb,0,.5,hi\n')
    assert len(mb.read_log(file).rounds()) == 2


def test_one_word_does_not_make_a_column_of_numbers_one_of_words(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    rows = [f"{age},a,1,0.5" for age in range(20, 60)]
    file.write_text("\n".join(["age,action,reward,probability", *rows[:30], "3l,a,0,0.5", *rows[30:]]) + "\n")
    with pytest.raises(ValueError, match=r"line 32: column 'age' has '3l' among numbers.*words=\['age'\]"):
        mb.read_log(file).rounds()
    log = mb.read_log(file, bad="skip")
    assert log.rounds().contexts.shape == (40, 1)
    assert log.report is not None
    assert log.report.skipped == {"a word among numbers": 1}
    assert mb.read_log(file, words=["age"]).rounds().contexts[30] == {"age": "3l"}
    with pytest.raises(ValueError, match="words: the context has no column 'agg'; did you mean 'age'"):
        mb.read_log(file, words=["agg"])


@pytest.mark.parametrize("kind", ["frame", "jsonl"])
def test_codes_are_words_where_that_is_said(tmp_path: Path, kind: str) -> None:
    entries = {"area": [10, 20, None], "action": [0, 1, 0], "reward": [0, 1, 1], "probability": [0.5] * 3}
    source: Any = pyarrow.table(entries)
    if kind == "jsonl":
        source = tmp_path / "log.jsonl"
        source.write_text("".join(json.dumps(one) + "\n" for one in pyarrow.table(entries).to_pylist()))
    assert [one["area"] for one in mb.read_log(source, words=["area"]).rounds().contexts] == ["10", "20", None]


def test_times_that_some_events_have_are_kept(tmp_path: Path) -> None:
    some = mb.Rounds(
        None, np.array([0, 1]), np.zeros(2), np.full(2, 0.5), times=["2024-01-01", None], labels=("a", "b")
    )
    mb.write_log(some, tmp_path / "log.dsjson")
    log = mb.read_log(tmp_path / "log.dsjson", actions=["a", "b"], chunk=1)
    assert log.rounds().times == ["2024-01-01", None]


def test_actions_of_two_kinds_are_no_column_of_parquet(tmp_path: Path) -> None:
    some = mb.Rounds(None, np.array([0, 1]), np.zeros(2), np.full(2, 0.5), labels=("a", 1))
    with pytest.raises(ValueError, match=r"words or numbers, and actions are both: \('a', 1\)"):
        mb.write_log(some, tmp_path / "log.parquet")
    assert not list(tmp_path.iterdir())


def test_nothing_is_drawn_with_next_to_no_probability(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="probabilities must lie above 0 and at most at 1, got 1e-16 in round 1"):
        mb.Rounds(None, np.array([0, 1]), np.zeros(2), np.array([0.5, 1e-16]), labels=("a", "b"))
    (tmp_path / "log.csv").write_text("x,action,reward,probability\n1,a,0,0.5\n1,b,1,1e-320\n")
    with pytest.raises(ValueError, match=r"line 3: probability must be .*at least 1e-15, got '1e-320'"):
        mb.read_log(tmp_path / "log.csv").rounds()


@pytest.mark.parametrize("command", [["evaluate", "--policy", "always:a", "--out"], ["learn", "--out"], ["convert"]])
def test_a_log_is_never_written_over(tmp_path: Path, command: list[str]) -> None:
    file, link = tmp_path / "log.jsonl", tmp_path / "link.jsonl"
    file.write_text('{"action": "a", "reward": 1, "probability": 0.5}\n' * 2)
    before = file.read_bytes()
    link.symlink_to(file)
    name, *options = command
    found = CliRunner().invoke(main, [name, str(file), *options, str(link)])
    assert found.exit_code != 0
    assert "is the log itself" in found.output
    assert file.read_bytes() == before


def test_a_file_that_changes_between_two_passes_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("x,action,reward,probability\n" + "1,a,1,.5\n2,b,0,.5\n" * 20)
    log = mb.read_log(file)
    assert len(log.rounds()) == 40
    file.write_text(file.read_text() + "1,a,1,.5\n")
    with pytest.raises(ValueError, match=r"log\.csv has changed since it was first read"):
        log.rounds()


def test_keys_in_two_files_are_found_where_files_are_read_apart(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"x": [1.0, 2.0], "action": ["a", "b"], "reward": [1.0, 0.0], "probability": [0.5, 0.5]}
    for name, keys in (("one", ["k", "l"]), ("two", ["m", "k"])):
        parquet.write_table(pyarrow.table({**columns, "key": keys}), tmp_path / f"{name}.parquet")
    log = mb.read_log(tmp_path)
    with pytest.raises(ValueError, match=r"two losses for one decision|key"):
        mb.evaluate("a", log, method="ips")
    with pytest.raises(ValueError, match="1 keys are in more than one file"):
        mb.evaluate("a", log, method="ips", spread=map)


def test_rows_that_files_leave_out_are_counted(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name in ("one", "two"):
        columns = {"x": [1.0] * 9, "action": ["a", "b", "a"] * 3, "reward": [1.0] * 8 + [7.0], "probability": [0.5] * 9}
        parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
    log = mb.read_log(tmp_path, bad="skip")
    mb.evaluate("a", log, method="ips", spread=map)
    assert log.report is not None
    assert (log.report.rounds, sum(log.report.skipped.values())) == (16, 2)


def test_values_are_told_in_the_numbers_of_the_log(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("x,action,reward,probability\n" + "1,a,100,.5\n2,b,400,.5\n" * 50)
    log = mb.read_log(file, reward_range=(0, 500))
    found = mb.evaluate("b", log, method="snips", outcome="reward", interval="bernstein")
    assert found.given.mean == pytest.approx(400.0)
    assert "Between 0 and 500 that is 400 (" in str(found)
    apart = mb.evaluate("b", log, method="snips", outcome="reward", interval="bernstein", against="a")
    assert apart.given.mean == pytest.approx(300.0)
    assert mb.evaluate("b", log, method="snips", outcome="loss").within is None  # losses of a log of rewards


def test_of_two_policies_that_were_never_taken_nothing_is_known() -> None:
    log = mb.Logged(np.ones((50, 1)), [0] * 50, [0.3] * 25 + [0.7] * 25, [0.98] * 50, n_actions=3)
    for method in ("ips", "dr", "clipped"):
        found = mb.evaluate(1, log, against=2, method=method)
        assert (found.low, found.high) == (-1.0, 1.0)
    same = mb.evaluate(1, log, against=1, method="ips")
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("interval", ["sequence", "bernstein"])
def test_where_no_value_is_left_propensities_are_wrong(interval: str) -> None:
    wrong = Evidence(np.full(5000, 10.0), np.tile([0.0, 1.0], 2500))
    found = value(wrong, "snips", interval=interval)
    assert (found.low, found.high) == (0.0, 1.0)
    assert "propensities are not those that its actions were drawn with" in found.warnings[-1]


def test_propensities_of_the_whole_log_make_no_sequence() -> None:
    with pytest.raises(ValueError, match="estimated ones do"):
        value(Evidence([1.0, 1.0], [0.0, 1.0]), "ips", interval="sequence", estimated_propensities=True)


@pytest.mark.parametrize("method", ["ips", "snips", "likelihood"])
def test_terms_that_are_all_alike_make_no_one_sure(method: Any) -> None:
    evidence = Evidence(np.tile([2.0, 0.0], 15), np.zeros(30))
    found = value(evidence, method, interval="likelihood")
    assert (found.low, found.high) == (0.0, 1.0)


def test_likely_intervals_hold_their_value() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 200))
        w = rng.choice([0.0, 2.0, 1e9 if rng.random() < 0.1 else 3.0], n)
        y = (rng.random(n) < 0.1).astype(float)
        if not w.any():
            continue
        for method in ("ips", "snips", "likelihood"):
            found = value(Evidence(w, y), method, interval="likelihood")
            assert found.low <= min(found.value, 1.0) + 1e-9
            assert found.high >= min(found.value, 1.0) - 1e-9
            assert found.high > found.low


@pytest.mark.parametrize(
    "make", [lambda: mb.LinUCB(actions=[2, 1, 0], seed=0), lambda: mb.MarginPolicy(actions=[2, 1, 0])]
)
def test_numbers_are_matched_by_what_they_are_called(make: Any) -> None:
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 3, 900)
    losses = (rng.random(900) < np.array([0.1, 0.5, 0.9])[actions]).astype(float)
    log = mb.Rounds(rng.standard_normal((900, 1)), actions, losses, np.full(900, 1 / 3), labels=(0, 1, 2))
    made = make()
    taught = mb.warm_start(made, log) if isinstance(made, mb.Learner) else made.fit(log)
    assert taught.act([0.0]).action == 0
    assert mb.evaluate(taught, log, method="snips").value < 0.2


def test_numbers_that_are_names_are_asked_for() -> None:
    log = mb.Rounds(np.ones((2, 1)), np.array([0, 1]), np.zeros(2), np.full(2, 0.5), labels=(1, 2))
    for call in (mb.warm_start, mb.evaluate):
        with pytest.raises(ValueError, match=r"must have the log's actions by name: actions=\[1, 2\]"):
            call(mb.LinUCB(2, seed=0), log)


def test_columns_end_with_the_log() -> None:
    log = mb.Rounds(None, np.array([0, 1]), np.zeros(2), np.full(2, 0.5), labels=("a", "b"))
    with pytest.raises(ValueError, match="one entry for each of the log's 2 rounds, got 3"):
        mb.evaluate(["a", "b", "a"], log, method="snips")


def test_ranges_must_be_the_logs(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("x,action,reward,probability\n" + "1,a,10,0.5\n2,b,500,0.5\n" * 5)
    log = mb.read_log(tmp_path / "log.csv", reward_range=(0, 500))
    with pytest.raises(ValueError, match=r"the log's range \(0.0, 500.0\), got \(0.0, 1000.0\)"):
        mb.warm_start(mb.LinUCB(actions=["a", "b"], reward_range=(0, 1000), seed=0), log)
    with pytest.raises(ValueError, match="leave out reward_range"):
        mb.MarginPolicy(reward_range=(0, 1000)).fit(log)
    some = mb.evaluate("a", log.rounds().take(slice(0, 4)), method="snips")
    assert some.outcome == "reward"
    assert some.given.mean == pytest.approx(10.0)
    with pytest.raises(ValueError, match=r"say reward_range=\(low, high\), got '10'"):
        mb.read_log(tmp_path / "log.csv").rounds()


def test_names_find_their_columns_whatever_order_they_come_in() -> None:
    rng = np.random.default_rng(0)
    city, best = rng.integers(0, 40, 4000), rng.integers(0, 2, 40)
    actions = rng.integers(0, 2, 4000)
    losses = (rng.random(4000) > np.where(best[city] == actions, 0.9, 0.1)).astype(float)
    policy = mb.MarginPolicy(n_actions=2, regularisation=1e-3, seed=0)
    policy.fit([{"city": f"city{i}"} for i in city], actions, losses, np.full(4000, 0.5))
    assert (policy.predict([{"city": f"city{i}"} for i in range(40)]) == best).all()


def test_logs_that_are_none() -> None:
    log = mb.Rounds(np.ones((2, 1)), np.array([0, 1]), np.zeros(2), np.full(2, 0.5), labels=("a", "b"))
    for call, words in (
        (lambda: mb.evaluate("a", log, n_actions=3), "n_actions must be the log's 2, got 3"),
        (lambda: mb.evaluate("a", log.take(np.arange(0))), "log has no rounds"),
        (lambda: mb.evaluate("a", "log.csv"), "not the name of a file"),
        (lambda: mb.warm_start(mb.LinUCB(2), "log.csv"), "not the name of a file"),
        (lambda: mb.evaluate(mb.LinUCB, log), "got the class"),
        (lambda: log.take([7]), "rows must be among 2 rounds"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert repr(log) == "<2 rounds of 2 actions>"
    assert len(log.take(np.array([False, True]))) == 1


def test_some_rounds_of_labels_that_offer_less_have_laws_of_all_labels() -> None:
    """As wide as the most that is offered are those of rounds without labels alone."""
    laws = np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
    parts: dict[str, Any] = {"contexts": None, "actions": np.array([0, 1]), "losses": np.zeros(2), "laws": laws}
    offers: Any = [{"a": {}, "b": {}, "c": {}}, {"a": {}, "b": {}}]
    labelled = mb.Rounds(**parts, offers=offers, labels=("a", "b", "c"))
    for log, law in ((labelled, [0.5, 0.5, 0.0]), (mb.Rounds(**parts, offers=offers), [0.5, 0.5])):
        found = log.take([1]).laws
        assert found is not None
        assert found.tolist() == [law]
