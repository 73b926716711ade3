import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from marginbandits import compiled
from marginbandits.oracles.ridge import Ridge


def test_machine_code_of_changed_sources_is_never_used_again(tmp_path: Path) -> None:
    source, parent = tmp_path / "a.py", tmp_path / "__pycache__"
    source.write_text("x = 1")
    first = compiled.kernel_folder(tmp_path, parent)
    assert compiled.kernel_folder(tmp_path, parent) == first
    source.write_text("x = 22")
    assert compiled.kernel_folder(tmp_path, parent) != first


def test_only_this_package_s_folders_go_and_only_after_a_week_without_a_new_file(tmp_path: Path) -> None:
    now, week = time.time(), 7 * 24 * 3600
    ages = {
        "kernels-us-old": week + 60,
        "kernels-us-young": week - 60,
        "kernels-them-old": week + 60,
        "other": week * 9,
    }
    for name, age in ages.items():
        (tmp_path / name / "inner").mkdir(parents=True)
        for folder in (tmp_path / name / "inner", tmp_path / name):
            os.utime(folder, (now - age, now - age))
    compiled.forget_old(tmp_path / "kernels-us-new")
    assert {one.name for one in tmp_path.iterdir()} == ages.keys() - {"kernels-us-old"}


def test_kernels_are_kept_in_that_folder() -> None:
    ridge = Ridge(1, 2, 1.0)
    ridge.learn(np.ones((1, 2)), 0, 0, 1.0)
    assert any("ridge" in one.name for one in compiled._FOLDER.rglob("*.nbi"))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with nothing kept: where it lies, and so its folder, is nobody else's."""
    parent = tmp_path_factory.mktemp("installed")
    package = Path(compiled.__file__).parent
    shutil.copytree(package, parent / "marginbandits", ignore=shutil.ignore_patterns("__pycache__"))
    return parent


def run(copy: Path, script: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_importing_writes_and_deletes_nothing_and_compiling_sweeps(copy: Path) -> None:
    """In a fresh process, every kernel of the package imported beside the folder of a state that is long gone."""
    package = copy / "marginbandits"
    name = compiled.kernel_folder(package, package).name.rpartition("-")[0]
    long_gone = package / "__pycache__" / f"{name}-0"
    long_gone.mkdir(parents=True)
    os.utime(long_gone, (0, 0))
    script = (
        "import marginbandits as mb; from marginbandits.oracles import ridge; [getattr(mb, one) for one in dir(mb)]"
    )
    run(copy, script)
    assert list((package / "__pycache__").iterdir()) == [long_gone]
    run(copy, f"{script}; import numpy as np; ridge.Ridge(1, 2, 1.0).learn(np.ones((1, 2)), 0, 0, 1.0)")
    assert not long_gone.exists()
    assert any(package.rglob("*.nbi"))


@pytest.mark.soak
def test_machine_code_from_disk_gives_the_same_bits_as_fresh(copy: Path) -> None:
    """The first process compiles what the second reads."""
    shutil.rmtree(copy / "marginbandits" / "__pycache__", ignore_errors=True)
    script = (
        "import numpy as np, marginbandits as mb;"
        "agent = mb.LinTS(3, seed=0); X = np.random.default_rng(0).standard_normal((40, 14));"
        "[agent.learn(x, agent.act(x), 0.5) for x in X];"
        "print(mb.__file__, [agent.act(x).distribution.tobytes().hex() for x in X])"
    )
    first = run(copy, script)
    assert str(copy) in first
    assert run(copy, script) == first


def test_what_is_compiled_waits_for_nobody_s_compiling() -> None:
    """Else an interrupt in any first round might keep numba's lock, for which every other thread would wait forever."""
    doubled, arguments = compiled.kernel(_double), (1.5,)
    compiled.entry(doubled, arguments)
    found: list[Any] = []
    with global_compiler_lock:
        other = threading.Thread(target=lambda: found.append(compiled.entry(doubled, arguments)), daemon=True)
        other.start()
        other.join(timeout=30)
        assert [one(1.5) for one in found] == [3.0]


def test_numba_s_configuration_stays_the_user_s_in_every_thread() -> None:
    """Eight threads make kernels while a ninth looks: at no moment is numba's cache folder another."""
    config: Any = numba.config
    before, seen = config.CACHE_DIR, set()
    working = threading.Event()

    def make() -> None:
        for _ in range(50):
            compiled.kernel(_double)

    threads = [threading.Thread(target=make) for _ in range(8)]
    working.set()

    def look() -> None:
        while working.is_set():
            seen.add(config.CACHE_DIR)

    watcher = threading.Thread(target=look)
    for thread in [watcher, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    working.clear()
    watcher.join()
    assert seen == {before}
    assert before == config.CACHE_DIR


def test_the_user_s_own_cache_folder_is_where_kernels_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiled._parent(Path(compiled.__file__).parent) == tmp_path


def test_where_nothing_can_be_kept_kernels_still_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder can be made inside a file: what a full disk or a read-only installation comes to."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path / "file" / "kernels")
    assert compiled.kernel(_double)(1.5) == 3.0


def test_a_file_cut_short_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path)
    assert compiled.kernel(_double)(1.5) == 3.0
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert len(files) == 2  # an index and machine code
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        assert compiled.kernel(_double)(1.5) == 3.0
        file.write_bytes(b"")
        assert compiled.kernel(_double)(1.5) == 3.0


def _double(x: float) -> float:
    return 2.0 * x


def test_kernels_made_of_kernels_are_told_apart_by_their_files(tmp_path: Path) -> None:
    text = """
import numpy as np
from marginbandits.compiled import kernel

@kernel
def inner(x):
    return x + {}

def made(inner):
    @kernel
    def outer(x):
        return inner(x)
    return outer

print(made(inner)(1.0))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    answers = []
    for folder, number in (("a", 1), ("b", 2), ("a", 30), ("a", 30)):
        script = tmp_path / folder / "mine.py"
        script.parent.mkdir(exist_ok=True)
        if not (script.exists() and text.format(number) == script.read_text()):
            script.write_text(text.format(number))
        answers.append(subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True).stdout)
    assert answers == ["2.0\n", "3.0\n", "31.0\n", "31.0\n"]


def test_without_machine_code_everything_is_as_it_was() -> None:
    script = """
import numpy as np, marginbandits as mb
agent = mb.LinUCB(2, seed=0)
for t in range(5):
    agent.learn(np.ones(2) * t, agent.act(np.ones(2)), t / 5)
print(agent.law(np.ones(2)).sum())
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    assert subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True).stdout == b"1.0\n"
