"""How long a decision service judges: events a second, by which policies are judged.

    python benchmarks/service_judging.py [--events 20000] [--actions 6]

A loop decides for users of five countries and three devices, with their ages, and each event is rewarded at once. Then
its journal judges the policy that decides (SquareCB), alone, beside one candidate, and beside three (`evaluate` judges
the baseline and an even choice, too, which cost next to nothing). Whoever waits for `POST /loops/{loop}/evaluate` waits
so long, and for `POST /loops/{loop}/policies` as with one candidate.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from marginbandits.service.core import Service
from marginbandits.service.evaluating import Rival, judged
from marginbandits.service.journal import TICK, Draft
from marginbandits.service.model import warm
from marginbandits.service.records import Policy
from marginbandits.service.requests import Ask
from marginbandits.service.sqlite import Sqlite

AT_ONCE, WINDOW = 100, 0.01
CANDIDATES = [Policy("EpsilonGreedy"), Policy("RegCB"), Policy("LogisticTS")]


def played(service: Service, events: int, actions: int) -> None:
    """So many events, each with its reward."""
    rng = np.random.default_rng(0)
    for start in range(0, events, AT_ONCE):
        asked: list[tuple[Ask, str | None]] = []
        for k in range(start, min(start + AT_ONCE, events)):
            country, device = "abcde"[rng.integers(5)], "pdt"[rng.integers(3)]
            context = {"country": country, "device": device, "age": float(rng.normal(40.0, 12.0))}
            asked.append((Ask(context, [f"action {a}" for a in range(actions)], event_id=f"e{k}"), None))
        drafts = [draft for draft, _ in service.asked(service.loop("shop"), asked)]
        for one in drafts:
            service.writer.put(one)
        rewards = [service.rewarded(service.loop("shop"), one.id, float(rng.random() < 0.2), None)[0] for one in drafts]
        service.writer.put_all(rewards).result()
    time.sleep(2.0 * WINDOW)
    service.writer.put(Draft("", TICK, "", b"{}")).result()
    service.settle()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--actions", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Sqlite(Path(folder)))
        try:
            service.set("shop", {"window": WINDOW, "exploration": 0.1})
            played(service, options.events, options.actions)
            for several in ([], *([one] for one in CANDIDATES), CANDIDATES):
                rivals = {one.learner: Rival(one) for one in several}
                for learner in rivals:
                    warm(learner)  # its machine code is made, or read, once
                start = time.perf_counter()
                (first, *_) = judged(service.journal, "shop", rivals, service.deciding("shop"))
                rate = first.events / (time.perf_counter() - start)
                print(f"{', '.join(rivals) or 'the one that decides alone'}: {rate:,.0f} events a second")
        finally:
            service.close()


if __name__ == "__main__":
    main()
