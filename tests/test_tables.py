import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.contexts import LARGEST
from marginbandits.environments.examples import Reading
from marginbandits.environments.tables import read_table


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_csv_with_numbers_and_words(tmp_path: Path) -> None:
    X, y, _ = read_table(write(tmp_path / "a.csv", "size,colour,label\n1,red,yes\n2.5,blue,no\n3,red,yes\n"))
    assert X.tolist() == [[1, 0, 1], [2.5, 1, 0], [3, 0, 1]]
    assert list(y) == ["yes", "no", "yes"]


@pytest.mark.parametrize(("header", "expected"), [("a,Target,b", "x"), ("a,c,b", "5"), ("y,c,b", "1")])
def test_the_label_is_found_by_name_or_is_the_last(header: str, expected: str, tmp_path: Path) -> None:
    _, y, _ = read_table(write(tmp_path / "a.csv", f"{header}\n1,x,5\n2,z,6\n"))
    assert y[0] == expected


def test_the_label_can_be_named(tmp_path: Path) -> None:
    _, y, _ = read_table(write(tmp_path / "a.csv", "a,b,label\n1,x,5\n2,z,6\n"), Reading(label="b"))
    assert list(y) == ["x", "z"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,label\n1,2,x\n1,,y\n", "row 2, column 'b': empty"),
        ("a,b,label\n1,2,x\n3,2,y\nfour,2,x\n", "row 3, column 'a': 'four' among numbers"),
        ("a,b,label\n1,2,x\n3,inf,y\n5,2,x\n", "row 2, column 'b': 'inf' among numbers"),
        ("a,b,label\n1,2,x\n3,y\n", "row 2: 2 cells, the header has 3"),
        ("a,a,label\n1,2,x\n", "same name"),
        ("a,b,label\n1,2,x\n3,-1e150,y\n5,2,x\n", r"row 2, column 'b': -1e\+150 is beyond ±1e\+100"),
        ("a,label\n1,x\n2," + "y" * 200_000 + "\n", "row 2: field larger than field limit"),
        ("", "is empty"),
        ("a,label\n", "no rows"),
        ("label\n1\n", "at least one more"),
        ("id,label\n" + "".join(f"w{i},x\n" for i in range(150)), "150 different words.*--drop.*--missing keep"),
        ("a,b,label\n1,2,x\n1,,y\n", "empty; fill it, or say --missing drop or --missing keep"),
        ("a,b,label\n1,2,x\n1,2,\n", "row 2, column 'label': empty; fill it, or say --missing drop$"),
    ],
)
def test_bad_files_say_where(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        read_table(write(tmp_path / "bad.csv", text))
    assert "bad.csv" in str(refusal.value)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 not a zip", b"\xff\xfe\x00x,label\n1,2\n", b"PAR1", b"\x93NUMPY"]
)
@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet", ".jsonl"])
def test_whatever_is_in_a_file_it_is_named(content: bytes, suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"bad{suffix}").write_bytes(content)
    with pytest.raises(ValueError, match="bad"):
        read_table(str(tmp_path / f"bad{suffix}"))


def test_the_largest_cell_is_what_learners_take(tmp_path: Path) -> None:
    for cell, taken in ((LARGEST, True), (1.01 * LARGEST, False)):
        learner = mb.LinUCB(2, seed=0)
        np.savez(tmp_path / "a.npz", X=np.array([[cell], [1.0]]), y=[0, 1])
        if taken:
            learner.act([cell])
            read_table(str(tmp_path / "a.npz"))
        else:
            with pytest.raises(ValueError, match="context"):
                learner.act([cell])
            with pytest.raises(ValueError, match=r"row 1, column 1: 1.01e\+100 is beyond"):
                read_table(str(tmp_path / "a.npz"))


def test_an_unknown_label_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no column 'z'; it has a, b"):
        read_table(write(tmp_path / "a.csv", "a,b\n1,2\n"), Reading(label="z"))


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"size": [1.0, 2.5, 3.0], "colour": ["red", "blue", "red"], "label": [1, 0, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    X, y, _ = read_table(str(tmp_path / "a.parquet"))
    assert X.tolist() == [[1, 0, 1], [2.5, 1, 0], [3, 0, 1]]
    assert list(y) == ["1", "0", "1"]
    missing = pa.table({"size": [1.0, None, 3.0], "label": [1, 0, 1]})
    pq.write_table(missing, tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="row 2, column 'size': empty"):
        read_table(str(tmp_path / "b.parquet"))


def test_npz_and_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=["b", "a", "b"])
    _, y, _ = read_table(str(tmp_path / "a.npz"))
    assert list(y) == ["b", "a", "b"]
    X, y, _ = read_table("diabetes")
    assert X.shape == (442, 10)
    assert np.bincount(y).tolist() == pytest.approx([147, 147, 148], abs=3)


def test_other_files_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\.npz, \.csv, \.parquet"):
        read_table("notes.txt")


GAPS = "id,age,city,label\nu1,31,Rome,x\nu2,,Bonn,y\nu3,45.5,,x\nu4,18,New York,y\n"


def test_rows_with_gaps_are_left_out_if_asked(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", GAPS)
    X, y, left_out = read_table(source, Reading(missing="drop", drop=("id",)))
    assert X.tolist() == [[31, 0, 1], [18, 1, 0]]
    assert list(y) == ["x", "y"]
    assert left_out == 2
    assert read_table(source, Reading(missing="drop", drop=("id", "city"))).left_out == 1, "its gaps are dropped too"
    bad = write(tmp_path / "b.csv", "a,b,label\n1,,x\n1,2,y\n2,3,x\nfour,2,x\n")
    with pytest.raises(ValueError, match="row 4, column 'a': 'four' among numbers"):
        read_table(bad, Reading(missing="drop"))
    with pytest.raises(ValueError, match="empty cell in every row"):
        read_table(write(tmp_path / "c.csv", "a,b,label\n1,,x\n,1,y\n"), Reading(missing="drop"))


def test_gaps_are_kept_as_none_and_rows_go_by_name(tmp_path: Path) -> None:
    X, y, left_out = read_table(write(tmp_path / "a.csv", GAPS), Reading(missing="keep", drop=("id",)))
    assert X.tolist() == [
        {"age": 31.0, "city": "Rome"},
        {"age": None, "city": "Bonn"},
        {"age": 45.5, "city": None},
        {"age": 18.0, "city": "New York"},
    ]
    assert list(y) == ["x", "y", "x", "y"]
    assert left_out == 0
    whole = read_table(write(tmp_path / "b.csv", "a,b,label\n1,x,u\n2,y,v\n"), Reading(missing="keep"))
    assert whole.contexts.tolist() == [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}], "also where there is none"


def test_any_number_of_words_may_be_kept(tmp_path: Path) -> None:
    rows = "".join(f"w{i},{i % 2}\n" for i in range(150))
    assert len(read_table(write(tmp_path / "a.csv", "id,label\n" + rows), Reading(missing="keep")).contexts) == 150


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,label\n1,x\n,y\n3,\n", "row 3, column 'label': empty"),
        ("a,label\n1,x\n,x\n2,y\nNA,y\n", "row 4, column 'a': 'NA' among numbers; mend or empty it"),
        ("a,label\n1,x\n,y\n1e150,y\n", r"row 3: context\['a'\] must be a number within ±1e100, got 1e\+150"),
    ],
)
def test_bad_cells_are_bad_where_gaps_are_kept(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path / "bad.csv", text), Reading(missing="keep"))


def test_a_column_is_numbers_or_words(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", "n,w,e,label\n1,7,,x\n,a,,y\n2.5,b,,x\n")
    found = read_table(source, Reading(missing="keep")).contexts.tolist()
    assert [one["n"] for one in found] == [1.0, None, 2.5]
    assert [one["w"] for one in found] == ["7", "a", "b"]
    assert [one["e"] for one in found] == [None, None, None]


def test_columns_are_dropped_by_name(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", GAPS)
    assert read_table(source, Reading(drop=("age", "city"), label="id", missing="keep")).contexts[0] == {"label": "x"}
    with pytest.raises(ValueError, match="has no column 'cty' to drop; did you mean 'city'"):
        read_table(source, Reading(drop=("cty",)))
    with pytest.raises(ValueError, match="the label 'age' is to be dropped"):
        read_table(source, Reading(drop=("age",), label="age"))
    with pytest.raises(ValueError, match=r"at least one more, it has \['label'\]"):
        read_table(source, Reading(drop=("id", "age", "city")))
    dropped = read_table(write(tmp_path / "b.csv", "a,label,c\n1,x,u\n2,y,v\n"), Reading(drop=("label",)))
    assert list(dropped.labels) == ["u", "v"], "then the last"


def test_parquet_cells_are_kept_as_they_are(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = [
        {"zip": "10115", "age": 31, "vip": True, "x": 0.5, "tags": ["a"], "user": {"n": 1}, "label": 1},
        {"zip": "", "age": None, "vip": None, "x": float("nan"), "tags": None, "user": {"n": None}, "label": 0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    found = read_table(str(tmp_path / "a.parquet"), Reading(missing="keep"))
    assert found.contexts[0] == {name: value for name, value in rows[0].items() if name != "label"}
    assert found.contexts[1] == {"zip": None, "age": None, "vip": None, "x": None, "tags": None, "user": {"n": None}}
    dates = pa.table({"when": pa.array([0, 1], pa.date32()), "a": [1, 2], "label": ["x", "y"]})
    pq.write_table(dates, tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet, row 1: context\['when'\] must be a number, a string"):
        read_table(str(tmp_path / "b.parquet"), Reading(missing="keep"))
    assert read_table(str(tmp_path / "b.parquet"), Reading(missing="keep", drop=("when",))).contexts[1] == {"a": 2}


@pytest.mark.parametrize(
    ("labels", "refused"),
    [
        ([k / 7 for k in range(60)], True),
        ([k % 51 / 7 for k in range(5000)], True),
        ([k % 50 / 7 for k in range(5000)], False),
        (list(range(60)), True),
        ([k % 60 for k in range(299)], True),
        ([k % 60 for k in range(300)], False),
        ([f"c{k}" for k in range(60)], False),
        ([*range(59), "other"], False),
    ],
    ids=["prices", "often", "few", "whole", "many", "five rows each", "words", "a word among them"],
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npz"])
def test_a_quantity_is_no_label(labels: list[Any], refused: bool, suffix: str, tmp_path: Path) -> None:
    source = tmp_path / f"a{suffix}"
    if suffix == ".csv":
        source.write_text("a,y\n" + "".join(f"1,{one}\n" for one in labels))
    elif suffix == ".jsonl":
        source.write_text("".join(json.dumps({"a": 1, "y": one}) + "\n" for one in labels))
    else:
        np.savez(source, X=np.ones((len(labels), 1)), y=np.array(labels))
    if not refused:
        assert len(read_table(str(source)).labels) == len(labels)
        return
    with pytest.raises(
        ValueError, match=rf"{suffix}, .*y'?: .* different numbers in .*np.digitize.*--label"
    ) as refusal:
        read_table(str(source))
    assert f"such as {labels[0]:g}"[:9] in str(refusal.value)


def test_the_command_says_how_many_rows_it_left_out(tmp_path: Path) -> None:
    rows = "".join(f"{k},{'' if k % 4 == 0 else k % 3},{'ab'[k % 2]}\n" for k in range(40))
    source = write(tmp_path / "mine.csv", "id,size,label\n" + rows)
    options = ["--data", source, "--learners", "LinUCB", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["bakeoff", *options, "--missing", "drop", "--drop", "id"])
    assert result.exit_code == 0, result.output
    assert "mine: 10 rows with an empty cell are left out" in result.stderr
    refused = CliRunner().invoke(main, ["bakeoff", *options])
    assert refused.exit_code == 1
    assert "row 1, column 'size': empty" in refused.output
