"""Whatever a user can cause is answered with an exit status and a sentence, never with a traceback."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from marginbandits.cli import main
from tests.marks import at_length

PLAN = 'data = ["iris"]\nrounds = 20\nseeds = 1\n[[learners]]\nclass = "Uniform"\n'


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results of a small bake-off."""
    out = tmp_path_factory.mktemp("finished")
    arguments = ["--data", "iris", "--learners", "Uniform", "--rounds", "20", "--seeds", "1", "--jobs", "1"]
    assert CliRunner().invoke(main, ["bakeoff", *arguments, "--out", str(out)]).exit_code == 0
    return (out / "results.sqlite").read_bytes()


@pytest.fixture
def place(tmp_path: Path, finished: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of things that are wrong."""
    monkeypatch.chdir(tmp_path)
    for name in ("good", "blob", "json", "plan", "short", "empty", "old", "broken", "noreport", "strange"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.sqlite").write_bytes(finished)
    (tmp_path / "directory" / "results.sqlite").mkdir(parents=True)
    (tmp_path / "noreport" / "report.html").mkdir()
    changes = {
        "blob": "UPDATE outcomes SET losses = x'00ff'",
        "json": "UPDATE outcomes SET metrics = '{'",
        "plan": "UPDATE facts SET value = '7' WHERE name = 'plan'",
        "short": "UPDATE outcomes SET metrics = '{}'",
        "empty": "DELETE FROM outcomes",
        "strange": "UPDATE facts SET value = json_set(value, '$.learners', json('{}')) WHERE name = 'plan'",
        "old": "PRAGMA user_version = 1",
    }
    for name, change in changes.items():
        base = sqlite3.connect(name + "/results.sqlite")
        with base:
            base.execute(change)
        base.close()
    (tmp_path / "broken" / "results.sqlite").write_bytes(b"no database at all" * 500)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "results.sqlite").write_bytes(finished[:3000] + b"\xff" * 6000)
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "huge.csv").write_text("a,label\n1,x\n1e150,y\n")
    (tmp_path / "wide.csv").write_text("a,label\n1,x\n2," + "y" * 200_000 + "\n")
    (tmp_path / "latin.csv").write_bytes(b"a,label\n1,\xe9\n")
    (tmp_path / "one.csv").write_text("a,label\n" + "1,x\n" * 30)
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04" + bytes(range(200)))
    np.savez(tmp_path / "lacking.npz", X=np.eye(3))
    np.savez(tmp_path / "nan.npz", X=np.full((3, 1), np.nan), y=[0, 1, 0])
    (tmp_path / "prices.csv").write_text("a,label\n" + "".join(f"1,{k}.5\n" for k in range(60)))
    (tmp_path / "gaps.csv").write_text("a,label\n1,x\n,y\n")
    (tmp_path / "bad.jsonl").write_text('{"a": 1, "label": "x"}\n{"a": 1\n')
    (tmp_path / "deep.jsonl").write_text('{"label": "x", "a": ' + "[" * 100_000)
    (tmp_path / "unlabelled.jsonl").write_text(json.dumps({f"name {k}": k for k in range(5000)}))
    (tmp_path / "good.jsonl").write_text('{"a": 1, "label": "x"}\n{"a": 2, "label": "y"}\n')
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + b"\0" * 50)
    (tmp_path / "folder").mkdir()
    for name, edit in TOML.items():
        (tmp_path / f"{name}.toml").write_bytes(edit(PLAN).encode("latin-1"))
    return tmp_path


TOML: dict[str, Callable[[str], str]] = {
    "binary": lambda _: "\xff\xfe\x00",
    "syntax": lambda text: text + "rounds = ",
    "shuffle": lambda text: 'shuffle = "no"\n' + text,
    "rounds": lambda text: text.replace("rounds = 20", 'rounds = "20"'),
    "zero": lambda text: text.replace("rounds = 20", "rounds = 0"),
    "seeds": lambda text: text.replace("seeds = 1", "seeds = true"),
    "data": lambda text: text.replace('["iris"]', '"iris"'),
    "datum": lambda text: text.replace('["iris"]', "[1, 2]"),
    "nodata": lambda text: text.replace('["iris"]', "[]"),
    "label": lambda text: "label = 5\n" + text,
    "class": lambda text: text.replace('"Uniform"', "[1]"),
    "name": lambda text: text + "name = [1]\n",
    "parameter": lambda text: text.replace('"Uniform"', '"LinUCB"') + "alpha = [1, 2]\n",
    "date": lambda text: text.replace('"Uniform"', '"LinUCB"') + "alpha = 1979-05-27\n",
    "table": lambda text: text.replace('"Uniform"', '"LinUCB"') + "features = {a = 1}\n",
    "unknown": lambda text: "jobs = 3\n" + text,
    "drop": lambda text: 'drop = "id"\n' + text,
    "dropped": lambda text: "drop = [[1]]\n" + text,
    "missing": lambda text: "missing = true\n" + text,
    "learners": lambda _: 'data = ["iris"]\nlearners = 3\n',
}

SMALL = "--data iris --learners Uniform --rounds 20 --seeds 1 --jobs 1"
BAD = [
    "bound --nonparametric 1e-300",
    "bound --lipschitz inf",
    "bound --finite 0",
    "bound --finite 3 --margin 0",
    "bound --finite 3 --rounds -5",
    "bound --finite 3 --margin nan",
    "bound --lp 1 1",
    "bound --lp 2",
    *(
        f"report {name}"
        for name in ("strange", "blob", "json", "plan", "short", "old", "broken", "half", "directory", "noreport")
    ),
    "export good --to table.xlsx",
    "reproduce --quick --only figure-1 --jobs 1 --out good",
    *(
        f"export {name}"
        for name in ("strange", "blob", "json", "plan", "short", "empty", "old", "broken", "half", "directory")
    ),
    *(f"bakeoff {SMALL} --out {name}" for name in ("old", "broken", "directory", "noreport", "file", "file/below")),
    f"bakeoff {SMALL} --out /proc/nowhere",
    *at_length([f"bakeoff {SMALL} --dask tcp://nowhere.invalid:1"]),  # it waits for an answer
    "reproduce --quick --only figure-1 --jobs 1 --out file/below",
    "reproduce --quick --only figure-1 --jobs 1 --out broken",
    "reproduce --only figure1",
    "reproduce --only [",
    "export good --to missing/folder.csv",
    "export good --to folder",
    "export good --format parquet --to missing/folder.parquet",
    "export good --format parquet",
    "export good --format xlsx",
    "report folder",
    "report missing",
    *(
        f"bakeoff --learners Uniform --rounds 20 --jobs 1 --data {name}"
        for name in (
            *("huge.csv", "wide.csv", "latin.csv", "one.csv", "bad.npz", "lacking.npz", "nan.npz", "bad.parquet"),
            *("prices.csv", "gaps.csv", "bad.jsonl", "deep.jsonl", "unlabelled.jsonl", "missing.jsonl"),
            *("gaps.csv --missing fill", "gaps.csv --missing drop", "good.jsonl --missing drop", "iris --drop a"),
            *("gaps.csv --drop b", "good.jsonl --drop b", "good.jsonl --drop [", "good.jsonl --drop a"),
            *("good.jsonl --label z", "good.jsonl --learners Binning"),
            *("folder", "file", "missing.csv", "irs", "openml:x", "iris,iris", ",", "["),
        )
    ),
    *(
        f"bakeoff --data iris --rounds 20 --seeds 1 --jobs 1 --learners {name}"
        for name in (
            *("LinUBC", "LinUCB(", "LinUCB)", "LinUCB(alpha)", "LinUCB(=1)", "LinUCB(alpha=-1)", "LinUCB(alpha=[1])"),
            *("LinUCB(alpha=1,alpha=2)", "LinUCB(features=[raw])", "LinUCB(features=raws)", "LinUCB,LinUCB", ","),
            *("LinUCB(alpha=1e999)", "LinUCB(seed=3)", "LinUCB(n_actions=3)", "LinUCB()()"),
            *("ExponentialWeights(regressors=words)", "ExponentialWeights(regressors=[[1,2],[3]])", "[]", "'LinUCB"),
            "HingeLMC(n_particles=100000000)",
            f"LinUCB(alpha={10**400})",
            "LinUCB(alpha={[]:1})",
            f"LinUCB(alpha={'[' * 3000}{']' * 3000})",
        )
    ),
    *(f"bakeoff --jobs 1 --plan {name}.toml" for name in TOML),
    "bakeoff --plan folder",
    "bakeoff --jobs 0",
]


@pytest.mark.parametrize("line", BAD, ids=lambda line: line[:80])
def test_a_sentence_and_no_traceback(line: str, place: Path) -> None:
    if line.endswith("/proc/nowhere") and not Path("/proc/self").exists():
        line = line.replace("/proc/nowhere", "file/nowhere")
    result = CliRunner().invoke(main, line.split(" "))
    assert result.exit_code not in (0, None)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.output
    error = result.output[result.output.rindex("Error: ") :].strip().splitlines()
    assert 1 <= len(error) <= 2
    assert all(len(one) <= 500 for one in error)
    assert len(error[0]) > len("Error: ")


def test_the_good_ones_are_good(place: Path) -> None:
    """The control: the same commands, with nothing wrong."""
    for line in (f"bakeoff {SMALL} --out new", "report good", "export good", "export good --to new.csv"):
        assert CliRunner().invoke(main, line.split(" ")).exit_code == 0
    for data in ("good.jsonl", "gaps.csv --missing keep"):
        line = f"bakeoff --learners Uniform --rounds 20 --seeds 1 --jobs 1 --out new --data {data}"
        assert CliRunner().invoke(main, line.split(" ")).exit_code == 0
    (place / "plan.toml").write_text(PLAN)
    assert CliRunner().invoke(main, ["bakeoff", "--jobs", "1", "--plan", "plan.toml"]).exit_code == 0
