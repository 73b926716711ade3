"""A real service for a test: its own process, its own port, ended when the test is."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

__all__ = ["served"]


@contextmanager
def served(where: Path | str, *more: str) -> Iterator[tuple[httpx.Client, "subprocess.Popen[str]"]]:
    """A client of `marginbandits serve`, of a folder or the address of a database, and the process."""
    kind = "--database" if str(where).startswith("postgresql:") else "--data"
    command = [sys.executable, "-m", "marginbandits", "serve", kind, str(where), "--port", "0", *more]
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
