"""The Dockerfile, without an engine: what it copies is there, what it runs can be run, by nobody in particular."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from marginbandits.cli import main
from tests.documented import ROOT
from tests.service.running import served
from tests.service.test_following import until

TEXT = (ROOT / "Dockerfile").read_text()
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


class Step(NamedTuple):
    """An instruction of a stage of the build, counted from 0."""

    stage: int
    name: str
    words: str


def steps() -> Iterator[Step]:
    """All of them, each on one line."""
    stage = -1
    for line in re.sub(r"\\\n\s*", "", TEXT).splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.partition(" ")
            stage += name == "FROM"
            yield Step(stage, name, words)


STEPS = list(steps())
LAST = STEPS[-1].stage


def told(name: str, stage: int = LAST) -> list[str]:
    """What the instructions of this name say."""
    return [one.words for one in STEPS if (one.stage, one.name) == (stage, name)]


def exec_form(name: str) -> list[str]:
    """The words of a command that no shell reads."""
    (words,) = told(name)
    found: list[str] = json.loads(words)
    return found


def test_what_is_copied_is_there_and_is_all_that_the_package_is_made_of() -> None:
    copied = [source for words in told("COPY", 0) for source in shlex.split(words)[:-1]]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
    needed = ["pyproject.toml", PROJECT["readme"], "src", *PROJECT["license-files"]]
    assert set(needed) <= set(copied)
    (install,) = [words for words in told("RUN", 0) if "pip install" in words]
    constraints = re.search(r"-c (\S+)", install)
    assert constraints is not None
    assert constraints[1] in copied
    extra = re.search(r"\.\[(\w+)\]", install)
    assert extra is not None
    assert extra[1] in PROJECT["optional-dependencies"]


def test_what_one_stage_takes_from_another_was_made_there() -> None:
    names = {
        words.split(" AS ")[1]: stage for stage in range(LAST + 1) for words in told("FROM", stage) if " AS " in words
    }
    (taken,) = [re.fullmatch(r"--from=(\w+) (\S+) (\S+)", words) for words in told("COPY")]
    assert taken is not None
    assert taken[2] == taken[3], "an environment holds its own place"
    assert f"python -m venv {taken[2]} " in " ".join(told("RUN", names[taken[1]]))
    assert any(f"PATH={taken[3]}/bin:$PATH" in words for words in told("ENV"))


def test_python_is_the_same_in_all_stages_and_one_that_is_supported() -> None:
    images = {words.split(" AS ")[0] for stage in range(LAST + 1) for words in told("FROM", stage)}
    (image,) = images
    version = re.fullmatch(r"python:3\.(\d+)-slim", image)
    least = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    assert version is not None
    assert least is not None
    assert int(version[1]) >= int(least[1])


def test_it_runs_as_somebody_who_is_not_root_and_owns_the_data() -> None:
    made = " ".join(told("RUN"))
    (user,) = told("USER")
    uid = re.search(rf"useradd --uid (\d+) --create-home {user}\b", made)
    assert uid is not None
    assert int(uid[1]) >= 1000
    (volume,) = told("VOLUME")
    assert re.search(rf"mkdir {volume} && chown {user} {volume}(\s|$)", made)
    order = [one.name for one in STEPS if one.stage == LAST]
    assert order.index("RUN") < order.index("USER") < order.index("VOLUME")
    (home,) = re.findall(r"NUMBA_CACHE_DIR=/home/(\w+)/", " ".join(told("ENV")))
    assert home == user


def test_its_command_is_one_of_marginbandits_and_listens_where_it_is_exposed() -> None:
    name, *first = exec_form("ENTRYPOINT")
    assert name in PROJECT["scripts"]
    words = [*first, *exec_form("CMD")]
    command = main.commands[words[0]]
    with command.make_context(words[0], words[1:]) as context:
        given = context.params
    assert [str(given["data"])] == told("VOLUME")
    assert [str(given["port"])] == told("EXPOSE")
    assert (given["host"], given["durability"], given["demo"]) == ("0.0.0.0", "full", False)


def test_what_its_first_lines_say_can_be_done_in_that_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that listens beyond its container is refused without a key; with the one that they make it begins."""
    serves, makes = re.findall(r"docker run (.*)", TEXT)
    port, data = told("EXPOSE")[0], told("VOLUME")[0]
    for line in (serves, makes):
        assert re.search(rf"-v \w+:{data} ", line)
    assert f"-p 127.0.0.1:{port}:{port}" in serves
    begun: list[Any] = []
    monkeypatch.setattr("marginbandits.service.serving.serve", lambda *given, **more: begun.append(given))

    def run(words: list[str]) -> Any:
        return CliRunner().invoke(main, [str(tmp_path / "data") if one == data else one for one in words])

    usual = [*exec_form("CMD"), "--port", "0"]
    assert "make one" in run(usual).output
    assert begun == []
    made = run(makes.partition(" marginbandits ")[2].split())
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("mb_")
    assert run(usual).exit_code == 0
    assert len(begun) == 1


def test_its_health_is_asked_of_an_address_that_is_served(tmp_path: Path) -> None:
    (words,) = told("HEALTHCHECK")
    port, command = told("EXPOSE")[0], json.loads(words.partition(" CMD ")[2])
    assert command[0] == "python"
    assert command[-1].count(f"127.0.0.1:{port}") == 1

    def check(at: int) -> int:
        asked = [sys.executable, *command[1:-1], command[-1].replace(f":{port}", f":{at}")]
        return subprocess.run(asked, stderr=subprocess.DEVNULL, timeout=60).returncode

    folder = tmp_path / "shop"
    made = CliRunner().invoke(main, ["keys", "make", "--data", str(folder), "--scope", "admin", "--new"])
    assert made.exit_code == 0, made.output
    with served(folder) as (client, _):
        at = client.base_url.port
        assert at is not None
        assert check(at) == 0, "though there are keys, it needs none"
        (folder / "lock").unlink()
        until(lambda: client.get("/health").status_code == 503)
        assert check(at) != 0
