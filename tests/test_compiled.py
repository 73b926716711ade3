import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

from marginbandits import compiled
from marginbandits.oracles.ridge import Ridge


def test_machine_code_of_changed_sources_is_never_used_again(tmp_path: Path) -> None:
    source, parent = tmp_path / "a.py", tmp_path / "__pycache__"
    source.write_text("x = 1")
    first = compiled.kernel_folder(tmp_path, parent)
    first.mkdir(parents=True)
    assert compiled.kernel_folder(tmp_path, parent) == first
    assert first.exists()
    source.write_text("x = 22")
    assert compiled.kernel_folder(tmp_path, parent) != first
    assert not first.exists()


def test_kernels_are_kept_in_that_folder_and_nobody_else_s_are() -> None:
    ridge = Ridge(1, 2, 1.0)
    ridge.learn(np.ones(2), 0, 1.0)
    assert any("ridge" in one.name for one in compiled._FOLDER.rglob("*.nbi"))
    config: Any = numba.config
    assert str(compiled._FOLDER) != config.CACHE_DIR


def test_machine_code_from_disk_gives_the_same_bits_as_fresh(tmp_path: Path) -> None:
    """In a copy of the package with nothing kept: the first process compiles what the second reads."""
    shutil.copytree(
        Path(compiled.__file__).parent, tmp_path / "marginbandits", ignore=shutil.ignore_patterns("__pycache__")
    )
    script = (
        "import numpy as np, marginbandits as mb;"
        "agent = mb.LinTS(3, seed=0); X = np.random.default_rng(0).standard_normal((40, 14));"
        "[agent.learn(x, agent.act(x), 0.5) for x in X];"
        "print(mb.__file__, [agent.act(x).distribution.tobytes().hex() for x in X])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert str(tmp_path) in runs[0].stdout
    assert runs[0].stdout == runs[1].stdout


def test_where_nothing_can_be_cached_kernels_still_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses `cache=True` in a folder it cannot write to; a read-only installation must work all the same."""
    asked = []
    real = numba.njit

    def refusing(*, cache: bool, **options: Any) -> object:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(cache=False, **options)

    monkeypatch.setattr(compiled, "numba", SimpleNamespace(njit=refusing, config=numba.config))

    @compiled.kernel
    def double(x: float) -> float:
        return 2.0 * x

    assert double(1.5) == 3.0
    assert asked == [True, False]
