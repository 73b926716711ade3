"""A PostgreSQL server of the tests' own, in a folder of its own: the system's programs, or those `pgserver` brings.

PostgreSQL refuses to run as root: root runs it as the first user there is of postgres, daemon and nobody.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from importlib.util import find_spec
from pathlib import Path

import psycopg

__all__ = ["Server", "programs"]


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`, the newest there is."""
    own = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: -int(one.parent.name))
    on_path = shutil.which("pg_ctl")
    if on_path is not None:
        own.append(Path(on_path).resolve().parent)
    brought = find_spec("pgserver")
    if brought is not None and brought.origin is not None:
        own.append(Path(brought.origin).parent / "pginstall" / "bin")
    return next((one for one in own if (one / "initdb").exists() and (one / "pg_ctl").exists()), None)


class Server:
    """Started in a folder of its own, which goes with it; it listens to a socket in that folder.

    Tests kill programs and never the machine, so the disk need not be waited for; who measures is `durable`.
    """

    def __init__(self, bin_folder: Path, *, durable: bool = False) -> None:
        self._bin, self._waits = bin_folder, "on" if durable else "off"
        self.folder = Path(tempfile.mkdtemp(prefix="mb-postgres-", dir="/tmp"))  # a socket's path must be short
        self._as: dict[str, int] = {}
        if os.getuid() == 0:
            users = {one.pw_name: one for one in pwd.getpwall()}
            user = next(users[name] for name in ("postgres", "daemon", "nobody") if name in users)
            self._as = {"user": user.pw_uid, "group": user.pw_gid}
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.folder.chmod(0o755)
        self._run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start()

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._bin / program), "-D", str(self.folder / "data"), *words]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            done = subprocess.run(command, cwd="/", stdout=log, stderr=log, timeout=60, **self._as)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{program} failed: {Path(log.name).read_text(errors='replace')[-2000:]}")

    def start(self) -> None:
        """Listen."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c max_connections=200"
        options += f" -c fsync={self._waits} -c synchronous_commit=on -c full_page_writes=on"
        self._run("pg_ctl", "start", "-w", "-o", options, "-l", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """End; "immediate" is as if the power went."""
        self._run("pg_ctl", "stop", "-w", "-m", mode)

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://tester:hidden@/{database}?host={self.folder}"

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"journal_{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def close(self) -> None:
        """End, and leave nothing."""
        self.stop("immediate")
        shutil.rmtree(self.folder)
        self.folder.parent.joinpath(f"{self.folder.name}.log").unlink()
