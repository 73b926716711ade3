"""`marginbandits convert`: what it writes, what it says, and how it refuses."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import marginbandits as mb
from marginbandits.cli import main
from tests.logs.examples import csv_log

ROWS = ["31,b,100,0.5", "55,a,0,0.25"]


def called(*words: object) -> Result:
    return CliRunner().invoke(main, ["convert", *map(str, words)])


def test_a_log_is_converted(tmp_path: Path) -> None:
    path = csv_log(tmp_path, ROWS, "age,mail,spend,p")
    columns = ["--action", "mail", "--reward", "spend", "--probability", "p", "--reward-range", "0", "100"]
    for ending in ("parquet", "jsonl", "vw", "dsjson"):
        result = called(path, tmp_path / f"out.{ending}", *columns)
        assert result.exit_code == 0, result.output
        assert "2 rounds" in result.output
        assert "2 actions: a, b" in result.output
        assert mb.read_log(tmp_path / f"out.{ending}").rounds().losses.tolist() == [0.0, 1.0]


def test_bad_rows_are_left_out_only_if_asked(tmp_path: Path) -> None:
    path = csv_log(tmp_path, [*ROWS, "1,a,0,0"], "age,action,loss,probability")
    result = called(path, tmp_path / "out.jsonl", "--loss-range", "0", "100")
    assert result.exit_code == 1
    assert "line 4: probability must be" in result.output
    assert not (tmp_path / "out.jsonl").exists()
    result = called(path, tmp_path / "out.jsonl", "--loss-range", "0", "100", "--skip")
    assert result.exit_code == 0
    assert "2 rounds, 1 rows left out" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out.csv"], "CSV does not hold them all"),
        (["out.vw", "--action", "x"], "has no column 'x'"),
        (["out.vw", "--probability", "x"], "probability: "),
        (["out.vw", "--actions", "a,a"], "actions must differ"),
        (["out.vw", "--reward-range", "1", "0"], "reward_range must be two finite numbers"),
    ],
)
def test_what_cannot_be_is_explained(words: list[str], message: str, tmp_path: Path) -> None:
    path = csv_log(tmp_path, ROWS, "age,action,reward,probability")
    result = called(path, tmp_path / words[0], *words[1:])
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert not (tmp_path / words[0]).exists()
