"""Every code block of every document runs: Python as it stands, commands through the command line."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one document share their names, as a reader's session would."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": document.stem}
    for language, code in blocks(document):
        if language == "python":
            exec(compile(code, document.name, "exec"), names)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_commands_run(document: Path, tmp_path: Path) -> None:
    """`marginbandits …` runs; `make …` names a target that exists; anything else has no place in a block."""
    for language, code in blocks(document):
        if language != "sh":
            assert language in ("python", "text"), f"a {language!r} block cannot be tested"
            continue
        for line in code.strip().splitlines():
            command = shlex.split(line, comments=True)
            if command[0] == "make":
                subprocess.run(["make", "-n", *command[1:]], cwd=ROOT, check=True, capture_output=True)
            elif command[0] == "marginbandits":
                done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
            else:
                assert command[:2] in (["git", "clone"], ["python", "benchmarks/linucb_round.py"]), line
                assert command[0] == "git" or (ROOT / command[1]).exists()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_make_is_there() -> None:
    assert shutil.which("make"), "the Makefile's targets cannot be tested without make"
