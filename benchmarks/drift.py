"""When the truth changes: learners with a learnt window, beside the same ones that someone resets by hand.

    python benchmarks/drift.py [--rounds 3000] [--phases 5] [--seeds 3] [--only LinUCB,SquareCB]

The truth changes after every `--rounds` rounds. Of each problem and learner: the loss in a phase after a change as a
multiple of what a fresh learner loses that begins with the phase, on average and in the worst phase of all seeds; then
the same for the learner that knows of no change. In the last problem the truth turns all the time, and nobody resets:
there all are multiples of the plain learner's loss.
"""

import argparse
import functools
import os
from collections.abc import Callable
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from sklearn.datasets import load_digits

import marginbandits as mb
from marginbandits.types import Array

LEARNERS = {cls.__name__: cls for cls in (mb.LinUCB, mb.SquareCB, mb.HingeLMC, mb.Mixture)}
Labels = Array


def linear(n: int, phases: int, rng: np.random.Generator, change: str) -> tuple[Array, Any]:
    """Contexts of 15 columns; which of 5 actions is right is the largest of as many noisy linear scores."""
    x = rng.standard_normal((n * phases, 15))
    truth, order, labels = rng.standard_normal((5, 15)), np.arange(5), []
    for phase in range(phases):
        if phase and change == "new":
            truth = rng.standard_normal((5, 15))
        elif phase and change == "permuted":
            order = np.roll(order, 1)
        elif phase:
            two = rng.choice(5, 2, replace=False)
            order[two] = order[two[::-1]]
        scores = x[phase * n : (phase + 1) * n] @ truth.T + rng.standard_normal((n, 5))
        labels.append(order[scores.argmax(1)])
    return x, np.concatenate(labels)


def digits(n: int, phases: int, rng: np.random.Generator, change: str) -> tuple[Array, Any]:
    """Handwritten digits over and over; what they are called is permuted at each change, all of them or two."""
    images, classes = load_digits(return_X_y=True)
    places = np.concatenate([rng.permutation(len(images)) for _ in range(n * phases // len(images) + 1)])[: n * phases]
    order, labels = np.arange(10), []
    for phase in range(phases):
        if phase and change == "permuted":
            order = np.roll(order, 1)
        elif phase:
            two = rng.choice(10, 2, replace=False)
            order[two] = order[two[::-1]]
        labels.append(order[classes[places[phase * n : (phase + 1) * n]]])
    return images[places], np.concatenate(labels)


def turning(n: int, phases: int, rng: np.random.Generator, _: str) -> tuple[Array, Any]:
    """Linear scores whose weights turn by a whole circle every 12,000 rounds."""
    x = rng.standard_normal((n * phases, 15))
    one, other = rng.standard_normal((2, 5, 15))
    angle = 2.0 * np.pi * np.arange(n * phases) / 12_000.0
    scores = (x @ one.T) * np.cos(angle)[:, None] + (x @ other.T) * np.sin(angle)[:, None]
    return x, (scores + rng.standard_normal(scores.shape)).argmax(1)


PROBLEMS: dict[str, Callable[..., tuple[Array, Any]]] = {
    "actions permuted": functools.partial(linear, change="permuted"),
    "a new truth": functools.partial(linear, change="new"),
    "two of 5 swapped": functools.partial(linear, change="two"),
    "digits permuted": functools.partial(digits, change="permuted"),
    "two digits swapped": functools.partial(digits, change="two"),
}


def play(build: Callable[[], Any], x: Array, labels: Any, reset: int | None = None) -> Array:
    """The loss of every round; a fresh learner after every `reset` of them."""
    agent, losses = build(), np.empty(len(x))
    for t, (context, label) in enumerate(zip(x, labels, strict=True)):
        if reset is not None and t % reset == 0:
            agent = build()
        decision = agent.act(context)
        losses[t] = float(decision.action != label)
        agent.learn(context, decision, losses[t])
    return losses


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3_000)
    parser.add_argument("--phases", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(LEARNERS))
    given = parser.parse_args()
    print("loss after a change, over that of a reset by hand: mean (worst phase of all)")
    for name in given.only.split(","):
        for problem, make in PROBLEMS.items():
            found: dict[str, list[Array]] = {"learnt": [], "plain": []}
            for seed in range(given.seeds):
                x, labels = make(given.rounds, given.phases, np.random.default_rng(seed))
                n_actions = int(labels.max()) + 1
                build = functools.partial(LEARNERS[name], n_actions, seed=seed)
                by_hand = play(build, x, labels, given.rounds).reshape(given.phases, -1).sum(1)
                for kind, window in (("learnt", "learnt"), ("plain", None)):
                    lost = play(functools.partial(build, window=window), x, labels).reshape(given.phases, -1).sum(1)
                    found[kind].append((lost / by_hand)[1:])
            told = [f"{kind} {np.mean(ratios):.2f} ({np.max(ratios):.2f})" for kind, ratios in found.items()]
            print(f"{name:10} {problem:20} {'   '.join(told)}", flush=True)
    print("a truth that turns all the time: loss over the plain learner's")
    for name in given.only.split(","):
        ratios = np.empty((given.seeds, 3))
        for seed in range(given.seeds):
            x, labels = turning(given.rounds, given.phases, np.random.default_rng(seed), "")
            build = functools.partial(LEARNERS[name], 5, seed=seed)
            losses = [
                play(functools.partial(build, window=one), x, labels).mean() for one in (None, "learnt", 1000, 3000)
            ]
            ratios[seed] = np.array(losses[1:]) / losses[0]
        learnt, short, long = ratios.mean(0)
        print(f"{name:10} learnt {learnt:.2f}   window of 1,000 {short:.2f}   of 3,000 {long:.2f}", flush=True)


if __name__ == "__main__":
    main()
