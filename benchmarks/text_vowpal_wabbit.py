"""Text, token by token, beside Vowpal Wabbit: the same strings in the same order to both, one round at a time.

    python benchmarks/text_vowpal_wabbit.py [--rounds 20000]

The documents of `sparse_rows.py` as lists of strings. Ours reads {"text": [...]}; Vowpal Wabbit a line of the same
tokens, once to predict and once, with its label, to learn, through its Python bindings: explorers that know no action
features by --cb_explore, the others with one feature for each action and its products with the tokens. 2^24 weights of
its own; each explorer at three learning rates. Ours are as they come, and those that have a learning rate at these too.

Shown are the share misread and, of the rate that misreads least, the microseconds of a round, choice of the action
included: the median of 200 documents, which are read by now, each the least of five turns, in alternation. Needs the
extra `bench`.
"""

import argparse
import os
import random
import time
from collections.abc import Callable
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
import vowpalwabbit  # noqa: F401  # now, and not after minutes
from sparse_rows import K, texts

import marginbandits as mb
from marginbandits.learners.vowpal_wabbit import EXPLORERS, INDIFFERENT

OURS: list[Callable[..., mb.Learner]] = [mb.SquareCB, mb.RegCB, mb.LogisticTS, mb.HingeLMC]
RATES = 0.005, 0.05, 0.5
"""Of a wider range, from 0.002 to 30, these have the best of each explorer but squarecb between or near them."""
ACTIONS = [f"|a {action}" for action in range(K)]
Play = Callable[[list[str], int], float]
"""Reads a document, learns whether its topic was named, and says so."""


def ours(build: Callable[..., mb.Learner], **more: float) -> Play:
    agent = build(K, seed=0, **more)

    def play(tokens: list[str], topic: int) -> float:
        context = {"text": tokens}
        decision = agent.act(context)
        loss = float(decision.action != topic)
        agent.learn(context, decision, loss)
        return loss

    return play


def theirs(explore: str, rate: float) -> Play:
    from vowpalwabbit import Workspace

    by_line = explore in INDIFFERENT
    layout = "--cb_explore_adf -q sa" if by_line else f"--cb_explore {K}"
    options = EXPLORERS[explore].replace(" --greedify", "")
    model = Workspace(f"--quiet {layout} {options} --learning_rate {rate} --bit_precision 24 --random_seed 1")
    rng = random.Random(0)

    def play(tokens: list[str], topic: int) -> float:
        line: Any = "|s " + " ".join(tokens)
        lines = ["shared " + line, *ACTIONS] if by_line else line
        law = model.predict(lines)
        action = rng.choices(range(K), law)[0]
        loss = float(action != topic)
        if by_line:
            lines[1 + action] = f"0:{loss}:1 {ACTIONS[action]}"
            model.learn(lines)
        else:
            model.learn(f"{action + 1}:{loss}:{law[action]} {line}")
        return loss

    return play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    rounds = parser.parse_args().rounds
    documents = [([f"w{word}" for word in words], topic) for words, topic in texts(rounds)]
    found: dict[str, tuple[list[float], Play]] = {}
    for build in OURS:
        plays = [ours(build), *(ours(build, learning_rate=rate) for rate in RATES if build in (mb.SquareCB, mb.RegCB))]
        found[build.__name__] = [sum(play(*one) for one in documents) / rounds for play in plays], plays[0]
    for explore in EXPLORERS:
        tried = [theirs(explore, rate) for rate in RATES]
        losses = [sum(play(*one) for one in documents) / rounds for play in tried]
        found[f"VW {explore}"] = losses, tried[losses.index(min(losses))]
    again = documents[:200]
    spent = np.full((len(found), len(again)), np.inf)
    for _ in range(5):
        for i, one in enumerate(again):
            for k, (_, play) in enumerate(found.values()):
                start = time.perf_counter()
                play(*one)
                spent[k, i] = min(spent[k, i], time.perf_counter() - start)
    print(f"{'misread':<16}" + "".join(f"{rate:>8}" for rate in ("default", *RATES)) + f"{'microseconds':>15}")
    for (name, (losses, _)), taken in zip(found.items(), 1e6 * np.median(spent, 1), strict=True):
        shown = "".join(f"{loss:>8.3f}" for loss in losses)
        print(f"{name:<16}" + (f"{'':<8}{shown}" if len(losses) == len(RATES) else f"{shown:<32}") + f"{taken:>15.0f}")


if __name__ == "__main__":
    main()
