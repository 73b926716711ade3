"""`marginbandits serve` killed a thousand times under load, by `kill -9`, at random moments, on both stores.

    python benchmarks/service_kills.py [--kills 1000] [--batch 50] [--minutes 120] [--stores sqlite,postgres,postgres:3]

Four clients ask over HTTP for decisions with ids of their own and reward each with a key; what was not answered when
the server was killed is asked again, word for word, of the next one. Every ten kills, and at the end of a batch, which
has a journal of its own, that is looked at: nothing that was acknowledged is lost or other than it was told, nothing is
there twice, the chain is whole, the model that goes on from the checkpoint is byte for byte the one that the journal
makes, and so is the one that was kept: the whole journal is verified, every law and every draw made again, as
`marginbandits replay --verify` does. Servers are forked from a process that has imported what they need, so that they
are there soon; they are the command's otherwise. In `postgres:3` three serve one database: one after another is killed
while the others go on, and every tenth time all are. A store that has taken its minutes begins no further batch.

PostgreSQL is a server of its own in a temporary folder, where there is one.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.service.killing import killed  # its folder is known from here on
from tests.service.postgres import Server, programs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--stores", default="sqlite,postgres,postgres:3")
    given = parser.parse_args()
    for name in given.stores.split(","):
        store, _, processes = name.partition(":")
        found = programs() if store == "postgres" else None
        if store == "postgres" and found is None:
            print(f"{name:<12}not installed")
            continue
        sums, start = Counter[str](), time.monotonic()
        with contextlib.ExitStack() as stack:
            server = None if found is None else stack.enter_context(contextlib.closing(Server(found)))
            while sums["kills"] < given.kills and time.monotonic() - start < 60.0 * given.minutes:
                kills = min(given.batch, given.kills - sums["kills"])
                with tempfile.TemporaryDirectory() as folder:
                    where = folder if server is None else server.database()
                    load = killed(where, sums["batches"], kills, int(processes or 1))
                sums.update(batches=1, kills=kills, repeated=load.repeated)
                sums.update(decisions=len(load.decisions), rewards=len(load.rewards))
        told = f"{sums['decisions']:,} decisions and {sums['rewards']:,} rewards were acknowledged"
        print(f"{name:<12}{sums['kills']:,} kills: {told}, all there once, and verified", flush=True)
        print(f"{'':<12}{sums['repeated']:,} rewards were on disk, untold, when the server was killed", flush=True)


if __name__ == "__main__":
    main()
