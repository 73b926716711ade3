"""From the address of a journal to a service that listens: the door to uvicorn (`straight` is how it speaks)."""

import contextlib
import gc
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from marginbandits.service import logbook
from marginbandits.service.app import application
from marginbandits.service.core import Service
from marginbandits.service.demo import Demo
from marginbandits.service.journal import Journal, JournalError
from marginbandits.service.keys import Keys
from marginbandits.service.postgres import Postgres
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.straight import straight

__all__ = ["listening", "opened", "serve"]

_LIKE_AN_ADDRESS = re.compile(r"\w{2,}:/{1,2}|\w+//|postgres\w*", re.IGNORECASE)
"""A word and :/ or //, or what begins as the name of the database: a mistyped address, if there is no such folder."""
_HERE = ("127.0.0.1", "localhost", "::1")


def opened(where: str, *, serving: bool, durability: str = "full") -> Journal:
    """The journal of a folder, or of a PostgreSQL database where it is the address of one."""
    if where.startswith(("postgresql://", "postgres://")):
        return Postgres(where, durability=durability, serving=serving)
    if not where:
        raise JournalError(
            "a journal is in a folder or at postgresql://…, and nothing is named: is a variable not set?"
        )
    if (found := _LIKE_AN_ADDRESS.match(where)) is not None and not Path(where).is_dir():
        told = found[0][:40]  # a password may follow
        raise JournalError(f"a journal is in a folder or at postgresql://…, and {told}… is neither")
    return Sqlite(Path(where), durability=durability, serving=serving)


@contextlib.contextmanager
def listening(where: str, host: str, port: int) -> Iterator[socket.socket]:
    """The socket of a service that may listen there: found out before there is a journal, so that none is left."""
    if host not in _HERE and not _has_keys(where):
        raise ValueError(f"without a key, only this machine is served: make one, or leave out --host {host}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as found:  # named, so that asyncio knows it
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, port))
        except OSError as error:
            raise ValueError(f"{host}:{port} cannot be listened on: {error.strerror}") from None
        yield found


def _has_keys(where: str) -> bool:
    try:
        journal = opened(where, serving=False)
    except JournalError:
        return False  # whatever it is, it has no keys
    with contextlib.closing(journal):
        return bool(Keys(journal).all())


def serve(journal: Journal, found: socket.socket, where: str, *, demo: bool = False) -> None:
    """Listen until told to stop; then write what waits, learn what is closed, and end. A demo has users of its own."""
    logbook.begin()
    sys.setswitchinterval(0.001)  # whoever waits for the disk is told soon, though others are busy deciding
    for why in journal.careless:
        logbook.LOG.warning("%s", why)
    Keys(journal).all()  # or an error, before anybody is told an address
    service = Service(journal)
    host, port = found.getsockname()[:2]
    loops = ", ".join(service.loops) or "none yet"
    if service.newest is None:
        logbook.LOG.info("the journal is new: nothing was in %s", where)
    logbook.LOG.info("started at http://%s:%d; loops: %s", f"[{host}]" if ":" in host else host, port, loops)
    app = application(service, Demo(service) if demo else None)
    config = uvicorn.Config(
        app,
        http=straight(service, app.state.door),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
    )
    config.timeout_graceful_shutdown = 10
    gc.collect()
    gc.freeze()  # what has been imported stays: to look through it again and again would make everybody wait
    found.listen(2048)
    print(f"http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # which it raises again after it has ended as it should
        uvicorn.Server(config).run([found])
