"""Contexts of names and values in a bake-off: JSON lines, as learners are served them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.environments import json_lines
from marginbandits.environments.examples import Reading
from marginbandits.environments.tables import read_table
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.sources import find_data, played_rows

CONTEXT: dict[str, Any] = {
    "age": 31,
    "country": "DE",
    "tags": ["new"],
    "user": {"vip": True, "email": "a@b"},
    "last": None,
}


def lines(path: Path, *examples: Any) -> str:
    path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in examples))
    return str(path)


def visits(path: Path, n: int = 60) -> str:
    """The label is known by the country, or by its absence."""
    rng = np.random.default_rng(0)
    found = [{**CONTEXT, "id": f"u{k}", "country": [None, "DE", "FR"][rng.integers(3)]} for k in range(n)]
    return lines(path, *({**one, "label": str(one["country"])} for one in found))


def bakeoff(out: Path, *more: str) -> Result:
    return CliRunner().invoke(
        main, ["bakeoff", "--rounds", "40", "--seeds", "1", "--jobs", "1", "--out", str(out), *more]
    )


def test_a_line_is_a_context_and_a_label(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", {**CONTEXT, "y": "no"}, "\n", {"y": 1, "age": 3}, {"y": 1.0}, {"y": True})
    contexts, labels, left_out = read_table(source)
    assert contexts.tolist() == [CONTEXT, {"age": 3}, {}, {}]
    assert labels.tolist() == ["no", "1", "1", "True"]
    assert left_out == 0


def test_the_label_is_named_or_has_a_usual_name(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", {"a": 1, "Class": "x", "b": "u"}, {"b": "v", "Class": "z"})
    assert read_table(source).labels.tolist() == ["x", "z"]
    contexts, labels, _ = read_table(source, Reading(label="b"))
    assert labels.tolist() == ["u", "v"]
    assert contexts.tolist() == [{"a": 1, "Class": "x"}, {"Class": "z"}]
    assert read_table(source, Reading(drop=("Class",), label="b")).contexts.tolist() == [{"a": 1}, {}]


def test_names_are_dropped_where_they_stand(tmp_path: Path) -> None:
    other: dict[str, Any] = {"label": "y", "user.email": "c@d", "tags": ["old"]}
    source = lines(tmp_path / "a.jsonl", {**CONTEXT, "label": "x"}, other)
    found = read_table(source, Reading(drop=("user.email", "tags", "last"))).contexts.tolist()
    assert found == [{"age": 31, "country": "DE", "user": {"vip": True}}, {}]
    table = mb.Table(drop=["user.email", "tags", "last"])
    for whole, less in zip([CONTEXT, other], found, strict=True):
        whole = {name: value for name, value in whole.items() if name != "label"}
        assert np.array_equal(table._codes([whole]).columns, mb.Table()._codes([less]).columns)


def test_what_is_dropped_need_not_be_good(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", {"a": 1, "bad": ["x", 1], "label": "u"}, {"a": 1, "label": "v"})
    with pytest.raises(ValueError, match=r"line 1: context\['bad'\] must have only strings"):
        read_table(source)
    assert read_table(source, Reading(drop=("bad",))).contexts.tolist() == [{"a": 1}, {"a": 1}]


GOOD = '{"a": 1, "label": "x"}\n'


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("{a: 1}\n", "line 2: not JSON: Expecting property name .* at character 2 of '{a: 1}'"),
        ("[1, 2]\n", r"line 2: an example must be an object, .* got \[1, 2\]"),
        ("7\n", "line 2: an example must be an object, .* got 7"),
        ('{"a": 1}\n', "line 2: no label 'label', or null in it"),
        ('{"a": 1, "label": null}\n', "line 2: no label 'label', or null in it"),
        ('{"a": 1, "label": [1]}\n', r"line 2: the label 'label' must be .* got \[1\]"),
        ('{"a": 1, "label": "' + "x" * 2000 + '"}\n', "line 2: the label 'label' must be a word of at most 1,000"),
        ('{"a": NaN, "label": "x"}\n', "line 2: NaN is no number of JSON; write null"),
        ('{"a": -Infinity, "label": "x"}\n', "line 2: -Infinity is no number of JSON"),
        ('{"a": 1e999, "label": "x"}\n', r"line 2: context\['a'\] must be a number within ±1e100, got inf"),
        ('{"a": 1, "a": 2, "label": "x"}\n', "line 2: the name 'a' is there twice"),
        ('{"label": "x", "a": ' + '{"a": ' * 20 + "1" + "}" * 21 + "\n", "line 2: .* at most 16 deep"),
        ('{"label": "x", "a": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "line 2: nested too deeply"),
        ('{"label": "x", "a": ' + "9" * 5000 + "}\n", "line 2: .*4300 digits"),
        ('{"label": "x", "a": [[1]]}\n', r"line 2: context\['a'\] must have only strings"),
        (json.dumps({"label": "x", **{str(k): k for k in range(10_001)}}), "line 2: .* at most 10,000 entries"),
        ('{"label": "x", "a": "' + "w" * 100_001 + '"}', "line 2: .* at most 100,000 characters"),
    ],
    ids=range(17),
)
def test_bad_lines_say_where(second: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        read_table(lines(tmp_path / "bad.jsonl", GOOD, second))
    assert "bad.jsonl" in str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    ("text", "reading", "message"),
    [
        (b"", Reading(), "bad.jsonl is empty"),
        (b"\n \n", Reading(), "bad.jsonl is empty"),
        (b'{"label": "\xff"}', Reading(), "line 1: not UTF-8: invalid start byte at byte 12"),
        (b'{"age": 3, "kind": "x"}', Reading(), "line 1: no entry is called label, target, .* --label: age, kind"),
        (b'{"age": 3, "kind": "x"}', Reading(label="knd"), "line 1 has no entry 'knd'; it has age, kind"),
        (b'{"age": 3, "label": "x"}', Reading(drop=("aeg",)), "no entry 'aeg' to drop; did you mean 'age'"),
        (
            b'{"u": {"age": 3}, "label": "x"}',
            Reading(drop=("u.aeg",)),
            "no entry 'u.aeg' to drop; did you mean 'u.age'",
        ),
        (b'{"age": 3, "label": "x"}', Reading(label="age", drop=("age",)), "the label 'age' is to be dropped"),
        (b'{"label": "x"}\n{"label": "y"}', Reading(), "nothing but labels"),
        (b'{"age": 3, "label": "x"}', Reading(drop=("age",)), "nothing but labels"),
        (b'[\n{"age": 3, "label": "x"}\n]', Reading(), r"line 1: not JSON: Expecting value at character \d of '\['"),
    ],
    ids=range(11),
)
def test_bad_files_say_what(text: bytes, reading: Reading, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(text)
    with pytest.raises(ValueError, match=message) as refusal:
        read_table(str(tmp_path / "bad.jsonl"), reading)
    assert str(tmp_path) in str(refusal.value) or "the label" in str(refusal.value)


def test_a_line_without_an_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 100)
    assert len(read_table(lines(tmp_path / "a.jsonl", '{"label": "x", "a": "' + "w" * 76 + '"}\n')).labels) == 1
    with pytest.raises(ValueError, match="line 2: more than 100 bytes"):
        read_table(lines(tmp_path / "b.jsonl", GOOD, '{"label": "x", "a": "' + "w" * 200))


def test_no_more_lines_are_read_than_are_played(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", GOOD, '{"a": 2, "label": "y"}\n', "what is here nobody knows\n")
    (data,) = find_data(source, rounds=2)
    assert (data.n_rounds, data.n_actions, data.width, data.named) == (2, 2, 1, True)
    with pytest.raises(ValueError, match="line 3"):
        find_data(source, rounds=3)


def test_bytes_that_mark_an_order_are_no_matter(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + GOOD.encode() + b'{"a": 2, "label": "y"}\r\n')
    assert read_table(str(tmp_path / "a.jsonl")).labels.tolist() == ["x", "y"]


def test_learners_are_handed_the_lines_in_the_order_of_the_seed(tmp_path: Path) -> None:
    source = visits(tmp_path / "a.jsonl")
    (data,) = find_data(source, Reading(drop=("id",)), rounds=50)
    written = [json.loads(line) for line in Path(source).read_text().splitlines()[:50]]
    contexts = [{k: v for k, v in one.items() if k not in ("id", "label")} for one in written]
    for seed in (0, 1):
        env = data.environment(seed, shuffle=True)
        order = played_rows(50, seed, True)
        assert [one.context for one in env] == [contexts[row] for row in order]
        assert [str(env.classes[one.losses.argmin()]) for one in env] == [written[row]["label"] for row in order]


def test_what_is_played_is_what_one_serves(tmp_path: Path) -> None:
    """The loss of every round is that of `act` and `learn` with the dictionaries of the file."""
    source = visits(tmp_path / "a.jsonl")
    plan = Plan.of(data=[source], learners=["LinUCB", "SquareCB"], rounds=60, seeds=1, shuffle=False)
    for task, kind in zip(plan.tasks(), (mb.LinUCB, mb.SquareCB), strict=True):
        agent, losses = kind(3, seed=np.random.default_rng([0, 1])), []
        for line in Path(source).read_text().splitlines():
            context = json.loads(line)
            right = ["DE", "FR", "None"].index(context.pop("label"))
            decision = agent.act(context)
            losses.append(float(decision.action != right))
            agent.learn(context, decision, losses[-1])
        outcome = task.run()
        assert outcome.losses.tolist() == losses
        assert outcome.metrics["linear_policy_loss"] == 0.0, "the country tells, and that there is none"


def test_keys_are_those_of_what_is_read(tmp_path: Path) -> None:
    def key(source: str, **more: Any) -> str:
        return next(iter(Plan.of(data=[source], learners=["LinUCB"], seeds=1, **more).tasks())).key

    one = visits(tmp_path / "a.jsonl")
    same = lines(tmp_path / "b.jsonl", Path(one).read_text())
    written = [json.loads(line) for line in Path(one).read_text().splitlines()]
    short = lines(tmp_path / "c.jsonl", *({"label": example["label"], "age": 31} for example in written))
    drop = ["id", "country", "tags", "user", "last"]
    assert key(one) == key(same)
    assert key(one, drop=drop) == key(short)
    turned = lines(tmp_path / "d.jsonl", *(dict(reversed(example.items())) for example in written))
    assert len({key(one), key(short), key(turned), key(one, drop=["id"])}) == 4, "who is met first has the first column"


def test_learners_of_numbers_are_refused_or_left_out(tmp_path: Path) -> None:
    source = visits(tmp_path / "a.jsonl")
    words = "Binning, LipschitzFTL: only for numbers, and a has names and values"
    refused = bakeoff(tmp_path / "one", "--data", f"iris,{source}", "--learners", "Binning,LinUCB,LipschitzFTL")
    assert refused.exit_code == 1
    assert f"{words}; leave out the learner, or the data" in refused.output
    assert not (tmp_path / "one").exists(), "before anything runs"
    plan = Plan.of(data=["iris", source])
    assert plan.notes == (f"{words}; left out",)
    assert {"Binning", "LipschitzFTL"}.isdisjoint(one.label for one in plan.learners)
    assert len(Plan.of(data=["iris"]).learners) == len(plan.learners) + 2


def test_the_command_plays_them_and_says_what_it_left_out(tmp_path: Path) -> None:
    source = visits(tmp_path / "a.jsonl")
    result = bakeoff(tmp_path / "out", "--data", source, "--drop", "id, user.email", "--learners", "LinUCB,Uniform")
    assert result.exit_code == 0, result.output
    assert "LinUCB lost least" in result.stdout
    assert (tmp_path / "out" / "report.html").exists()
    again = bakeoff(tmp_path / "out", "--data", source, "--drop", "id, user.email", "--learners", "LinUCB,Uniform")
    assert "2 done, 0 to go" in again.stderr


def test_a_plan_file_has_the_same_names(tmp_path: Path) -> None:
    visits(tmp_path / "a.jsonl")
    (tmp_path / "t.csv").write_text("id,a,label\n1,,x\n2,3,y\n")
    text = 'data = ["a.jsonl", "t.csv"]\ndrop = ["id"]\nmissing = "keep"\nlearners = ["LinUCB"]\n'
    (tmp_path / "plan.toml").write_text(text)
    plan = Plan.from_toml(tmp_path / "plan.toml")
    assert [one.named for one in plan.data] == [True, True]
    assert [one.context for one in plan.data[1].environment(0, shuffle=False)] == [{"a": None}, {"a": 3.0}]
    bad = {
        'drop = ["id"]': ('drop = "id"', "drop must be a list of names, got 'id'"),
        'missing = "keep"': ('missing = "kep"', "missing must be one of 'refuse', 'drop', 'keep', got 'kep'"),
    }
    for good, (other, message) in bad.items():
        (tmp_path / "plan.toml").write_text(text.replace(good, other))
        with pytest.raises(ValueError, match=message):
            Plan.from_toml(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"drop": ["x"]}, r"drop=\['x'\] has no effect: no data is"),
        ({"missing": "keep"}, "missing='keep' has no effect: no data is"),
        ({"missing": "drop", "data": ["LINES"]}, "missing='drop' has no effect: no data is"),
        ({"drop": [1]}, r"drop must be a list of names, got \[1\]"),
        ({"drop": {"id": 1}}, "drop must be a list of names"),
    ],
)
def test_options_that_nothing_heeds_are_refused(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    source = visits(tmp_path / "a.jsonl")
    data = [source if one == "LINES" else one for one in more.get("data", ["iris"])]
    with pytest.raises(ValueError, match=message):
        Plan.of(**{**more, "data": data, "learners": ["LinUCB"]})
    assert Plan.of(data=[source], learners=["LinUCB"], missing="keep"), "which it does anyway"


def test_help_teaches() -> None:
    words = " ".join(CliRunner().invoke(main, ["bakeoff", "--help"]).output.split())
    for part in ("an object on each line", "id,user.email", "[refuse|drop|keep]", "rows by name"):
        assert part in words
