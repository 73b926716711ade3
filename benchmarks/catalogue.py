"""Actions that come and go: a catalogue of 10, one of which is replaced every 20 rounds, 1,000 times in all.

    python benchmarks/catalogue.py [--rounds 20000] [--changes 1000]

Beside each learner stands the same one built with all names there will ever be, of which each round offers those that
are alive: it forgets nothing, and takes as much memory as there are names.
"""

import argparse
import time

import numpy as np

import marginbandits as mb
from marginbandits.types import Array

ALIVE, COLUMNS = 10, 10
LEARNERS = (mb.LinUCB, mb.SquareCB, mb.HingeLMC)


def play(
    cls: type[mb.LinUCB] | type[mb.SquareCB] | type[mb.HingeLMC], rounds: int, changes: int, *, everyone: bool
) -> tuple[Array, int, float]:
    """Mean loss of each fifth of the run, bytes of its state at the end, and seconds."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((ALIVE + changes, COLUMNS)) / np.sqrt(COLUMNS)
    alive, losses, next_change = list(range(ALIVE)), np.empty(rounds), 0
    agent = cls(actions=list(range(ALIVE + changes)) if everyone else alive, features="raw", seed=0)
    start = time.process_time()
    for t in range(rounds):
        if next_change < changes and t >= (next_change + 1) * rounds // (changes + 1):
            gone = alive.pop(int(rng.integers(ALIVE)))
            alive.append(ALIVE + next_change)
            if not everyone:
                agent.add_action(alive[-1])
                agent.retire_action(gone)
            next_change += 1
        x = rng.standard_normal(COLUMNS)
        decision = agent.act(x, actions=alive) if everyone else agent.act(x)
        losses[t] = float(rng.random() < 1.0 / (1.0 + np.exp(3.0 * truth[decision.action] @ x)))
        agent.learn(x, decision, losses[t], actions=alive if everyone else None)
    size = sum(array.nbytes for array in agent.state().values())
    return losses.reshape(5, -1).mean(1), size, time.process_time() - start


def main() -> None:
    """Print both for each learner."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--changes", type=int, default=1_000)
    given = parser.parse_args()
    print(
        f"{given.rounds:,} rounds, {given.changes:,} times one action of {ALIVE} is replaced; loss by fifths of the run"
    )
    for cls in LEARNERS:
        for everyone in (False, True):
            losses, size, seconds = play(cls, given.rounds, given.changes, everyone=everyone)
            name = f"{cls.__name__}, {'all names from the first' if everyone else 'added and retired'}"
            fifths = " ".join(f"{one:.3f}" for one in losses)
            print(f"{name:38} {losses.mean():.4f} ({fifths})  {size / 2**20:8.2f} MB  {seconds:5.1f} s")


if __name__ == "__main__":
    main()
