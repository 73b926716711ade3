import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from marginbandits.cli import main
from marginbandits.experiments.arguments import learner_spec, words


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def bakeoff(out: Path, *more: str) -> Result:
    base = ["--data", "iris,wine", "--learners", "LinUCB,Uniform", "--rounds", "40", "--seeds", "2", "--jobs", "1"]
    return run("bakeoff", *base, "--out", str(out), *more)


def test_bakeoff_prints_a_leaderboard_writes_a_report_and_resumes(tmp_path: Path) -> None:
    first = bakeoff(tmp_path / "new" / "folder")
    assert first.exit_code == 0, first.output
    for part in ("8 tasks: 2 learners x 2 data sets x 2 seeds; 0 done", "LinUCB lost least", "report.html"):
        assert part in first.output
    assert (tmp_path / "new" / "folder" / "report.html").exists()
    again = bakeoff(tmp_path / "new" / "folder")
    assert "8 done, 0 to go" in again.output
    table = [output.splitlines()[1:4] for output in (first.output, again.output)]
    assert table[0] == table[1]


def test_report_and_export(tmp_path: Path) -> None:
    bakeoff(tmp_path)
    (tmp_path / "report.html").unlink()
    assert "LinUCB lost least" in run("report", str(tmp_path)).output
    assert (tmp_path / "report.html").exists()
    assert len(run("export", str(tmp_path)).output.splitlines()) == 9
    assert run("export", str(tmp_path), "--format", "parquet", "--to", str(tmp_path / "o.parquet")).exit_code == 0
    assert (tmp_path / "o.parquet").read_bytes().startswith(b"PAR1")
    assert "give a file with --to" in run("export", str(tmp_path), "--format", "parquet").output


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    result = bakeoff(tmp_path, "--seeds", "1")
    assert result.exit_code == 0, result.output
    assert "inf" not in result.output


def test_a_plan_file(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('rounds = 30\nseeds = 1\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"\n')
    result = run("bakeoff", "--plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"), "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "1 tasks" in result.output


def test_options_beside_a_plan_are_refused_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('data = ["iris"]\n[[learners]]\nclass = "LinUCB"\n')
    for option in (["--rounds", "30"], ["--keep-order"], ["--data", "wine"]):
        result = run("bakeoff", "--plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"), *option)
        assert result.exit_code == 2
        assert f"{option[0]} has no effect beside --plan" in result.output


def test_lists_are_values_on_the_command_line_and_in_a_plan() -> None:
    assert learner_spec("Cover(features=[1, two], weighted=True)").parameters == {
        "features": [1, "two"],
        "weighted": True,
    }
    assert words("A(x=[1, 2], y='a,b'), B") == ["A(x=[1, 2], y='a,b')", "B"]


def test_the_list_has_learners_and_what_they_are_made_of() -> None:
    lines = run("list").output.splitlines()
    for name, parameter in (("LinUCB", "alpha = "), ("Networks", "bag = None: "), ("Chain", "maps: ")):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"  {name}: "))
        own = itertools.takewhile(lambda line: line.startswith("      "), lines[at + 1 :])
        assert any(line.startswith(f"      {parameter}") for line in own)


def test_failures_are_counted_and_the_table_still_comes(tmp_path: Path) -> None:
    result = bakeoff(tmp_path, "--learners", "LinUCB,FaithfulHingeLMC(horizon=5)")
    assert result.exit_code == 1
    assert "Error: 4 tasks failed; the report says why" in result.output
    assert "failed, 4 of 4 tasks" in result.output
    assert "FaithfulHingeLMC(horizon=5) on iris, seed 0 and 3 more: ValueError: " in result.output  # and why
    assert "LinUCB lost least" in result.output


def test_progress_is_told_where_there_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginbandits.cli.EVERY", 0.0)
    lines = [line for line in bakeoff(tmp_path).output.splitlines() if re.match(r"\d of 8 done", line)]
    assert len(lines) == 8
    assert re.fullmatch(r"8 of 8 done, about 0 seconds left", lines[-1])


def test_list_shows_parameters_and_their_ranges() -> None:
    output = run("list").output
    assert "alpha = 0.2: a finite number at least 0" in output
    assert "diabetes" in output


@pytest.mark.parametrize(
    "known",
    [
        ["--finite", "50"],
        ["--parametric", "4"],
        ["--nonparametric", "1"],
        ["--nonparametric", "3"],
        ["--lipschitz", "2"],
        ["--rademacher", "1"],
        ["--networks", "2"],
        ["--trees", "1.5"],
        ["--lp", "1.5", "3"],
        ["--lp", "2", "3"],
    ],
)
def test_bound_shows_every_promise_and_from_when_it_means_something(known: list[str]) -> None:
    table = run("bound", *known, "--actions", "3", "--rounds", "5000", "--margin", "0.5")
    assert table.exit_code == 0, table.output
    answer = run("bound", *known, "--actions", "3", "--rounds", "5000", "--margin", "0.5", "--json")
    promises = json.loads(answer.output)
    assert len(table.output.splitlines()) >= len(promises) + 1
    for one in promises:
        assert one["name"] in table.output
        assert one["value"] == pytest.approx(sum(one["terms"].values()))
        assert one["vacuous"] == (one["value"] >= 5000) == (one["useful_from"] is None or one["useful_from"] > 5000)
        assert one["reference"]
        assert one["attained_by"]
        assert one["benchmark"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bound"], "exactly one class"),
        (["bound", "--finite", "3", "--lipschitz", "2"], "exactly one class"),
        (["bound", "--finite", "0"], "--finite: size must be"),
        (["bound", "--finite", "3", "--actions", "1"], "--actions: n_actions must be a whole number at least 2"),
        (["bound", "--finite", "3", "--rounds", "0"], "--rounds: horizon must be"),
        (["bound", "--finite", "3", "--margin", "0"], "--margin: margin must be"),
        (["bound", "--finite", "3", "--margin", "-1"], "--margin: margin must be"),
        (["bound", "--nonparametric", "-1"], "--nonparametric: p must be"),
        (["bound", "--lipschitz", "0"], "--lipschitz: p must be"),
        (["bound", "--parametric", "3", "--margin", "1e9", "--rounds", "5"], "--margin: margin must be below"),
        (["bound", "--rademacher", "nan"], "--rademacher: c must be"),
        (["bound", "--networks", "0"], "--networks: c must be"),
        (["bound", "--trees", "-1"], "--trees: c must be"),
        (["bound", "--lp", "3", "2"], "--lp: q must be"),
        (["bound", "--parametric", "3", "--bound", "0"], "--bound: bound must be"),
        (["bakeoff", "--rounds", "0"], "0 is not in the range"),
        (["bakeoff", "--rounds", "many"], "'many' is not a valid integer"),
        (["bakeoff", "--seeds", "0"], "0 is not in the range"),
        (["bakeoff", "--learner", "LinUCB"], "--learners"),
        (["bakeoff", "--learners", "LinUBC"], "did you mean 'LinUCB'"),
        (["bakeoff", "--learners", "LinUCB(alpha=-1)"], "alpha must be"),
        (["bakeoff", "--data", "digit"], "did you mean 'digits'"),
        (["bakeoff", "--plan", "none.toml"], "none.toml"),
        (["report", "nowhere"], "nowhere"),
        (["export", "nowhere"], "nowhere"),
        (["bakeof"], "bakeof"),
    ],
)
def test_typos_are_answered(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "bakeoff").exists()


def test_folders_without_results_are_named(tmp_path: Path) -> None:
    assert "holds no results.sqlite" in run("report", str(tmp_path)).output
    assert "holds no results.sqlite" in run("export", str(tmp_path)).output


def test_help_teaches() -> None:
    assert "marginbandits bakeoff" in run("--help").output
    assert "told only whether its class was right" in " ".join(run("bakeoff", "-h").output.split())
    assert "how regret grows, not how large it is" in " ".join(run("bound", "-h").output.split())
    assert "version 0." in run("--version").output


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "marginbandits", "--version"]
    assert "marginbandits" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
