import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from marginbandits.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_demo_writes_a_table_and_a_picture(tmp_path: Path) -> None:
    result = run("demo", "--rounds", "60", "--seeds", "2", "--out", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0, result.output
    picture = tmp_path / "new" / "folder" / "digits.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    for name in (
        "LinUCB raw",
        "LinTS fourier",
        "EpsilonGreedy raw",
        "Uniform",
        "95% interval over 2 seeds",
        str(picture),
    ):
        assert name in result.output


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    result = run("demo", "--rounds", "60", "--seeds", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "inf" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--rounds", "3"], "3 is not in the range"),
        (["demo", "--rounds", "many"], "'many' is not a valid integer"),
        (["demo", "--seeds", "0"], "0 is not in the range"),
        (["demo", "--seed", "2"], "--seeds"),
        (["demmo"], "demmo"),
    ],
)
def test_typos_are_answered(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("demo", "--rounds", "60", "--seeds", "1", "--out", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "is a file" in result.output


def test_help_teaches() -> None:
    assert "marginbandits demo" in run("--help").output
    assert "told only whether its digit was right" in " ".join(run("demo", "-h").output.split())
    assert "version 0." in run("--version").output


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "marginbandits", "--version"], capture_output=True, text=True, check=True
    )
    assert "marginbandits" in done.stdout
