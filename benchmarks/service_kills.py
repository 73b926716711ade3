"""The decision service killed a thousand times under load, by `kill -9`, at random moments, on both stores.

    python benchmarks/service_kills.py [--seeds 10] [--kills 50] [--stores sqlite,postgres,postgres:3]

Four clients ask for decisions with ids of their own and reward each with a key; what was not answered when the service
was killed is asked again, word for word, of the next one. Every ten kills, and at the end, the journal is looked at:
nothing that was acknowledged is lost or other than it was told, nothing is there twice, the chain is whole, the model
that goes on from the checkpoint is byte for byte the one that the journal makes, and so is the one that was kept: the
whole journal is verified, every law and every draw made again, as `marginbandits replay --verify` does. What is killed
is the service without HTTP, so that it is there sooner; `make soak` kills whole servers, too. In `postgres:3` three
processes serve one database: one after another is killed while the others go on, and every tenth time all are.

PostgreSQL is a server of its own in a temporary folder, where there is one.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.service.killing import killed  # its folder is known from here on
from tests.service.postgres import Server, programs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--stores", default="sqlite,postgres,postgres:3")
    given = parser.parse_args()
    for name in given.stores.split(","):
        store, _, processes = name.partition(":")
        decisions = rewards = 0
        with contextlib.ExitStack() as stack:
            found = programs() if store == "postgres" else None
            if store == "postgres" and found is None:
                print(f"{name:<12}not installed")
                continue
            server = None if found is None else stack.enter_context(contextlib.closing(Server(found)))
            for seed in range(given.seeds):
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                load = killed(folder if server is None else server.database(), seed, given.kills, int(processes or 1))
                decisions, rewards = decisions + len(load.decisions), rewards + len(load.rewards)
        kills = given.seeds * given.kills
        told = f"{decisions:,} decisions and {rewards:,} rewards were acknowledged"
        print(f"{name:<12}{kills:,} kills: {told}, all there once, and the model made again", flush=True)


if __name__ == "__main__":
    main()
