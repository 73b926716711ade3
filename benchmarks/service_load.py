"""The decision service under load: durable decisions per second, beside bare group-commit inserts of the same rows.

    python benchmarks/service_load.py [--seconds 10] [--connections 64] [--stores sqlite,postgres] [--database URL]

A client process with 64 connections asks a real server on loopback, each connection the next decision when it has the
last; a reward follows every tenth. 3 features of the context, 4 actions, a window of 2 seconds, so that the server
learns while it serves. The client is as cheap as can be, as it has the same processors: its requests are made before
it begins, and of answers it reads what a reward needs.

Beside it, in the same run, what the disk and the store allow: 64 clients that wait in one process, each a thread,
append the same rows through the same writer, those decisions, and after every tenth its reward, chained, with ids as
long and the same waits for the disk, but with nothing asked, decided, learnt or answered; `coroutines` is the same
without threads to wake. `ratio` is decisions served over decisions of threads. `CPU µs` is the server's time for a
decision, what is learnt of it and its share of a reward; `client µs` the client's; `learner` the part of the server's
in the model's laws and lessons.

Without `--database` PostgreSQL is a server of its own in a temporary folder, where there is one. Both stores must wait
for the disk, as the settings of the connection that writes say; they are printed, with how long one write of 4 KB and
its fsync take in that folder. A store that is set otherwise is not measured.
"""

import argparse
import asyncio
import contextlib
import http.client
import itertools
import json
import os
import random
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
ACTIONS = ["hat", "shoe", "coat", "glove"]
STORE = "--data", "--database"

# The server, with a clock in its model.


def server(where: str, clock: str) -> None:
    from marginbandits.service import serving
    from marginbandits.service.model import Model

    spent = {"laws": 0.0, "learn": 0.0}

    def timed(name: str, own: Callable[..., object]) -> Callable[..., object]:
        def called(*given: object) -> object:
            start = time.thread_time()
            try:
                return own(*given)
            finally:
                spent[name] += time.thread_time() - start

        return called

    for name in spent:
        setattr(Model, name, timed(name, getattr(Model, name)))

    def tell() -> None:
        while True:
            time.sleep(0.1)
            Path(clock + ".new").write_text(json.dumps([time.process_time(), spent["laws"], spent["learn"]]))
            os.replace(clock + ".new", clock)

    threading.Thread(target=tell, daemon=True).start()
    with serving.listening(where, "127.0.0.1", 0) as found:
        serving.serve(serving.opened(where, serving=True), found, where)


# The client: one thread, sockets that do not block, requests that are bytes before it begins, so that it costs little.


def request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def requests(n: int) -> list[tuple[bytes, bytes]]:
    """Decisions to ask for, and what each visitor likes."""
    rng, made = random.Random(0), []
    for _ in range(n):
        context = {"age": rng.random(), "likes": rng.choice(ACTIONS), "visits": rng.randrange(10)}
        asked = json.dumps({"context": context, "actions": ACTIONS}).encode()
        made.append((request("POST", "/loops/shop/decide", asked), str(context["likes"]).encode()))
    return made


class Connection:
    """It asks for the next decision when it has the last; after every tenth it tells a reward."""

    def __init__(self, port: int, asked: list[tuple[bytes, bytes]], at: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked, self._at, self._rewards, self._start = asked, at, False, 0.0

    def ask(self) -> None:
        """For the next decision."""
        self._at, self._rewards, self._start = self._at + 1, False, time.perf_counter()
        self.socket.send(self._asked[self._at % len(self._asked)][0])

    def told(self, took: list[float]) -> bool:
        """Take the answer; whether the next decision is to be asked for."""
        answer = self.socket.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        if self._rewards:
            return True
        took.append(time.perf_counter() - self._start)
        self._rewards = self._at % 10 == 0
        if self._rewards:
            event, action = answer.split(b'"', 8)[3:8:4]
            value = b"%d" % (action == self._asked[self._at % len(self._asked)][1])
            self.socket.send(request("POST", "/loops/shop/reward", b'{"event_id":"%b","value":%b}' % (event, value)))
        return not self._rewards


def asking(connections: list[Connection], seconds: float) -> list[float]:
    """Seconds that each decision took."""
    took: list[float] = []
    with selectors.DefaultSelector() as selector:
        for one in connections:
            selector.register(one.socket, selectors.EVENT_READ, one)
            one.ask()
        end, left = time.perf_counter() + seconds, len(connections)
        while left:
            more = time.perf_counter() < end
            for key, _ in selector.select():
                if key.data.told(took):
                    if more:
                        key.data.ask()
                    else:
                        left -= 1
    return took


def once(port: int, method: str, body: bytes = b"") -> Any:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as own:
        own.request(method, "/loops/shop", body)
        return json.loads(own.getresponse().read())


def client(port: int, connections: int, seconds: float) -> dict[str, Any]:
    once(port, "PUT", b'{"new": true, "settings": {"window": 2}}')
    asked = requests(5000)
    several = [Connection(port, asked, 1000 * k) for k in range(connections)]
    learnt = 0
    while learnt < 100:  # before it counts: kernels are compiled, pages are warm
        asking(several, 1.0)
        learnt = once(port, "GET")["learnt"]
    print("begins", flush=True)
    start, before = time.perf_counter(), time.process_time()
    took = asking(several, seconds)
    return {"took": took, "seconds": time.perf_counter() - start, "cpu": time.process_time() - before}


# Both, and what is bare.


def durable(where: str) -> str:
    """What the connection that writes says it is set to; it ends here if that is not to wait for the disk."""
    from marginbandits.service.postgres import Postgres
    from marginbandits.service.serving import opened

    with contextlib.closing(opened(where, serving=True)) as journal:
        own: Any = journal
        if isinstance(journal, Postgres):
            wanted = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")
            with own._writing.open() as db:
                told = {name: str(*db.execute(f"SHOW {name}").fetchone()) for name in wanted}
        else:
            wanted = {"journal_mode": "wal", "synchronous": "2"}
            told = {name: str(*own._writing.execute(f"PRAGMA {name}").fetchone()) for name in wanted}
    shown = ", ".join(f"{name} {value}" for name, value in told.items())
    if told != wanted:
        raise SystemExit(f"not measured, as its decisions would not be durable: {shown}")
    return shown


def waited(folder: Path) -> float:
    """Milliseconds of a write that waits for the disk, the median of 50."""
    took = []
    with (folder / "waited").open("wb", buffering=0) as file:
        for _ in range(50):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)
    return 1e3 * sorted(took)[25]


def served(where: str, given: argparse.Namespace, folder: Path) -> tuple[float, float, float, float, float, str]:
    """Decisions per second, p50 and p99 in milliseconds, CPU µs of each, the client's, and the learner's part."""
    clock = folder / "clock"
    command = [sys.executable, __file__, "--server", where, "--clock", str(clock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip().rpartition(":")[2]
            asks = [sys.executable, __file__, "--client", port, "--connections", str(given.connections)]
            asks += ["--seconds", str(given.seconds)]
            with subprocess.Popen(asks, stdout=subprocess.PIPE, text=True) as asking:
                assert asking.stdout is not None
                asking.stdout.readline()
                before = json.loads(clock.read_text())
                told = json.loads(asking.stdout.readline())
            took = sorted(told["took"])
            cpu, law, learn = (now - then for now, then in zip(json.loads(clock.read_text()), before, strict=True))
        finally:
            process.terminate()
    p50, p99 = took[len(took) // 2] * 1e3, took[int(0.99 * len(took))] * 1e3
    part = f"{(law + learn) / cpu:.0%}: laws {law / cpu:.0%}, lessons {learn / cpu:.0%}"
    each = 1e6 / len(took)
    return len(took) / told["seconds"], p50, p99, cpu * each, told["cpu"] * each, part


def bare(where: str, given: argparse.Namespace) -> tuple[float, float]:
    """Decisions per second of clients that wait, as threads and as coroutines, by the writer and the store alone.

    The rows are those that were served, decisions with ids like theirs, and after every tenth its reward.
    """
    from marginbandits.service.journal import DECISION, REWARD, Draft
    from marginbandits.service.loop import read
    from marginbandits.service.serving import opened
    from marginbandits.service.writer import Writer

    journal = opened(where, serving=True)
    bodies = [one.body for one in read(journal, 0, 3000) if one.kind == DECISION and one.body]
    writer = Writer(journal, lambda found: None)
    numbers, clients = itertools.count(), range(given.connections)

    def rows() -> list[Draft]:
        k = next(numbers)
        event = f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"
        decision = Draft("bare", DECISION, event, bodies[k % len(bodies)])
        return [decision] if k % 10 else [decision, Draft("bare", REWARD, event, b'{"value":1.0}')]

    def thread(end: float) -> None:
        while time.perf_counter() < end:
            for one in rows():
                writer.put(one).result()

    async def coroutine(end: float) -> None:
        while time.perf_counter() < end:
            for one in rows():
                await writer.append(one)

    async def coroutines(end: float) -> None:
        await asyncio.gather(*(coroutine(end) for _ in clients))

    end = time.perf_counter() + given.seconds
    threads = [threading.Thread(target=thread, args=(end,)) for _ in clients]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    by_threads = next(numbers)
    asyncio.run(coroutines(time.perf_counter() + given.seconds))
    by_coroutines = next(numbers) - by_threads
    writer.close()
    journal.close()
    return by_threads / given.seconds, by_coroutines / given.seconds


@contextlib.contextmanager
def database(url: str | None) -> Iterator[str | None]:
    if url is not None:
        yield url
        return
    from tests.service.postgres import Server, programs

    found = programs()
    if found is None:
        yield None
        return
    own = Server(found, durable=True)
    try:
        yield own.database()
    finally:
        own.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--database", help="of a PostgreSQL server that is there; it should be empty")
    for hidden in ("--server", "--clock", "--client"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.server is not None:
        server(given.server, given.clock)
        return
    if given.client is not None:
        print(json.dumps(client(int(given.client), given.connections, given.seconds)))
        return
    columns = "decisions/s", "p50 ms", "p99 ms", "threads/s", "coroutines/s", "ratio", "CPU µs", "client µs"
    print(f"{'store':<10}" + "".join(f"{one:>13}" for one in columns) + "   learner")
    for store in given.stores.split(","):
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            folder = Path(name)
            url = stack.enter_context(database(given.database)) if store == "postgres" else None
            if store == "postgres" and url is None:
                print(f"{store:<10} not installed")
                continue
            where = url or str(folder / "data")
            settings, disk = durable(where), waited(folder)
            rate, p50, p99, cpu, asking, part = served(where, given, folder)
            by_threads, by_coroutines = bare(where, given)
            shown = f"{rate:>13,.0f}{p50:>13.1f}{p99:>13.1f}{by_threads:>13,.0f}{by_coroutines:>13,.0f}"
            print(f"{store:<10}{shown}{rate / by_threads:>13.2f}{cpu:>13,.0f}{asking:>13,.0f}   {part}", flush=True)
            print(f"{'':<10}{settings}; a write and its fsync take {disk:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
