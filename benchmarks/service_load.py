"""The decision service under load: durable decisions per second, beside bare group-commit inserts of the same rows.

    python benchmarks/service_load.py [--seconds 10] [--connections 64] [--stores sqlite,postgres] [--database URL]

A client process with 64 connections asks a real server on loopback, each connection the next decision when it has the
last; a reward follows every tenth. 3 features of the context, 4 actions, a window of 2 seconds, so that the server
learns while it serves. Beside it, in the same run, what the disk and the store allow: 64 clients that wait in one
process, each a thread, append the rows of those decisions through the same writer, with nothing decided, learnt or
answered; `coroutines` is the same without threads to wake. `ratio` is decisions over rows of threads. `CPU µs` is the
server's time for a decision and what is learnt of it; `learner` the part of it in the model's laws and lessons.

Without `--database` PostgreSQL is a server of its own in a temporary folder, where there is one.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
ACTIONS = ["hat", "shoe", "coat", "glove"]
STORE = "--data", "--database"

# The server, with a clock in its model.


def server(where: str, clock: str) -> None:
    from marginbandits.service import serving
    from marginbandits.service.model import Model

    spent, calls, every = {"law": 0.0, "learn": 0.0}, {"law": 0, "learn": 0}, 16

    def timed(name: str, own: Callable[..., object]) -> Callable[..., object]:
        def called(*given: object) -> object:
            calls[name] += 1
            if calls[name] % every:  # the clock itself is slow
                return own(*given)
            start = time.thread_time()
            try:
                return own(*given)
            finally:
                spent[name] += every * (time.thread_time() - start)

        return called

    for name in spent:
        setattr(Model, name, timed(name, getattr(Model, name)))

    def tell() -> None:
        while True:
            time.sleep(0.1)
            Path(clock + ".new").write_text(json.dumps([time.process_time(), spent["law"], spent["learn"]]))
            os.replace(clock + ".new", clock)

    threading.Thread(target=tell, daemon=True).start()
    with serving.listening(where, "127.0.0.1", 0) as found:
        serving.serve(serving.opened(where, serving=True), found)


# The client: HTTP by hand, so that it costs little.


async def said(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(size)


def request(method: str, path: str, body: bytes) -> bytes:
    return b"%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s" % (
        method.encode(),
        path.encode(),
        len(body),
        body,
    )


async def connection(port: int, seed: int, end: list[float], took: list[float]) -> None:
    rng = random.Random(seed)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while (start := time.perf_counter()) < end[0]:
        context = {"age": rng.random(), "likes": rng.choice(ACTIONS), "visits": rng.randrange(10)}
        asked = {"context": context, "actions": ACTIONS}
        writer.write(request("POST", "/loops/shop/decide", json.dumps(asked).encode()))
        answer = json.loads(await said(reader))
        took.append(time.perf_counter() - start)
        count += 1
        if count % 10 == 0:
            reward = {"event_id": answer["event_id"], "value": float(answer["action"] == context["likes"])}
            writer.write(request("POST", "/loops/shop/reward", json.dumps(reward).encode()))
            await said(reader)
    writer.close()


async def once(port: int, what: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(what)
    answer = await said(reader)
    writer.close()
    return answer


async def asked(port: int, connections: int, seconds: float) -> list[float]:
    await once(port, request("PUT", "/loops/shop", b'{"settings": {"window": 2}}'))
    took: list[float] = []
    learnt = 0
    while learnt < 100:  # before it counts: kernels are compiled, pages are warm
        end = [time.perf_counter() + 1.0]
        await asyncio.gather(*(connection(port, seed, end, took) for seed in range(connections)))
        learnt = json.loads(await once(port, request("GET", "/loops/shop", b"")))["learnt"]
    took.clear()
    print("begins", flush=True)
    end[0] = time.perf_counter() + seconds
    await asyncio.gather(*(connection(port, 1000 + seed, end, took) for seed in range(connections)))
    return took


# Both, and what is bare.


def served(where: str, given: argparse.Namespace, folder: Path) -> tuple[float, float, float, float, str]:
    """Decisions per second, p50 and p99 in milliseconds, CPU microseconds of each, and the learner's part of them."""
    clock = folder / "clock"
    command = [sys.executable, __file__, "--server", where, "--clock", str(clock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip().rpartition(":")[2]
            asks = [sys.executable, __file__, "--client", port, "--connections", str(given.connections)]
            asks += ["--seconds", str(given.seconds)]
            with subprocess.Popen(asks, stdout=subprocess.PIPE, text=True) as client:
                assert client.stdout is not None
                client.stdout.readline()
                before = json.loads(clock.read_text())
                took = sorted(json.loads(client.stdout.readline()))
            cpu, law, learn = (now - then for now, then in zip(json.loads(clock.read_text()), before, strict=True))
        finally:
            process.terminate()
    p50, p99 = took[len(took) // 2] * 1e3, took[int(0.99 * len(took))] * 1e3
    part = f"{(law + learn) / cpu:.0%}: laws {law / cpu:.0%}, lessons {learn / cpu:.0%}"
    return len(took) / given.seconds, p50, p99, cpu / len(took) * 1e6, part


def bare(where: str, given: argparse.Namespace) -> tuple[float, float]:
    """Rows per second of clients that wait, as threads and as coroutines, by the writer and the store alone."""
    from marginbandits.service.journal import DECISION, Draft
    from marginbandits.service.loop import read
    from marginbandits.service.serving import opened
    from marginbandits.service.writer import Writer

    journal = opened(where, serving=True)
    bodies = [one.body for one in read(journal, 0, 3000) if one.kind == DECISION and one.body]
    writer = Writer(journal, lambda found: None)
    numbers, clients = itertools.count(), range(given.connections)

    def row() -> Draft:
        k = next(numbers)
        return Draft("bare", DECISION, f"{os.getpid()}-{k}", bodies[k % len(bodies)])

    def thread(end: float) -> None:
        while time.perf_counter() < end:
            writer.put(row()).result()

    async def coroutine(end: float) -> None:
        while time.perf_counter() < end:
            await writer.append(row())

    async def coroutines(end: float) -> None:
        await asyncio.gather(*(coroutine(end) for _ in clients))

    end = time.perf_counter() + given.seconds
    threads = [threading.Thread(target=thread, args=(end,)) for _ in clients]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    by_threads = writer.appended
    asyncio.run(coroutines(time.perf_counter() + given.seconds))
    by_coroutines = writer.appended - by_threads
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
    own = Server(found)
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
        took = asyncio.run(asked(int(given.client), given.connections, given.seconds))
        print(json.dumps(took))
        return
    columns = "decisions/s", "p50 ms", "p99 ms", "threads/s", "coroutines/s", "ratio", "CPU µs"
    print(f"{'store':<10}" + "".join(f"{one:>13}" for one in columns) + "   learner")
    for store in given.stores.split(","):
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            folder = Path(name)
            url = stack.enter_context(database(given.database)) if store == "postgres" else None
            if store == "postgres" and url is None:
                print(f"{store:<10} not installed")
                continue
            where = url or str(folder / "data")
            rate, p50, p99, cpu, part = served(where, given, folder)
            by_threads, by_coroutines = bare(where, given)
            shown = f"{rate:>13,.0f}{p50:>13.1f}{p99:>13.1f}{by_threads:>13,.0f}{by_coroutines:>13,.0f}"
            print(f"{store:<10}{shown}{rate / by_threads:>13.2f}{cpu:>13,.0f}   {part}", flush=True)


if __name__ == "__main__":
    main()
