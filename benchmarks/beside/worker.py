"""One measurement in a process of its own: prepare, warm up on other data, play, and print a line of JSON.

    python -m beside.worker '{"module": "mabwiser", "explorer": "LinUCB", …}'

Runs that end soon are played again, from nothing, until they have taken a tenth of a second together.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from beside.data import Data, load, peak_megabytes
from beside.player import Settings

LEAST, WARM = 0.1, 300
"""Seconds that are measured at least; rounds to warm up on, if they take less than a third."""


def like(data: Data, n: int) -> Data:
    """Other data of the same shape, to warm up on."""
    rng = np.random.default_rng(99)
    n = min(n, len(data.losses))
    order = rng.permutation(len(data.losses))[:n]
    losses = data.losses[order][:, rng.permutation(data.n_actions)]
    return Data(data.contexts[order], losses, data.path.with_name("warm-" + data.path.name))


def rounds(build: Any, data: Data, seconds: float) -> tuple[int, float]:
    """Plays one round after another, at most so many seconds; gives how many, and the mean loss."""
    player = build()
    turns = list(zip(player.prepare(data), data.losses.tolist(), strict=True))
    player.start(data.n_actions, data.contexts.shape[1])
    loss, played, end = 0.0, 0, time.perf_counter() + seconds
    clock, cpu = time.perf_counter(), time.process_time()
    for x, losses in turns:
        loss += losses[player.round(x, losses)]
        played += 1
        if time.perf_counter() > end:
            break
    spent.append((played, time.process_time() - cpu, time.perf_counter() - clock))
    return played, loss / played


def whole(build: Any, data: Data, seconds: float) -> tuple[int, float]:
    """One call for everything."""
    player = build()
    given = player.ready(data)
    clock, cpu = time.perf_counter(), time.process_time()
    loss = player.whole(given)
    spent.append((len(data.losses), time.process_time() - cpu, time.perf_counter() - clock))
    return len(data.losses), loss


def gradients(build: Any, data: Data, n: int, seconds: float) -> tuple[int, float]:
    """One gradient after another."""
    gradient, at, loss = build().gradient(data)
    for _ in range(3):
        gradient(at)
    end, done = time.perf_counter() + seconds, 0
    clock, cpu = time.perf_counter(), time.process_time()
    while done < n and time.perf_counter() < end:
        gradient(at)
        done += 1
    spent.append((done, time.process_time() - cpu, time.perf_counter() - clock))
    return done, loss


spent: list[tuple[int, float, float]] = []
"""Rounds, seconds of the processor and of the clock, of each time it was played."""


def main() -> None:
    """Do what the first argument says."""
    ask = json.loads(sys.argv[1])
    module = importlib.import_module(f"beside.{ask['module']}")
    kind = getattr(module, ask["player"])
    data = load(Path(ask["data"]))

    def measured(settings: Settings) -> dict[str, float]:
        def build() -> Any:
            return kind(ask["explorer"], settings, ask["seed"])

        if ask["kind"] == "gradient":
            spent.clear()
            n, loss = gradients(build, data, ask["rounds"], ask["seconds"])
        else:
            play = whole if ask["kind"] == "whole" else rounds
            play(build, like(data, WARM), 0.3)
            spent.clear()
            given = data.first(ask["rounds"])
            n, loss = play(build, given, ask["seconds"])
            while sum(cpu for _, cpu, _ in spent) < LEAST:
                play(build, given, ask["seconds"])
        played, cpu, wall = np.sum(spent, 0).tolist()
        rate = played / cpu
        return {"rounds": n, "rate": rate, "cpu": cpu, "wall": wall, "loss": loss, "megabytes": peak_megabytes()}

    print(json.dumps([measured(settings) for settings in ask["settings"]]))


if __name__ == "__main__":
    main()
