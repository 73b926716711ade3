"""The interpreters that peers run in: this one, or an environment of their own for those that cannot share it."""

import functools
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OWN = {
    # Asks for a Python before 3.11 and for PyTorch 1.12; its online policies need neither.
    "obp": (
        ["numpy==1.26.4", "scipy==1.11.4", "scikit-learn==1.3.2", "pandas==2.2.3", "tqdm==4.67.1"],
        ["obp==0.5.7"],
    ),
}
"""Of each: what is installed as usual, and what is installed whatever it asks for."""
PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
SINGLE = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"


def variables() -> dict[str, str]:
    """One thread, and our own files before others."""
    path = os.pathsep.join(
        filter(None, [str(ROOT / "benchmarks"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    )
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {**os.environ, **dict.fromkeys(SINGLE, "1"), "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}


@functools.cache
def interpreter(distribution: str, install: bool, beside: Path) -> tuple[Path | None, str]:
    """Where this peer runs, or None; and its version, or why it is not there."""
    if distribution in OWN:
        return _own(distribution, install, beside)
    reason = 'pip install -c constraints.txt ".[bench]", as make bench does'
    for _ in range(2):
        try:
            return Path(sys.executable), importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            if install:  # alone, as one of the extra's others may be what could not be installed
                failed = _run([*PIP, "-c", str(ROOT / "constraints.txt"), distribution], sys.executable)
                importlib.invalidate_caches()
                reason = failed or reason
    return None, reason


def _own(distribution: str, install: bool, beside: Path) -> tuple[Path | None, str]:
    usual, whatever = OWN[distribution]
    folder = beside.absolute() / f".venv-{distribution}"
    python, ready = folder / "bin" / "python", folder / "ready"
    pins = "\n".join([*usual, *whatever])
    if not ready.exists() or ready.read_text() != pins:
        if not install:
            return None, "has an environment of its own, which --install makes"
        failed = (
            _run(["-m", "venv", "--clear", str(folder)], sys.executable)
            or _run([*PIP, *usual], python)
            or _run([*PIP, "--no-deps", "--ignore-requires-python", *whatever], python)
        )
        if failed:
            return None, failed
        ready.write_text(pins)
    return python, whatever[0].split("==")[1]


def _run(words: list[str], python: str | Path) -> str:
    """Nothing, or the last line of what went wrong."""
    done = subprocess.run([str(python), *words], capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else ""
