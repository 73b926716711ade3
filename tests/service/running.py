"""A real service for a test: its own process, its own port, ended when the test is."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

__all__ = ["served"]


@contextmanager
def served(folder: Path, *more: str) -> Iterator[tuple[httpx.Client, "subprocess.Popen[str]"]]:
    """A client of `marginbandits serve --data folder`, and the process."""
    command = [sys.executable, "-m", "marginbandits", "serve", "--data", str(folder), "--port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "it said where it listens"
        with httpx.Client(base_url=address, timeout=60.0) as client:
            yield client, process
    finally:
        process.terminate()
        process.communicate(timeout=60)
