"""The interpreters that peers run in: this one, or an environment of their own for those that cannot share it."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OWN = {
    # Asks for NumPy before 2 and for a Python before 3.11; its online policies run on this one.
    "obp": (
        ["numpy==1.26.4", "scipy==1.11.4", "scikit-learn==1.3.2", "pandas==2.2.3", "tqdm==4.67.1"],
        ["obp==0.5.7"],
    ),
}
"""Of each: what is installed as usual, and what is installed whatever it asks for."""
SINGLE = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"


def variables() -> dict[str, str]:
    """One thread, and our own files before others."""
    path = os.pathsep.join(filter(None, [str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]))
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {**os.environ, **dict.fromkeys(SINGLE, "1"), "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}


def interpreter(distribution: str, install: bool) -> tuple[Path | None, str]:
    """Where this peer runs, or None; and its version, or why it is not there."""
    if distribution in OWN:
        return _own(distribution, install)
    try:
        return Path(sys.executable), importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None, 'pip install -c constraints-bench.txt ".[bench]", which make bench does'


def _own(distribution: str, install: bool) -> tuple[Path | None, str]:
    usual, whatever = OWN[distribution]
    folder = ROOT / f".venv-{distribution}"
    python, ready = folder / "bin" / "python", folder / "ready"
    pins = "\n".join([*usual, *whatever])
    if not ready.exists() or ready.read_text() != pins:
        if not install:
            return None, "has an environment of its own, which --install makes"
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [*pip, *usual],
            [*pip, "--no-deps", "--ignore-requires-python", *whatever],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        ready.write_text(pins)
    return python, whatever[0].split("==")[1]
