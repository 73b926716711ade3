from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from marginbandits import compiled


def test_a_changed_source_clears_kept_machine_code(tmp_path: Path) -> None:
    (tmp_path / "room" / "__pycache__").mkdir(parents=True)
    source, kept = tmp_path / "room" / "a.py", tmp_path / "room" / "__pycache__" / "a.nbi"
    source.write_text("x = 1")
    assert compiled.forget_stale_kernels(tmp_path)
    kept.touch()
    assert not compiled.forget_stale_kernels(tmp_path)
    assert kept.exists()
    source.write_text("x = 22")
    assert compiled.forget_stale_kernels(tmp_path)
    assert not kept.exists()


def test_where_nothing_can_be_cached_kernels_still_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses `cache=True` in a folder it cannot write to; a read-only installation must work all the same."""
    asked = []
    real = numba.njit

    def refusing(*, cache: bool, **options: Any) -> object:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(cache=False, **options)

    monkeypatch.setattr(compiled, "numba", SimpleNamespace(njit=refusing))

    @compiled.kernel
    def double(x: float) -> float:
        return 2.0 * x

    assert double(1.5) == 3.0
    assert asked == [True, False]
