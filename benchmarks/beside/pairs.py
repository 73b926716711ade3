"""A peer and ours on the same task: trials that choose settings and rounds, then repetitions in turns."""

import dataclasses
import functools
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beside import langevin, tasks
from beside.environments import variables
from beside.player import Settings
from beside.table import Measured

LEAST_ROUNDS, TRIAL, PATIENCE = 50, 10_000, 90.0


class NotMeasuredError(Exception):
    """A process that failed or did not end, with the reason."""


@dataclass(frozen=True)
class Side:
    """Who plays: the class in a module of this package, its interpreter, the ways to set it up."""

    python: Path
    module: str
    player: str
    explorer: str
    choices: tuple[Settings, ...] = field(default=({},), compare=False)


@dataclass(frozen=True)
class Limits:
    """How much is played: repetitions, seconds of the slower one, and at most so many rounds."""

    repeats: int
    seconds: float
    rounds: int


def measure(side: Side, kind: str, data: Path, rounds: int, seconds: float, seed: int) -> list[Measured]:
    """One process, which plays every way that this side is set up."""
    ask: dict[str, Any] = {
        "module": side.module,
        "player": side.player,
        "explorer": side.explorer,
        "settings": side.choices,
        "kind": kind,
        "data": str(data),
        "rounds": rounds,
        "seconds": seconds,
        "seed": seed,
    }
    command = [str(side.python), "-W", "ignore", "-m", "beside.worker", json.dumps(ask)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=variables(), timeout=PATIENCE, cwd=data.parent
        )
    except subprocess.TimeoutExpired:
        raise NotMeasuredError(f"took more than {PATIENCE:.0f} s") from None
    if done.returncode:
        raise NotMeasuredError((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1])
    names = [one.name for one in dataclasses.fields(Measured)]
    return [Measured(*(answer[name] for name in names)) for answer in json.loads(done.stdout.splitlines()[-1])]


@functools.cache
def speed(side: Side, kind: str, data: Path, rounds: int, seconds: float) -> float:
    """Ours where it has nothing to choose: once for all peers beside it."""
    return measure(side, kind, data, rounds, seconds, 0)[0].rate


def chosen(side: Side, kind: str, data: Path, rounds: int, seconds: float) -> tuple[Side, float]:
    """The way that loses least in a trial, or of gradients the fastest, and rounds per second of it."""
    found = list(zip(measure(side, kind, data, rounds, seconds, 0), side.choices, strict=True))
    best, settings = min(found, key=lambda pair: (0.0 if kind == "gradient" else pair[0].loss, -pair[0].rate))
    return dataclasses.replace(side, choices=(settings,)), best.rate


def compared(
    theirs: Side, ours: Side, task: str, kind: str, limits: Limits, folder: Path
) -> list[tuple[Measured, Measured]]:
    """Theirs and ours of every repetition, each on its own order of rows, one after the other."""
    write = langevin.write if task == "langevin" else (lambda seed, to: tasks.write(task, seed, to))
    seconds = limits.seconds * (3.0 if kind == "whole" else 1.0)
    first, at_most = write(0, folder), min(limits.rounds, tasks.ROWS.get(task, limits.rounds))
    trial = at_most if kind == "whole" else min(at_most, TRIAL)
    their, their_rate = chosen(theirs, kind, first, trial, seconds)
    if len(ours.choices) > 1:
        our, our_rate = chosen(ours, kind, first, trial, seconds)
    else:
        our, our_rate = ours, speed(ours, kind, first, min(at_most, TRIAL // 5), seconds)
    enough = max(LEAST_ROUNDS, round(float(f"{seconds * min(their_rate, our_rate):.1e}")))
    rounds = min(at_most, enough)
    pairs = []
    for repeat in range(limits.repeats):
        data = write(repeat, folder)
        one, other = (measure(side, kind, data, rounds, PATIENCE, repeat)[0] for side in (their, our))
        pairs.append((one, other))
    return pairs
