from pathlib import Path

import numpy as np
import pytest

import marginbandits as mb
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
        ("id,label\n" + "".join(f"w{i},x\n" for i in range(150)), "150 different words"),
    ],
)
def test_bad_files_say_where(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        read_table(write(tmp_path / "bad.csv", text))
    assert "bad.csv" in str(refusal.value)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 not a zip", b"\xff\xfe\x00x,label\n1,2\n", b"PAR1", b"\x93NUMPY"]
)
@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
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
