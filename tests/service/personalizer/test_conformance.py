"""`make conformance` speaks to both kinds of clients, or fails and says what to install."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
MAKE = (ROOT / "Makefile").read_text()
OPTIONS = ["-q", "-p", "no:cacheprovider", "-m", "soak or not soak"]


def tried(file: str, before: str, path: str, *more: str) -> tuple[int, str]:
    """A file of tests where something is missing: the exit status, and what is told."""
    code = f"import sys; {before}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, *OPTIONS, *more, str(HERE / file)]
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.soak
@pytest.mark.parametrize(
    ("file", "before", "path", "said"),
    [
        ("test_node_clients.py", "0", "/nowhere", "install Node.js, with npm, so that both are on the PATH"),
        (
            "test_python_clients.py",
            "sys.modules['azure'] = None",
            os.environ["PATH"],
            "install azure-cognitiveservices",
        ),
    ],
)
def test_clients_that_are_missing_are_an_error_there(file: str, before: str, path: str, said: str) -> None:
    recipe = re.search(r"^conformance: .*\n\t(.*)", MAKE, re.MULTILINE)
    assert recipe is not None
    assert "--no-skips" in recipe[1]
    status, told = tried(file, before, path, "--no-skips")
    assert (status in (1, 2), said in told) == (True, True), told
    assert " skipped" not in told
    status, told = tried(file, before, path)
    assert (status in (0, 5), said in told, " failed" in told) == (True, True, False), told
