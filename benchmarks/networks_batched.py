"""Many learners of networks as one program: rounds a second for 1 and for 24, on the device given.

    python benchmarks/networks_batched.py [--device cpu|torch:cpu|torch:cuda] [--learners 1,24] [--rounds 200]

S learners of E networks each are one batch of S x E networks, each learner with its own context, action, loss and
minibatch. A round scores the contexts, plays the action of largest mean score and takes one step of AdamW (128 rounds
of replay, squared hinge, two hidden layers of 128) on digits. Widths of a ridge regression, the floor and the bootstrap
are left out: this is what networks cost, not a whole learner. The share is of what one product of large matrices
reaches on the same device. The first rounds are also played one learner at a time, and the weights compared; digits
are in an order of each learner's own seed. One thread on a CPU.
"""

import argparse
import os
import time
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.oracles.ensembles import adamw_of_arrays
from marginbandits.scores.devices import Device, device
from marginbandits.scores.networks import Perceptrons
from marginbandits.surrogates import two_sided_slope

E, MINIBATCH, RATE, DECAY, COMPARED = 8, 128, 0.003, 1e-4, 20
SIZES = 64, 128, 128, 10


def product_rate(where: Device) -> float:
    """Operations a second of one product of 4,096 x 4,096 matrices (1,024 on a CPU), the best of twenty."""
    n = 4096 if where.name == "torch:cuda" else 1024
    square, taken = where.there(np.random.default_rng(0).standard_normal((n, n), np.float32)), []
    for _ in range(20):
        start = time.perf_counter()
        float((square @ square)[0, 0])  # to ask for a number is to wait for it
        taken.append(time.perf_counter() - start)
    return 2.0 * n**3 / min(taken)


def play(where: Device, seeds: list[int], n_rounds: int) -> tuple[list[Any], float]:
    """Each learner's weights after so many rounds, layer by layer, and the seconds of the later half of them."""
    env = mb.Classification.bundled("digits", seed=0)
    x = np.stack([one.context for one in env]).astype(np.float32) / 8.0 - 1.0
    losses = np.stack([one.losses for one in env]).astype(np.float32)
    S, shape, there = len(seeds), Perceptrons(E * len(seeds), SIZES), where.there
    chance = [np.random.default_rng(seed) for seed in seeds]
    order = np.stack([one.permutation(len(x)) for one in chance])
    first: Any = np.zeros(shape.dimension, np.float32)
    for s, rng in enumerate(chance):
        one = Perceptrons(E, SIZES)
        for to, layer in zip(shape.layers(first), one.layers(one.drawn(rng)), strict=True):
            to.weights[s * E : (s + 1) * E] = layer.weights
    now, adam = there(first), there(np.zeros((2, shape.dimension), np.float32))
    spare, spare_adam = there(first.copy()), there(np.zeros((2, shape.dimension), np.float32))
    room, kept = shape.room(MINIBATCH, device=where), np.zeros((S, n_rounds), np.int64)
    lanes, seconds = np.arange(S)[:, None], 0.0
    for t in range(n_rounds):
        start = time.perf_counter()
        at = order[:, t % len(x)]
        scores = where.here(shape.forward(now, there(np.repeat(x[at][:, None], E, 0)))[-1])
        kept[:, t] = scores.reshape(S, E, -1).mean(1).argmax(1)
        chosen = np.stack([rng.integers(t + 1, size=MINIBATCH) for rng in chance])
        rows, actions = order[lanes, chosen % len(x)], kept[lanes, chosen]
        values = shape.forward(now, there(np.repeat(x[rows], E, 0)), room)
        own = (
            there(np.arange(S * E)[:, None]),
            there(np.arange(MINIBATCH)[None]),
            there(np.repeat(actions, E, 0)),
        )
        lost = there(np.repeat(losses[rows, actions], E, 0))
        spread = room.slopes[-1]
        spread[...] = 0.0
        spread[own] = two_sided_slope("squared_hinge", values[-1][own], lost, 1.0, where.xp) / MINIBATCH
        gradient = shape.backward(now, values, spread, room)
        adamw_of_arrays(now, adam, gradient, RATE, DECAY, t + 1, spare, spare_adam)
        now, adam, spare, spare_adam = spare, spare_adam, now, adam
        float(now[0])
        seconds += (time.perf_counter() - start) * (t >= n_rounds // 2)
    layers = shape.layers(where.here(now))
    return [[one.weights[s * E : (s + 1) * E] for one in layers] for s in range(S)], seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--learners", default="1,24")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    where = device(options.device)
    limit, weights = product_rate(where), Perceptrons(E, SIZES).dimension
    work = 2.0 * MINIBATCH * (3 * weights - E * SIZES[0] * SIZES[1])  # the first layer's inputs need no slopes
    print(f"{options.device}: {limit / 1e9:,.0f} GFLOP/s of products; {work / 1e6:.0f} million operations a step")
    for S in map(int, options.learners.split(",")):
        seconds = play(where, list(range(S)), options.rounds)[1]
        rate = S * (options.rounds - options.rounds // 2) / seconds
        print(f"{S:3} learners: {rate:8,.0f} rounds/s in all, {work * rate / limit:.0%} of that")
    together, few = play(where, [0, 1, 2], COMPARED)[0], [play(where, [seed], COMPARED)[0][0] for seed in range(3)]
    apart = max(
        float(np.abs(a - b).max())
        for one, other in zip(together, few, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    print(f"3 learners at once and one at a time: weights differ by {apart:.1e} at most after {COMPARED} rounds")


if __name__ == "__main__":
    main()
