"""Logs as users have them: every format gives the rounds it holds, whatever else it has."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import marginbandits as mb
from marginbandits.environments.logs import cells, table
from tests.logs.examples import csv_log, event, json_log

ROWS = ["31,b,1,0.5", "55,a,0,0.25", "20,b,0.5,0.125"]
TABLE = {
    "age": [31.0, 55.0, 20.0],
    "action": ["b", "a", "b"],
    "reward": [1.0, 0.0, 0.5],
    "probability": [0.5, 0.25, 0.125],
}


def sources(folder: Path) -> list[Any]:
    """The same three rounds in every form of table."""
    (folder / "many").mkdir()
    frame = pa.table(TABLE)
    pq.write_table(frame, folder / "log.parquet")
    pq.write_table(frame[:2], folder / "many" / "1.parquet")
    pq.write_table(frame[2:], folder / "many" / "2.parquet")
    path = csv_log(folder, ROWS)
    (folder / "log2.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    return [frame, folder / "log.parquet", str(folder / "many"), path, folder / "log2.csv.gz"]


def test_every_table_gives_the_same_rounds(tmp_path: Path) -> None:
    for source in sources(tmp_path):
        log = mb.read_log(source)
        for chunk in (1, 2, 100):
            rounds = mb.read_log(source, chunk=chunk).rounds()
            assert log.labels == ("a", "b")
            assert rounds.contexts.tolist() == [[31], [55], [20]]
            assert rounds.actions.tolist() == [1, 0, 1]
            assert rounds.losses.tolist() == [0, 1, 0.5]
            assert rounds.probabilities is not None
            assert rounds.probabilities.tolist() == [0.5, 0.25, 0.125]
            assert rounds.columns == ("age",)
        assert [len(one) for one in log] == [len(one) for one in log]  # as often as one likes
        assert log.report is not None
        assert str(log.report) == "3 rounds"


def test_places_name_file_and_row(tmp_path: Path) -> None:
    frame, parquet, folder, path, _ = sources(tmp_path)
    wanted = ["the frame, row 3", f"{parquet}, row 3", f"{Path(folder) / '2.parquet'}, row 1", f"{path}, line 4"]
    for source, place in zip((frame, parquet, folder, path), wanted, strict=True):
        places = mb.read_log(source).rounds().places
        assert places is not None
        assert places[2] == place
        assert places.take(np.array([2]))[0] == place


def test_json_lines_are_names_and_values(tmp_path: Path) -> None:
    rows = [
        {"user": {"age": 31}, "tags": ["new"], "action": 2, "loss": 0.5, "probability": 0.5},
        {"user": {"age": None}, "action": 1, "loss": 0, "probability": 1, "key": "k"},
    ]
    log = mb.read_log(json_log(tmp_path, rows), key="key", bad="skip")
    assert log.rounds().contexts == [{"user": {"age": None}}]  # the first has no key
    del rows[1]["key"]
    rounds = mb.read_log(json_log(tmp_path, rows)).rounds()
    assert rounds.contexts == [{"user": {"age": 31}, "tags": ["new"]}, {"user": {"age": None}}]
    assert rounds.labels == (1, 2)
    assert rounds.actions.tolist() == [1, 0]
    lists = [{"context": [1, 2.5], "action": "a", "reward": 1, "probability": 0.5, "more": 3}] * 2
    assert mb.read_log(json_log(tmp_path, lists)).rounds().contexts.tolist() == [[1, 2.5], [1, 2.5]]


def test_words_and_gaps_make_contexts_names_and_values(tmp_path: Path) -> None:
    header = "age,country,action,loss,probability"
    rounds = mb.read_log(csv_log(tmp_path, ["31,DE,1,0,0.5", ",,2,1,0.5"], header)).rounds()
    assert rounds.contexts == [{"age": 31.0, "country": "DE"}, {"age": None, "country": None}]
    frame = pa.table(
        {"age": [1.5, None], "vip": [True, False], "action": [0, 1], "loss": [0, 1], "probability": [1, 1]}
    )
    assert mb.read_log(frame, named=True).rounds().contexts == [{"age": 1.5, "vip": True}, {"age": None, "vip": False}]
    with pytest.raises(ValueError, match=r"the frame, row 2: context column 'age' has nan: empty; fill it, or .*named"):
        mb.read_log(frame).rounds()


def test_ranges_turn_into_losses(tmp_path: Path) -> None:
    path = csv_log(tmp_path, ["1,a,125,0.5", "2,a,500,0.5"])
    assert mb.read_log(path, reward_range=(0, 500)).rounds().losses.tolist() == [0.75, 0.0]
    with pytest.raises(ValueError, match=r"line 3: reward must be a number in \[0, 200\], got '500'"):
        mb.read_log(path, reward_range=(0, 200)).rounds()
    with pytest.raises(ValueError, match="'reward' is a reward: give reward_range"):
        mb.read_log(path, loss_range=(0, 1))
    with pytest.raises(ValueError, match="give reward_range or loss_range"):
        mb.read_log(path, loss_range=(0, 1), reward_range=(0, 1))


def test_available_actions_and_laws(tmp_path: Path) -> None:
    frame = pa.table(
        {
            "x": [1.0, 2.0],
            "action": ["a", "c"],
            "loss": [0.0, 1.0],
            "probability": [0.5, 0.25],
            "available": [["a", "b"], ["c", "a", "b"]],
            "law": [[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]],
        }
    )
    rounds = mb.read_log(frame, actions=["a", "b", "c"]).rounds()
    assert rounds.available is not None
    assert rounds.available.tolist() == [[True, True, False], [True, True, True]]
    assert rounds.laws is not None
    assert rounds.laws.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]
    path = csv_log(tmp_path, ["1,a,1,0.5,a|b"], "x,action,loss,probability,available")
    masks = mb.read_log(path, actions=["a", "b", "c"]).rounds().available
    assert masks is not None
    assert masks.tolist() == [[True, True, False]]


def test_missing_probabilities_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = csv_log(tmp_path, ["1,a,1"], "x,action,loss")
    with pytest.raises(ValueError, match=r"no column 'probability': without the probability .* say probability=None"):
        mb.read_log(path)
    log = mb.read_log(path, probability=None)
    assert log.rounds().probabilities is None
    with pytest.raises(ValueError, match="replay needs them"):
        log.replay()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"action": "acton"}, "action: .* has no column 'acton'; did you mean 'action'"),
        ({"loss": "cost"}, "loss: .* has no column 'cost'"),
        ({"loss": "reward", "reward": "reward"}, "give loss or reward"),
        ({"time": "when"}, "time: .* has no column 'when'"),
        ({"context": ["age", "reward"]}, "context must not have 'reward'"),
        ({"context": ["agee"]}, "context: .* did you mean 'age'"),
        ({"actions": ["a", "a"]}, "actions must differ"),
        ({"format": "xml"}, "format must be"),
        ({"bad": "ignore"}, "bad must be one of 'strict', 'skip'"),
    ],
)
def test_what_is_asked_for_must_be_there(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mb.read_log(csv_log(tmp_path, ROWS), **options)


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="source must be a frame"):
        mb.read_log([1, 2])
    with pytest.raises(FileNotFoundError, match="no file"):
        mb.read_log(tmp_path / "none.csv")
    with pytest.raises(ValueError, match=r"without a .parquet file"):
        mb.read_log(tmp_path)
    (tmp_path / "log.xml").write_text("")
    with pytest.raises(ValueError, match="does not say its format"):
        mb.read_log(tmp_path / "log.xml")
    with pytest.raises(ValueError, match="has no columns to name"):
        mb.read_log(tmp_path / "log.xml", format="vw", reward="x")


def test_a_log_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50 parts no more than two are ever read ahead of the one that is looked at."""
    drawn = 0

    def counted(path: Path, n: int) -> Any:
        nonlocal drawn
        for block in original(path, n):
            drawn += 1
            assert len(block) <= n
            yield block

    original = cells.csv_rows
    monkeypatch.setattr(table, "csv_rows", counted)
    log = mb.read_log(csv_log(tmp_path, ["1,a,1,0.5"] * 500), actions=["a", "b"], chunk=10)
    for k, rounds in enumerate(log):
        assert len(rounds) == 10
        assert drawn == k + 1


def test_replay_of_a_log_and_its_warning(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{rng.standard_normal()},{'ab'[rng.integers(2)]},1,0.5" for _ in range(200)]
    env = mb.read_log(csv_log(tmp_path, rows)).replay(seed=0)
    assert 60 < len(mb.simulate(mb.Uniform(2, seed=0), env).losses) < 140
    rare = mb.Logged(np.ones((400, 1)), [0] * 400, [0.5] * 400, [0.001] + [1.0] * 399, n_actions=2, seed=0)
    with pytest.warns(UserWarning, match=r"replay answered \d of 400 rounds: .*mb.evaluate"):
        mb.simulate(mb.Uniform(2, seed=0), rare)


# Vowpal Wabbit.


def written(folder: Path, text: str, name: str = "log.vw") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_vowpal_wabbit_rounds_on_a_line(tmp_path: Path) -> None:
    text = (
        "2:0.5:0.25 'k1 |user age:31 country=DE tag=a tag=b |words:2 red shoes:0.5 | a a b\n\n1:1:1 k2| x:-1e-3 x=y\n"
    )
    rounds = mb.read_log(written(tmp_path, text)).rounds()
    assert rounds.labels == (1, 2)
    assert rounds.actions.tolist() == [1, 0]
    assert rounds.keys == ["k1", "k2"]
    user = {"age": 31.0, "country": "DE", "tag": ["a", "b"]}
    first = {"user": user, "words": {"red": 2.0, "shoes": 1.0}, "a": 2.0, "b": True}
    assert rounds.contexts == [first, {"x": -0.001, "x=y": True}]
    assert rounds.contexts[0]["b"] is True
    assert rounds.places is not None
    assert rounds.places[1].endswith("line 3")


def test_vowpal_wabbit_actions_on_a_line(tmp_path: Path) -> None:
    text = "shared |user age:31\n|item price:20\n0:0.5:0.25 |item price:80\n\n|item a\n1:0:1 |item b\n|item c\n"
    rounds = mb.read_log(written(tmp_path, text)).rounds()
    assert rounds.labels is None
    assert rounds.offers == [
        {0: {"item": {"price": 20.0}}, 1: {"item": {"price": 80.0}}},
        {0: {"item": {"a": True}}, 1: {"item": {"b": True}}, 2: {"item": {"c": True}}},
    ]
    assert rounds.contexts == [{"user": {"age": 31.0}}, {}]
    assert rounds.actions.tolist() == [1, 1]
    agent = mb.SquareCB(n_actions=2, seed=0)
    for i in range(2):
        agent.learn(rounds.contexts[i], mb.Decision(rounds.name(i), 0.5), rounds.losses[i], actions=rounds.offers[i])


def test_costs_have_a_range(tmp_path: Path) -> None:
    path = written(tmp_path, "1:-2:0.5 | a\n2:0:0.5 | b\n")
    assert mb.read_log(path, loss_range=(-2, 0)).rounds().losses.tolist() == [0, 1]
    assert mb.read_log(path, reward_range=(0, 2)).rounds().losses.tolist() == [0, 1]
    told = r"line 1: cost must be a number in \[0, 1\], or say reward_range=.*, loss_range=.*, got '-2'"
    with pytest.raises(ValueError, match=told):
        mb.read_log(path).rounds()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:0:0.5 | a\n1:0 | b\n", "line 2: no probability after '0': without the probability"),
        ("1:0:0.5 | a\n | b\n2:0:0.5 | a\n", "line 2: no action:cost:probability"),
        ("1:0:0.5 | a\n1:0:0.5 2:1:0.5 | b\n", "line 2: two losses for one decision"),
        ("1:0:0.5 | a\n1:0:0.5 | b:x\n", "line 2: the weight of a feature must be a number, got 'x'"),
        ("1:0:0.5 | a\n0:0:0.5 | b\n", "line 2: action must be one of .1., got '0'"),
        ("shared | a\n0:0:0.5 | b\n0:1:0.5 | c\n", "line 1: two losses for one decision: two actions"),
        ("shared | a\n| b\n| c\n", "line 1: no action has a cost"),
        ("1:0:0.5 | a\n99999999:0:0.5 | b\n", "number 99,999,999"),
    ],
)
def test_bad_text_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mb.read_log(written(tmp_path, text)).rounds()


# Decision service.


def test_decision_service_events(tmp_path: Path) -> None:
    rows = [event(), event(_skipLearn=True, EventId="e2"), event(EventId="e3", _label_cost=0.0)]
    log = mb.read_log(json_log(tmp_path, rows, "log.dsjson"), reward_range=(0, 1))  # strict: nothing is wrong
    rounds = log.rounds()
    assert rounds.contexts[0] == {"user": {"age": 31}, "FromUrl": {"weather": "sunny", "hour": 9}}
    assert rounds.offers is not None
    assert rounds.offers[0] == {"a17": {"i": {"price": 20}}, "b3": {"i": {"price": 80}}, "c9": {}}
    assert rounds.actions.tolist() == [1, 1]
    assert rounds.losses.tolist() == [0, 1]
    assert rounds.laws is not None
    assert rounds.laws[0].tolist() == [0.5, 0.25, 0.25]
    assert rounds.keys == ["e1", "e3"]
    assert rounds.times == ["2024-05-01T12:00:00Z"] * 2
    assert log.report is not None
    assert log.report.skipped == {"not to be learnt from (_skipLearn)": 1}
    few = mb.read_log(
        json_log(tmp_path, [event()], "log.dsjson"), reward_range=(0, 1), actions=["b3", "a17", "c9", "d"]
    )
    fixed = few.rounds()
    assert fixed.offers is None
    assert fixed.available is not None
    assert fixed.available.tolist() == [[True, True, True, False]]
    assert fixed.laws is not None
    assert fixed.laws.tolist() == [[0.25, 0.5, 0.25, 0.0]]


def test_events_kept_by_chance(tmp_path: Path) -> None:
    """What was written with the probability of being kept in it is read without."""
    path = json_log(tmp_path, [event(pdrop=0.5, _label_probability=0.125)], "log.dsjson")
    kept = mb.read_log(path, reward_range=(0, 1)).rounds().probabilities
    assert kept is not None
    assert kept.tolist() == [0.25]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": [1, 2, 3]}, "two actions for one decision: _labelIndex says place 1; .*a.0. says place 0"),
        ({"_label_probability": 0.3}, "probability 0.3, but the law has 0.25 for the action"),
        ({"_labelIndex": None, "_label_Action": None, "a": None}, "says which action was taken"),
        ({"_labelIndex": 3, "_label_Action": 4, "a": [4, 1, 2]}, "action must be one of the 3 offered, got place 3"),
        ({"p": [0.25, 0.5]}, "a and p must be 3 actions"),
        ({"p": [0.25, 0.5, 0.5]}, "law must be probabilities that sum to 1"),
        ({"c": {"user": 1}}, "c must have a list of actions in _multi"),
        ({"_outcomes": []}, "several slots"),
        ({"pdrop": 1.0}, "pdrop must be below 1"),
        ({"_label_cost": "much"}, r"cost must be a number in \[-1, 0\], got 'much'"),
        ({"_label_probability": None, "p": None}, "neither _label_probability nor p: without the probability"),
        ({"EventId": "e0"}, "key 'e0' was there before, with the same cost"),
    ],
)
def test_bad_events_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = json_log(tmp_path, [event(EventId="e0"), event(**changes)], "log.dsjson")
    with pytest.raises(ValueError, match=f"line 2: .*{message}"):
        mb.read_log(path, reward_range=(0, 1)).rounds()


# The Open Bandit Dataset.


def test_open_bandit_campaigns(tmp_path: Path) -> None:
    header = (
        "timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1,"
        "user-item_affinity_0,user-item_affinity_1,user-item_affinity_2"
    )
    rows = ["2019-11-24 00:00:0{k},{a},{p},{c},0.5,f{a},12,0.0,1.0,0.0"] * 4
    filled = [row.format(k=k, a=k % 2, p=k % 3 + 1, c=k % 2) for k, row in enumerate(rows)]
    path = csv_log(tmp_path, filled, header)
    rounds = mb.read_open_bandit(path).rounds()
    assert rounds.labels == (0, 1, 2)
    assert rounds.losses.tolist() == [1, 0, 1, 0]
    assert rounds.contexts[1] == {"user_feature_0": "f1", "user_feature_1": "12", "position": "2"}
    first = mb.read_open_bandit(path, position=1, affinities=True).rounds()
    assert len(first) == 2
    assert first.contexts[0]["user-item_affinity_1"] == 1.0
    assert first.places is not None
    assert first.places[1].endswith("line 5")
    with pytest.raises(ValueError, match="no campaign of the Open Bandit Dataset: it has no column 'timestamp'"):
        mb.read_open_bandit(csv_log(tmp_path, ROWS))
