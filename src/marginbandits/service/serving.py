"""From a folder, or a database, to a service that listens: the one door to uvicorn."""

import contextlib
import logging
import socket
import sys
from pathlib import Path

import uvicorn

from marginbandits.service.app import application
from marginbandits.service.core import Service
from marginbandits.service.demo import Demo
from marginbandits.service.journal import Journal
from marginbandits.service.keys import Keys
from marginbandits.service.sqlite import Sqlite

__all__ = ["opened", "serve"]

_HERE = ("127.0.0.1", "localhost", "::1")


def opened(folder: Path | None, database: str | None = None, *, serving: bool, durability: str = "full") -> Journal:
    """The journal of a folder, or that of a PostgreSQL database."""
    if database is not None:
        from marginbandits.service.postgres import Postgres

        return Postgres(database, durability=durability, serving=serving)
    if folder is None:
        raise ValueError("give a folder, or a database")
    return Sqlite(folder, durability=durability, serving=serving)


def serve(journal: Journal, *, host: str, port: int, demo: bool = False) -> None:
    """Listen until told to stop; then write what waits, learn what is closed, and end. A demo has users of its own."""
    if host not in _HERE and not Keys(journal).all():
        journal.close()
        raise ValueError(f"without a key, only this machine is served: make one, or leave out --host {host}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:  # named, so that asyncio knows it
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            journal.close()
            raise ValueError(f"{host}:{port} cannot be listened on: {error.strerror}") from None
        sys.setswitchinterval(0.001)  # whoever waits for the disk is told soon, though others are busy deciding
        service = Service(journal)
        logging.getLogger("marginbandits.service").info("http://%s:%d", *listening.getsockname()[:2])
        app = application(service, Demo(service) if demo else None)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, proxy_headers=False, ws="none"
        )
        config.timeout_graceful_shutdown = 10
        listening.listen(2048)
        print(f"http://{host}:{listening.getsockname()[1]}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):  # which it raises again after it has ended as it should
            uvicorn.Server(config).run([listening])
